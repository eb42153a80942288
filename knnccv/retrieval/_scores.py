"""Names of scores: what the walk must compute for them, and how they follow from it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Array
from .._validation import check_real
from ._tables import AP, BIASED, INVERSE, MAP_R, R_PRECISION, RECIPROCAL, TRAPEZOID, Found

PLAIN = ("cmc", "ap", "rr", "inp", "r_precision", "map@r", "rbp")
AT_RANK = ("precision", "recall", "ndcg")
PERSISTENCE = 0.8
REFUSED = {
    r"ap@\d+|map@\d+": "its usual denominator, the hits in the top k, is random; take 'map@r' or 'ndcg@k'",
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


@dataclass(frozen=True)
class Score:
    """One score: its family, its depth for scores at a rank, its persistence for "rbp"."""

    name: str
    family: str
    depth: int = 0
    persistence: float = 0.0

    @property
    def integral(self) -> bool:
        """Whether the score is an integral over the generating function."""
        return self.family in ("ap", "rr", "inp", "rbp")


def parse(scores: Any) -> tuple[Score, ...]:
    """The scores of the argument `scores`.

    Raises
    ------
    ValueError, TypeError
        If one is unknown, refused, or occurs twice; the message has the reason.
    """
    names = (scores,) if isinstance(scores, str) else scores
    if not isinstance(names, (tuple, list)) or not names or not all(isinstance(n, str) for n in names):
        msg = f"scores must be names such as ('cmc', 'ap'), got {scores!r}"
        raise TypeError(msg)
    if len(set(names)) < len(names):
        msg = f"scores must be different, got {names!r}"
        raise ValueError(msg)
    return tuple(_parse(name) for name in names)


def _parse(name: str) -> Score:
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
        return Score(name, family, depth=int(depth))
    for pattern, reason in REFUSED.items():
        if re.fullmatch(pattern, name.lower()):
            msg = f"score {name!r} is refused: {reason}"
            raise ValueError(msg)
    known = (*PLAIN, *(f"{family}@k" for family in AT_RANK), "rbp@p")
    msg = f"scores must be of {', '.join(map(repr, known))} (k from 1, 0 < p < 1), got {name!r}"
    raise ValueError(msg)


def values_of(score: Score, found: Found, scores: tuple[Score, ...], ap: str) -> Array:
    """The score of every query, from what the walk has found; shape (n_queries,) or (n_queries, ranks)."""
    if score.family == "cmc":
        curves: Array = np.minimum(found.cmc, 1.0)
        return curves
    column = column_of(score, scores, ap)
    if column < 0:
        return _at_rank(score, found)
    values: Array = found.single[:, column]
    return values


def column_of(score: Score, scores: tuple[Score, ...], ap: str) -> int:
    """The column of the score in `Found.single`; -1 for scores at a rank."""
    if score.family == "ap":
        return AP if ap == "rectangle" else TRAPEZOID
    if score.family == "rbp":
        return BIASED + persistences(scores).index(score.persistence)
    return {"rr": RECIPROCAL, "inp": INVERSE, "r_precision": R_PRECISION, "map@r": MAP_R}.get(
        score.family, -1
    )


def persistences(scores: tuple[Score, ...]) -> tuple[float, ...]:
    """The different persistences, in their order."""
    return tuple(dict.fromkeys(score.persistence for score in scores if score.family == "rbp"))


def _at_rank(score: Score, found: Found) -> Array:
    expected = found.ranks[:, : score.depth]
    relevant = np.maximum(found.relevant, 1)
    if score.family == "ndcg":
        gains = 1 / np.log2(np.arange(2, score.depth + 2))
        ideal = np.cumsum(gains)[np.minimum(relevant, score.depth) - 1]
        values: Array = expected @ gains / ideal
    else:
        values = expected.sum(axis=1) / (score.depth if score.family == "precision" else relevant)
    return values
