"""`Study`: a table that is being reported on, with what several sections need."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np

from .._labels import single_class
from .._parallel import for_each
from .._typing import Array
from .._validation import check_choice, check_integer
from ..designs import Subsample
from ..driver import AVERAGES
from ..halves import TOLERANCE, depth_for_halves
from ..hvdm import HEOM, HVDM
from ..neighbors import Neighbors, SupervisedDistanceWarning
from ..results import CompleteCV, complete_cv
from ..sampling import fixed_tail
from ..tuning import scaled
from ._cost import Effort
from ._table import Cut, TableInput, subsampled

SCALE_THEMSELVES = ("heom", "hvdm")
"""Metrics of mixed tables."""


SMALL_K = 15
LARGER_K = (21, 31)
TIMES_LARGER = 2
"""Classes are unequal if the largest has more than so many times the samples of the others on average."""


def checked_size(train_size: int | float, n_items: int) -> int:
    """The number of training samples.

    Raises
    ------
    ValueError, TypeError
        As `Subsample`.
    """
    (kind,) = Subsample(train_size).training_sets(single_class(n_items))
    return int(kind.n_train[0])


def checked_neighbors(n_neighbors: Any, train_size: int) -> list[int]:
    """The K to compare, in ascending order.

    Raises
    ------
    ValueError, TypeError
        If one is not an integer from 1 to the training size.
    """
    if n_neighbors is None:
        most = max(train_size // 10, 1)
        larger = [k for k in LARGER_K if k <= most]
        return [*range(1, min(SMALL_K, train_size) + 1), *larger]
    given = [n_neighbors] if isinstance(n_neighbors, Integral) else list(np.ravel(n_neighbors).tolist())
    if not given:
        msg = "n_neighbors must name at least one number of neighbors, got none"
        raise ValueError(msg)
    limit = "the number of training samples"
    return sorted({check_integer("n_neighbors", k, 1, train_size, limit) for k in given})


def checked_average(average: str | None, task: str, y: Array) -> str:
    """What has equal weight; by default the classes if they are unequal, otherwise the samples.

    Raises
    ------
    ValueError
        If it is not among `AVERAGES`, or a regression has no classes to weigh.
    """
    if average is None:
        return "class" if task == "classification" and are_unequal(y) else "pooled"
    check_choice("average", average, AVERAGES)
    if task == "regression" and average == "class":
        msg = "leave out average='class': the task is regression, which has no classes"
        raise ValueError(msg)
    return average


def are_unequal(y: Array) -> bool:
    """Whether one class is so large that a rule which knows little else can have a high accuracy."""
    counts = np.unique(y, return_counts=True)[1]
    largest = int(counts.max())
    return largest * (len(counts) - 1) > TIMES_LARGER * (len(y) - largest)


TOL = 1e-12
"""The tolerance of `knnccv.complete_cv`."""


@dataclass(frozen=True)
class Setting:
    """A way to score: scaling of the columns, metric, number of neighbors."""

    scaling: str
    metric: str
    n_neighbors: int

    def __str__(self) -> str:
        return f"{self.columns}, K = {self.n_neighbors}"

    @property
    def columns(self) -> str:
        """The scaling and the metric in words."""
        if self.metric in SCALE_THEMSELVES:
            return f"{self.metric.upper()} distance"
        return f"{self.scaling} columns, {self.metric} distance"


@dataclass(eq=False)
class Study:
    """A table and the results that several sections need.

    Attributes
    ----------
    table : TableInput
        The rows that are studied.
    X : float64 ndarray of shape (n_items, n_features)
        As given; in a mixed table codes of categories and NaN for missing values.
    y : ndarray of shape (n_items,)
        Class labels, or targets (float64).
    task : str
        "classification" or "regression".
    train_size : int
        Training samples of the headline's design.
    design : Subsample
        ``Subsample(train_size)``.
    n_neighbors : int
        K of the best setting.
    near : Neighbors
        Of the best setting.
    best : CompleteCV
        Of the best setting.
    default : CompleteCV
        Of the default setting.
    n_jobs : int or None
        Threads.
    random_state : int
        Seed of all draws.
    average : {"pooled", "item", "class"}
        What has equal weight in all scores.
    rule : str
        "knn" or "regression".
    compared : dict of (str, str) to list of int
        The K that were compared for each scaling and metric, but for HVDM.
    notes : list of str
        Remarks for the section on the method.
    ties : float
        Mean size of a tied group among near neighbors, estimated; 1 without ties.
    effort : Effort
        What can be afforded.
    """

    table: TableInput
    train_size: int
    n_jobs: int | None
    random_state: int
    average: str = "pooled"
    best_setting: Setting = Setting("raw", "euclidean", 5)
    default_setting: Setting = Setting("raw", "euclidean", 5)
    lists: dict[tuple[str, str], Neighbors] = field(default_factory=dict)
    compared: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    ties: float = 1.0
    effort: Effort = field(init=False)
    best: CompleteCV = field(init=False)
    default: CompleteCV = field(init=False)

    @property
    def X(self) -> Array:
        return self.table.X

    @property
    def y(self) -> Array:
        return self.table.y

    @property
    def task(self) -> str:
        return self.table.task

    @property
    def indices(self) -> Array:
        """The numbers of the studied rows in the table that was given."""
        return self.table.indices

    @property
    def n_classes(self) -> int:
        """The number of classes; 2 where there are none, as votes of two classes cost about as much."""
        return 2 if self.task == "regression" else len(np.unique(self.y))

    @property
    def rule(self) -> str:
        return "regression" if self.task == "regression" else "knn"

    @property
    def design(self) -> Subsample:
        return Subsample(self.train_size)

    @property
    def n_neighbors(self) -> int:
        """K of the best setting."""
        return self.best_setting.n_neighbors

    @property
    def near(self) -> Neighbors:
        """Neighbors of the best setting."""
        return self.neighbors(self.best_setting.scaling, self.best_setting.metric)

    def rows(self, index: int) -> list[str]:
        """The cells of a studied row, as text."""
        return self.table.rows(index)

    def neighbors(self, scaling: str, metric: str) -> Neighbors:
        """The neighbors under a scaling and a metric; kept."""
        key = scaling, metric
        if key not in self.lists:
            self.lists[key] = neighbors_of(self.table, scaling, metric)
        return self.lists[key]

    def score(self, setting: Setting, train_size: int | None = None, tol: float = TOL) -> CompleteCV:
        """The exact score of a setting, by default of the headline's training size."""
        near = self.neighbors(setting.scaling, setting.metric)
        design = Subsample(train_size or self.train_size)
        how: dict[str, Any] = {"average": self.average, "tol": tol, "n_jobs": self.n_jobs}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SupervisedDistanceWarning)
            return complete_cv(near, self.y, self.rule, design, n_neighbors=setting.n_neighbors, **how)


