"""`Study`: a table that is being reported on, what several sections need of it, and what can be afforded.

Estimates of the work of every section follow from the size of the data, never from the clock, so the same
data give the same choices on every machine. The unit is about a second of two processors.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .._base.typing import Array
from .._base.validation import check, check_integer
from .._core.luck.runs import scaled
from .._core.scores.curves import Surface, surface
from .._core.scores.results import CompleteCV, complete_cv
from ..designs import Design, LeaveGroupsOut, Subsample
from ..kernel.sampling import fixed_tail
from ..neighbors import Neighbors, SupervisedDistanceWarning, in_other_groups
from ._table import FEWEST_ROWS, MIXED, Table, shown
from ._text import SCALED, USUAL_SCALINGS, Cut, metric_name, score_text

SEARCH_RATE = {"euclidean": 3e10, "cosine": 3e10, "manhattan": 1.2e9, "heom": 1e10, "hvdm": 1e10}
"""Pairs times columns that are compared in a unit."""
SEARCH_LIMIT = 10.0
"""Units for the search of all rows by one metric, beyond which it is not offered."""
LEARNING_WORK = 1.5e8
"""Samples times K times depth of the lists, in the smallest training sets of a learning curve."""
TIED_WORK = 1.5e6
"""Rows times the mean size of their tied groups that can be averaged over all orders."""
MIXED_UNITS = 12.0
"""Units for the search of all rows of a mixed table."""
TIED_SAMPLE = 64
"""Rows whose distances are looked at for ties."""
COMPARING = 7e6
"""Microseconds of one processor to compare all settings on random halves; of few settings half of it."""
MOST_COMPARING = 3e7
"""The same, beyond which the largest K are left out."""
FEWEST_COMPARED = 1000
"""Rows on which settings are compared at least, if there are so many."""
NEARLY_ALL = 0.8
"""A part of the samples that is larger than this is replaced by all of them."""
MOST_HALVINGS = 200
FEWEST_HALVINGS = 10
OVERHEAD_OF_GROUPS = 300
"""Samples that take as long as the tables of one half, which has groups of its own."""
CHEAP_VOTE = 9.0
"""Microseconds for the votes of a sample in a half, up to which 20 halvings of all are affordable."""
CONFUSION_LIMIT = 10.0
"""Units for the confusion matrix of all samples; beyond it that of a part is computed."""
CONFUSION_OF_A_PART = 2.0
"""Units for the confusion matrix of a part."""
FEWEST_CONFUSED = 200
"""Samples of that part."""
FEWEST_OF_A_CLASS = 2
"""Samples of a class on average in that part; without so many there is no matrix."""
INFLUENCE_LIMIT = 10.0
"""Units for the influence of all samples."""
JUDGING_LIMIT = 5e6
"""Neighbors of all suspicious labels that are looked at."""
NESTED_LIMIT = 10.0
"""Units for nested runs, beyond which there are none."""
NESTED_BLOCK, MOST_NESTED = 512, 1000
"""Runs that are counted together, and runs if they are cheap."""
FEWEST_REFITTED = 50
"""Groups for which HVDM is fitted anew within the others, at least, if there are so many."""
DEPTH_OF_GROUPS = 100
"""Neighbors of other groups that are kept of a distance that is fitted without each group."""
COUNTED = 15
"""The largest K for which the votes of several classes are counted in one walk."""
MOST_SEEN = 20
"""Classes beyond this number do not make a vote slower: a list holds few of them."""


class Effort(NamedTuple):
    """Sizes that fit into the time of a report.

    Attributes
    ----------
    n_settings : int
        Rows on which the settings are compared.
    n_halvings : int
        Pairs of random halves for an interval.
    n_comparisons : int
        Pairs of random halves for the comparison of the settings.
    n_runs : int
        Runs for the deviation of one split; 0: all that `split_std` takes.
    learning : int
        Rows of the learning curve.
    """

    n_settings: int
    n_halvings: int
    n_comparisons: int
    n_runs: int
    learning: int

    def one_by_one(self, n_items: int, n_curves: int, numbers: list[int]) -> Effort:
        """The same if every K is scored by itself, as where whole groups are left out."""
        each = sum(4 + 0.25 * k for k in numbers)
        affordable = COMPARING / (n_curves * each)  # samples times halvings
        n_settings = max(FEWEST_COMPARED, min(int(affordable / FEWEST_HALVINGS), self.n_settings))
        n_settings = n_items if n_settings > NEARLY_ALL * n_items else n_settings
        n_comparisons = int(affordable / max(n_settings, OVERHEAD_OF_GROUPS))
        n_comparisons = max(FEWEST_HALVINGS, min(self.n_comparisons, n_comparisons))
        return self._replace(n_settings=n_settings, n_comparisons=n_comparisons)


def smallest_without(groups: Array) -> int:
    """The samples that are left without the largest group: the size of the smallest training set."""
    return len(groups) - int(np.bincount(groups).max())


def search_units(n_items: int, n_features: int, metric: str) -> float:
    """Units of work to compare all rows with each other."""
    return n_items**2 * max(n_features, 8) / SEARCH_RATE[metric]


def effort(n_items: int, ties: float, n_classes: int, n_curves: int, largest_k: int) -> Effort:
    """Choose the sizes.

    `ties` is the mean size of the tied groups, 1 without ties; `n_classes` is 2 where there are none.
    """
    slow = max(1.0, ties)
    work = n_items * slow**0.5
    # Microseconds per sample and half, as measured: of all K at once, and of a single one.
    all_k = slow * vote_cost(n_classes, largest_k)
    one_k = min(27.0, 4 + 2.3 * n_classes)
    affordable = COMPARING / (n_curves * all_k)  # samples times halvings
    n_settings = max(FEWEST_COMPARED, min(int(affordable / FEWEST_HALVINGS), int(5_000 / slow)))
    if n_settings > NEARLY_ALL * n_items:
        n_settings = n_items
    learning = max(2000, int(20_000 / slow * min(1.0, 5 / n_classes)))
    fewest = 2 * FEWEST_HALVINGS if one_k <= CHEAP_VOTE else FEWEST_HALVINGS
    return Effort(
        n_settings=n_settings,
        n_halvings=max(fewest, min(MOST_HALVINGS, int(400_000 / work * min(1.0, CHEAP_VOTE / one_k)))),
        n_comparisons=max(FEWEST_HALVINGS, min(MOST_HALVINGS, int(affordable / n_settings / 2))),
        n_runs=0 if work <= 5_000 else max(50, int(4e6 / work)),
        learning=learning if learning <= NEARLY_ALL * n_items else n_items,
    )


def vote_cost(n_classes: int, largest_k: int) -> float:
    """Microseconds for the votes of a sample in a half, for all K at once.

    Fitted to 1,200 samples of 4 to 300 classes and K up to 31: the samples that are counted together meet
    about 10 K classes.
    """
    if n_classes == 2:
        return 5.5
    return 4 + 2e-4 * min(n_classes, 10 * largest_k) * float(largest_k) ** 3


def affordable_neighbors(wanted: list[int], n_items: int, n_classes: int, n_curves: int) -> list[int]:
    """The K that can be compared, in ascending order; the smallest always is."""
    rows = min(n_items, FEWEST_COMPARED / NEARLY_ALL)
    votes = n_curves * rows * FEWEST_HALVINGS
    return [k for k in wanted if k == wanted[0] or votes * vote_cost(n_classes, k) <= MOST_COMPARING]


def tie_size(X: Array, random_state: int) -> float:
    """Mean size of the group of tied distances that a near neighbor belongs to, in a few rows.

    Distances are those of the columns as they are, between some rows and up to 4,000 others; missing values
    and categories count as numbers. The estimate for all rows is in proportion to their number.
    """
    rng = np.random.default_rng(random_state)
    numbers = np.nan_to_num(X)
    exponent = np.frexp(np.abs(numbers).max())[1]
    numbers = np.ldexp(numbers, -exponent)  # so that squares do not overflow
    rows = rng.permutation(len(X))[: TIED_SAMPLE + 4000]
    few = numbers[rows[:TIED_SAMPLE]]
    others = numbers[rows[TIED_SAMPLE:]] if len(rows) > 2 * TIED_SAMPLE else numbers[rows]
    sizes = []
    for row in few:
        distances = np.sort(np.square(others - row).sum(axis=1))[: max(len(others) // 10, 10)]
        _, counts = np.unique(distances, return_counts=True)
        sizes.append(float(np.square(counts).sum() / counts.sum()))
    mean = float(np.mean(sizes))
    return 1.0 + (mean - 1.0) * max(len(X) / len(others), 1.0)


def smallest_training_size(n_items: int, largest_k: int, ties: float, n_classes: int) -> int:
    """Start of the learning curve: smaller training sets need deeper lists than can be afforded."""
    depth_wanted = LEARNING_WORK / (n_items * largest_k * max(1.0, ties) * max(1.0, n_classes / 2))
    return min(max(2, n_items // 40, round(4 * largest_k * n_items / depth_wanted)), max(2, n_items // 3))


def affordable_rows(n_items: int, n_features: int, mixed: bool, ties: float) -> tuple[int, str]:
    """The rows that can be studied, and the reason if these are not all."""
    rows, reason = n_items, ""
    if n_items * ties > TIED_WORK:
        growth = (ties - 1) / n_items  # of the tied groups, in proportion to the rows
        tied = int((np.sqrt(1 + 4 * growth * TIED_WORK) - 1) / (2 * growth))
        rows = min(rows, max(2000, tied))
        orders = "averaging over all orders of more of them would take too long"
        reason = f"many samples are equally far from each other, and {orders}"
    if mixed and search_units(rows, n_features, "heom") > MIXED_UNITS:
        rows = int(np.sqrt(MIXED_UNITS * SEARCH_RATE["heom"] / max(n_features, 8)))
        reason = "comparing all pairs of more samples by HEOM would take too long"
    return rows, reason if rows < n_items else ""


def subsampled(table: Table, most: int, seed: int, reason: str) -> tuple[Table, Cut]:
    """The table, or a random subsample of at most so many rows, and what the page says about that."""
    if table.n_items <= most:
        return table, None
    places = np.random.default_rng(seed).choice(table.n_items, most, replace=False)
    return table.take(np.sort(places)), {"n_items": most, "of": table.n_items, "reason": reason}


def studied(table: Table, max_items: int, random_state: int) -> tuple[Table, Cut]:
    """The rows that are studied: at most `max_items`, and no more than can be afforded."""
    most = check_integer("max_items", max_items, FEWEST_ROWS)
    seed = check_integer("random_state", random_state, 0)
    n_items = min(table.n_items, most)
    ties = 1 + (tie_size(table.X, seed) - 1) * n_items / table.n_items
    rows, reason = affordable_rows(n_items, len(table.names), table.is_mixed, ties)
    reason = reason or f"max_items={most:,} limits the samples of a report"
    part, cut = subsampled(table, rows, seed, reason)
    all_rows = f"all {part.n_items:,} rows of the subsample are of one"
    remedy = "take a larger max_items, or another random_state"
    has_classes = part.task == "regression" or len(set(part.y.tolist())) > 1
    check(has_classes, f"{remedy}: {all_rows} class, {shown(part.y[0])}")
    has_groups = part.group_codes is None or smallest_without(part.group_codes)
    check(has_groups, f"{remedy}: {all_rows} group")
    return part, cut


def confusion_units(n_items: int, n_classes: int, n_neighbors: int, ties: float) -> float:
    """Work of the confusion matrix: a pass for each class, none for two classes.

    `ties` is the mean size of a tied group, 1 without ties. This and `influence_units` were fitted to
    20,000 samples of 20 columns, 2 to 10 classes and K from 1 to 50, and to 5,000 with tied groups of 40 to
    140. Labels of which the neighbors know nothing take 2 to 3 times as long, and well separated classes a
    tenth. More than 20 classes were measured with up to 1,200 samples.
    """
    if n_classes <= 2:
        return 0.0
    each = (2.5 + 0.3 * min(n_classes, MOST_SEEN) * n_neighbors) * (1 + n_classes / 100)
    return n_items * n_classes * each * 1e-6 * (1 + (ties - 1) * n_neighbors / 125)


def affordable_confusion(n_items: int, n_classes: int, units: float) -> int:
    """The samples whose confusion matrix is computed if that of all takes so many units.

    0 if these are too few to hold samples of most classes.
    """
    if units <= CONFUSION_LIMIT:
        return n_items
    enough = FEWEST_OF_A_CLASS * n_classes
    rows = max(FEWEST_CONFUSED, int(n_items * CONFUSION_OF_A_PART / units))
    if rows < enough:
        rows = int(n_items * CONFUSION_LIMIT / units)
    return min(n_items, rows) if rows >= enough else 0


def nested_runs(n_items: int, n_classes: int, n_curves: int, largest_k: int) -> int:
    """The random runs for the score of the tuned setting; 0 if not even a block is affordable.

    Fitted to 200 to 5,000 samples of 2 to 50 classes, up to 17 numbers of neighbors at once and K up to
    300; one walk for each scaling and metric serves all K.
    """
    each = 10 + 1.2 * largest_k * min(n_classes, MOST_SEEN) ** 0.5
    units = 1e-6 * n_items * each * n_curves
    return min(MOST_NESTED, NESTED_BLOCK * int(NESTED_LIMIT / units))


def refit_units(table: Table) -> float:
    """Work to fit HVDM without each group, and to compare all rows; fitted to 240 to 3,000 samples."""
    n_groups, cells = len(np.unique(np.asarray(table.group_codes))), table.X.size
    return n_groups * (4e-4 + 5e-8 * cells) + 1.5e-9 * table.n_items * cells


def influence_units(n_items: int, n_classes: int, n_neighbors: int, ties: float) -> float:
    """Work of the influence of all samples: a walk along each list, or one for each listed sample."""
    each, slower = 20 + 3.0 * n_neighbors, 0.01
    if n_classes > 2:
        slower = 0.01 * n_neighbors
        if n_neighbors > COUNTED:
            each, slower = 0.03 * n_neighbors**2 * n_classes, 1.0
    each *= max(1.0, n_classes / MOST_SEEN)
    return n_items * each * 1e-6 * (1 + (ties - 1) * slower)


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
    scalings : tuple of str or None
        Those that are compared, the default first.
    confidence_level : float
        Of all intervals.
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
    parts : dict of int to Study
        Random parts of the rows, by the number of rows that was asked for.
    """

    table: Table
    train_size: int
    n_jobs: int | None
    random_state: int
    average: str = "pooled"
    scalings: tuple[str | None, ...] = USUAL_SCALINGS
    confidence_level: float = 0.95
    best_setting: Setting = field(init=False)
    default_setting: Setting = field(init=False)
    lists: dict[tuple[str | None, str], Neighbors] = field(default_factory=dict)
    compared: dict[tuple[str | None, str], list[int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    ties: float = 1.0
    effort: Effort = field(init=False)
    parts: dict[int, Study] = field(default_factory=dict)
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
            if metric in MIXED:
                found = self.table.neighbors(metric, self.groups)
                if self.groups is not None and metric == "hvdm":
                    self.keep_lists(found, DEPTH_OF_GROUPS + 2 * (found.n_items - self.train_size))
            else:
                found = Neighbors.from_data(scaled(self.table.X, scaling), metric)
            self.lists[scaling, metric] = found
        return self.lists[scaling, metric]

    def score(self, setting: Setting) -> CompleteCV:
        """The exact score of a setting."""
        near, k = self.neighbors(*setting.pair), setting.n_neighbors
        how: dict[str, Any] = {"average": self.average, "n_jobs": self.n_jobs}
        with warnings.catch_warnings(action="ignore", category=SupervisedDistanceWarning):
            return complete_cv(near, self.y, self.rule, self.design, n_neighbors=k, **how)

    def surface(self, pair: tuple[str | None, str], ks: list[int], sizes: list[int]) -> Surface:
        """The exact scores of a scaling and a metric for these K and training sizes."""
        near, average, n_jobs = self.neighbors(*pair), self.average, self.n_jobs
        with warnings.catch_warnings(action="ignore", category=SupervisedDistanceWarning):
            return surface(near, self.y, ks, sizes, self.rule, average=average, n_jobs=n_jobs)

    def plan(self, wanted: list[int], n_curves: int) -> list[int]:
        """Decide what can be afforded; return the K that can be compared for so many curves."""
        n_items, n_classes, most = self.table.n_items, self.n_classes, self.train_size
        affordable = affordable_neighbors(wanted, n_items, n_classes, n_curves)
        if affordable != wanted:
            alone = f"One alone is always computed (n_neighbors={wanted[-1]})."
            long = f"with {n_classes} classes they would take too long"
            self.note(f"The K above {affordable[-1]} were not compared: {long}. {alone}")
        largest_k = max((k for k in affordable if k <= most), default=most)
        self.ties = tie_size(self.table.X, self.random_state)
        self.effort = effort(n_items, self.ties, n_classes, n_curves, largest_k)
        if self.groups is not None:
            self.effort = self.effort.one_by_one(n_items, n_curves, affordable)
        return affordable

    def depth_of_halves(self, n_neighbors: int) -> int:
        """The depth of the lists that the scores of random halves of the samples need.

        It serves the score and the influence as well. Too small a depth costs a second search, and nothing
        else.
        """
        size = max(self.train_size // 2, 1)
        tail = fixed_tail(self.table.n_items - 2, size, min(n_neighbors, size))
        return min(2 + int(np.argmax(tail <= TOL / 2)), self.table.n_items - 1)

    def keep_lists(self, near: Neighbors, depth: int) -> None:
        """Search lists of this depth for all samples and keep them, unless they are kept or too large.

        Results that are computed later read them. Their values do not depend on this.
        """
        depth = min(depth, near.max_depth)
        if near.room(depth) is not None:
            near.all_lists(depth, self.n_jobs)

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
        if n_items not in self.parts:
            part = replace(self, table=table, train_size=size, lists={}, compared={}, parts={})
            part.effort, self.parts[n_items] = self.effort, part
        return self.parts[n_items], cut

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
