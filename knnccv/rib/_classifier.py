"""RIB as an estimator of scikit-learn."""

from __future__ import annotations

import warnings
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import assert_all_finite, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from .._labels import EncodedLabels, encode_labels, is_missing
from .._parallel import check_pool
from .._typing import Array
from .._validation import check_choice, check_integer
from ..designs import Subsample
from ..hvdm import FAR, HEOM, HVDM, LEAVE_ONE_OUT, Statistics, Table, as_array
from ..neighbors import Neighbors, SupervisedDistanceWarning
from ._search import DIGITS, Evaluator, Setting, Step, greedy, grid
from ._votes import VOTE_WEIGHTINGS, VoteLists, check_votes, decide

METRICS = ("hvdm", "heom", "euclidean")
FITNESSES = ("cvc", "lcv", "ccv")
SEARCHES = ("greedy", "grid")
VOTE_TIES = ("nearest", "smallest")
TOL = 1e-12  # of complete cross-validation scores that are compared


class RIBClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Refined instance-based learning: k nearest neighbors whose votes' weights are tuned on the data.

    Distances are by default heterogeneous, for numeric and nominal columns and unknown values. The number
    of neighbors, the kernel by which votes fall with the distance, the weight of the k-th vote and its
    scale are chosen by what leave-one-out tells; neighbors are searched once, and a setting costs O(k n)
    thereafter.

    Parameters
    ----------
    metric : {"hvdm", "heom", "euclidean"}, default "hvdm"
        `knnccv.hvdm.HVDM`, `knnccv.hvdm.HEOM`, or the Euclidean distance of complete numeric tables.
    nominal : sequence of column names or numbers, or bool mask, optional
        Nominal columns, beside those of a data frame whose dtype is categorical, object, bool or string.
    leave_one_out : {"exact", "fixed"}, default "exact"
        Whether HVDM's statistics leave out the sample whose neighbors are sought; see `HVDM`.
    fitness : {"cvc", "lcv", "ccv"}, default "cvc"
        What is maximized: leave-one-out accuracy with ties broken by the mean confidence; without; or the
        accuracy of plain votes over *all* training sets of size `train_size` (complete cross-validation, in
        which tied votes go to the smallest label), which hardly ever ties, and chooses k alone.
    search : {"greedy", "grid"} or None, default "greedy"
        "greedy": one parameter at a time, as in [1]_. "grid": all of k from 2, three kernels, D_k and D'_k,
        and `n_w_k` equally spaced w_k. Both end with majority votes of all k. None: the parameters as
        given.
    n_neighbors, kernel, w_k, avgk
        The votes, for ``search=None`` and where the greedy search starts; see `vote_weights`. `n_neighbors`
        is 3 by default, `kernel` "linear", `w_k` 0.5, `avgk` False. For "majority" `w_k` and `avgk` are not
        looked at; the greedy search then starts from the linear kernel with w_k = 1, which is the same.
        Where there are fewer than n_neighbors + 1 samples, or `max_k` is smaller, as many as there may be
        vote.
    max_k : int, default 30
        The largest k that is tried; never more than n_items - 1.
    patience : int, default 10
        After how many iterations without improvement the greedy search ends.
    n_w_k : int, default 1001
        Of the grid. 1001 hold every w_k that the greedy search can try when it starts from a multiple of
        0.001, so that it finds nothing better; 26 make the grid of 4,524 settings.
    train_size : int or float, default 0.9
        Of ``fitness="ccv"``: samples in a training set, or a share of them.
    vote_ties : {"nearest", "smallest"}, default "nearest"
        A tied vote goes to the nearest of the tied classes (equally near: to the smallest label), or to the
        smallest label as in scikit-learn.
    random_state : int, RandomState, Generator or None, default None
        Of the greedy search.
    n_jobs : int, optional
        Threads. Default: all processors that this process may use. The answer does not depend on it.
    verbose : bool or int, default False
        Print the steps of the search.
    progress : bool, default False
        Show a bar (needs tqdm) while a grid is evaluated.

    Attributes
    ----------
    best_params_ : dict
        "n_neighbors", "kernel", "w_k" and "avgk"; the last two are None for majority votes.
    cvc_, lcv_, confidence_ : float
        Of these parameters on the fitted samples, each left out, whatever the fitness was.
    ccv_ : float
        The complete cross-validation score of the chosen k (``fitness="ccv"`` only).
    n_train_ : int
        The size of its training sets (``fitness="ccv"`` only).
    search_path_ : list of dict
        The steps of the search: the parameter that was tried, the best setting then, its fitness, whether
        it was the best so far, and how many settings were evaluated.
    neighbors_ : Neighbors
        Lists of the max_k nearest of all fitted samples, which every evaluation used.
    metric_ : HVDM or HEOM
        The fitted distance.
    classes_ : ndarray of shape (n_classes,)
    n_features_in_, feature_names_in_
        The number of columns, and their names if the table had some.

    Notes
    -----
    The paper is silent on vote ties, on start values and on weights that all vanish; what is done there is
    said above and in `vote_weights`. Equal fitness: the first in the order k, kernel, D_k before D'_k, w_k.
    Equal distances: the sample that comes first. The scores are those of the fitted samples and chosen on
    them; an honest one comes from cross-validating the whole estimator.

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

    def __init__(
        self,
        metric: str = "hvdm",
        *,
        nominal: Any = None,
        leave_one_out: str = "exact",
        fitness: str = "cvc",
        search: str | None = "greedy",
        n_neighbors: int = 3,
        kernel: str = "linear",
        w_k: float = 0.5,
        avgk: bool = False,
        max_k: int = 30,
        patience: int = 10,
        n_w_k: int = 1001,
        train_size: float = 0.9,
        vote_ties: str = "nearest",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool | int = False,
        progress: bool = False,
    ) -> None:
        self.metric = metric
        self.nominal = nominal
        self.leave_one_out = leave_one_out
        self.fitness = fitness
        self.search = search
        self.n_neighbors = n_neighbors
        self.kernel = kernel
        self.w_k = w_k
        self.avgk = avgk
        self.max_k = max_k
        self.patience = patience
        self.n_w_k = n_w_k
        self.train_size = train_size
        self.vote_ties = vote_ties
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.progress = progress

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        mixed = self.metric != "euclidean"
        tags.input_tags.allow_nan = mixed
        tags.input_tags.categorical = mixed
        tags.input_tags.string = False
        return tags

    def fit(self, X: Any, y: Any) -> RIBClassifier:
        """Find every item's neighbors and choose the parameters of the votes.

        Parameters
        ----------
        X : pandas.DataFrame or array of shape (n_items, n_features)
            At least 2 samples. Unknown values (None, NaN, NaT, pandas.NA, masked) are allowed but with
            ``metric="euclidean"``. Numbers must be finite.
        y : array of shape (n_items,)
            Class labels.

        Returns
        -------
        RIBClassifier
            Itself.

        Raises
        ------
        ValueError, TypeError
            If the table, the labels or a parameter is not as described.

        Warns
        -----
        knnccv.hvdm.IdentifierWarning
            If HVDM meets a nominal column that is close to an identifier.
        """
        start = self._check_parameters()
        flat = _flat(y)
        table = self._checked(X, fitting=True)
        labels = encode_labels(flat, len(table))
        self.classes_ = labels.classes
        self._codes_ = labels.codes
        self.metric_ = self._distance()
        self.metric_.warns_at += 1  # the user's line is one further up
        self.metric_.fit(table, labels.classes[labels.codes])
        n_items = self.metric_.n_items_
        depth = min(self.max_k if self.search or self.fitness == "ccv" else self.n_neighbors, n_items - 1)
        near = self.metric_.neighbors()
        self.neighbors_ = Neighbors.from_lists(*near.kneighbors(depth, n_jobs=self.n_jobs))
        self.neighbors_.fitted_to_labels = near.fitted_to_labels
        self.neighbors_.metric = f"{near.metric} lists"
        # Anew, since roots may be equal where squares are not.
        found = self.neighbors_.kneighbors(depth, n_jobs=self.n_jobs)
        evaluator = Evaluator(
            VoteLists.of(*found, labels.codes, labels.codes),
            confident=self.fitness != "lcv",
            nearest_first=self.vote_ties == "nearest",
            n_jobs=self.n_jobs,
            progress=self.progress and self.search == "grid",
            report=_printed if self.verbose else None,
        )
        for name in ("ccv_", "n_train_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if self.fitness == "ccv":
            self._choose_by_complete_cv(evaluator, labels.classes[labels.codes])
        elif self.search == "grid":
            grid(evaluator, self.n_w_k)
        elif self.search == "greedy":
            rng = _generator(self.random_state)
            capped = Setting(min(start.n_neighbors, depth), start.kernel, start.w_k, start.avgk)
            greedy(evaluator, capped, self.patience, rng)
        else:
            given = Setting(min(start.n_neighbors, depth), start.kernel, start.w_k, start.avgk)
            evaluator.offer("given", given, evaluator.one(given))
        assert evaluator.best is not None
        setting, fitness = evaluator.best
        self.best_params_ = asdict(setting)
        self.cvc_, self.lcv_, self.confidence_ = fitness.cvc, fitness.lcv, fitness.confidence
        self.search_path_ = [step.as_dict() for step in evaluator.path]
        return self

    def _check_parameters(self) -> Setting:
        check_choice("metric", self.metric, METRICS)
        check_choice("fitness", self.fitness, FITNESSES)
        check_choice("kernel", self.kernel, VOTE_WEIGHTINGS)
        check_choice("vote_ties", self.vote_ties, VOTE_TIES)
        if self.search is not None:
            check_choice("search", self.search, SEARCHES)
        check_integer("max_k", self.max_k, 1)
        check_integer("n_neighbors", self.n_neighbors, 1)
        check_integer("patience", self.patience, 1)
        check_integer("n_w_k", self.n_w_k, 2)
        check_choice("leave_one_out", self.leave_one_out, LEAVE_ONE_OUT)
        check_integer("verbose", int(self.verbose) if isinstance(self.verbose, bool) else self.verbose, 0)
        Subsample(self.train_size)
        if self.metric == "euclidean" and self.nominal is not None:
            msg = f"metric='euclidean' has no nominal columns, got nominal={self.nominal!r}"
            raise ValueError(msg)
        check_pool(self.n_jobs, None, self.progress)
        if self.kernel == "majority":
            if self.search == "greedy":
                return Setting(self.n_neighbors, "linear", 1.0, False)
            return Setting(self.n_neighbors, self.kernel, None, None)
        w_k = check_votes(self.kernel, self.w_k, self.avgk)
        return Setting(self.n_neighbors, self.kernel, w_k, bool(self.avgk))

    def _distance(self) -> HVDM | HEOM:
        if self.metric == "hvdm":
            return HVDM(nominal=self.nominal, leave_one_out=self.leave_one_out)
        if self.metric == "heom":
            return HEOM(nominal=self.nominal)
        return _Euclidean()

    def _checked(self, X: Any, *, fitting: bool) -> Any:
        """The table: data frames and arrays with objects as they are, for the distance to read."""
        # Scikit-learn would forget a mask, and round large integers that stand beside fractions in lists.
        if np.ma.isMaskedArray(X) or (isinstance(X, (list, tuple)) and self.metric != "euclidean"):
            X = as_array(X)
        kind = getattr(getattr(X, "dtype", None), "kind", None)
        as_it_is = hasattr(X, "iloc") or hasattr(X, "to_pandas") or kind in ("O", "U", "S", "T")
        if self.metric == "euclidean" or not as_it_is:
            return validate_data(
                self,
                X,
                reset=fitting,
                dtype=[np.float64, np.float32] if self.metric == "euclidean" else "numeric",
                ensure_all_finite="allow-nan" if self.metric != "euclidean" else True,
                ensure_min_samples=2 if fitting else 1,
            )
        validate_data(self, X, reset=fitting, skip_check_array=True)
        return X

    def _choose_by_complete_cv(self, evaluator: Evaluator, y: Array) -> None:
        from ..curves import surface

        (training_sets,) = Subsample(self.train_size).training_sets(encode_labels(y))
        self.n_train_ = training_sets.most_train
        ks = list(range(1, min(evaluator.depth, self.n_train_) + 1))
        # The surface's default leaves scores open that differ by less than a millionth.
        options: dict[str, Any] = {"ties": "index", "tol": TOL, "n_jobs": self.n_jobs}
        with warnings.catch_warnings():
            # The score chooses a k; nobody takes it for that of new samples.
            warnings.simplefilter("ignore", SupervisedDistanceWarning)
            found = surface(self.metric_.neighbors(), y, ks, [self.n_train_], "knn", **options)
        scores = found.scores[:, 0]
        best = int(np.argmax(scores.round(DIGITS)))
        self.ccv_ = float(scores[best])
        setting = Setting(ks[best], "majority", None, None)
        evaluator.offer("ccv", setting, evaluator.one(setting))

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None) -> tuple[Array, Array]:
        """Distances and indices of the nearest fitted samples.

        Parameters
        ----------
        X : pandas.DataFrame or array of shape (n_rows, n_features), optional
            Default: the fitted samples, of which none is its own neighbor.
        n_neighbors : int, optional
            1 to n_items, or to max_k without `X`. Default: the chosen number.

        Returns
        -------
        distances : float64 ndarray of shape (n_rows, n_neighbors)
        indices : int32 ndarray of shape (n_rows, n_neighbors)
            In this order, as scikit-learn's; `HVDM` and `Neighbors` return the indices first.
        """
        check_is_fitted(self)
        wanted = self.best_params_["n_neighbors"] if n_neighbors is None else n_neighbors
        most = self.neighbors_.max_depth if X is None else self.metric_.n_items_
        k = check_integer("n_neighbors", wanted, 1, most)
        items, distances = self.neighbors_.kneighbors(k) if X is None else self._nearest(X, k)
        return distances, items

    def _nearest(self, X: Any, k: int) -> tuple[Array, Array]:
        return self.metric_.kneighbors(self._checked(X, fitting=False), k, n_jobs=self.n_jobs)

    def _decided(self, X: Any) -> tuple[Array, Array]:
        check_is_fitted(self)
        chosen = self.best_params_
        items, distances = self._nearest(X, chosen["n_neighbors"])
        lists = VoteLists.of(items, distances, self._codes_)
        return decide(
            lists,
            len(self.classes_),
            chosen["n_neighbors"],
            chosen["kernel"],
            chosen["w_k"],
            bool(chosen["avgk"]),
            self.vote_ties == "nearest",
        )

    def predict(self, X: Any) -> Array:
        """The class with most votes, for every row.

        Parameters
        ----------
        X : pandas.DataFrame or array of shape (n_rows, n_features)
            Rows with the columns of the fitted table.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        _, chosen = self._decided(X)
        return self.classes_[chosen]

    def predict_proba(self, X: Any) -> Array:
        """The classes' shares of the votes: the paper's confidence.

        Where a vote is tied, `predict` need not name the first of the largest shares; see `vote_ties`.

        Parameters
        ----------
        X : pandas.DataFrame or array of shape (n_rows, n_features)
            Rows with the columns of the fitted table.

        Returns
        -------
        float64 ndarray of shape (n_rows, n_classes)
            Columns in the order of `classes_`.
        """
        return self._decided(X)[0]


class _Euclidean(HEOM):
    """Euclidean distances of complete numeric rows, with the interface of the others."""

    def _statistics(self, table: Table, labels: EncodedLabels | None) -> Statistics:
        plain = super()._statistics(table, labels)
        if np.abs(table.numbers).max() > FAR:
            largest = np.abs(table.numbers).max()
            msg = f"numbers must not exceed {FAR:g} for metric='euclidean', got {largest:g}"
            raise ValueError(msg)
        return replace(plain, exponents=np.zeros_like(plain.exponents), scales=np.ones_like(plain.scales))

    def neighbors(self, n_neighbors: int | None = None) -> Neighbors:
        return Neighbors.from_data(np.ascontiguousarray(self._table_.numbers.T), n_neighbors=n_neighbors)


def _flat(y: Any) -> Array:
    if y is None:
        msg = "RIBClassifier requires y to be passed, but the target y is None"
        raise ValueError(msg)
    flat = column_or_1d(y, warn=True)
    if flat.dtype.kind == "T" or (flat.dtype.kind == "O" and any(is_missing(label) for label in flat)):
        return encode_labels(flat).classes[encode_labels(flat).codes]  # or says which one is missing
    assert_all_finite(flat, input_name="y")
    check_classification_targets(flat)
    return flat  # type: ignore[no-any-return]


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _printed(step: Step) -> None:
    setting, fitness = step.setting, step.fitness
    print(
        f"{step.parameter}: k={setting.n_neighbors} {setting.kernel} w_k={setting.w_k} "
        f"avgk={setting.avgk}, {fitness.n_correct} of {fitness.n_items} right, "
        f"confidence {fitness.confidence:.4f}"
        f"{', the best so far' if step.improved else ''}"
    )
