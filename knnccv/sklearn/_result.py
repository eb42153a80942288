"""`ExpectedScore`, the result of `expected_score`."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from .._formatting import bound_text
from .._validation import fixed_seed
from ..inference import HalfScores, ScoredHalves, Terms
from ._request import WeightedSum


@dataclass(frozen=True, eq=False, repr=False)
class ExpectedScore(ScoredHalves):
    """The expectation of a cross-validated score over the splitter's random numbers.

    Exact scores in closed form have `standard_error` and `confidence_interval` for the population (the luck
    of the data), and can be compared by `knnccv.compare` and `knnccv.compare_all`.

    Attributes
    ----------
    score : float
        The expectation; if `exact` is False, an estimate from random training sets or runs.
    std_error : float
        Standard error of the estimate (the luck of the draws or splits): 0 if `score` is exact, NaN for a
        single run. The luck of the data is `standard_error`.
    exact : bool
        Whether `score` is the expectation, up to `error_bound`.
    error_bound : float or None
        Bound of ``|score - exact value|``, 0 for a score of scikit-learn; None if not `exact`.
    deterministic : bool
        Whether the splitter always makes the same splits. `score` is then the mean of
        ``cross_val_score``.
    average : str
        "folds" or "pooled", the argument.
    ties : str or None
        The order of tied training samples, "index" or "random"; None if scikit-learn computed the score.
    design : str
        The splitter.
    explanation : str
        A sentence about the computation.
    n_repeats : int
        The number of averaged runs of scikit-learn; 0 if `exact`.
    result : CompleteCV, tuple of CompleteCV, or None
        The results of `knnccv.complete_cv`, if it was used (one per column of y in a regression).
    n_draws : int
        The number of training sets that were drawn for every sample with too many of them; 0 if none were.
    """

    score: float
    std_error: float
    exact: bool
    error_bound: float | None
    deterministic: bool
    average: str
    ties: str | None
    design: str
    explanation: str
    n_repeats: int = 0
    result: Any = None
    n_draws: int = 0
    _parts: ClassVar[WeightedSum | None] = None  # for the halves; set by expected_score

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields without the data."""
        return {name: value for name, value in self.__dict__.items() if name != "_parts"}

    def __float__(self) -> float:
        return self.score

    def __format__(self, spec: str) -> str:
        return format(self.score, spec) if spec else repr(self)

    def __repr__(self) -> str:
        if not self.exact or self.error_bound is None:
            error = f" ± {self.std_error:.2g} (standard error)"
        elif self.deterministic:
            error = " (deterministic)"
        else:
            error = f" (error at most {bound_text(self.error_bound)})"
        return f"<ExpectedScore {self.score:.6g}{error}: {self.explanation}{self._tied()}>"

    @property
    def measure(self) -> str:
        """The name of the score; "score" if there is no closed form, and for copies."""
        return "score" if self._parts is None else self._parts.measure

    def inference_terms(self) -> Terms:
        """What two results must share to be compared; for `knnccv.compare`."""
        parts = self._sum()
        terms = [result.inference_terms() for result in parts.results]
        labels, first = terms[0].labels, terms[0]
        if any(each.labels is not labels and not np.array_equal(each.labels, labels) for each in terms):
            labels = np.column_stack([each.labels for each in terms])
        shares = np.array(parts.weights) / sum(parts.weights)
        weights = sum(share * each.weights for share, each in zip(shares, terms, strict=True))
        is_loss = first.is_loss != (parts.weights[0] < 0)
        bound = sum(
            abs(weight) * each.error_bound for weight, each in zip(parts.weights, terms, strict=True)
        )
        return first._replace(labels=labels, weights=weights, is_loss=is_loss, error_bound=bound)

    def half_scores(self, n_halvings: int = 200, groups: Any = None, random_state: Any = 0) -> HalfScores:
        """The exact scores of random pairs of disjoint halves; arguments as for `standard_error`."""
        parts = self._sum()
        seed = fixed_seed(random_state)
        found = [result.half_scores(n_halvings, groups, seed) for result in parts.results]
        weighted = [w * halves.scores for w, halves in zip(parts.weights, found, strict=True)]
        return replace(
            found[0],
            scores=parts.offset + np.sum(weighted, axis=0),
            train_size=math.fsum(halves.train_size for halves in found) / len(found),
            deviations=np.sum(
                [w * one.deviations for w, one in zip(parts.weights, found, strict=True)], axis=0
            ),
            resolution=sum(abs(w) * one.resolution for w, one in zip(parts.weights, found, strict=True)),
            warnings=tuple(dict.fromkeys(text for halves in found for text in halves.warnings)),
        )

    def target_in_words(self) -> str:
        """What the score estimates."""
        parts = self._sum()
        first = parts.results[0]
        target = first.target_in_words()
        name = "" if parts.measure == first.measure else f"{parts.measure}, from the "
        more = f", and {len(parts.results) - 1} more, averaged" if len(parts.results) > 1 else ""
        return f"{name}{target}{more}"

    def score_range(self) -> tuple[float, float] | None:
        """The smallest and the largest score of one classification, or None."""
        parts = self._sum()
        low = high = parts.offset
        for weight, result in zip(parts.weights, parts.results, strict=True):
            limits = result.score_range()
            if limits is None:
                return None
            ends = sorted(weight * limit for limit in limits)
            low, high = low + ends[0], high + ends[1]
        return low, high

    def _sum(self) -> WeightedSum:
        """The closed form; ValueError if there is none, or for a copy."""
        if self._parts is not None:
            return self._parts
        if not self.exact:
            what = (
                f"an estimate from drawn training sets, n_draws={self.n_draws}"
                if self.n_draws
                else f"the mean of sampled runs, n_repeats={self.n_repeats}"
            )
            msg = (
                "a standard error or an interval for the population (the luck of the data) needs an exact "
                f"score, but this is {what}: take method='exact' where it is possible, or "
                "knnccv.complete_cv; std_error is the luck of the split"
            )
        elif self.result is None:
            msg = (
                "a standard error or an interval for the population (the luck of the data) needs a closed "
                f"form, but this score is {self.explanation}: take a splitter with shuffle=True, or "
                "knnccv.complete_cv"
            )
        else:
            msg = (
                "this needs the data, which a copied or pickled result does not contain; call "
                "expected_score again, or compute this before copying"
            )
        raise ValueError(msg)

    def _tied(self) -> str:
        """Describe the ties on whose order the score depends, which may differ in scikit-learn."""
        if self.result is None or self.ties != "index":
            return ""
        results = self.result if isinstance(self.result, tuple) else (self.result,)
        tied = max(result.tied for result in results)
        if not tied:
            return ""
        return f"; {tied} samples tied, taken in row order; scikit-learn's search may use another order"
