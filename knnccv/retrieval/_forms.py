"""Scores as forms, whose expectation over random galleries is known: four public ones, two of names alone.

Each is a sum over the right items of a ranking, or of the first or last of them, of a term that depends on
the number a of right and b of wrong items before it, and on the number R of right items.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from .._typing import Array
from .._validation import as_reals, check_choice, check_integer, check_real

MOST = 10_000
OF = ("every", "first", "last")


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

    def divisors(self, largest: int) -> Array:
        """What the sum is divided by for R = 0 .. largest right items; R = 0 as R = 1."""
        relevant = np.maximum(np.arange(largest + 1), 1)
        within = np.minimum(relevant, len(self.weights))
        if self.normalize == "ideal":
            sums: Array = np.cumsum(self.weights)[within - 1]
            return sums
        of = {"1": np.ones_like(relevant), "k": np.full_like(relevant, len(self.weights)), "R": relevant}
        divisors: Array = of.get(self.normalize, within).astype(float)
        return divisors


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
class Table(Named):
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
class WithinR(Named):
    """Right items among the first R, each with 1 or its precision ``(1 + a) / (1 + a + b)``, over R."""

    precise: bool


Form: TypeAlias = Reciprocal | AtRank | First | Table | Geometric | WithinR
FORMS = (Reciprocal, AtRank, First, Table)


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
