"""Random runs of halves of the samples, for scores that have no closed form: their folds.

A run of a half is a run of all samples in which those of the other half neither train nor are tested. So
every engine of random runs serves halves as it is. Two runs of every half are enough, if their noise is
small: products of the differences of two runs have none of it in the mean.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...._base.labels import EncodedLabels, labels_of
from ...._base.typing import Array
from ....designs import Design
from ..inference import Halvings, differences_over_runs
from ._planes import NEITHER
from ._scalers import train_sizes

FEWEST, MOST = 2, 16
"""Runs of a half: more where their noise is larger than the differences of halves."""
Draw = Callable[[Array, np.random.Generator], Array]
"""From the samples of a half to the folds that test them in a run: -1 for one that trains in all folds."""


def runs_of_halves(
    draw: Draw, halvings: Halvings, score: Callable[[Array, int], Array], rng: np.random.Generator
) -> tuple[Array, Array]:
    """The scores of all halves in random runs, (n_scorings, n_runs, n_halvings, 2), and training sizes.

    ``score(folds, n_before)`` returns the scores (n_scorings, n_folds) of further runs.
    """
    shape, parts, number = (-1, len(halvings.half_of), 2), list[Array](), 0
    while True:
        folds = half_folds(draw, halvings, max(number, FEWEST), rng)
        found = score(folds, number)
        parts.append(found.reshape(len(found), *shape))
        runs = np.concatenate(parts, axis=1)
        number = runs.shape[1]
        if number >= MOST or not any(map(is_noisy, runs)):
            return runs, train_sizes(folds)


def is_noisy(runs: Array) -> bool:
    """Whether the mean of the runs (n_runs, n_halvings, 2) differs more by chance than by its halves."""
    means, noise = differences_over_runs(runs)
    return bool(np.nansum(np.square(means)) < 2 * np.nansum(noise))


def half_folds(draw: Draw, halvings: Halvings, n_runs: int, rng: np.random.Generator) -> Array:
    """The folds of all samples in some runs of every half, int32; `NEITHER` outside the half.

    Their shape is (n_runs * n_halvings * 2, n_items).
    """
    n_halvings, n_items = halvings.half_of.shape
    folds = np.full((n_runs, n_halvings, 2, n_items), NEITHER, np.int32)
    for halving, half in np.ndindex(n_halvings, 2):
        rows = halvings.rows(halving, half)
        for run in range(n_runs):
            folds[run, halving, half, rows] = draw(rows, rng)
    return folds.reshape(-1, n_items)


def draw_by(design: Design, labels: EncodedLabels, n_tested: int = 0) -> Draw:
    """Runs of the halved design, which test a share `n_tested` of all samples, or all that do not train."""

    def draw(rows: Array, rng: np.random.Generator) -> Array:
        half, of_half = design.halved(labels, rows), labels_of(labels, rows)
        fold, _ = half.every_split(of_half) or half.draw(of_half, rng)
        tested = np.flatnonzero(fold >= 0)
        if n_tested:
            size = min(max(1, round(n_tested * len(rows) / len(labels.codes))), len(tested))
            fold[rng.permutation(tested)[size:]] = NEITHER
        return fold

    return draw


def pool_draw(draw: Draw, n_tested: int) -> Draw:
    """Runs that test samples before those of a pool, which a fold of a run of half the pool trains."""

    def of_pool(rows: Array, rng: np.random.Generator) -> Array:
        first = np.zeros(int((rows < n_tested).sum()), np.int32)
        fold = draw(rows[len(first) :] - n_tested, rng)
        left_out = rng.integers(fold.max() + 1)
        trains = (fold != left_out) & (fold != NEITHER)
        return np.concatenate([first, np.where(trains, -1, NEITHER)])

    return of_pool
