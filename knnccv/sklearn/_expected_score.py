"""`expected_score`, the expectation of a cross-validated score over the splitter's random numbers.

And `ccv_scorer`, which brings it into scikit-learn's searches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from numbers import Integral
from typing import Any, TypedDict, Unpack, overload

import numpy as np

from .._base.labels import encode_labels
from .._base.parallel import check_pool, one_bar
from .._base.typing import Array
from .._base.validation import check, check_bool, check_choice, check_integer, check_tol, fixed_seed
from .._core.driver import TIES, InexactError, check_n_draws
from .._core.luck.scorings import check_precision
from ..designs import Design, KFold, LeaveGroupsOut, StratifiedKFold
from ..neighbors import Neighbors, in_other_groups, warn_of_rows
from ._by_runs import outputs_of, score_outputs
from ._estimators import Prepared, as_target, needs_sklearn, prepare, with_test_set
from ._exact import closed_form
from ._halves import HalfRuns
from ._request import AVERAGES, ExpectedScore, Request, warn_of_ties
from ._runs import every_split, plain_runs
from ._scoring import check_answers, for_sklearn, is_costs, several
from ._searches import nested_runs, scoring_of_search, searched_runs
from ._splitters import FromPool
from ._twins import corrected_runs, runs_of_scaled

Attempt = Callable[[Sequence[Request], Sequence[str]], Sequence[ExpectedScore | str | None] | None]
"""From requests that differ in the scoring, and why the ways before had no score, to the scores.

