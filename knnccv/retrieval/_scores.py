"""Scores by name and by form: how they are read, and how they and their errors follow from the walk."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import numpy as np

from .._typing import Array
from .._validation import check_integer, check_real
from ._compiled.tables import Found
from ._forms import FORMS, AtRank, First, Form, Geometric, Reciprocal, Table, WithinR

GROUP = "knnccv.retrieval_scores"
AT_RANK = ("precision", "recall", "ndcg")
CURVES = {"cmc": "first", "cmc_all_shots": "every"}
PLAIN = (*CURVES, "ap", "rr", "inp", "r_precision", "map@r", "rbp")
PERSISTENCE = "0.8"
EPS = 2.3e-16
MOST_RANKS, MOST_COLUMNS = 10**6, 10**4
AVERAGE_WITHIN = re.compile(r"ap@([1-9]\d*)/(r|min)")
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


@dataclass(frozen=True)
class Score:
    """One score: the mean of its forms; or a curve, the CMC of the "first" or of "every" right item."""

    name: str
    forms: tuple[Form, ...] = ()
    curve: str = ""

    @property
    def integral(self) -> bool:
        """Whether the score is an integral over the generating function."""
        return any(isinstance(form, (Reciprocal, Geometric)) for form in self.forms)

    @property
    def of_first_ranks(self) -> bool:
        """Whether ranks of first right items matter, which may count identities."""
        return bool(self.curve) or any(
            isinstance(form, First) or (isinstance(form, Reciprocal) and form.of == "first")
            for form in self.forms
        )


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
    if _built_in(form.name, "rectangle") is not None:
        msg = f"{form.name!r} is the name of a built-in score; a {type(form).__name__} needs another name"
        raise ValueError(msg)
    return Score(form.name, (form,))


def _named(name: str, ap: str) -> Score:
    found = _built_in(name, ap)
    if found is not None:
        return found
    form = load(name)
    if form is not None:
        return Score(name, (form,))
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


def _built_in(name: str, ap: str) -> Score | None:
    """The built-in score of a name, or None."""
    if name in CURVES:
        return Score(name, curve=CURVES[name])
    family, at, depth = name.partition("@")
    within = AVERAGE_WITHIN.fullmatch(name)
    plain: dict[str, tuple[Form, ...]] = {
        "ap": (Reciprocal(1), Reciprocal(0, constant=0))[: 1 if ap == "rectangle" else 2],
        "rr": (Reciprocal(1, of="first"),),
        "inp": (Reciprocal(1, of="last"),),
        "r_precision": (WithinR(precise=False),),
        "map@r": (WithinR(precise=True),),
        "rbp": (Geometric(PERSISTENCE),),
    }
    forms = plain.get(name, ())
    if at and family == "rbp":
        forms = (_biased(name, depth),)
    elif at and family in AT_RANK and re.fullmatch(r"[1-9]\d*", depth):
        forms = (_at_rank(name, family, _depth(name, depth)),)
    elif within is not None:
        forms = (_average_within(name, _depth(name, within[1], MOST_COLUMNS), within[2]),)
    return Score(name, forms) if forms else None


def _biased(name: str, text: str) -> Geometric:
    try:
        persistence = check_real(name, float(text))
    except ValueError:
        persistence = 0.0
    if not 0 < persistence < 1:
        msg = f"the persistence of 'rbp@p' must be between 0 and 1, got {name!r}"
        raise ValueError(msg)
    return Geometric(text)


def _at_rank(name: str, family: str, depth: int) -> AtRank:
    if family == "ndcg":
        return AtRank(1 / np.log2(np.arange(2, depth + 2)), normalize="ideal", name=name)
    return AtRank((1.0,) * depth, normalize="k" if family == "precision" else "R", name=name)


def _average_within(name: str, depth: int, over: str) -> Table:
    def phi(relevant: int) -> Array:
        a, b = np.ogrid[: min(depth, relevant), :depth]
        precisions: Array = np.where(a + b < depth, (1 + a) / (1 + a + b), 0.0)
        return precisions / (relevant if over == "r" else min(depth, relevant))

    return Table(phi, name=name)


def _depth(name: str, digits: str, most: int = MOST_RANKS) -> int:
    return check_integer(f"the depth of {name!r}", int(digits), 1, most)


def _offered() -> list[str]:
    """Names of the scores that installed packages offer."""
    return sorted({point.name for point in entry_points(group=GROUP)})


def load(name: str) -> Form | None:
    """The score that an installed package offers under this name, or None.

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
        return None
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
    return form


