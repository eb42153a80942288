"""`expected_score`, and its result `ExpectedScore`."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from .._validation import check_bool, check_choice, check_integer, check_random_state, check_tol, fixed_seed
from ..designs import Design
from ..inference import HalfScores, ScoredHalves, Terms
from ._estimators import InexactError, as_target, needs_sklearn
from ._exact import exact_score
from ._request import AVERAGES, Expectation, ScoreRequest, WeightedSum
from ._runs import run_if_fixed, sample
from ._scoring import for_sklearn, several
from ._steps import prepare

METHODS = ("exact", "mc", "auto")


@dataclass(frozen=True, eq=False, repr=False)
class ExpectedScore(ScoredHalves):
    """The expectation of a cross-validated score over the splitter's random numbers.

    Exact scores in closed form have `standard_error` and `confidence_interval` for the population (the luck
    of the data), and can be compared by `knnccv.compare` and `knnccv.compare_all`.

    Attributes
    ----------
    score : float
        The expectation; if `exact` is False, the mean of a few runs.
    std_error : float
        Standard error of the mean of the runs (the luck of the split): 0 if `score` is exact, NaN for a
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
    _parts: ClassVar[WeightedSum | None] = None  # for the halves; set by expected_score

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields without the data."""
        return {name: value for name, value in self.__dict__.items() if name != "_parts"}

    def __float__(self) -> float:
        return self.score

    def __format__(self, spec: str) -> str:
        return format(self.score, spec) if spec else repr(self)

    def __repr__(self) -> str:
        if not self.exact:
            error = f" ± {self.std_error:.2g} (standard error)"
        elif self.deterministic:
            error = " (deterministic)"
        else:
            error = f" (error at most {self.error_bound:.1e})"
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
            msg = (
                "a standard error or an interval for the population (the luck of the data) needs an exact "
                f"score, but this is the mean of sampled runs, n_repeats={self.n_repeats}: take "
                "method='exact' where it is possible, or knnccv.complete_cv; std_error is the luck of the "
                "split"
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


def expected_score(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    scoring: Any = None,
    groups: Any = None,
    method: str = "exact",
    n_repeats: int = 20,
    random_state: Any = None,
    transductive: bool = False,
    average: str = "folds",
    tol: float = 1e-12,
    n_jobs: int | None = None,
) -> Any:
    """Compute the expectation of ``cross_val_score(estimator, X, y, cv=cv, scoring=scoring).mean()``.

    The expectation is over the splitter's random numbers, i.e. over *all* seeds, even if `cv` has an
    integer ``random_state``. No random state of the caller is used or changed.

    Parameters
    ----------
    estimator : KNeighborsClassifier, KNeighborsRegressor, or Pipeline that ends with one
        With weights "uniform" and any metric; or with weights "distance" and ``n_neighbors=1``, or 2 for a
        classifier if no differently labeled samples tie in distance. Earlier steps of a pipeline must be
        stateless (like Normalizer, Binarizer, FunctionTransformer); otherwise see `transductive`. For other
        estimators see `method`.
    X : array or sparse matrix of shape (n_items, n_features)
        The samples; square if ``metric="precomputed"``.
    y : array of shape (n_items,), or (n_items, n_outputs) for a regressor
        Labels or values.
    cv : int, splitter, iterable of splits, or None, default 5
        As in scikit-learn; None is 5. Exact are ``KFold``, ``StratifiedKFold`` and ``GroupKFold`` with
        ``shuffle=True``, their repeated versions, ``ShuffleSplit``, ``StratifiedShuffleSplit``,
        ``GroupShuffleSplit``, and the splitters that leave out samples or groups. An integer means folds
        without shuffling. For these, and for all other splitters that always make the same splits,
        scikit-learn computes the score, nothing is averaged, and the result reports this.
    scoring : str, scorer, array of shape (n_classes, n_classes), list or mapping of these, or None
        "accuracy" (the default of classifiers), "balanced_accuracy", "neg_mean_squared_error",
        "neg_brier_score" (a class that is not in a training set has no vote; scikit-learn raises an
        error), "recall" and "recall_macro" if every test set has samples of every class, scorings that are
        equal to one of these ("recall_micro", "recall_weighted", "precision_micro", "f1_micro"), scorers
        that ``make_scorer`` makes of these scores and of ``zero_one_loss``, or a matrix of costs (rows
        true, columns predicted, in sorted label order), whose score is the expected cost. Several
        scorings: a list of names, or a mapping of names to any of these (a list of lists is a matrix of
        costs).
    groups : array of shape (n_items,), optional
        For the splitters that use them.
    method : {"exact", "mc", "auto"}, default "exact"
        "exact": raise an error if there is no exact score. "mc": run scikit-learn with `n_repeats` reseeded
        copies of the splitter, for any estimator and scoring. "auto": "exact" if possible, otherwise "mc".
    n_repeats : int, default 20
        Number of runs of "mc".
    random_state : int, numpy Generator or RandomState, or None
        Seed of the runs of "mc".
    transductive : bool, default False
        Fit the earlier steps of a pipeline once, to all samples, without labels. This is a different
        experiment, in which the features of the tested samples are known in advance. Steps that use
        labels are refused; fits with and without labels are compared to detect them.
    average : {"folds", "pooled"}, default "folds"
        "folds": the mean of the scores of the folds. "pooled": all classifications of all splits have equal
        weight (for k-fold, the score of ``cross_val_predict``). They differ if the folds differ in size.
    tol : float, default 1e-12
        Admissible error of the closed forms.
    n_jobs : int, optional
        Threads of knnccv (default: all processors), or jobs of scikit-learn (default: its own).

    Returns
    -------
    ExpectedScore, or dict of str to ExpectedScore
        A dict with the names of the scorings as keys if there are several; the neighbors are searched once.

    Raises
    ------
    ValueError
        If there is no exact score (the message says why, and what to do), the data or parameters are not
        allowed, a training set is smaller than ``n_neighbors``, or a transductive step uses labels.
    TypeError
        If an argument has a wrong type.
    ImportError
        If scikit-learn is missing.

    Warns
    -----
    SupervisedDistanceWarning
        If it is unknown whether a transductive step uses labels, since two fits to the same data with the
        same seed differ.

    Notes
    -----
    Tied training samples are ordered as in the training sets of scikit-learn's splitters: in the order of
    the data for k-fold and group splits, and in random order, averaged over, for ``ShuffleSplit`` and
    ``StratifiedShuffleSplit``. scikit-learn's ``algorithm="brute"`` does the same for one neighbor. Its
    trees, and its heap for several neighbors, use other orders.

    Examples
    --------
    >>> from sklearn.model_selection import KFold
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from knnccv.datasets import load_wine
    >>> from knnccv.sklearn import expected_score
    >>> wine = load_wine()
    >>> result = expected_score(KNeighborsClassifier(3), wine.X, wine.y, cv=KFold(10, shuffle=True))
    >>> round(result.score, 6), result.exact
    (0.712135, True)
    """
    needs_sklearn()
    from sklearn.base import is_classifier, is_regressor
    from sklearn.model_selection import check_cv

    check_choice("method", method, METHODS)
    check_choice("average", average, AVERAGES)
    check_tol(tol)
    n_repeats = check_integer("n_repeats", n_repeats, 1)
    transductive = check_bool("transductive", transductive)
    if isinstance(estimator, type):
        msg = f"estimator must be an instance, got the class {estimator.__name__}; call it first"
        raise TypeError(msg)
    target = as_target(estimator, X, y)
    if isinstance(cv, Design):
        msg = f"cv is knnccv's own {cv!r}: use knnccv.complete_cv, or a splitter of scikit-learn"
        raise TypeError(msg)
    if isinstance(cv, (bool, type)):
        msg = f"cv must be a number of folds, a splitter or splits, got {cv!r}"
        raise TypeError(msg)
    scorings = several(scoring)
    for one in [scoring] if scorings is None else scorings.values():
        for_sklearn(one, target)
    prepared = prepare(estimator, X, target, transductive)
    splitter = check_cv(cv, target, classifier=is_classifier(estimator))
    request = ScoreRequest(prepared, X, target, splitter, groups, scoring, average, tol, n_jobs)
    runs = _Runs(n_repeats, random_state)
    regression = is_regressor(estimator)
    if scorings is None:
        return _score(request, regression, method, runs)
    runs = runs.shared()
    return {
        name: _score(replace(request, scoring=one), regression, method, runs, f" of {name!r}")
        for name, one in scorings.items()
    }


@dataclass(frozen=True)
class _Runs:
    """The number of runs of scikit-learn, and their seed."""

    n_repeats: int
    random_state: Any

    def shared(self) -> _Runs:
        """Fix the seed, so that several scorings get the same splits."""
        if isinstance(self.random_state, (int, np.integer)):
            return self
        return replace(self, random_state=int(self.generator().integers(2**31 - 1)))

    def generator(self) -> np.random.Generator:
        """Create a generator from every random state that scikit-learn allows."""
        if isinstance(self.random_state, np.random.RandomState):
            return np.random.default_rng(self.random_state.randint(2**31 - 1, size=4))
        return check_random_state(self.random_state)


def _score(
    request: ScoreRequest, regression: bool, method: str, runs: _Runs, which: str = ""
) -> ExpectedScore:
    """Compute the expected score by the `method`; `which` names the scoring if there are several."""
    why_not = "method='mc' was requested"
    if method != "mc":
        try:
            return _exact(request, exact_score(request, regression))
        except InexactError as error:
            why_not = str(error)
        if method == "exact":
            msg = (
                f"there is no exact expected score{which}: {why_not}. method='mc' runs scikit-learn itself "
                "and reports a mean with its standard error"
            )
            raise ValueError(msg)
    return _sampled(request, runs, why_not)


def _exact(request: ScoreRequest, found: Expectation) -> ExpectedScore:
    result = ExpectedScore(
        score=found.score,
        std_error=0.0,
        exact=True,
        error_bound=found.error_bound,
        deterministic=found.deterministic,
        average=request.average,
        ties=found.ties,
        design=request.splitter,
        explanation=request.note + found.how,
        result=found.result,
    )
    object.__setattr__(result, "_parts", found.parts)
    return result


def _sampled(request: ScoreRequest, runs: _Runs, why_not: str) -> ExpectedScore:
    rng = runs.generator()
    fixed = run_if_fixed(request)
    if fixed is not None:
        return _exact(request, fixed)
    score, error = sample(request, runs.n_repeats, rng)
    number = f"{runs.n_repeats} run{'s' if runs.n_repeats > 1 else ''}"
    how = f"mean of {number} of scikit-learn over reseeded {request.splitter}, as {why_not}"
    return ExpectedScore(
        score=score,
        std_error=error,
        exact=False,
        error_bound=None,
        deterministic=False,
        average=request.average,
        ties=None,
        design=request.splitter,
        explanation=request.note + how,
        n_repeats=runs.n_repeats,
    )