None if the way is not for such requests; a reason, or InexactError for all, if it has no score."""


def alone(attempt: Callable[[Request], ExpectedScore | None]) -> Attempt:
    """The way that finds the scores one by one."""
    return lambda asked, _whys: list(map(attempt, asked))


EXACT = (alone(closed_form), every_split)
WAYS: dict[str, tuple[Attempt, ...]] = {
    "exact": EXACT,
    "sampled": (plain_runs,),
    "auto": (*EXACT, runs_of_scaled, alone(nested_runs), searched_runs, corrected_runs),
}
"""The ways of the methods of `expected_score`, in the order in which they are tried."""
SCORER_WAYS = (*EXACT, runs_of_scaled)
"""The ways of scorers, which do not run scikit-learn."""


class _Options(TypedDict, total=False):
    """The arguments of `expected_score` that do not decide what it returns."""

    cv: Any
    groups: Any
    method: str
    n_draws: int
    precision: float | None
    n_runs: int | None
    random_state: Any
    transductive: bool
    average: str
    tol: float
    n_jobs: int | None
    progress: bool
    test: Any


@overload
def expected_score(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    scoring: str | Callable[..., Any] | Array | list[list[float]] | None = None,
    **options: Unpack[_Options],
) -> ExpectedScore: ...


@overload
def expected_score(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    scoring: list[str] | tuple[str, ...] | set[str] | Mapping[str, Any],
    **options: Unpack[_Options],
) -> dict[str, ExpectedScore]: ...


def expected_score(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    scoring: Any = None,
    groups: Any = None,
    method: str = "auto",
    n_draws: int = 1000,
    precision: float | None = None,
    n_runs: int | None = None,
    random_state: Any = 0,
    transductive: bool = False,
    average: str = "folds",
    tol: float = 1e-12,
    n_jobs: int | None = None,
    progress: bool = False,
    test: Any = None,
) -> Any:
    """Compute the expectation of ``cross_val_score(estimator, X, y, cv=cv, scoring=scoring).mean()``.

    The expectation is over the splitter's random numbers, i.e. over *all* seeds, even if `cv` has an
    integer ``random_state``. No random state of the caller is used or changed.

    Parameters
    ----------
    estimator : KNeighborsClassifier, KNeighborsRegressor, or Pipeline that ends with one
        With any metric; also RadiusNeighborsClassifier and RadiusNeighborsRegressor, with equal weights.
        With weights "distance" or a function of the distances, the score is exact where all sets
        of the nearest training samples can be counted: always for leave-one-out, for ``n_neighbors=1``, and
        usually for few neighbors. The earlier steps of a pipeline leave it exact if
        they are stateless (like Normalizer, Binarizer, FunctionTransformer), or `transductive`. For all
        else see `method`.
    X : array or sparse matrix of shape (n_items, n_features)
        The samples; square if ``metric="precomputed"``.
    y : array of shape (n_items,) or (n_items, n_outputs)
        Labels or values; of several outputs, `ExpectedScore.per_output` has the score of each.
    cv : int, splitter, iterable of splits, or None, default 5
        As in scikit-learn; None is 5. Exact are ``KFold``, ``StratifiedKFold`` and ``GroupKFold`` with
        ``shuffle=True``, their repeated versions, ``ShuffleSplit``, ``StratifiedShuffleSplit``,
        ``GroupShuffleSplit``, and the splitters that leave out samples or groups. An integer means folds
        without shuffling. For these, and for all other splitters that always make the same splits,
        scikit-learn computes the score, nothing is averaged, and the result reports this.
    scoring : str, scorer, array of shape (n_classes, n_classes), list or mapping of these, or None
        "accuracy" (the default of classifiers), "balanced_accuracy", "neg_mean_squared_error",
        "neg_mean_absolute_error" (of a regressor with few neighbors, as with weights), "neg_brier_score" (a
        class that is not in a training set has no vote; scikit-learn raises an error), "neg_log_loss" if
        all folds have samples of every class (but for a share of the splits that is below `tol`), for one
        neighbor and stratified folds "roc_auc" and "roc_auc_ovo", "recall" and "recall_macro" if every test
        set has samples of every class, scorings that are equal to one of these ("recall_micro",
        "recall_weighted", "precision_micro", "f1_micro"), scorers that ``make_scorer`` makes of these
        scores and of ``zero_one_loss``, or a matrix of costs (rows true, columns predicted, in sorted label
        order), whose score is the expected cost. For several labels of each sample "mean_accuracy", the
        mean over samples and outputs, and ``make_scorer(hamming_loss)``; "accuracy" is the share of the
        samples with all labels right, exact for one neighbor. Several scorings: a list of names, or a
        mapping of names to any of these (a list of lists is a matrix of costs).
    groups : array of shape (n_items,), optional
        For the splitters that use them.
    method : {"auto", "exact", "sampled"}, default "auto"
        "auto": exact if there is a closed form. If weights, an absolute error or the number of sets of
        groups are what prevents it, the score is estimated from `n_draws` training sets for each such
        sample, drawn for this sample alone. Otherwise it is the mean
        of random runs, see `precision`, with the exact confusion table (or squared error) of the same runs
        as control variate: for any scoring that ``make_scorer`` makes, and with `StandardScaler`,
        `MinMaxScaler`, `MaxAbsScaler` or `RobustScaler` within the folds. A ``GridSearchCV`` of these, by
        one scoring and with KFold or StratifiedKFold inside, is repeated in every training set. All else
        runs scikit-learn, as "sampled"; the exact accuracy of steps that are fitted once serves as control
        variate.
        "exact": raise an error if there is no exact score. "sampled": run scikit-learn with `n_runs`
        reseeded copies of the splitter, for any estimator and scoring.
    n_draws : int, default 1000
        Number of training sets that "auto" draws for a sample; `std_error` falls with its square root, or
        faster.
    precision : float, optional
        The wanted standard error where the score is a mean of random runs: a pilot tells how many there
        have to be, at most 20,000, or 2,000 if scikit-learn has to fit the estimator. Default:
        ``0.01 / sqrt(n_items)``, times the score if that has no bound of 1, such as an error, a log loss, a
        cost or a function that is not scikit-learn's; this is a fiftieth of what other data would change.
        If you ask for no precision, scikit-learn fits only 20 times, and there are at most 5,000 runs
        (1,000 if predictions are listed, 200 if scikit-learn scores them, 256 of searches) for scores
        without bound, and where all runs have the same score. What was reached is ``std_error``.
    n_runs : int, optional
        The number of random runs, whatever their error, in place of `precision`.
    random_state : int, numpy Generator or RandomState, or None, default 0
        Seed of the draws and the runs.
    transductive : bool, default False
        Fit copies of the earlier steps of a pipeline once, to all samples, without labels, and with a fixed
        seed unless they have an integer ``random_state``. This is a different experiment, in which the
        features of the tested samples are known in advance. Steps that use labels are refused.
    average : {"folds", "pooled"}, default "folds"
        "folds": the mean of the scores of the folds. "pooled": all classifications of all splits have equal
        weight (for k-fold, the score of ``cross_val_predict``). They differ if the folds differ in size.
    tol : float, default 1e-12
        Admissible error of the closed forms.
    n_jobs : int, optional
        Threads of knnccv (default: all processors), or jobs of scikit-learn (default: its own).
    progress : bool, default False
        Show a progress bar (needs tqdm) over all stages; its total grows when a further stage begins.
    test : pair (X_test, y_test), optional
        A fixed test set. X and y are then a pool: every training set that `cv` draws from them is scored on
        the test set, and what `cv` would test is not used; `groups` are those of the pool. Not for
        ``metric="precomputed"``. `transductive` steps are fitted to the pool and the test set. Five
        folds train on four fifths of X at a time; ``cv=[(rows, rows)]`` with ``rows = np.arange(len(X))``
        trains on all of X, as ``estimator.fit(X, y).score(X_test, y_test)``.

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
        If scikit-learn is missing, or tqdm for `progress`.

    Warns
    -----
    SupervisedDistanceWarning
        If it is unknown whether a transductive step uses labels, since two fits to the same data with the
        same seed differ.
    UserWarning
        If tested samples have no neighbor within a radius, and there is no `outlier_label`.

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
    >>> round(result.score, 6), result.is_exact
    (0.712135, True)
    """
    needs_sklearn()
    from sklearn.base import is_classifier
    from sklearn.model_selection import check_cv

    check_pool(None, None, progress)
    check_choice("method", method, tuple(WAYS))
    _check_options(average, tol, n_draws, transductive)
    check_precision(precision, n_runs)
    if isinstance(estimator, type):
        msg = f"estimator must be an instance, got the class {estimator.__name__}; call it first"
        raise TypeError(msg)
    check(hasattr(estimator, "fit"), "estimator must be an estimator of scikit-learn", estimator, TypeError)
    target = as_target(estimator, X, y)
    if isinstance(cv, Design):
        msg = f"cv is knnccv's own {cv!r}: use knnccv.complete_cv, or a splitter of scikit-learn"
        raise TypeError(msg)
    must = "cv must be a number of folds, a splitter or splits"
    check(not isinstance(cv, (bool, type)), must, cv, TypeError)
    scoring = scoring_of_search(estimator) if scoring is None else scoring
    scorings = several(scoring)
    for one in [scoring] if scorings is None else scorings.values():
        check_answers(estimator, for_sklearn(one, target), one, target)
    splitter = check_cv(cv, target, classifier=is_classifier(estimator))
    n_tested = 0
    if test is not None:
        n_tested, X, target = with_test_set(estimator, X, target, test)
        splitter = FromPool(splitter, n_tested)
    prepared = prepare(estimator, X, target, bool(transductive))
    prepared = replace(prepared, n_tested=n_tested)
    if groups is None and test is None:
        warn_of_rows(X, target)
    n_draws = int(n_draws) if method == "auto" else 0
    request = Request(
        prepared, X, target, splitter, groups=groups, average=average, tol=tol, n_jobs=n_jobs,
        seed=_seed_of(random_state), precision=precision, n_runs=n_runs, n_draws=n_draws,
    )  # fmt: skip
    with one_bar(progress):
        named = {None: scoring} if scorings is None else scorings
        asked = [replace(request, scoring=one) for one in named.values()]
        request.family.extend(asked)
        scores = first_scores(asked, WAYS[method], "method='sampled' was requested")
    every: dict[Any, ExpectedScore] = {}
    for name, found in zip(named, scores, strict=True):
        if isinstance(found, str):
            remedy = "pass method='auto', which draws random runs and gives a standard error"
            which = "" if scorings is None else f" of {name!r}"
            msg = f"{remedy}: there is no exact expected score{which}: {found}"
            raise ValueError(msg)
        every[name] = found
    warn_of_ties(every.values(), request)
    return every[None] if scorings is None else every


def _seed_of(random_state: Any) -> int:
    """The seed of all random numbers, so that several scorings get the same ones."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return fixed_seed(random_state)


