"""scikit-learn's estimators, splitters and scorings, averaged exactly.

`expected_score` is the exact expectation of ``cross_val_score(...).mean()`` over the splitter's random
numbers. `ccv_scorer` and `WholeData` bring such expectations into ``GridSearchCV``, ``validation_curve``
and whatever else of scikit-learn takes ``scoring=`` and ``cv=``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._validation import check_bool, check_choice, check_integer, check_random_state, check_tol
from ..designs import Design
from ._estimators import InexactError, as_target, needs_sklearn
from ._exact import AVERAGES, Found, ScoreRequest, check_pooled, exact_score, run_if_fixed
from ._runs import sample
from ._scorer import WholeData, ccv_scorer
from ._scoring import for_sklearn, several
from ._steps import prepare

__all__ = ["ExpectedScore", "WholeData", "ccv_scorer", "expected_score"]

METHODS = ("exact", "mc", "auto")


@dataclass(frozen=True, eq=False, repr=False)
class ExpectedScore:
    """What a cross-validated score is in the mean over the splitter's random numbers.

    Attributes
    ----------
    score : float
        The expectation, or with ``exact=False`` the mean of a few runs.
    std_error : float
        Standard error of `score`: 0 where it is exact; NaN for a single run.
    exact : bool
        Whether `score` is the expectation itself, up to `error_bound`.
    error_bound : float or None
        Bound of ``|score - exact value|``, 0 for scikit-learn's own number; None where not `exact`.
    deterministic : bool
        Whether the splitter makes the same splits every time, so that nothing had to be averaged: `score`
        is what ``cross_val_score`` gives.
    average : str
        "folds" or "pooled", as asked.
    ties : str or None
        How equally similar training samples were ordered ("index" or "random"); None where scikit-learn
        ran.
    design : str
        The splitter.
    explanation : str
        What was computed, in a sentence.
    n_repeats : int
        Runs of scikit-learn that were averaged; 0 where `exact`.
    result : CompleteCV, tuple of CompleteCV, or None
        What `knnccv.complete_cv` told, where it was asked (once per column of a regression's y).
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

    def _tied(self) -> str:
        """What the score rests on where the order of ties is scikit-learn's own affair."""
        if self.result is None or self.ties != "index":
            return ""
        results = self.result if isinstance(self.result, tuple) else (self.result,)
        tied = max(result.tied for result in results)
        if not tied:
            return ""
        return f"; {tied} samples tied, taken in row order, from which scikit-learn's search may depart"


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
    """The expectation of ``cross_val_score(estimator, X, y, cv=cv, scoring=scoring).mean()``.

    It is taken over the splitter's random numbers: over *all* seeds, also where `cv` has an integer
    ``random_state``. Random numbers of the caller's are neither drawn nor changed.

    Parameters
    ----------
    estimator : KNeighborsClassifier, KNeighborsRegressor, or Pipeline that ends with one
        Weights "uniform", any metric; weights "distance" with ``n_neighbors=1``, or 2 in a classifier where
        no differently labeled samples tie in distance. Earlier steps of a pipeline must be stateless (as
        Normalizer, Binarizer, FunctionTransformer), or see `transductive`. Other estimators: `method`.
    X : array or sparse matrix of shape (n_items, n_features)
        The samples; square where ``metric="precomputed"``.
    y : array of shape (n_items,), or (n_items, n_outputs) for a regressor
        Labels or values.
    cv : int, splitter, iterable of splits, or None, default 5
        As in scikit-learn; None is 5. ``KFold``, ``StratifiedKFold`` and ``GroupKFold`` with
        ``shuffle=True``, their repeated kin, ``ShuffleSplit``, ``StratifiedShuffleSplit``,
        ``GroupShuffleSplit``, and those that leave out samples or groups. An integer means folds that
        scikit-learn does not shuffle: there, as with all splitters that make the same splits every time,
        nothing is averaged, scikit-learn is run, and the result says so.
    scoring : str, scorer, array of shape (n_classes, n_classes), list or mapping of these, or None
        "accuracy" (the default of classifiers), "balanced_accuracy", "neg_mean_squared_error",
        "neg_brier_score" (a class that is not in a training set has no vote; scikit-learn fails there),
        "recall" and "recall_macro" where every test set has samples of every class, what equals one of
        these
        ("recall_micro", "recall_weighted", "precision_micro", "f1_micro"), what ``make_scorer`` makes of
        these scores and ``zero_one_loss``, or a matrix of costs (rows true, columns predicted, in sorted
        label order), of which the score is the expected cost. Several at once: a list of names, or a
        mapping of names to any of these (a list of lists is a matrix of costs).
    groups : array of shape (n_items,), optional
        For the splitters that use them.
    method : {"exact", "mc", "auto"}, default "exact"
        "exact": raise where there is no exact answer. "mc": run scikit-learn, for whatever estimator and
        scoring, with `n_repeats` reseeded copies of the splitter. "auto": exact if possible, else "mc".
    n_repeats : int, default 20
        Runs of "mc".
    random_state : int, numpy Generator or RandomState, or None
        Seed of the runs of "mc".
    transductive : bool, default False
        Fit the earlier steps of a pipeline once, to all samples, without labels: on purpose another
        experiment, in which the test items' features were known beforehand. Steps that would use labels
        are refused; whether they do is found out by fits with and without.
    average : {"folds", "pooled"}, default "folds"
        "folds": the mean of the folds' scores. "pooled": all classifications of all splits count alike (for
        k-fold the score of ``cross_val_predict``). They differ where folds differ in size.
    tol : float, default 1e-12
        Admissible error of the closed forms.
    n_jobs : int, optional
        Threads of knnccv (default: all processors), or jobs of scikit-learn (default: its own).

    Returns
    -------
    ExpectedScore, or dict of str to ExpectedScore
        A dict by the scorings' names where several are asked for; neighbors are searched once for all.

    Raises
    ------
    ValueError
        If there is no exact answer (the message says why, and what helps), the data or parameters are not
        allowed, a training set is smaller than ``n_neighbors``, or a transductive step looks at labels.
    TypeError
        If an argument is of the wrong kind.
    ImportError
        If scikit-learn is missing.

    Warns
    -----
    SupervisedDistanceWarning
        If nobody can tell whether a transductive step looks at labels, since two fits to the same data
        differ whatever the seeds.

    Notes
    -----
    Equally similar training samples count in the order in which scikit-learn's splitters hand them over:
    that of the data in k-fold and group splits, and an order by chance, averaged over, in ``ShuffleSplit``
    and ``StratifiedShuffleSplit``. This is what ``algorithm="brute"`` does for one neighbor; its trees,
    and its heap for several neighbors, break ties in orders of their own.

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
        msg = f"cv is knnccv's own {cv!r}: ask knnccv.complete_cv, or give a splitter of scikit-learn's"
        raise TypeError(msg)
    if isinstance(cv, (bool, type)):
        msg = f"cv must be a number of folds, a splitter or splits, got {cv!r}"
        raise TypeError(msg)
    scorings = several(scoring)
    for one in [scoring] if scorings is None else scorings.values():
        for_sklearn(one, target)
    prepared = prepare(estimator, X, target, transductive)
    splitter = check_cv(cv, target, classifier=is_classifier(estimator))
    asked = ScoreRequest(prepared, X, target, splitter, groups, scoring, average, tol, n_jobs)
    runs = _Runs(n_repeats, random_state)
    regression = is_regressor(estimator)
    if scorings is None:
        return _answer(asked, regression, method, runs)
    runs = runs.shared()
    return {
        name: _answer(replace(asked, scoring=one), regression, method, runs, f" of {name!r}")
        for name, one in scorings.items()
    }


@dataclass(frozen=True)
class _Runs:
    """How often scikit-learn runs, and the seed of it."""

    n_repeats: int
    random_state: Any

    def shared(self) -> _Runs:
        """The same, so that each of several scorings sees the same splits."""
        if isinstance(self.random_state, (int, np.integer)):
            return self
        return replace(self, random_state=int(_generator(self.random_state).integers(2**31 - 1)))


def _answer(
    asked: ScoreRequest, regression: bool, method: str, runs: _Runs, which: str = ""
) -> ExpectedScore:
    """The expected score by the `method`; `which` names the scoring where there are several."""
    why_not = "method='mc' was asked for"
    if method != "mc":
        try:
            return _result(asked, exact_score(asked, regression))
        except InexactError as error:
            why_not = str(error)
        if method == "exact":
            msg = (
                f"there is no exact expected score{which}: {why_not}. method='mc' runs scikit-learn itself "
                "and reports a mean with its standard error"
            )
            raise ValueError(msg)
    return _sampled(asked, runs, why_not)


def _result(asked: ScoreRequest, found: Found) -> ExpectedScore:
    note = f"{asked.prepared.note}; " if asked.prepared.note else ""
    return ExpectedScore(
        score=found.score,
        std_error=0.0,
        exact=True,
        error_bound=found.error_bound,
        deterministic=found.deterministic,
        average=asked.average,
        ties=found.ties,
        design=asked.splitter,
        explanation=note + found.how,
        result=found.result,
    )


def _sampled(asked: ScoreRequest, runs: _Runs, why_not: str) -> ExpectedScore:
    rng = _generator(runs.random_state)
    fixed = run_if_fixed(asked)
    if fixed is not None:
        return _result(asked, fixed)
    check_pooled(asked)
    score, error = sample(
        asked.prepared.estimator,
        asked.prepared.X,
        asked.y,
        asked.cv,
        asked.groups,
        for_sklearn(asked.scoring, asked.y),
        runs.n_repeats,
        rng,
        asked.pooled,
        asked.n_jobs,
    )
    number = f"{runs.n_repeats} run{'s' if runs.n_repeats > 1 else ''}"
    note = f"{asked.prepared.note}; " if asked.prepared.note else ""
    return ExpectedScore(
        score=score,
        std_error=error,
        exact=False,
        error_bound=None,
        deterministic=False,
        average=asked.average,
        ties=None,
        design=asked.splitter,
        explanation=f"{note}mean of {number} of scikit-learn over reseeded {asked.splitter}, as {why_not}",
        n_repeats=runs.n_repeats,
    )


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1, size=4))
    return check_random_state(random_state)
