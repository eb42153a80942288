"""`RIBClassifier`, an estimator of scikit-learn."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from .._base.labels import EncodedLabels, encode_labels, is_missing
from .._base.parallel import check_pool
from .._base.typing import Array
from .._base.validation import check, check_choice, check_integer
from ..designs import Subsample
from ..neighbors import Neighbors, SupervisedDistanceWarning
from ..neighbors.hvdm import FAR, HEOM, HVDM, LEAVE_ONE_OUT, Statistics, Table, as_array
from ._search import DIGITS, Evaluator, greedy, grid
from ._votes import VOTE_WEIGHTINGS, Setting, VoteLists, check_votes, decide

METRICS = ("hvdm", "heom", "euclidean")
FITNESSES = ("cvc", "lcv", "ccv")
SEARCHES = ("greedy", "grid")
VOTE_TIES = ("nearest", "smallest")
TOL = 1e-12
"""Admissible error of complete cross-validation scores that are compared."""


@dataclass(eq=False, repr=False)
class RIBClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Refined instance-based learning: k nearest neighbors with vote weights that are tuned on the data.

    The default distance handles numeric, categorical and missing values. Leave-one-out results choose the
    number of neighbors, the kernel that reduces the votes with the distance, the weight of the k-th vote
    and the distance scale. Neighbors are searched once; afterwards a setting costs O(k n).

    Parameters
    ----------
    metric : {"hvdm", "heom", "euclidean"}, default "hvdm"
        `knnccv.neighbors.hvdm.HVDM`, its `HEOM`, or the Euclidean distance of complete numeric tables.
    nominal : sequence of column names or numbers, or bool mask, optional
        Nominal (categorical) columns, in addition to those of a data frame with a categorical, object, bool
        or string dtype.
    leave_one_out : {"exact", "fixed"}, default "exact"
        Whether the statistics of HVDM exclude the sample whose neighbors are searched; see `HVDM`.
    fitness : {"cvc", "lcv", "ccv"}, default "cvc"
        The maximized score. "cvc": leave-one-out accuracy, with ties broken by the mean confidence. "lcv":
        leave-one-out accuracy. "ccv": the accuracy of majority votes over *all* training sets of size
        `train_size` (complete cross-validation; tied votes go to the smallest label). It rarely ties, and
        chooses k only.
    search : {"greedy", "grid"} or None, default "greedy"
        "greedy": one parameter at a time, as in [1]_. "grid": all combinations of k from 2, three kernels,
        D_k and D'_k, and `n_w_k` equally spaced w_k. Both end with majority votes of all k. None: the given
        parameters.
    n_neighbors, kernel, w_k, avgk
        The parameters of the votes for ``search=None``, and the start of the greedy search; see
        `vote_weights`. Defaults: 3, "linear", 0.5 and False. "majority" ignores `w_k` and `avgk`; the
        greedy search then starts from the linear kernel with w_k = 1, which is equivalent. `n_neighbors` is
        reduced to n_items - 1, and to `max_k` in a search, if it is larger.
    max_k : int, default 30
        The largest k of a search; at most n_items - 1 is used.
    patience : int, default 10
        The number of iterations without improvement after which the greedy search ends.
    n_w_k : int, default 1001
        The number of w_k in the grid. 1001 values include every w_k that the greedy search can try if it
        starts from a multiple of 0.001, so it cannot find a better one. 26 values give a grid of 4,524
        settings.
    train_size : int or float, default 0.9
        For ``fitness="ccv"``: the number of samples in a training set, or their share.
    vote_ties : {"nearest", "smallest"}, default "nearest"
        "nearest": a tied vote goes to the nearest of the tied classes (if their distances tie, to the
        smallest label). "smallest": to the smallest label, as in scikit-learn.
    random_state : int, RandomState, Generator or None, default 0
        Seed of the greedy search.
    n_jobs : int, optional
        Threads. Default: all processors that this process may use. The result does not depend on it.
    verbose : bool or int, default False
        Print the steps of the search.
    progress : bool, default False
        Show a progress bar (needs tqdm) while a grid is evaluated.

    Attributes
    ----------
    best_params_ : dict
        "n_neighbors", "kernel", "w_k" and "avgk"; the last two are None for majority votes.
    cvc_, lcv_, confidence_ : float
        The leave-one-out scores of these parameters on the fitted samples, for every `fitness`.
    ccv_ : float
        The complete cross-validation score of the chosen k (``fitness="ccv"`` only).
    n_train_ : int
        The size of its training sets (``fitness="ccv"`` only).
    search_path_ : list of dict
        The steps of the search: the varied parameter, the best setting of the step, its fitness, whether it
        was the best so far, and the number of evaluated settings.
    neighbors_ : Neighbors
        Lists of the max_k nearest neighbors of all fitted samples, used by every evaluation.
    metric_ : HVDM or HEOM
        The fitted distance.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_, feature_names_in_
        The number of columns, and their names if the table has any.

    Notes
    -----
    The paper does not define vote ties, start values and weights that all vanish; see the parameters above
    and `vote_weights`. Of settings with equal fitness, the first in the order k, kernel, D_k before D'_k,
    w_k is chosen. Of samples with equal distances, the first in the data is nearer. The scores are
    optimistic, since the parameters are chosen on the same samples; cross-validate the whole estimator for
    a valid score.

    References
    ----------
    .. [1] Wilson, D. R. & Martinez, T. R. (1999). Combining cross-validation and confidence to measure
       fitness. IJCNN'99, Figure 2.

    Examples
    --------
    >>> from knnccv.datasets import load_wine
    >>> from knnccv.rib import RIBClassifier
    >>> wine = load_wine()
    >>> rib = RIBClassifier(random_state=0).fit(wine.X, wine.y)
    >>> rib.predict(wine.X[:3])
    array([1, 1, 1])
    >>> rib.lcv_ > 0.95
    True
    """

    metric: str = "hvdm"
    _: KW_ONLY
    nominal: Any = None
    leave_one_out: str = "exact"
    fitness: str = "cvc"
    search: str | None = "greedy"
    n_neighbors: int = 3
    kernel: str = "linear"
    w_k: float = 0.5
    avgk: bool = False
    max_k: int = 30
    patience: int = 10
    n_w_k: int = 1001
    train_size: float = 0.9
    vote_ties: str = "nearest"
    random_state: Any = 0
    n_jobs: int | None = None
    verbose: bool | int = False
    progress: bool = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        mixed = self.metric != "euclidean"
        tags.input_tags.allow_nan = mixed
        tags.input_tags.categorical = mixed
        tags.input_tags.string = False
        return tags

    def fit(self, X: Any, y: Any) -> RIBClassifier:
        """Find the neighbors of every sample and choose the parameters of the votes.

        Parameters
        ----------
        X : pandas.DataFrame or array of shape (n_items, n_features)
            At least 2 samples. Missing values (None, NaN, NaT, pandas.NA, masked entries) are allowed
            except for ``metric="euclidean"``. Numbers must be finite.
        y : array of shape (n_items,)
            Class labels.

        Returns
        -------
        RIBClassifier
            The fitted estimator.

        Raises
        ------
        ValueError, TypeError
            If the table, the labels or a parameter is not allowed.

        Warns
        -----
        knnccv.neighbors.hvdm.IdentifierWarning
            If HVDM is fitted to a nominal column that is close to an identifier.
        """
        start = self._check_parameters()
        flat = _checked_labels(y)
        table = _checked_table(self, X, fitting=True)
        labels = encode_labels(flat, len(table))
        self.classes_ = labels.classes
        self._codes_ = labels.codes
        self.metric_ = _distance(self.metric, self.nominal, self.leave_one_out)
        self.metric_.warns_at += 1  # warnings name the caller of this method
        self.metric_.fit(table, labels.classes[labels.codes])
        n_items = self.metric_.n_items_
        depth = min(self.max_k if self.search or self.fitness == "ccv" else self.n_neighbors, n_items - 1)
        start = replace(start, n_neighbors=min(start.n_neighbors, depth))
        near = self.metric_.neighbors()
        # Not asked for symmetry: distances may leave out the label of the sample whose list it is.
        lists = near.kneighbors(depth, n_jobs=self.n_jobs)
        self.neighbors_ = Neighbors.from_lists(*lists, approximate=True)
        self.neighbors_.approximate = near.approximate
        self.neighbors_.fitted_to_labels = near.fitted_to_labels
        self.neighbors_.metric = f"{near.metric} lists"
        # Read the lists back: roots may be equal where squares are not.
        found = self.neighbors_.kneighbors(depth, n_jobs=self.n_jobs)
        evaluator = Evaluator(
            VoteLists.of(*found, labels.codes, labels.codes),
            confident=self.fitness != "lcv",
            nearest_first=self.vote_ties == "nearest",
            n_jobs=self.n_jobs,
            progress=self.progress and self.search == "grid",
            report=partial(_printed, n_items) if self.verbose else None,
        )
        for name in ("ccv_", "n_train_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if self.fitness == "ccv":
            self._choose_k_by_complete_cv(evaluator, labels.classes[labels.codes])
        elif self.search == "grid":
            grid(evaluator, self.n_w_k)
        elif self.search == "greedy":
            greedy(evaluator, start, self.patience, _generator(self.random_state))
        else:
            evaluator.try_one("given", start)
        assert evaluator.best is not None
        setting, fitness = evaluator.best
        self.best_params_ = asdict(setting)
        self.cvc_, self.lcv_, self.confidence_ = fitness.cvc, fitness.lcv, fitness.confidence
        self.search_path_ = evaluator.path
        return self

    def _check_parameters(self) -> Setting:
        check_choice("metric", self.metric, METRICS)
        check_choice("fitness", self.fitness, FITNESSES)
        check_choice("kernel", self.kernel, VOTE_WEIGHTINGS)
        check_choice("vote_ties", self.vote_ties, VOTE_TIES)
        if self.search is not None:
            check_choice("search", self.search, SEARCHES)
        for name, least in (("max_k", 1), ("n_neighbors", 1), ("patience", 1), ("n_w_k", 2)):
            check_integer(name, getattr(self, name), least)
        check_choice("leave_one_out", self.leave_one_out, LEAVE_ONE_OUT)
        check_integer("verbose", int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, 0)
        Subsample(self.train_size)
        msg = f"metric='euclidean' has no nominal columns, got nominal={self.nominal!r}"
        check(self.metric != "euclidean" or self.nominal is None, msg)
        check_pool(self.n_jobs, None, self.progress)
        if self.kernel == "majority":
            if self.search == "greedy":
                return Setting(self.n_neighbors, "linear", 1.0, False)
            return Setting(self.n_neighbors, self.kernel, None, None)
        w_k = check_votes(self.kernel, self.w_k, self.avgk)
        return Setting(self.n_neighbors, self.kernel, w_k, bool(self.avgk))

    def _choose_k_by_complete_cv(self, evaluator: Evaluator, y: Array) -> None:
        from .._core.scores.curves import surface

        (training_sets,) = Subsample(self.train_size).training_sets(encode_labels(y))
        self.n_train_ = training_sets.most_train
        ks = list(range(1, min(evaluator.depth, self.n_train_) + 1))
        # The default of `surface` does not distinguish scores that differ by less than a millionth.
        options: dict[str, Any] = {"ties": "index", "tol": TOL, "n_jobs": self.n_jobs}
        # The score chooses k; it is not reported as the score of new samples.
        with warnings.catch_warnings(action="ignore", category=SupervisedDistanceWarning):
            found = surface(self.metric_.neighbors(), y, ks, [self.n_train_], "knn", **options)
        scores = found.scores[:, 0]
        best = int(np.argmax(scores.round(DIGITS)))
        self.ccv_ = float(scores[best])
        evaluator.try_one("ccv", Setting(ks[best], "majority", None, None))

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None) -> tuple[Array, Array]:
        """Find the distances and indices of the nearest fitted samples.

        Parameters
        ----------
        X : pandas.DataFrame or array of shape (n_rows, n_features), optional
            Default: the fitted samples; no sample is its own neighbor.
        n_neighbors : int, optional
            1 to n_items, or 1 to max_k without `X`. Default: the chosen number.

        Returns
        -------
        distances : float64 ndarray of shape (n_rows, n_neighbors)
        indices : int32 ndarray of shape (n_rows, n_neighbors)
            The distances are first, as in scikit-learn; `HVDM` and `Neighbors` return the indices first.
        """
        check_is_fitted(self)
        wanted = self.best_params_["n_neighbors"] if n_neighbors is None else n_neighbors
        most = self.neighbors_.max_depth if X is None else self.metric_.n_items_
        k = check_integer("n_neighbors", wanted, 1, most)
        items, distances = self.neighbors_.kneighbors(k) if X is None else self._nearest(X, k)
        return distances, items

    def _nearest(self, X: Any, k: int) -> tuple[Array, Array]:
        return self.metric_.kneighbors(_checked_table(self, X, fitting=False), k, n_jobs=self.n_jobs)

    def _decide(self, X: Any) -> tuple[Array, Array]:
        check_is_fitted(self)
        chosen = Setting(**self.best_params_)
        lists = VoteLists.of(*self._nearest(X, chosen.n_neighbors), self._codes_)
        return decide(lists, len(self.classes_), chosen, self.vote_ties == "nearest")

    def predict(self, X: Any) -> Array:
        """Predict the class with most votes for every row.

        Parameters
        ----------
        X : pandas.DataFrame or array of shape (n_rows, n_features)
            Rows with the columns of the fitted table.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        _, chosen = self._decide(X)
        return self.classes_[chosen]

    def predict_proba(self, X: Any) -> Array:
        """Compute the classes' shares of the votes, the confidence of the paper.

        If a vote is tied, `predict` does not always choose the first of the largest shares; see
        `vote_ties`.

        Parameters
        ----------
        X : pandas.DataFrame or array of shape (n_rows, n_features)
            Rows with the columns of the fitted table.

        Returns
        -------
        float64 ndarray of shape (n_rows, n_classes)
            Columns are in the order of `classes_`.
        """
        return self._decide(X)[0]


def _printed(n_items: int, step: dict[str, Any]) -> None:
    print(
        "{parameter}: k={n_neighbors} {kernel} w_k={w_k} avgk={avgk}, ".format_map(step)
        + f"{step['n_correct']} of {n_items} right, confidence {step['confidence']:.4f}"
        + ", the best so far" * step["improved"]
    )


def _checked_table(estimator: Any, X: Any, *, fitting: bool) -> Any:
    """Check a table; data frames and arrays of objects stay unchanged for the distance to read."""
    plain = estimator.metric == "euclidean"
    # scikit-learn would drop a mask, and round large integers in lists that also hold fractions.
    if np.ma.isMaskedArray(X) or (isinstance(X, (list, tuple)) and not plain):
        X = as_array(X)
    kind = getattr(getattr(X, "dtype", None), "kind", None)
    frame = hasattr(X, "iloc") or hasattr(X, "to_pandas")
    if plain or not (frame or kind in ("O", "U", "S", "T")):
        return validate_data(
            estimator,
            X,
            reset=fitting,
            dtype=[np.float64, np.float32] if plain else "numeric",
            ensure_all_finite=True if plain else "allow-nan",
            ensure_min_samples=2 if fitting else 1,
        )
    validate_data(estimator, X, reset=fitting, skip_check_array=True)
    return X


def _distance(metric: str, nominal: Any, leave_one_out: str) -> HVDM | HEOM:
    """Create the distance with the name `metric`."""
    if metric == "hvdm":
        return HVDM(nominal=nominal, leave_one_out=leave_one_out)
    return HEOM(nominal=nominal) if metric == "heom" else _Euclidean()


class _Euclidean(HEOM):
    """Euclidean distance of numeric rows without missing values, with the interface of HEOM."""

    def _statistics(self, table: Table, labels: EncodedLabels | None) -> Statistics:
        plain = super()._statistics(table, labels)
        if np.abs(table.numbers).max() > FAR:
            largest = np.abs(table.numbers).max()
            msg = f"numbers must not exceed {FAR:g} for metric='euclidean', got {largest:g}"
            raise ValueError(msg)
        return replace(plain, exponents=np.zeros_like(plain.exponents), scales=np.ones_like(plain.scales))

    def neighbors(self, n_neighbors: int | None = None) -> Neighbors:
        return Neighbors.from_data(np.ascontiguousarray(self._table_.numbers.T), n_neighbors=n_neighbors)


def _checked_labels(y: Any) -> Array:
    """Check class labels and return them as a one-dimensional array."""
    check(y is not None, "RIBClassifier requires y to be passed, but the target y is None")
    flat = column_or_1d(y, warn=True)
    if flat.dtype.kind == "T" or (flat.dtype.kind == "O" and any(is_missing(label) for label in flat)):
        return encode_labels(flat).classes[encode_labels(flat).codes]  # raises an error if one is missing
    assert_all_finite(flat, input_name="y")
    check_classification_targets(flat)
    return flat  # type: ignore[no-any-return]


def _generator(random_state: Any) -> np.random.Generator:
    """Create a generator from every random state that scikit-learn allows."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))