def _check_options(average: Any, tol: Any, n_draws: Any, transductive: Any) -> None:
    """Check what `expected_score` and `ccv_scorer` have in common."""
    check_choice("average", average, AVERAGES)
    check_tol(tol)
    check_n_draws(n_draws)
    check_bool("transductive", transductive)


def first_score(request: Request, ways: Sequence[Attempt], why: str = "") -> ExpectedScore:
    """The score of the first way that has one.

    Raises
    ------
    InexactError
        If none has: the reason of the last one that gave any.
    """
    (found,) = first_scores([request], ways, why)
    if isinstance(found, str):
        raise InexactError(found)
    return found


def first_scores(asked: Sequence[Request], ways: Sequence[Attempt], why: str) -> list[ExpectedScore | str]:
    """The same for requests that differ in the scoring; the reasons where no way has a score."""
    found: list[ExpectedScore | str] = [why] * len(asked)
    for way in ways:
        left = [at for at, one in enumerate(found) if isinstance(one, str)]
        for at, one in zip(
            left, _attempt(way, [asked[at] for at in left], [str(found[at]) for at in left]), strict=True
        ):
            found[at] = one if isinstance(one, str) else replace(one, _evaluation=HalfRuns(asked[at]))
    return found


def _attempt(way: Attempt, asked: Sequence[Request], whys: list[str]) -> list[ExpectedScore | str]:
    """The scores that a way has, and the reasons why not; one by one if not all have them."""
    try:
        found = (way(asked, whys) if asked else None) or [None] * len(asked)
    except InexactError as reason:
        if len(asked) == 1:
            return [str(reason)]
        return [_attempt(way, [one], [why])[0] for one, why in zip(asked, whys, strict=True)]
    return [why if one is None else one for one, why in zip(found, whys, strict=True)]


