"""Scores as forms, whose expectation over random galleries is known, and the names that stand for them.

Each is a sum over the right items of a ranking, or of the first or last of them, of a term that depends on
the number a of right and b of wrong items before it, and on the number R of right items. Four forms are
public; three more have names alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._typing import Array
from .._validation import ByValue, as_reals, check_choice, check_integer, check_real

MOST = 10_000
OF = ("every", "first", "last")
GROUP = "knnccv.retrieval_scores"
AT_RANK = ("precision", "recall", "ndcg")
PLAIN = ("cmc", "cmc_all_shots", "ap", "rr", "inp", "r_precision", "map@r", "rbp")
PERSISTENCE = "0.8"
MOST_RANKS, MOST_PRECISIONS = 10**6, 10**4
REFUSED = {
    r"ap@\d+|map@\d+": (
        "its usual denominator, the hits in the top k, is random; take 'ap@k/r', which divides by the "
        "number R of right items, or 'ap@k/min', which divides by min(k, R)"
    ),
    r"f1@\d+|f1": "F1 is a ratio of two random numbers; take 'precision@k' and 'recall@k'",
    r"(ap|map)[-_ ]?(11|11pt|11-?points?|interpolated)|11-?point.*|interpolated.*": (
        "interpolated precision is a maximum over the later ranks, whose expectation has no closed form; "
        "take 'ap'"
    ),
    r"ndcg": "it needs a depth, such as 'ndcg@10'",
    r"precision|recall": "it needs a depth, such as 'precision@5'",
    r".*re-?rank.*|.*query.?expansion.*": (
        "re-ranking and query expansion change the distances with the gallery that is drawn; the distances "
        "must not depend on the draw"
    ),
}

OTHER_NAMES = {
    r"map|mean average precision|average.precision": "'ap' here, whose mean over the queries is the mAP",
    r"minp": "'inp' here, whose mean over the queries is mINP",
    r"mrr": "'rr' here, whose mean over the queries is the MRR",
    r"rank-?\d+|r-?\d+|cmc@\d+|top-?\d+|hit@\d+|success@\d+": (
        "one point of the curve 'cmc' here, such as r.cmc[0] for rank 1"
    ),
    r"p@\d+": "'precision@k' here",
    r"r@\d+": "'recall@k' here, or, as the hit rate of metric learning, one point of the curve 'cmc'",
}


@dataclass(frozen=True, kw_only=True)
class Named:
    """What all forms have."""

    name: str = ""

    def __post_init__(self) -> None:
        """Check the name; without one it is that of the form."""
        if not isinstance(self.name, str):
            msg = f"the name of a score must be text, got {self.name!r}"
            raise TypeError(msg)
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
        if parts["constant"] == parts["slope"] == 0:
            msg = "constant and slope must not both be 0"
            raise ValueError(msg)
        if c == 0 and parts["constant"] > 0:
            msg = (
                "constant must be 0 if c is 0, since the first right item may have rank 1 and the "
                f"denominator 0, got {self.constant!r}"
            )
            raise ValueError(msg)
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
    """A score that adds a number of a table for every right item: MAP@R, AP@k and others.

    A right item with a right and b wrong items before it adds ``phi[a, b]``; outside the table it adds 0.

    Parameters
    ----------
    phi : array of shape (rows, columns), or callable
        Or a function of the number R of right items, from 1, that returns such an array. It must return the
        same array whenever it is called with the same R; threads may call it at the same time.
    name : str, default "table"
        Name of the score in results.

    Raises
    ------
    ValueError, TypeError
        If an argument is not as above. The function is called with R = 1 at once, later with the largest R
        that any query may have, and with those that occur.

    Notes
    -----
    The time for a right item grows with the number of strata times the number of columns, so the table
    should not be wider than needed. Ranks count images, also with ``rank="identity"``.

    Examples
    --------
    >>> import numpy as np
    >>> from knnccv.retrieval import Table
    >>> def average_precision_at_r(R):
    ...     a, b = np.ogrid[:R, :R]
    ...     return np.where(a + b < R, (1 + a) / (1 + a + b), 0) / R
    >>> Table(average_precision_at_r, name="as map@r").values(2).tolist()
    [[0.5, 0.25], [0.5, 0.0]]
    """

    phi: Array | Callable[[int], Any]

    def __post_init__(self) -> None:
        """Check the arguments."""
        super().__post_init__()
        if not callable(self.phi):
            _set(self, phi=_table("phi", self.phi))
        else:
            self.values(1)

    @property
    def varies(self) -> bool:
        """Whether the table depends on the number of right items."""
        return callable(self.phi)

    def values(self, relevant: int) -> Array:
        """The table for R right items."""
        if not callable(self.phi):
            return self.phi
        return _table(f"phi({relevant}) of the score {self.name!r}", self.phi(relevant))


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
    if not 0 <= number < math.inf:
        msg = f"{name} must be finite and at least 0, got {value!r}"
        raise ValueError(msg)
    return number


def _weights(weights: Any) -> tuple[float, ...]:
    must = "weights must be a sequence of numbers, one for each rank"
    values = as_reals("weights", weights, must)
    _refuse_shape(values, 1, must)
    return tuple(values.tolist())


def _table(name: str, values: Any) -> Array:
    must = f"{name} must be an array of shape (right items before, wrong items before)"
    found = as_reals(name, values, must)
    _refuse_shape(found, 2, must)
    copy: Array = found.copy()
    copy.flags.writeable = False
    return copy


def _refuse_shape(values: Array, ndim: int, must: str) -> None:
    if values.ndim != ndim or values.size == 0:
        msg = f"{must}, got an array of shape {values.shape}"
        raise ValueError(msg)


def parse(scores: Any, ap: str = "rectangle") -> tuple[Score, ...]:
    """The scores of the argument `scores`.

    Raises
    ------
    ValueError, TypeError, ImportError
        If one is unknown, refused, or occurs twice; the message has the reason. If a package offers one
        that cannot be used.
    """
    kinds = (str, *FORMS)
    wanted = (scores,) if isinstance(scores, kinds) else scores
    if not isinstance(wanted, (tuple, list)) or not wanted or not all(isinstance(n, kinds) for n in wanted):
        msg = (
            "scores must be names such as ('cmc', 'ap'), or objects of Reciprocal, AtRank, First and "
            f"Table, got {scores!r}"
        )
        raise TypeError(msg)
    found = tuple(_named(one, ap) if isinstance(one, str) else _given(one) for one in wanted)
    names = [score.name for score in found]
    if len(set(names)) < len(names):
        msg = f"scores must be different and have different names, got {tuple(names)!r}"
        raise ValueError(msg)
    return found


def _given(form: Any) -> Score:
    if _built_in(form.name, "rectangle"):
        msg = f"{form.name!r} is the name of a built-in score; a {type(form).__name__} needs another name"
        raise ValueError(msg)
    return Score(form.name, (form,))


def _named(name: str, ap: str) -> Score:
    forms = _built_in(name, ap) or load(name)
    if forms:
        return Score(name, forms)
    for pattern, reason in REFUSED.items():
        if re.fullmatch(pattern, name.lower()):
            msg = f"score {name!r} is refused: {reason}"
            raise ValueError(msg)
    known = (*PLAIN, *(f"{family}@k" for family in AT_RANK), "ap@k/r", "ap@k/min", "rbp@p", *_offered())
    msg = f"scores must be of {', '.join(map(repr, known))} (k from 1, 0 < p < 1), got {name!r}"
    for pattern, meant in OTHER_NAMES.items():
        if re.fullmatch(pattern, name.lower()):
            msg += f"; it is {meant}"
    raise ValueError(msg)


def _built_in(name: str, ap: str) -> tuple[Form, ...]:
    """The forms of a built-in score, or none."""
    plain: dict[str, tuple[Form, ...]] = {
        "cmc": (Curve(),),
        "cmc_all_shots": (Curve("every"),),
        "ap": (Reciprocal(1), Reciprocal(0, constant=0))[: 1 if ap == "rectangle" else 2],
        "rr": (Reciprocal(1, of="first"),),
        "inp": (Reciprocal(1, of="last"),),
        "r_precision": (Within(precise=False),),
        "map@r": (Within(precise=True),),
        "rbp": (Geometric(PERSISTENCE),),
    }
    found = re.fullmatch(r"(\w+)@(.*?)(/(?:r|min))?", name)
    if found is None:
        return plain.get(name, ())
    family, digits, over = found.groups()
    if family == "rbp" and not over:
        return (_biased(name, digits),)
    if not re.fullmatch(r"[1-9]\d*", digits) or (family not in AT_RANK if over is None else family != "ap"):
        return plain.get(name, ())
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
    if not 0 < persistence < 1:
        msg = f"the persistence of 'rbp@p' must be between 0 and 1, got {name!r}"
        raise ValueError(msg)
    return Geometric(text)


def _offered() -> list[str]:
    """Names of the scores that installed packages offer."""
    return sorted({point.name for point in entry_points(group=GROUP)})


def load(name: str) -> tuple[Form, ...]:
    """The score that an installed package offers under this name, or nothing.

    Raises
    ------
    ValueError
        If two packages offer different scores under the name.
    ImportError
        If the score cannot be imported.
    TypeError
        If it is not of one of the forms, or has another name.
    """
    points = {point.value: point for point in entry_points(group=GROUP, name=name)}
    if not points:
        return ()
    if len(points) > 1:
        owners = " and ".join(_owner(point) for point in points.values())
        msg = f"two installed packages offer a score named {name!r}: {owners}; uninstall one of them"
        raise ValueError(msg)
    (point,) = points.values()
    try:
        form: Form = point.load()
    except Exception as error:
        msg = f"the score {name!r} of {_owner(point)} cannot be imported: {error}"
        raise ImportError(msg) from error
    if not isinstance(form, FORMS) or form.name != name:
        msg = f"{_owner(point)} must be a Reciprocal, AtRank, First or Table named {name!r}, got {form!r}"
        raise TypeError(msg)
    return (form,)


def _owner(point: EntryPoint) -> str:
    package = point.dist.name if point.dist is not None else "an unnamed package"
    return f"{point.value} (package {package})"
