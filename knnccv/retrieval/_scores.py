"""Names and forms of scores: what the walk must compute for them, and how they follow from it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Array
from .._validation import check_integer, check_real
from ._compiled.tables import AP, BIASED, INVERSE, MAP_R, R_PRECISION, RECIPROCAL, TRAPEZOID, Found
from ._forms import FORMS, AtRank, First, Form, Reciprocal, Table
from ._named import AT_RANK, at_rank, average_within, load, offered

PLAIN = ("cmc", "cmc_all_shots", "ap", "rr", "inp", "r_precision", "map@r", "rbp")
CURVES = ("cmc", "cmc_all_shots")
PERSISTENCE = 0.8
EPS = 2.3e-16
MOST_RANKS, MOST_COLUMNS = 10**6, 10**4
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
    """One score: its family, its persistence for "rbp", and its form unless the walk has its own way.

    The family of a score that is given as a form is empty.
    """

    name: str
    family: str = ""
    persistence: float = 0.0
    form: Form | None = None

    @property
    def integral(self) -> bool:
        """Whether the score is an integral over the generating function."""
        return self.family in ("ap", "rr", "inp", "rbp") or isinstance(self.form, Reciprocal)

    @property
    def curve(self) -> bool:
        """Whether the score is a number for every rank."""
        return self.family in CURVES

    @property
    def depth(self) -> int:
        """Number of ranks whose law is needed, for scores that weight the ranks."""
        return len(self.form.weights) if isinstance(self.form, AtRank) else 0


def parse(scores: Any) -> tuple[Score, ...]:
    """The scores of the argument `scores`.

    Raises
    ------
    ValueError, TypeError, ImportError
        If one is unknown, refused, or occurs twice; the message has the reason. If a package offers one
        that cannot be used.
    """
    wanted = (scores,) if isinstance(scores, (str, *FORMS)) else scores
    kinds = (str, *FORMS)
    if not isinstance(wanted, (tuple, list)) or not wanted or not all(isinstance(n, kinds) for n in wanted):
        msg = (
            "scores must be names such as ('cmc', 'ap'), or objects of Reciprocal, AtRank, First and "
            f"Table, got {scores!r}"
        )
        raise TypeError(msg)
    found = tuple(_parse(one) if isinstance(one, str) else _given(one) for one in wanted)
    names = [score.name for score in found]
    if len(set(names)) < len(names):
        msg = f"scores must be different and have different names, got {tuple(names)!r}"
        raise ValueError(msg)
    return found


def _given(form: Form) -> Score:
    if _built_in(form.name) is not None:
        msg = f"{form.name!r} is the name of a built-in score; a {type(form).__name__} needs another name"
        raise ValueError(msg)
    return Score(form.name, form=form)


def _parse(name: str) -> Score:
    found = _built_in(name)
    if found is not None:
        return found
    form = load(name)
    if form is not None:
        return Score(name, form=form)
    for pattern, reason in REFUSED.items():
        if re.fullmatch(pattern, name.lower()):
            msg = f"score {name!r} is refused: {reason}"
            raise ValueError(msg)
    known = (*PLAIN, *(f"{family}@k" for family in AT_RANK), "ap@k/r", "ap@k/min", "rbp@p", *offered())
    msg = f"scores must be of {', '.join(map(repr, known))} (k from 1, 0 < p < 1), got {name!r}"
    for pattern, meant in OTHER_NAMES.items():
        if re.fullmatch(pattern, name.lower()):
            msg += f"; it is {meant}"
    raise ValueError(msg)


def _built_in(name: str) -> Score | None:
    """The built-in score of a name, or None."""
    if name == "rbp":
        return Score(name, "rbp", persistence=PERSISTENCE)
    if name in PLAIN:
        return Score(name, name)
    family, at, depth = name.partition("@")
    if at and family == "rbp":
        try:
            persistence = check_real(name, float(depth))
        except ValueError:
            persistence = 0.0
        if not 0 < persistence < 1:
            msg = f"the persistence of 'rbp@p' must be between 0 and 1, got {name!r}"
            raise ValueError(msg)
        return Score(name, "rbp", persistence=persistence)
    if at and family in AT_RANK and re.fullmatch(r"[1-9]\d*", depth):
        return Score(name, family, form=at_rank(name, family, _depth(name, depth)))
    within = re.fullmatch(r"ap@([1-9]\d*)/(r|min)", name)
    if within is not None:
        k = _depth(name, within[1], MOST_COLUMNS)
        return Score(name, "ap@k", form=average_within(name, k, within[2]))
    return None


def _depth(name: str, digits: str, most: int = MOST_RANKS) -> int:
    return check_integer(f"the depth of {name!r}", int(digits), 1, most)


def values_of(score: Score, found: Found, scores: tuple[Score, ...], ap: str, max_rank: int) -> Array:
    """The score of every query, from what the walk has found; (n_queries,) or (n_queries, max_rank)."""
    values: Array
    if score.curve:
        values = np.minimum((found.cmc if score.family == "cmc" else found.shots)[:, :max_rank], 1.0)
    elif isinstance(score.form, AtRank):
        values = (found.ranks[:, : score.depth] * score.form.weights).sum(axis=1)
        values = values / score.form.divisors(int(found.relevant.max()))[found.relevant]
    elif isinstance(score.form, First):
        curve = found.cmc if score.form.of == "first" else found.shots
        values = (curve[:, : len(score.form.weights)] * _steps(score.form)).sum(axis=1)
    else:
        columns = found.single if score.form is None else found.forms
        values = columns[:, column_of(score, scores, ap)]
    return values


def errors_of(score: Score, found: Found, values: Array, quadrature: float) -> Array:
    """Bound of the error of every query's score: quadrature, rounding and terms that were left out."""
    form, rounding, skipped = score.form, found.rounding, found.skipped
    errors: Array
    if score.curve:
        errors = rounding + skipped
    elif isinstance(form, AtRank):
        divisors = form.divisors(int(found.relevant.max()))[found.relevant]
        weights = np.abs(form.weights)
        size = (found.ranks[:, : score.depth] * weights).sum(axis=1) / divisors
        errors = (rounding + EPS * score.depth) * size + skipped * weights.max() / divisors
    elif isinstance(form, First):
        steps, weights = _steps(form), np.abs(form.weights)
        size = values if (steps >= 0).all() else np.abs(steps).sum()
        errors = (rounding + EPS * len(weights)) * size + skipped * weights.max()
    elif isinstance(form, Table):
        numbers, at = np.unique(found.relevant, return_inverse=True)
        peaks, negative = np.zeros(len(numbers)), np.zeros(len(numbers))
        for n, relevant in enumerate(numbers.tolist()):
            table = form.values(max(relevant, 1))
            peaks[n], negative[n] = np.abs(table).max(), len(table) * (table < 0).any()
        peaks, negative = peaks[at.ravel()], negative[at.ravel()]
        size = np.where(negative, peaks * np.minimum(found.relevant, negative), values)
        errors = rounding * size + skipped * peaks
    elif score.integral:
        errors = (rounding + quadrature) * values
    else:
        errors = rounding * values + skipped
    return errors


