"""Results that score halves of their samples and answer questions by them: `KeptHalves`, `ScoredHalves`."""

from __future__ import annotations

import contextlib
import math
import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ...._base.typing import Array
from ...._base.validation import check_integer
from ._halvings import HalfScores, InferenceWarning
from ._interval import (
    USUAL,
    ConfidenceInterval,
    StandardError,
    Terms,
    check_level,
    confidence_interval,
)


class KeptHalves:
    """A result that scores halves of its samples, and keeps the scores.

    It refers to the data by its evaluation. Copies have what was answered before, ``_told``, and the halves
    of every seed; ``_missing`` says what to do for more.
    """

    _evaluation: Any = None
    _missing: ClassVar[str]
    _told: ClassVar[Any] = None  # what needs the problem, but no neighbors

    def with_data(self) -> Self:
        """Return this result, whose pickles and copies from now on take the data along.

        They then answer all questions, as a result from another process should that was asked none there.
        They are as large as X, or as the neighbor lists that were given.

        Examples
        --------
        >>> import pickle
        >>> from knnccv import complete_cv
        >>> result = complete_cv([[0.0], [1.0], [3.0], [4.5]], [0, 0, 1, 1], "nn", 2)
        >>> pickle.loads(pickle.dumps(result.with_data())).confusion().tolist()
        [[0.5, 0.0], [0.0, 0.5]]
        """
        self._reference()
        self.__dict__["_has_data"] = True
        return self

    def _usual_halvings(self) -> int:
        """How many halvings there are if nobody says so."""
        return USUAL

    def half_scores(
        self, n_halvings: int | None = None, groups: Any = None, random_state: Any = 0
    ) -> HalfScores:
        """The scores of random pairs of disjoint halves; arguments as for `standard_error`."""
        kept: dict[Any, HalfScores] = self.__dict__.setdefault("_halves", {})
        if n_halvings is None:
            n_halvings = self._usual_halvings()
        request = None
        if self._evaluation is not None:
            request = self._halves_request(n_halvings, groups, random_state)
        else:
            check_integer("n_halvings", n_halvings, 2)
        numbers: dict[Any, int] = {}  # whatever the names of the groups are
        names = () if groups is None else np.ravel(groups).tolist()
        key = n_halvings, random_state, tuple(numbers.setdefault(name, len(numbers)) for name in names)
        seeded = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool)
        if seeded and key in kept:
            return kept[key]
        found = self._score_halves(request)
        if seeded:
            kept[key] = found
        return found

    def _halves_request(self, n_halvings: Any, groups: Any, random_state: Any) -> Any:
        """The checked arguments of `half_scores`."""
        raise NotImplementedError

    def _score_halves(self, request: Any) -> HalfScores:
        """Draw the halves, and score them."""
        raise NotImplementedError

    def _reference(self) -> Any:
        """The evaluation that made this result; ValueError for a copy."""
        if self._evaluation is None:
            raise ValueError(self._missing)
        return self._evaluation

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields and what was answered; the data only after `with_data`."""
        with contextlib.suppress(ValueError):  # an estimate has no further answers
            _ = self._told
        without = () if self.__dict__.get("_has_data") else ("_evaluation",)
        return {name: value for name, value in self.__dict__.items() if name not in without}

    def _halves_with_warnings(self, n_halvings: int | None, groups: Any, random_state: Any) -> Any:
        halves = self.half_scores(n_halvings, groups, random_state)
        for text in halves.warnings:
            warnings.warn(text, InferenceWarning, stacklevel=3)
        return halves


class ScoredHalves(KeptHalves):
    """A result with a standard error and confidence intervals for the population: the luck of the data."""

    score: float
    design: str
    if TYPE_CHECKING:

        @property
        def measure(self) -> str:
            """The name of the score."""

    @property
    def _has_usual_halves(self) -> bool:
        """Whether an interval was asked for, with the usual arguments."""
        kept = self.__dict__.get("_halves", {})
        return bool(kept) and (self._usual_halvings(), 0, ()) in kept

    @property
    def _is_in_closed_form(self) -> bool:
        """Whether halves are scored exactly."""
        return True

    def _scores_of_runs(self, n_runs: int, seed: int) -> Array:
        """The scores of random runs, which are on the same splits for other rules."""
        if not hasattr(self, "runs"):
            msg = f"misranked() needs results of complete_cv or expected_score, got {self!r}"
            raise ValueError(msg)
        scores: Array = self.runs(n_runs, seed).scores
        return scores

    def _by_runs(self) -> ScoredHalves:
        """The same result, whose halves are scored by random runs.

        Raises
        ------
        TypeError
            If they cannot be.
        """
        msg = (
            "take knnccv.sklearn.expected_score for both: the other score is that of random runs, so both "
            f"are to be scored by the same runs, got {self!r}"
        )
        raise TypeError(msg)

    def inference_terms(self) -> Terms:
        """What two results must share to be compared; for `knnccv.compare`."""
        found: Terms = self._told
        return found

    def target_in_words(self) -> str:
        """What the score estimates, in words."""
        return self.inference_terms().target

    def score_range(self) -> tuple[float, float] | None:
        """The smallest and the largest score of one classification, or None."""
        return self.inference_terms().limits

    def standard_error(
        self, n_halvings: int | None = None, groups: Any = None, random_state: Any = 0
    ) -> StandardError:
        """The standard deviation of the score over samples of the population: the luck of the data.

        The target is the expected score of the rule if it is trained on as many samples, drawn at random
        from the population. It is not the score of one trained classifier. The luck of the split, which an
        exact score does not have, is `CompleteCV.split_std`.

        Random pairs of disjoint halves of the samples are scored completely, with the same share of
        training samples (training sets of at most a tenth of the samples keep their size). The variance is
        a quarter of the mean squared difference. Without closed form each half is scored in two random
        runs, or up to 16 where their noise exceeds the differences: the mean product of the differences in
        two runs has no noise of the runs. That of the score itself, ``std_error**2``, is added.

        Parameters
        ----------
        n_halvings : int, default 200, or 25 if scikit-learn has to fit an estimator
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
            design does not suit halves of the samples, or the result is a copy that did not know this.

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
        n_halvings: int | None = None,
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
            with an effective number of samples; where classes do not count by their samples (balanced
            accuracy), its better end is at least that of Wilson's interval from the score of a constant
            answer on. For squared errors Hall's interval, which heeds their skewness; Wald's for scores
            without any bound.

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


