"""A request for an expected score, and its exact result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._typing import Array
from ..results import CompleteCV
from ._draws import Draws
from ._scoring import for_sklearn
from ._splitters import in_words
from ._steps import Prepared

AVERAGES = ("folds", "pooled")


@dataclass(frozen=True)
class ScoreRequest:
    """The validated arguments of `expected_score` or of a scorer.

    `cv` is a splitter or a design, `X` the data for splitters, `y` an array of shape (n_items,) or
    (n_items, n_outputs). With `draws`, weighted votes are sampled if they cannot be exact.
    """

    prepared: Prepared
    X: Any
    y: Array
    cv: Any
    groups: Any
    scoring: Any
    average: str
    tol: float
    n_jobs: int | None
    draws: Draws | None = None

    @property
    def splitter(self) -> str:
        """`cv` as one line of text."""
        return in_words(self.cv)

    @property
    def pooled(self) -> bool:
        """Return True if all classifications have equal weight, for all sizes of the folds."""
        return self.average == "pooled"

    @property
    def sklearn_scoring(self) -> Any:
        """`scoring` in a form that ``cross_val_score`` accepts."""
        return for_sklearn(self.scoring, self.y)

    @property
    def note(self) -> str:
        """The beginning of explanations: how the data were prepared."""
        return f"{self.prepared.note}; " if self.prepared.note else ""


@dataclass(frozen=True)
class WeightedSum:
    """A score as ``offset`` plus the weighted sum of exact scores, by the name ``measure``."""

    measure: str
    offset: float
    weights: tuple[float, ...]
    results: tuple[CompleteCV, ...]


@dataclass(frozen=True)
class Expectation:
    """A score, and how it was computed; with `n_draws` it is not exact, but has a `std_error`."""

    score: float
    error_bound: float
    how: str
    deterministic: bool = False
    ties: str | None = None
    result: Any = None
    parts: WeightedSum | None = None
    std_error: float = 0.0
    n_draws: int = 0