def _steps(form: First) -> Array:
    """Weights of the cumulative law: the change of the weight after every rank."""
    weights = np.asarray(form.weights)
    steps: Array = weights - np.append(weights[1:], 0.0)
    return steps


def column_of(score: Score, scores: tuple[Score, ...], ap: str) -> int:
    """The column of the score in `Found.single`, or of a form in `Found.forms`."""
    if isinstance(score.form, (Reciprocal, Table)):
        both = (*forms_in(scores, Reciprocal), *forms_in(scores, Table))
        return next(column for column, form in enumerate(both) if form is score.form)
    if score.family == "ap":
        return AP if ap == "rectangle" else TRAPEZOID
    if score.family == "rbp":
        return BIASED + persistences(scores).index(score.persistence)
    return {"rr": RECIPROCAL, "inp": INVERSE, "r_precision": R_PRECISION, "map@r": MAP_R}[score.family]


def forms_in(scores: Sequence[Score], kind: type) -> list[Any]:
    """The forms of one kind, in the order of the scores."""
    return [score.form for score in scores if isinstance(score.form, kind)]


def persistences(scores: tuple[Score, ...]) -> tuple[float, ...]:
    """The different persistences, in their order."""
    return tuple(dict.fromkeys(score.persistence for score in scores if score.family == "rbp"))
