"""A scorer and a splitter that bring complete cross-validation into scikit-learn's searches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from .._typing import Array
from .._validation import check_bool, check_choice, check_integer, check_tol
from ..designs import Design, KFold, StratifiedKFold
from ..driver import TIES
from ._estimators import InexactError, as_target, length_of, needs_sklearn
from ._exact import AVERAGES, ScoreRequest, exact_score
from ._scoring import is_costs, several
from ._steps import prepare


def ccv_scorer(
    cv: Any = 5,
    scoring: Any = None,
    *,
    groups: Any = None,
    average: str = "folds",
    ties: str | None = None,
    tol: float = 1e-12,
    n_jobs: int | None = None,
    transductive: bool = False,
) -> _CCVScorer:
    """A scorer for scikit-learn that averages over all splits of the data it is given.

    It reads ``n_neighbors``, ``weights`` and ``metric`` off the fitted estimator. Beside ``cv=WholeData()``
    it makes a search over parameters exact: one "fold", no luck. Within other folds it refuses to score,
    since it would see only what they test.

    Parameters
    ----------
    cv : int, design, or splitter of scikit-learn's, default 5
        A design of knnccv's (`Subsample`, `KFold`, …) or whatever `expected_score` takes; an integer is
        that number of folds over all shuffles, stratified for a classifier (as in `knnccv.complete_cv`).
    scoring : optional
        As for `expected_score`, but one; a matrix of costs gives *minus* the expected cost, since
        scikit-learn takes the greatest score for the best. A search takes several as a mapping,
        ``scoring={"accuracy": ccv_scorer(), "balanced": ccv_scorer(scoring="balanced_accuracy")}``.
    groups : array of shape (n_items,), optional
        For splitters that use groups. The scorer must then be given all these samples.
    average : {"folds", "pooled"}, default "folds"
        As for `expected_score`.
    ties : {"index", "random"}, optional
        How equally similar training samples are ordered. Default: as the splitter orders them; "random" for
        numbers of folds and designs of knnccv's, as in `complete_cv`.
    tol, n_jobs
        As for `expected_score`.
    transductive : bool, default False
        As for `expected_score`: steps of a pipeline that are fitted to data, such as ``StandardScaler``,
        are refused unless they may have seen the features of all samples, the tested ones included. They
        must not have looked at labels.

    Returns
    -------
    callable
        ``scorer(estimator, X, y)`` → float. It can be pickled.

    Raises
    ------
    ValueError, TypeError
        If an argument is not allowed; when it is called, if there is no exact answer, if the estimator was
        fitted to other samples than it is given (a ``cv=5`` in place of ``cv=WholeData()``), or if a step
        looks at labels.

    Warns
    -----
    SupervisedDistanceWarning
        When it is called, if nobody can tell whether a step looks at labels, since two fits to the same
        data differ.

    Notes
    -----
    scikit-learn's searches turn errors of scorers into warnings and scores of nan, unless they are given
    ``error_score="raise"``.

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
    needs_sklearn()
    check_choice("average", average, AVERAGES)
    if ties is not None:
        check_choice("ties", ties, TIES)
    check_tol(tol)
    if several(scoring) is not None:
        msg = (
            f"ccv_scorer gives one score, got scoring={scoring!r}; a search takes several as a mapping of "
            "names to scorers: scoring={name: ccv_scorer(..., scoring=name), ...}"
        )
        raise TypeError(msg)
    if isinstance(cv, Integral):
        cv = check_integer("cv", cv, 2)
    elif isinstance(cv, (str, type)) or not (hasattr(cv, "split") or isinstance(cv, Design)):
        msg = f"cv must be a number of folds, a design or a splitter, got {cv!r}"
        raise TypeError(msg)
    transductive = check_bool("transductive", transductive)
    return _CCVScorer(cv, scoring, groups, average, ties, tol, n_jobs, transductive)


@dataclass(frozen=True, eq=False)
class _CCVScorer:
    """See `ccv_scorer`."""

    cv: Any
    scoring: Any
    groups: Any
    average: str
    ties: str | None
    tol: float
    n_jobs: int | None
    transductive: bool

    def __repr__(self) -> str:
        defaults = {
            "groups": None,
            "average": "folds",
            "ties": None,
            "tol": 1e-12,
            "n_jobs": None,
            "transductive": False,
        }
        given = [f"cv={self.cv!r}", f"scoring={self.scoring!r}"]
        for name, usual in defaults.items():
            value = getattr(self, name)
            if value is not usual and (usual is None or value != usual):
                given.append(f"{name}={value!r}")
        return f"ccv_scorer({', '.join(given)})"

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """The expected score of the rule that the estimator follows, over all splits of these samples."""
        from sklearn.base import is_regressor

        target = as_target(estimator, X, y)
        prepared = prepare(estimator, X, target, self.transductive, fitted=True)
        regression = is_regressor(estimator)
        cv = self.cv
        if isinstance(cv, int):
            cv = KFold(cv) if regression else StratifiedKFold(cv)
        asked = ScoreRequest(
            prepared, X, target, cv, self.groups, self.scoring, self.average, self.tol, self.n_jobs
        )
        try:
            score = exact_score(asked, regression, self.ties).score
        except InexactError as error:
            msg = f"ccv_scorer has no exact score: {error}"
            raise ValueError(msg) from error
        return -score if is_costs(self.scoring) else score


class WholeData:
    """A splitter that trains on all samples and tests on all samples, for scorers that split by themselves.

    Only beside `ccv_scorer`. With an ordinary scorer, such as ``scoring="accuracy"``, it reports training
    scores: every sample is among its own neighbors then, and one neighbor is always right.

    Examples
    --------
    >>> from knnccv.sklearn import WholeData
    >>> list(WholeData().split([[0.0], [1.0]]))
    [(array([0, 1]), array([0, 1]))]
    """

    def __repr__(self) -> str:
        return "WholeData()"

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Array, Array]]:  # noqa: ARG002
        """One split: all samples, and all samples."""
        rows = np.arange(length_of(X))
        yield rows, rows.copy()

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        """1."""
        return 1
