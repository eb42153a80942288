"""Scores as forms, whose expectation over random galleries is known, and the names that stand for them.

Each is a sum over the right items of a ranking, or of the first or last of them, of a term that depends on
the number a of right and b of wrong items before it, and on the number R of right items. Four forms are
public; three more have names alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._base.typing import Array
from .._base.validation import ByValue, as_reals, check, check_choice, check_integer, check_real

MOST = 10_000
OF = ("every", "first", "last")
AT_RANK = ("precision", "recall", "ndcg")
MOST_RANKS, MOST_PRECISIONS = 10**6, 10**4


@dataclass(frozen=True, kw_only=True)
class Named:
    """What all forms have."""

    name: str = ""

    def __post_init__(self) -> None:
        """Check the name; without one it is that of the form."""
        check(isinstance(self.name, str), "the name of a score must be text", self.name, TypeError)
        if not self.name:
            _set(self, name=type(self).__name__.lower())


@dataclass(frozen=True)
class Reciprocal(Named):
    """A score that divides by a rank: average precision, reciprocal rank and their relatives.

    A right item of a ranking with a right and b wrong items before it, so that its rank is 1 + a + b, has
    the term ``(constant + slope * a) / (c + a + b)``. The score is the mean of these terms over all right
    items, or the term of the first or of the last right item.

    Parameters
    ----------
    c : int
        From 0 to 10,000. The denominator is the rank plus c - 1; c = 1 is the rank itself.
    of : {"every", "first", "last"}, default "every"
        Which right items have a term.
    constant, slope : float, default 1
        Both 0 or more, not both 0. If c is 0, `constant` must be 0.
    at_top : float, default 1
        If c is 0, the value of 0/0, the term of a right item at rank 1. 0 or more.
    normalize : {"1", "R"}, optional
        What the sum of the terms is divided by: nothing, or the number R of right items. Default: "R" for
        every right item, otherwise "1".
    name : str, default "reciprocal"
        Name of the score in results.

    Raises
    ------
    ValueError, TypeError
        If an argument is not as above.

    Notes
    -----
    The expectation is an integral over the generating function of the number of wrong items before a right
    one, whose error is measured and is part of `error_bound`. With ``rank="identity"`` the first right item
    has identities before it, each counted once, as for "rr". Every and last right items have images before
    them, as for "ap" and "inp".

    Examples
    --------
    >>> from knnccv.retrieval import Reciprocal, expected_retrieval
    >>> average_precision = Reciprocal(1)
    >>> before = Reciprocal(0, constant=0, name="precision just before every right item")
    >>> reciprocal_rank = Reciprocal(1, of="first")
    >>> inverse_negative_penalty = Reciprocal(1, of="last")
    >>> fusion = Reciprocal(61, of="first", slope=0, name="1 / (60 + rank)")
    >>> r = expected_retrieval([[0.1, 0.2, 0.3]], [7], [8, 7, 7], scores=(fusion,))
    >>> round(1 / r[fusion.name].score, 9)
    62.0
    """

    c: int
    of: str = "every"
    constant: float = field(default=1.0, kw_only=True)
    slope: float = field(default=1.0, kw_only=True)
    at_top: float = field(default=1.0, kw_only=True)
    normalize: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Check the arguments."""
        super().__post_init__()
        check_choice("of", self.of, OF)
        c = check_integer("c", self.c, 0, MOST)
        parts = {name: _not_negative(name, getattr(self, name)) for name in ("constant", "slope", "at_top")}
        check(parts["constant"] > 0 or parts["slope"] > 0, "constant and slope must not both be 0")
        msg = (
            "constant must be 0 if c is 0, since the first right item may have rank 1 and the "
            f"denominator 0, got {self.constant!r}"
        )
        check(c != 0 or parts["constant"] <= 0, msg)
        normalize = ("R" if self.of == "every" else "1") if self.normalize is None else self.normalize
        check_choice("normalize", normalize, ("1", "R"))
        _set(self, c=c, normalize=normalize, **parts)


