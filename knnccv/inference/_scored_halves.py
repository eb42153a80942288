"""`ScoredHalves`: the methods of results that can score halves of their samples."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ._halvings import InferenceWarning
from ._interval import ConfidenceInterval, StandardError, check_level, confidence_interval

if TYPE_CHECKING:
    from ._comparison import Terms

Kept = TypeVar("Kept")
"""The scores of halves, of one score or of a surface."""


class KeptHalves(ABC):
    """A result that scores halves of its samples, and keeps the scores."""

    @abstractmethod
    def half_scores(self, n_halvings: int = 200, groups: Any = None, random_state: Any = 0) -> Any:
        """The exact scores of random pairs of disjoint halves; see `standard_error`. Kept for a seed."""

    def _halves_with_warnings(self, n_halvings: int, groups: Any, random_state: Any) -> Any:
        halves = self.half_scores(n_halvings, groups, random_state)
        for text in halves.warnings:
            warnings.warn(text, InferenceWarning, stacklevel=3)
        return halves

    def _kept_halves(self, key: Any, compute: Callable[[], Kept]) -> Kept:
        """The halves of an earlier call with the same key, or those of `compute`; None is no key."""
        kept: dict[Any, Kept] = self.__dict__.setdefault("_halves", {})
        if key is None:
            return compute()
        if key not in kept:
            kept[key] = compute()
        return kept[key]


class ScoredHalves(KeptHalves):
    """A result with a standard error and confidence intervals for the population: the luck of the data."""

    score: float

    @abstractmethod
    def inference_terms(self) -> Terms:
        """What two results must share to be compared; for `compare`."""

    @abstractmethod
    def target_in_words(self) -> str:
        """What the score estimates, in words."""

    @abstractmethod
    def score_range(self) -> tuple[float, float] | None:
        """The smallest and the largest score of one classification, see `Variant.score_range`."""

    def standard_error(
        self, n_halvings: int = 200, groups: Any = None, random_state: Any = 0
    ) -> StandardError:
        """The standard deviation of the exact score over samples of the population: the luck of the data.

        The target is the expected score of the rule if it is trained on as many samples, drawn at random
        from the population. It is not the score of one trained classifier. The luck of the split, which an
        exact score does not have, is `CompleteCV.split_std`.

        Random pairs of disjoint halves of the samples are scored completely, with the same share of
        training samples (training sets of at most a tenth of the samples keep their size). The variance is
        a quarter of the mean squared difference.

        Parameters
        ----------
        n_halvings : int, default 200
            Number of random pairs, at least 2. From 25 to 400 coverage moves by at most 1.3 points.
        groups : array of shape (n_items,), optional
            Groups of samples that depend on each other (patients, speakers): whole groups are drawn into
            the halves. Default: the groups of `LeaveGroupsOut`; otherwise samples are drawn.
        random_state : int, numpy Generator or None, default 0
            Seed of the halvings.

        Returns
        -------
        StandardError
            A float with attributes: ``target`` in words, ``half_score``, ``half_train_size``, …

        Raises
        ------
        ValueError, TypeError
            If an argument is not as above, there are fewer than four samples or groups, the rule or the
            design does not suit halves of the samples, or the result was pickled or copied.

        Warns
        -----
        InferenceWarning
            Where intervals were found to be unreliable: the halves train on fewer than 4 K samples, there
            are fewer than 20 groups, the halves score so much worse that the error is too large, or squared
            errors of single samples are so unequal that it may be too small.

        Notes
        -----
        C. Nadeau & Y. Bengio, "Inference for the Generalization Error", Machine Learning 52, 2003 (the
        conservative estimate, here with exact scores and halved, as the score uses all samples). The cost
        is about that of `n_halvings` scores. The halves take n_items * n_halvings bytes, for
        `LeaveGroupsOut` some 40 times as much. For stratified designs ten halvings in a row have the same
        numbers of every class. Results are kept for a seed.
        """
        halves = self._halves_with_warnings(n_halvings, groups, random_state)
        return StandardError.of(halves, self.target_in_words())

    def confidence_interval(
        self,
        confidence_level: float = 0.95,
        *,
        n_halvings: int = 200,
        groups: Any = None,
        random_state: Any = 0,
    ) -> ConfidenceInterval:
        """Interval for the expected score in the population: the luck of the data.

        Parameters
        ----------
        confidence_level : float, default 0.95
            In (0, 1).
        n_halvings, groups, random_state
            As for `standard_error`.

        Returns
        -------
        ConfidenceInterval
            The pair ``(low, high)``, with attributes ``method``, ``n_eff``, ``target``, … Wilson's interval
            with an effective number of samples; for squared errors Hall's interval, which heeds their
            skewness; Wald's for scores without any bound.

        Raises
        ------
        ValueError, TypeError
            As `standard_error`; if the level is not in (0, 1).

        Warns
        -----
        InferenceWarning
            As `standard_error`.
        """
        check_level(confidence_level)
        halves = self._halves_with_warnings(n_halvings, groups, random_state)
        return confidence_interval(
            self.score, halves, confidence_level, self.score_range(), self.target_in_words()
        )