class ScoredByRuns(ScoredHalves):
    """The same, whose halves are scored by random runs: ``_evaluation`` does that."""

    std_error: float
    _takes_no_time: ClassVar[Any] = False  # to score the halves

    def __str__(self) -> str:
        """The score with its luck of the runs and, if it is known or takes no time, that of the data."""
        error, interval = self.std_error, ""
        if self._takes_no_time or self._has_usual_halves:
            with contextlib.suppress(ValueError), warnings.catch_warnings(action="ignore"):
                low, high = self.confidence_interval()
                interval = f"; 95 % interval {low:.4g} to {high:.4g} (of the data)"
        runs = f" ± {error:.1g} (of the runs)" if error else ""
        runs += " (fixed splits)" * getattr(self, "deterministic", False)
        return f"{self.measure} {self.score:.4g}{runs}{interval}"

    def _known_interval(self) -> dict[str, Any]:
        """The usual interval in types that JSON has, if it was asked for before."""
        with warnings.catch_warnings(action="ignore"):  # which were given when it was asked for
            return {"interval": self.confidence_interval().to_dict() if self._has_usual_halves else None}

    @property
    def _is_in_closed_form(self) -> bool:
        return False

    def _by_runs(self) -> ScoredHalves:
        return self

    def _usual_halvings(self) -> int:
        return self.inference_terms().usual_halvings

    @cached_property
    def _told(self) -> Terms:
        """The terms, which copies know."""
        found: Terms = self._reference().terms(self)
        return found

    def _halves_request(self, n_halvings: Any, groups: Any, random_state: Any) -> Any:
        if math.isnan(self.std_error):
            msg = (
                "take n_runs of at least 2, or a precision: the error of the score of a single random run "
                f"is unknown, got std_error={self.std_error}"
            )
            raise ValueError(msg)
        return self._reference().asked(n_halvings, groups, random_state)

    def _score_halves(self, request: Any) -> HalfScores:
        found: HalfScores = self._reference().half_scores(self, request)
        return found

    def _scores_of_runs(self, n_runs: int, seed: int) -> Array:
        scores: Array = self._reference().scores_of_runs(n_runs, seed)
        return scores