@dataclass(frozen=True)
class AtRank(Named):
    """A score that gives every right item the weight of its rank: precision@k, recall@k, NDCG@k and others.

    Parameters
    ----------
    weights : sequence of float, shape (k,)
        ``weights[r - 1]`` is the weight of rank r; ranks beyond k have none.
    normalize : {"1", "k", "R", "min(k,R)", "ideal"}, default "1"
        What the sum is divided by: nothing; the number k of weights; the number R of right items; the
        smaller of both; or the sum of the first min(k, R) weights, which the right items have if they come
        first.
    name : str, default "atrank"
        Name of the score in results.

    Raises
    ------
    ValueError, TypeError
        If an argument is not as above, or a sum of the first weights is not positive under "ideal".

    Notes
    -----
    Ranks count images, also with ``rank="identity"``.

    Examples
    --------
    >>> import numpy as np
    >>> from knnccv.retrieval import AtRank
    >>> precision = AtRank(np.ones(5), normalize="k", name="precision of the first five")
    >>> ndcg = AtRank(1 / np.log2(np.arange(2, 12)), normalize="ideal", name="as ndcg@10")
    >>> AtRank((3, 2, 1), name="points").weights
    (3.0, 2.0, 1.0)
    """

    weights: Sequence[float] | Array
    normalize: str = field(default="1", kw_only=True)

    def __post_init__(self) -> None:
        """Check the arguments."""
        super().__post_init__()
        check_choice("normalize", self.normalize, ("1", "k", "R", "min(k,R)", "ideal"))
        weights = _weights(self.weights)
        _set(self, weights=weights)
        if self.normalize == "ideal":
            sums = np.cumsum(weights)
            if sums.min() <= 0:
                at = int(np.flatnonzero(sums <= 0)[0])
                msg = (
                    f'normalize="ideal" divides by the sum of the first weights, which must be positive; '
                    f"that of the first {at + 1} is {sums[at]:g}"
                )
                raise ValueError(msg)


@dataclass(frozen=True)
class First(Named):
    """A score of the CMC family: the weight of the rank of the first right item.

    ``weights[r - 1]`` is the score of a ranking whose first right item has the rank r, and the score is 0
    beyond. CMC at rank r is ``First([1] * r)``.

    Parameters
    ----------
    weights : sequence of float, shape (k,)
    of : {"first", "every"}, default "first"
        "every": the mean over all right items, each as if it were the only one; its rank is 1 plus the
        number of wrong items before it. This is the CMC of open-reid without ``first_match_break``.
    name : str, default "first"
        Name of the score in results.

    Raises
    ------
    ValueError, TypeError
        If an argument is not as above.

    Notes
    -----
    With ``rank="identity"`` wrong items count once per identity, as for "cmc".

    Examples
    --------
    >>> from knnccv.retrieval import First, expected_retrieval
    >>> points = First([1, 0.5, 0.25], name="points")
    >>> expected_retrieval([[0.1, 0.2, 0.3]], [7], [8, 7, 7], scores=(points,))["points"].score
    0.5
    """

    weights: Sequence[float] | Array
    of: str = "first"

    def __post_init__(self) -> None:
        """Check the arguments."""
        super().__post_init__()
        check_choice("of", self.of, ("first", "every"))
        _set(self, weights=_weights(self.weights))


@dataclass(frozen=True, eq=False)
class Table(ByValue, Named):
    """A score that adds a number of a table for every right item, such as the expected reciprocal rank.

    A right item with a right and b wrong items before it adds ``phi[a, b]``; outside the table it adds 0.

    Parameters
    ----------
    phi : array of shape (rows, columns)
    name : str, default "table"
        Name of the score in results.

    Raises
    ------
    ValueError, TypeError
        If an argument is not as above.

    Notes
    -----
    The time for a right item grows with the number of strata times the number of columns, so the table
    should not be wider than needed. Ranks count images, also with ``rank="identity"``.

    Examples
    --------
    >>> import numpy as np
    >>> from knnccv.retrieval import Table
    >>> a, b = np.ogrid[:2, :2]
    >>> Table(np.where(a + b < 2, 0.5, 0), name="as precision@2").phi.tolist()
    [[0.5, 0.5], [0.5, 0.0]]
    """

    phi: Array

    def __post_init__(self) -> None:
        """Check the arguments."""
        super().__post_init__()
        must = "phi must be an array of shape (right items before, wrong items before)"
        found = as_reals("phi", self.phi, must)
        check(found.ndim == 2 and found.size > 0, f"{must}, got an array of shape {found.shape}")
        phi = found.copy()
        phi.flags.writeable = False
        _set(self, phi=phi)


@dataclass(frozen=True)
class Geometric(Named):
    """Rank-biased precision: ``(1 - p) p^(a + b)``."""

    text: str  # of p

    @property
    def persistence(self) -> float:
        """The persistence p."""
        return float(self.text)


@dataclass(frozen=True)
class Within(Named):
    """Right items among the first ones, each with 1 or its precision ``(1 + a) / (1 + a + b)``."""

    precise: bool
    depth: int = 0  # 0: the first R
    normalize: str = "R"  # or "min(k,R)"


