"""`Study`: a table that is being reported on, with what several sections need."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._typing import Array
from ..designs import Subsample
from ..hvdm import HEOM, HVDM
from ..neighbors import Neighbors, SupervisedDistanceWarning
from ..results import CompleteCV, complete_cv
from ._cost import Effort
from ._input import TableInput
from ._scaling import SCALE_THEMSELVES, scaled


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

    def score(self, setting: Setting) -> CompleteCV:
        """The exact score of a setting."""
        parameters: dict[str, Any] = {"n_neighbors": setting.n_neighbors, "average": self.average}
        near = self.neighbors(setting.scaling, setting.metric)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SupervisedDistanceWarning)
            return complete_cv(near, self.y, self.rule, self.design, n_jobs=self.n_jobs, **parameters)


def neighbors_of(table: TableInput, scaling: str, metric: str) -> Neighbors:
    """The neighbors of a table under a scaling and a metric; those of mixed tables scale by themselves."""
    if metric == "heom":
        return HEOM(nominal=table.categorical.tolist()).fit(table.X).neighbors()
    if metric == "hvdm":
        return HVDM(nominal=table.categorical.tolist()).fit(table.X, table.y).neighbors()
    return Neighbors.from_data(scaled(table.X, scaling), metric)
