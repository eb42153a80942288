"""Halves of the samples in which the rule is chosen within each training set: `NestedHalves`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...._base.typing import Array
from ....neighbors import Neighbors
from ...driver import ScoringProblem
from ...luck.halves import HalvesRequest, check_request
from ...luck.inference import HalfScores, Terms, draw_halvings, few_neighbors
from ...luck.runs import RescaledSearch, draw_by, each_split, runs_of_halves, single_splits, train_sizes
from ._nested import Inner, nested_scores

AT_ONCE = 2**24
"""Training sets times samples that are scored at once."""


@dataclass(frozen=True, eq=False)
class NestedHalves:
    """What `tuned_score` was asked, so that halves can be asked the same.

    ``sources`` are the neighbors with every K, ``n_neighbors``, in the order of the candidates.
    """

    problem: ScoringProblem
    sources: Sequence[Neighbors | RescaledSearch]
    n_neighbors: list[int]
    inner: Inner
    by_class: bool
    n_jobs: int | None

    def scores(self, folds: Array, seed: int, ks: list[int]) -> Array:
        """The scores (n_runs,) of runs that are given by their folds, with these K to choose from."""
        step = max(1, AT_ONCE // (folds.shape[1] * (int(folds.max()) + 1)))
        starts = range(0, len(folds), step)
        return np.concatenate([self._scores(folds[at : at + step], seed + at, ks) for at in starts])

    def _scores(self, folds: Array, seed: int, ks: list[int]) -> Array:
        n_folds, codes = int(folds.max()) + 1, self.problem.labels.codes
        part_of = codes if self.by_class else np.zeros_like(codes)
        tested = np.stack(
            [((folds >= 0) & (part_of == part)).sum(axis=1) for part in range(part_of.max() + 1)]
        )
        shares = np.where(tested > 0, 1 / np.maximum(tested, 1), 0.0) / (tested > 0).sum(axis=0)
        runs = single_splits(each_split(folds), seed)
        runs = replace(runs, kinds=np.repeat(np.arange(len(folds)), n_folds)[:, None])
        found = nested_scores(
            self.problem, self.sources, ks, self.inner, runs, self.by_class, self.n_jobs, shares.T
        )
        chosen = found.inside.argmax(axis=2)[..., None]
        scores = np.take_along_axis(found.outside, chosen, axis=2).reshape(len(folds), n_folds)
        return np.asarray(scores.sum(axis=1))

    def half_scores(self, found: Any, request: HalvesRequest) -> HalfScores:
        """The scores of random halves for a `TunedScore`, see `ScoredHalves.standard_error`.

        Raises
        ------
        ValueError
            If training sets within halves are too small for every K.
        """
        labels, kept = self.problem.labels, self.n_neighbors
        halvings = draw_halvings(request.n_halvings, len(labels.codes), request.rng, groups=request.groups)

        def score(folds: Array, n_before: int) -> Array:
            nonlocal kept
            least = self._least_inside(train_sizes(folds))
            kept = [k for k in self.n_neighbors if k <= least]
            if not kept:
                msg = (
                    "take more samples, or fewer neighbors: a standard error needs scores of halves, whose "
                    f"inner training sets have {least} samples, got n_neighbors={min(self.n_neighbors)}"
                )
                raise ValueError(msg)
            return self.scores(folds, n_before, kept)[None]

        (runs,), sizes = runs_of_halves(draw_by(self.problem.design, labels), halvings, score, request.rng)
        texts = few_neighbors(float(sizes.mean()), found.most_chosen.n_neighbors)
        n_left = len(self.n_neighbors) - len(kept)
        if n_left:
            texts.append(
                f"{n_left} of {len(self.n_neighbors)} K are too large for halves, and left out there"
            )
        floors = np.array([[1 / len(labels.counts), 1.0, labels.counts.min()]])
        halves = HalfScores.of_runs(runs, halvings, float(sizes.mean()), found.std_error)
        return replace(halves, warnings=tuple(texts), floors=floors[: int(self.by_class)])

    def _least_inside(self, sizes: Array) -> int:
        """The size of the smallest training set within training sets."""
        if self.inner.groups is not None:
            return int(sizes.min() - np.bincount(self.inner.groups).max())
        return int((sizes - (1 if self.inner.n_folds == 1 else -(-sizes // self.inner.n_folds))).min())

    def scores_of_runs(self, n_runs: int, seed: int) -> Array:
        """The scores (n_runs,) of random runs of all samples."""
        draw, rng = draw_by(self.problem.design, self.problem.labels), np.random.default_rng(seed)
        rows = np.arange(len(self.problem.labels.codes))
        folds = np.stack([draw(rows, rng) for _ in range(n_runs)])
        return self.scores(folds, seed, self.n_neighbors)

    def asked(self, n_halvings: Any, groups: Any, random_state: Any) -> HalvesRequest:
        """The checked arguments of `ScoredHalves.standard_error`."""
        return check_request(self.problem, n_halvings, groups, random_state)

    def terms(self, found: Any) -> Terms:
        """What two scores must share to be compared."""
        measure, rule = found.measure, found._rule
        design, n_items = self.problem.design, len(self.problem.labels.codes)
        target = f"{measure} in the population of {rule}, trained and tested by {design!r}"
        scale = 0, 1.0, ("predict",), f"{measure.replace(' ', '_')}_score"  # as of scikit-learn's scorer
        return Terms(
            self.problem.targets, np.ones(n_items), type(design).__name__, False, rule, scale,
            groups=self.problem.left_out, target=target, limits=(0.0, 1.0),
        )  # fmt: skip
