"""`Study`: a table that is being reported on, and what several sections need."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .._base.typing import Array
from .._core.luck.halves import TOLERANCE, depth_for_halves
from .._core.luck.runs import scaled
from .._core.scores.results import CompleteCV, complete_cv
from ..designs import Design, LeaveGroupsOut, Subsample
from ..kernel.sampling import fixed_tail
from ..neighbors import Neighbors, SupervisedDistanceWarning, in_other_groups
from ..neighbors.hvdm import HVDM
from ._effort import (
    DEPTH_OF_GROUPS,
    Effort,
    affordable_neighbors,
    effort,
    smallest_without,
    subsampled,
    tie_size,
)
from ._table import MIXED, Table
from ._text import SCALED, Cut, metric_name, score_text

TOL = 1e-12
"""The tolerance of `knnccv.complete_cv`."""


class Setting(NamedTuple):
    """A way to score: scaling of the columns, metric, number of neighbors."""

    scaling: str | None
    metric: str
    n_neighbors: int

    def __str__(self) -> str:
        columns = "" if self.metric in MIXED else f"{SCALED[self.scaling]} columns, "
        return f"{columns}{metric_name(self.metric)} distance, K = {self.n_neighbors}"

    @property
    def pair(self) -> tuple[str | None, str]:
        """The scaling and the metric."""
        return self.scaling, self.metric


@dataclass(eq=False)
class Study:
    """A table and the results that several sections need.

    Attributes
    ----------
    table : Table
        The rows that are studied.
    y : ndarray of shape (n_items,)
        Class labels, or targets (float64).
    task : str
        "classification" or "regression".
    train_size : int
        Training samples of the headline's design; of groups, in the smallest training set.
    design : Design
        ``Subsample(train_size)``, or ``LeaveGroupsOut(groups)``.
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
        The K that were compared for each scaling and metric from which the best is chosen.
    notes : list of str
        Remarks for the section on the method.
    ties : float
        Mean size of a tied group among near neighbors, estimated; 1 without ties.
    effort : Effort
        What can be afforded.
    """

    table: Table
    train_size: int
    n_jobs: int | None
    random_state: int
    average: str = "pooled"
    best_setting: Setting = field(init=False)
    default_setting: Setting = field(init=False)
    lists: dict[tuple[str | None, str], Neighbors] = field(default_factory=dict)
    compared: dict[tuple[str | None, str], list[int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    ties: float = 1.0
    effort: Effort = field(init=False)
    best: CompleteCV = field(init=False)
    default: CompleteCV = field(init=False)

    @property
    def y(self) -> Array:
        return self.table.y

    @property
    def task(self) -> str:
        return self.table.task

    @property
    def n_classes(self) -> int:
        """The number of classes; 2 where there are none, as votes of two classes cost about as much."""
        return 2 if self.task == "regression" else len(np.unique(self.y))

    @property
    def rule(self) -> str:
        return "regression" if self.task == "regression" else "knn"

    @property
    def design(self) -> Design:
        return Subsample(self.train_size) if self.groups is None else LeaveGroupsOut(self.groups)

    @property
    def groups(self) -> Array | None:
        """The groups of samples that are tested together, int64 (n_items,); None if samples are drawn."""
        return self.table.group_codes

    @cached_property
    def others(self) -> Neighbors:
        """The neighbors of the best setting that may train."""
        return self.near if self.groups is None else in_other_groups(self.near, self.groups)

    @property
    def n_neighbors(self) -> int:
        """K of the best setting."""
        return self.best_setting.n_neighbors

    @property
    def near(self) -> Neighbors:
        """Neighbors of the best setting."""
        return self.neighbors(*self.best_setting.pair)

    def neighbors(self, scaling: str | None, metric: str) -> Neighbors:
        """The neighbors under a scaling and a metric; kept. Those of mixed tables scale by themselves."""
        if (scaling, metric) not in self.lists:
            table = self.table
            if metric in MIXED:
                fitted = table.fitted(metric)
                found = fitted.neighbors()
                if self.groups is not None and isinstance(fitted, HVDM):
                    found = fitted.neighbors(groups=self.groups)
                    self.keep_lists(found, DEPTH_OF_GROUPS + 2 * (found.n_items - self.train_size))
            else:
                found = Neighbors.from_data(scaled(table.X, scaling), metric)
            self.lists[scaling, metric] = found
        return self.lists[scaling, metric]

    def score(self, setting: Setting, train_size: int | None = None, tol: float = TOL) -> CompleteCV:
        """The exact score of a setting, by default of the headline's training size."""
        near, design = self.neighbors(*setting.pair), Subsample(train_size) if train_size else self.design
        how: dict[str, Any] = {"average": self.average, "tol": tol, "n_jobs": self.n_jobs}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SupervisedDistanceWarning)
            return complete_cv(near, self.y, self.rule, design, n_neighbors=setting.n_neighbors, **how)

    def plan(self, wanted: list[int], n_curves: int) -> list[int]:
        """Decide what can be afforded; return the K that can be compared for so many curves."""
        n_items, n_classes, most = self.table.n_items, self.n_classes, self.train_size
        affordable = affordable_neighbors(wanted, n_items, n_classes, n_curves)
        if affordable != wanted:
            self.note(
                f"The K above {affordable[-1]} were not compared: with {n_classes} classes they would take "
                f"too long. One alone is always computed (n_neighbors={wanted[-1]})."
            )
        largest_k = max((k for k in affordable if k <= most), default=most)
        self.ties = tie_size(self.table.X, self.random_state)
        self.effort = effort(n_items, self.ties, n_classes, n_curves, largest_k)
        if self.groups is not None:
            self.effort = self.effort.one_by_one(n_items, n_curves, affordable)
        return affordable

    def depth_of_halves(self, near: Neighbors, n_neighbors: int) -> int:
        """The depth of the lists that the scores of random halves of the samples need.

        Too small a depth costs a second search, and nothing else.
        """
        half, size = max(near.n_items // 2, 1), max(self.train_size // 2, 1)
        enough = enough_depth(half, size, min(n_neighbors, size), TOLERANCE)
        return depth_for_halves(2 * enough, near)

    def keep_lists(self, near: Neighbors, depth: int) -> bool:
        """Search lists of this depth for all samples and keep them, unless they are kept or too large.

        Results that are computed later read them. Their values do not depend on this. Returns whether there
        was a search.
        """
        depth = min(depth, near.max_depth)
        is_wanted = near.room(depth) is not None
        if is_wanted:
            near.all_lists(depth, self.n_jobs)
        return is_wanted

    def part(self, n_items: int, work: str) -> tuple[Study, Cut]:
        """The study of a random part of the rows, with the same share of training samples, and its `Cut`.

        `work` is what would take too long with all samples, in words that end before their number.
        """
        reason = f"{work} all {self.table.n_items:,} samples would take too long"
        table, cut = subsampled(self.table, n_items, self.random_state, reason)
        if table.group_codes is None:
            size = max(1, self.train_size * table.n_items // self.table.n_items)
        else:
            size = smallest_without(table.group_codes)
        if cut is None or not size:
            return self, None
        part = Study(table, size, self.n_jobs, self.random_state, self.average, notes=self.notes)
        part.effort = self.effort
        return part, cut

    @property
    def halves(self) -> dict[str, int]:
        """How many random halves there are for intervals, and their seed."""
        return {"n_halvings": self.effort.n_halvings, "random_state": self.random_state}

    def note(self, *remarks: str) -> None:
        """Add remarks for the section on the method, each of them once."""
        self.notes += [each for each in dict.fromkeys(remarks) if each not in self.notes]

    def said(self, score: float) -> str:
        """A score in a sentence."""
        return score_text(score, self.task)


def enough_depth(n_items: int, train_size: int, n_neighbors: int, tol: float = TOL) -> int:
    """The depth of the lists that the score and the influence need.

    The influence looks at training sets of the other samples, and at one position more than the score.
    """
    if n_items < 3 or train_size > n_items - 2:
        return n_items - 1
    tail = fixed_tail(n_items - 2, train_size, n_neighbors)
    return min(2 + int(np.argmax(tail <= tol / 2)), n_items - 1)