def scores_of(
    estimator: Any,
    neighbors: Neighbors,
    y: Any,
    cv: Design,
    scoring: Mapping[str, Any],
    *,
    random_state: Any = 0,
    n_jobs: int | None = None,
    precision: float | None = None,
) -> dict[str, ExpectedScore | str]:
    """The expected scores of a rule whose neighbors are known, under a design of knnccv, by name.

    Parameters
    ----------
    estimator : KNeighborsClassifier or KNeighborsRegressor
        The rule; the neighbors decide instead of its metric.
    neighbors : Neighbors
        Of any samples. If `cv` leaves one group out, each sample has one training set, and scorings are
        those of all predictions together.
    scoring : mapping of str to str or scorer
        As of `named_scorings`, which has checked them.

    Returns
    -------
    dict of str to ExpectedScore or str
        Or why there is none, such as a score that is undefined in too many runs.
    """
    from sklearn.base import is_classifier

    target = encode_labels(y) if is_classifier(estimator) else None
    y = np.asarray(y, float) if target is None else target.classes[target.codes]
    X = np.zeros((len(y), 1))
    prepared = Prepared(estimator, X, neighbors=neighbors)
    request = Request(prepared, X, y, cv, n_jobs=n_jobs, seed=_seed_of(random_state), precision=precision)
    ways: tuple[Attempt, ...] = SCORER_WAYS
    if isinstance(cv, LeaveGroupsOut) and cv.p == 1:
        request = replace(request, groups=cv.codes, joined=True, ties="index")
        near = in_other_groups(neighbors, cv.codes)
        nearest = near.kneighbors(estimator.n_neighbors, n_jobs=n_jobs)
        ways = (alone(lambda one: _score_together(one, *nearest)),)
    found: dict[str, ExpectedScore | str] = {}
    for name, one in scoring.items():
        try:
            found[name] = first_score(replace(request, scoring=one), ways)
        except ValueError as error:
            found[name] = str(error)
    return found