def _owner(point: EntryPoint) -> str:
    package = point.dist.name if point.dist is not None else "an unnamed package"
    return f"{point.value} (package {package})"


def values_of(score: Score, found: Found, columns: list[Form]) -> Array:
    """The score of every query, (n_queries,) or (n_queries, max_rank); `columns` are those of the walk."""
    if score.curve:
        curve: Array = np.minimum(found.cmc if score.curve == "first" else found.shots, 1.0)
        return curve
    values: Array = np.mean([found.values[:, column_of(form, columns)] for form in score.forms], axis=0)
    return values


def column_of(form: Form, columns: list[Form]) -> int:
    """The column of a form."""
    return next(column for column, other in enumerate(columns) if other is form)


def errors_of(score: Score, found: Found, columns: list[Form], quadrature: float) -> Array:
    """Bound of the error of every query's score: quadrature, rounding and terms that were left out."""
    if score.curve:
        curve: Array = found.rounding + found.skipped
        return curve
    errors: Array = np.mean([_error_of(form, found, columns, quadrature) for form in score.forms], axis=0)
    return errors


def _error_of(form: Form, found: Found, columns: list[Form], quadrature: float) -> Array:
    """By the largest number that a right item adds, and that all add where some are negative."""
    values, relevant = found.values[:, column_of(form, columns)], np.maximum(found.relevant, 1)
    peaks, most, depth, rounding = np.zeros(len(values)), np.zeros(len(values)), 0, found.rounding
    if isinstance(form, (Reciprocal, Geometric)):
        rounding = rounding + quadrature
    elif isinstance(form, WithinR):
        peaks = 1 / relevant
    elif isinstance(form, Table):
        peaks, most = _by_number(form.values, relevant)
    else:
        depth, largest = len(form.weights), float(np.abs(form.weights).max())
        counted = np.ones(len(values))
        peaks = largest * counted
        if isinstance(form, AtRank):
            peaks = peaks / form.divisors(int(relevant.max()))[relevant]
            counted = np.minimum(relevant, depth)
        most = peaks * counted * (min(form.weights) < 0)
    size = np.where(most > 0, most, values)
    errors: Array = (rounding + EPS * depth) * size + found.skipped * peaks
    return errors


def _by_number(tables: Callable[[int], Array], relevant: Array) -> tuple[Array, Array]:
    """The largest number of every query's table, and a bound of sums if some are negative."""
    numbers, at = np.unique(relevant, return_inverse=True)
    peaks, most = np.zeros(len(numbers)), np.zeros(len(numbers))
    for n, number in enumerate(numbers.tolist()):
        table = tables(number)
        peaks[n] = np.abs(table).max()
        most[n] = peaks[n] * min(number, len(table)) * (table < 0).any()
    return peaks[at.ravel()], most[at.ravel()]


def check_bracketed(score: Score, numbers: Array) -> None:
    """Raise ValueError if a right item that moves forward may lower a score of the user's own.

    Parameters
    ----------
    score : Score
    numbers : int64 ndarray
        The numbers of drawn right items that occur.
    """
    for form in score.forms:
        tables: Iterable[Array] = ()
        if isinstance(form, (AtRank, First)):
            tables = [np.append(form.weights, 0.0)[None]]
        elif isinstance(form, Table):
            found = [form.values(max(int(relevant), 1)) for relevant in np.unique(numbers)]
            tables = [np.append(table, np.zeros((len(table), 1)), axis=1) for table in found]
        if any((np.diff(table, axis=1) > 0).any() for table in tables):
            msg = (
                f"the score {score.name!r} is not bracketed by lists of the nearest: it may rise when a "
                "right item moves back. Take lists that have all right items, or distances to the whole "
                "gallery"
            )
            raise ValueError(msg)
