"""The protocol of Table 1 of Wilson and Martinez (1999): static votes, and RIB tuned by LCV and by CVC.

Ten folds: HVDM is fitted to nine tenths, the neighbors of every sample are found there, and the parameters
are chosen; they classify the remaining tenth. The paper's statistics include the sample that is left out
while the parameters are chosen. A further column shows the effect on CVC of leaving it out there as well.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ..._labels import encode_labels
from ..._parallel import for_each
from ..._typing import Array
from ...designs import StratifiedKFold
from ._paper import COLUMNS, EXACT, N_FOLDS

MAX_K = 30
PATIENCE = 10
"""Number of iterations without improvement after which the search for the parameters stops."""


@dataclass(frozen=True)
class SetResult:
    """One row: accuracies in %, by column; none if the data could not be obtained.

    Every column of ``scores`` is a float64 ndarray of shape (n_seeds, n_folds).
    """

    name: str
    shape: tuple[int, int] = (0, 0)
    scores: dict[str, Array] = field(default_factory=dict)
    failure: str | None = None

    def mean(self, column: str) -> float:
        """The mean over seeds and folds, with equal weights, as the paper's mean over ten trials."""
        return float(self.scores[column].mean())

    def spread(self, column: str) -> float | None:
        """The standard deviation over the seeds of the mean of the folds; None for one seed."""
        each = self.scores[column].mean(axis=1)
        return float(each.std(ddof=1)) if len(each) > 1 else None


def compute(names: list[str], n_seeds: int, *, progress: bool = False) -> list[SetResult]:
    """The rows of these sets, of `n_seeds` seeds each; threads compute several folds at a time."""
    from ...datasets import DatasetError, fetch_uci
    from ...hvdm import IdentifierWarning

    rows: dict[str, SetResult] = {}
    tasks: list[Callable[[], None]] = []
    for name in names:
        try:
            each = [fetch_uci(name, random_state=seed) for seed in range(n_seeds)]
        except DatasetError as error:
            rows[name] = SetResult(name, failure=str(error))
            continue
        right = {column: np.zeros((n_seeds, N_FOLDS)) for column in (*COLUMNS, EXACT)}
        rows[name] = SetResult(name, each[0].X.shape, right)
        for seed, data in enumerate(each):
            for fold, (train, test) in enumerate(_folds(data.y, seed)):
                tasks.append(partial(_one_fold, data, train, test, seed, fold, right))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentifierWarning)  # the papers use such columns
        for_each(lambda task: task(), tasks, progress=progress, unit="fold")
    return [rows[name] for name in names]


def _folds(y: Array, seed: int) -> list[tuple[Array, Array]]:
    """The training and test samples of ten stratified folds."""
    fold, _ = StratifiedKFold(N_FOLDS).draw(encode_labels(y), np.random.default_rng(seed))
    return [(np.flatnonzero(fold != one), np.flatnonzero(fold == one)) for one in range(N_FOLDS)]


def _one_fold(data: Any, train: Array, test: Array, seed: int, fold: int, right: dict[str, Array]) -> None:
    from ...hvdm import HVDM
    from ...rib import Evaluator, Setting, VoteLists, decide, greedy

    n_classes = len(data.target_names)
    labels = data.y[train]
    chosen = {"static": Setting(3, "majority", None, None)}
    for leaving, columns in (("fixed", ("lcv", "cvc")), ("exact", (EXACT,))):
        hvdm = HVDM(nominal=data.nominal, leave_one_out=leaving).fit(data.X[train], labels)
        found = hvdm.neighbors().kneighbors(MAX_K, n_jobs=1)
        lists = VoteLists.of(*found, labels, labels)
        for column in columns:
            evaluator = Evaluator(lists, confident=column != "lcv", nearest_first=True, n_jobs=1)
            rng = np.random.default_rng([seed, fold])
            greedy(evaluator, Setting(3, "linear", 0.5, False), PATIENCE, rng)
            assert evaluator.best is not None
            chosen[column] = evaluator.best[0]
    items, distances = hvdm.kneighbors(data.X[test], MAX_K, n_jobs=1)
    near = VoteLists.of(items, distances, labels)
    for column, setting in chosen.items():
        votes = setting.n_neighbors, setting.kernel, setting.w_k, bool(setting.avgk)
        predicted = decide(near, n_classes, *votes)[1]
        right[column][seed, fold] = 100 * (predicted == data.y[test]).mean()