@dataclass(frozen=True)
class Curve(Named):
    """`First` at all ranks, each with the weight 1 up to it."""

    of: str = "first"


Form: TypeAlias = Reciprocal | AtRank | First | Table | Geometric | Within | Curve
FORMS = (Reciprocal, AtRank, First, Table)


class Score(NamedTuple):
    """One score, the mean of its forms."""

    name: str
    forms: tuple[Form, ...]

    @property
    def curve(self) -> str:
        """Of which right items it is a curve, or ""."""
        return next((form.of for form in self.forms if isinstance(form, Curve)), "")


def _set(form: Any, **values: Any) -> None:
    for name, value in values.items():
        object.__setattr__(form, name, value)


def _not_negative(name: str, value: Any) -> float:
    number = check_real(name, value)
    check(0 <= number < math.inf, f"{name} must be finite and at least 0", value)
    return number


def _weights(weights: Any) -> tuple[float, ...]:
    must = "weights must be a sequence of numbers, one for each rank"
    values = as_reals("weights", weights, must)
    check(values.ndim == 1 and values.size > 0, f"{must}, got an array of shape {values.shape}")
    return tuple(values.tolist())


PLAIN: dict[str, tuple[Form, ...]] = {
    "cmc": (Curve(),),
    "cmc_all_shots": (Curve("every"),),
    "ap": (Reciprocal(1), Reciprocal(0, constant=0)),  # the second for trapezoids alone
    "rr": (Reciprocal(1, of="first"),),
    "inp": (Reciprocal(1, of="last"),),
    "r_precision": (Within(precise=False),),
    "map@r": (Within(precise=True),),
    "rbp": (Geometric("0.8"),),
}
"""The forms of scores without a number in their name."""


def parse(scores: Any, ap: str = "rectangle") -> tuple[Score, ...]:
    """The scores of the argument `scores`.

    Raises
    ------
    ValueError, TypeError
        If one is unknown or occurs twice; the message has the reason.
    """
    kinds = (str, *FORMS)
    wanted = (scores,) if isinstance(scores, kinds) else scores
    must = "scores must be names such as ('cmc', 'ap'), or objects of Reciprocal, AtRank, First and Table"
    is_listed = isinstance(wanted, (tuple, list)) and wanted and all(isinstance(n, kinds) for n in wanted)
    check(is_listed, must, scores, TypeError)
    found = tuple(_named(one, ap) if isinstance(one, str) else _given(one) for one in wanted)
    names = [score.name for score in found]
    check(len(set(names)) == len(names), "scores must be different and have different names", tuple(names))
    return found


def _given(form: Any) -> Score:
    msg = f"{form.name!r} is the name of a built-in score; a {type(form).__name__} needs another name"
    check(not _built_in(form.name, "rectangle"), msg)
    return Score(form.name, (form,))


def _named(name: str, ap: str) -> Score:
    forms = _built_in(name, ap)
    if not forms:
        known = (*PLAIN, *(f"{family}@k" for family in AT_RANK), "ap@k/r", "ap@k/min", "rbp@p")
        msg = f"scores must be of {', '.join(map(repr, known))} (k from 1, 0 < p < 1), got {name!r}"
        raise ValueError(msg)
    return Score(name, forms)


def _built_in(name: str, ap: str) -> tuple[Form, ...]:
    """The forms of a built-in score, or none."""
    if name in PLAIN:
        return PLAIN[name][:1] if ap == "rectangle" else PLAIN[name]
    found = re.fullmatch(r"(\w+)@(.*?)(/(?:r|min))?", name)
    if found is None:
        return ()
    family, digits, over = found.groups()
    if family == "rbp" and not over:
        return (_biased(name, digits),)
    if not re.fullmatch(r"[1-9]\d*", digits) or (family not in AT_RANK if over is None else family != "ap"):
        return ()
    depth = check_integer(f"the depth of {name!r}", int(digits), 1, MOST_PRECISIONS if over else MOST_RANKS)
    if over:
        return (Within(precise=True, depth=depth, normalize="R" if over == "/r" else "min(k,R)"),)
    if family == "ndcg":
        return (AtRank(1 / np.log2(np.arange(2, depth + 2)), normalize="ideal"),)
    return (AtRank((1.0,) * depth, normalize="k" if family == "precision" else "R"),)


def _biased(name: str, text: str) -> Geometric:
    try:
        persistence = check_real(name, float(text))
    except ValueError:
        persistence = 0.0
    check(0 < persistence < 1, "the persistence of 'rbp@p' must be between 0 and 1", name)
    return Geometric(text)