def neighbors_of(table: TableInput, scaling: str, metric: str) -> Neighbors:
    """The neighbors of a table under a scaling and a metric; those of mixed tables scale by themselves."""
    if metric == "heom":
        return HEOM(nominal=table.categorical.tolist()).fit(table.X).neighbors()
    if metric == "hvdm":
        return HVDM(nominal=table.categorical.tolist()).fit(table.X, table.y).neighbors()
    return Neighbors.from_data(scaled(table.X, scaling), metric)


def enough_depth(n_items: int, train_size: int, n_neighbors: int, tol: float = TOL) -> int:
    """The depth of the lists that the score and the influence need.

    The influence looks at training sets of the other samples, and at one position more than the score.
    """
    if n_items < 3 or train_size > n_items - 2:
        return n_items - 1
    tail = fixed_tail(n_items - 2, train_size, n_neighbors)
    return min(2 + int(np.argmax(tail <= tol / 2)), n_items - 1)


def depth_of_halves(near: Neighbors, train_size: int, n_neighbors: int) -> int:
    """The depth of the lists that the scores of random halves of the samples need.

    Too small a depth costs a second search, and nothing else.
    """
    half, size = max(near.n_items // 2, 1), max(train_size // 2, 1)
    enough = enough_depth(half, size, min(n_neighbors, size), TOLERANCE)
    return depth_for_halves(2 * enough, near)


def keep_lists(near: Neighbors, depth: int, n_jobs: int | None) -> None:
    """Search lists of this depth for all samples and keep them, unless they are kept or too large.

    Results that are computed later read them. Their values do not depend on this.
    """
    depth = min(depth, near.max_depth)
    room = near.room(depth)
    if room is None:
        return
    near.search_all(depth, n_jobs=n_jobs)
    rows, size = near.visiting_order(np.arange(near.n_items), depth), near.rows_at_once(depth)

    def fill(block: Array) -> None:
        room.put(block, near.search(block, depth))

    for_each(fill, [rows[start : start + size] for start in range(0, len(rows), size)], n_jobs)
    near.store(room)


def part_of(study: Study, n_items: int, work: str) -> tuple[Study, Cut]:
    """The study of a random part of the rows, with the same share of training samples, and its `Cut`.

    `work` is what would take too long with all samples, in words that end before their number.
    """
    reason = f"{work} all {study.table.n_items:,} samples would take too long"
    table, cut = subsampled(study.table, n_items, study.random_state, reason)
    if cut is None:
        return study, None
    size = max(1, study.train_size * table.n_items // study.table.n_items)
    part = Study(table, size, study.n_jobs, study.random_state, study.average)
    part.effort = study.effort
    part.notes = study.notes
    return part, cut