def _score_together(request: Request, items: Array, distances: Array) -> ExpectedScore:
    """The score of one prediction for every sample, by its nearest training samples."""
    outputs = outputs_of(request, items[None], distances[None])
    (score,) = score_outputs(request, np.zeros((1, len(items)), np.int32), outputs, 1)
    return request.answer(score, "the score of all predictions together")


@dataclass(frozen=True, eq=False, repr=False)
class ccv_scorer:  # it is called like scikit-learn's make_scorer
    """A scorer for scikit-learn that averages over all splits of its data.

    It reads ``n_neighbors``, ``weights`` and ``metric`` from the fitted estimator. With ``cv=WholeData()``
    a search over parameters is exact. Within other folds it fails: it would get only tested samples.

    Parameters
    ----------
    cv : int, design, or splitter of scikit-learn's, default 5
        A design of knnccv (`Subsample`, `KFold`, …) or any `cv` of `expected_score`; an integer is a number
        of folds over all shuffles, stratified for a classifier (as in `knnccv.complete_cv`).
    scoring : optional
        As for `expected_score`, but a single one. A matrix of costs gives *minus* the expected cost, since
        scikit-learn maximizes scores. A search accepts several scorers as a mapping,
        ``scoring={"accuracy": ccv_scorer(), "balanced": ccv_scorer(scoring="balanced_accuracy")}``.
    groups : array of shape (n_items,), optional
        For splitters that use groups: one group for each sample that the scorer gets.
    average : {"folds", "pooled"}, default "folds"
        As for `expected_score`.
    ties : {"index", "random"}, optional
        The order of tied training samples. Default: the order of the splitter; "random" for numbers of
        folds and designs of knnccv, as in `complete_cv`.
    tol, n_jobs
        As for `expected_score`.
    transductive : bool, default False
        True fits steps of a pipeline once to all samples, without labels. False fits the scalers that
        `expected_score` names within the folds, by random runs, and refuses others that are fitted to data.
    method : {"auto", "exact"}, default "auto"
        What happens if there is no exact score. "exact": an error. "auto": the score is estimated from
        drawn training sets or random runs, as by `expected_score`, on the same splits for every estimator.
    n_draws : int, default 1000
        The number of training sets that are drawn for each sample, if weights are what prevents it.
    precision, n_runs : float, int, optional
        The wanted standard error, or the number, of random runs; see `expected_score`.
    random_state : int, default 0
        Seed of draws and runs.

    Raises
    ------
    ValueError, TypeError
        If an argument is not allowed. When the scorer is called: if there is no exact score, if the
        estimator was fitted to other samples (for example by ``cv=5`` instead of ``cv=WholeData()``), or if
        a step uses labels.

    Warns
    -----
    SupervisedDistanceWarning
        When the scorer is called, if it is unknown whether a step uses labels, since two fits to the same
        data differ.
    CopiesWarning
        At the first call, if many rows repeat another with the same label, as copies do.

    Notes
    -----
    scikit-learn's searches turn errors of scorers into warnings and scores of nan, unless
    ``error_score="raise"`` is set.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from knnccv import Subsample
    >>> from knnccv.datasets import load_wine
    >>> from knnccv.sklearn import WholeData, ccv_scorer
    >>> wine = load_wine()
    >>> search = GridSearchCV(
    ...     KNeighborsClassifier(),
    ...     {"n_neighbors": range(1, 10)},
    ...     scoring=ccv_scorer(Subsample(0.8)),
    ...     cv=WholeData(),
    ... ).fit(wine.X, wine.y)
    >>> search.best_params_, round(float(search.best_score_), 6)
    ({'n_neighbors': 1}, 0.749089)
    """

    cv: Any = 5
    scoring: Any = None
    _: KW_ONLY
    groups: Any = None
    average: str = "folds"
    ties: str | None = None
    tol: float = 1e-12
    n_jobs: int | None = None
    transductive: bool = False
    method: str = "auto"
    n_draws: int = 1000
    precision: float | None = None
    n_runs: int | None = None
    random_state: int = 0

    def __post_init__(self) -> None:
        needs_sklearn()
        check_choice("method", self.method, ("exact", "auto"))
        _check_options(self.average, self.tol, self.n_draws, self.transductive)
        check_precision(self.precision, self.n_runs)
        if self.ties is not None:
            check_choice("ties", self.ties, TIES)
        check_integer("random_state", self.random_state, 0)
        mapping = "a mapping of names to scorers: scoring={name: ccv_scorer(..., scoring=name), ...}"
        msg = f"ccv_scorer computes one score, got scoring={self.scoring!r}; a search accepts several as"
        check(several(self.scoring) is None, f"{msg} {mapping}", error=TypeError)
        cv = self.cv
        if isinstance(cv, Integral):
            check_integer("cv", cv, 2)
        else:
            splits = not isinstance(cv, (str, type)) and (hasattr(cv, "split") or isinstance(cv, Design))
            check(splits, "cv must be a number of folds, a design or a splitter", cv, TypeError)

    def __repr__(self) -> str:
        given = []
        for field in fields(self):
            value, usual = getattr(self, field.name), field.default
            differs = value is not usual and (usual is None or value != usual)
            if differs or field.name in ("cv", "scoring"):
                given.append(f"{field.name}={value!r}")
        return f"ccv_scorer({', '.join(given)})"

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Compute the expected score of the estimator's rule over all splits of these samples."""
        target = as_target(estimator, X, y)
        if self.groups is None and not getattr(self.cv, "leaves_groups", False):
            if "_looked" not in self.__dict__:  # once, not for every candidate of a search
                warn_of_rows(X, target)
            self.__dict__["_looked"] = True
        prepared = prepare(estimator, X, target, self.transductive, fitted=True)
        try:
            score = first_score(request_of(self, prepared, X, target), ways_of(self)).score
        except InexactError as error:
            msg = f"ccv_scorer has no exact score: {error}"
            raise ValueError(msg) from error
        return -score if is_costs(self.scoring) else score


def request_of(scorer: ccv_scorer, prepared: Prepared, X: Any, y: Array) -> Request:
    """What a scorer asks of an estimator."""
    from sklearn.base import is_regressor

    cv = scorer.cv
    if isinstance(cv, Integral):
        cv = (KFold if is_regressor(prepared.estimator) else StratifiedKFold)(int(cv))
    return Request(
        prepared, X, y, cv, scorer.scoring, scorer.groups, scorer.average, scorer.tol, scorer.n_jobs,
        n_draws=scorer.n_draws if scorer.method == "auto" else 0, precision=scorer.precision,
        n_runs=scorer.n_runs, seed=int(scorer.random_state), ties=scorer.ties,
    )  # fmt: skip


def ways_of(scorer: ccv_scorer) -> tuple[Attempt, ...]:
    """The ways that a scorer takes to its score."""
    return EXACT if scorer.method == "exact" else SCORER_WAYS
