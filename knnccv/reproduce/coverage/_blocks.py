"""Blocks of simulated data sets, each with a file, so that an interrupted study goes on where it was."""

from __future__ import annotations

import math
import warnings
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from ..._parallel import for_each, n_workers
from ...inference import InferenceWarning, confidence_interval
from ...neighbors import Neighbors
from .. import _cache
from ._cells import Cell, cells_of
from ._populations import POPULATIONS
from ._rivals import rival_intervals
from ._scenes import pvalues

SEED = 20
Record = dict[str, Any]


@dataclass(frozen=True)
class Block:
    """Some samples of a population or of a scene.

    Attributes
    ----------
    kind : {"intervals", "scores", "tests"}
        What is computed: intervals; exact scores alone, for the true mean; tests of a scene.
    name : str
        The population or the scene.
    n : int
        The number of samples in a data set.
    first, size : int
        The data sets, by the numbers that seed them.
    n_halvings : int
        Of intervals and tests.
    cells : tuple of str, optional
        Keys of the cells; all if empty.
    nested : bool
        Whether nested cross-validation, which takes long, is among the rivals.
    """

    kind: str
    name: str
    n: int
    first: int
    size: int
    n_halvings: int = 200
    cells: tuple[str, ...] = ()
    nested: bool = False

    @property
    def file(self) -> str:
        """The name of its file."""
        told = f"{zlib.crc32(repr(asdict(self)).encode()):08x}"
        return f"{self.kind}-{self.name}-{self.n}-{self.first}-{told}.pickle"

    def run(self) -> Record:
        """The results, by the key of the cell or by method."""
        found: Record = getattr(self, f"_{self.kind}")()
        return found

    def _rng(self, at: int) -> np.random.Generator:
        return np.random.default_rng((SEED, zlib.crc32(f"{self.kind} {self.name}".encode()), self.n, at))

    def _cells(self) -> tuple[Cell, ...]:
        return tuple(
            cell for cell in cells_of(self.name, self.n) if not self.cells or cell.key in self.cells
        )

    def _each(self) -> Iterator[tuple[int, np.random.Generator, Neighbors, Any]]:
        """The data sets that have two labels: number, random generator, neighbors, labels."""
        for at in range(self.first, self.first + self.size):
            rng = self._rng(at)
            X, y = POPULATIONS[self.name].draw(rng, self.n)
            if np.unique(y).size > 1:
                yield at, rng, Neighbors.from_data(X), y

    def _intervals(self) -> Record:
        found: Record = {cell.key: [] for cell in self._cells()}
        for at, rng, neighbors, y in self._each():
            for cell in self._cells():
                found[cell.key].append(self._interval(cell, neighbors, y, rng, at))
        return found

    def _interval(
        self, cell: Cell, neighbors: Neighbors, y: Any, rng: np.random.Generator, at: int
    ) -> list[Any]:
        """Score, low, high, variance, whether it warned, and the rivals' ends."""
        result = cell.score(neighbors, y)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            low, high = result.confidence_interval(0.95, n_halvings=self.n_halvings, random_state=at)
            halves = result.half_scores(self.n_halvings, random_state=at)
        warned = any(issubclass(one.category, InferenceWarning) for one in caught)
        others, kind = {}, POPULATIONS[self.name].kind
        if kind == "two":
            others = rival_intervals(cell, neighbors, y, result.score, rng, self.nested)
        elif kind in ("regression", "errors"):
            others = {"Wald": list(confidence_interval(result.score, halves, 0.95, None, ""))}
        return [result.score, low, high, halves.variance, warned, others]

    def _scores(self) -> Record:
        """The number of scores, their sum and the sum of their squares."""
        scores: dict[str, list[float]] = {cell.key: [] for cell in self._cells()}
        for _, _, neighbors, y in self._each():
            for cell in self._cells():
                scores[cell.key].append(cell.score(neighbors, y).score)
        return {
            key: [len(some), math.fsum(some), math.fsum(score**2 for score in some)]
            for key, some in scores.items()
        }

    def _tests(self) -> Record:
        each = range(self.first, self.first + self.size)
        found = [pvalues(self.name, self._rng(at), self.n, self.n_halvings) for at in each]
        return {method: [one[method] for one in found] for method in found[0]}


def run_block(block: Block, folder: Path | None) -> Record:
    """The results of a block, from its file if there is one; otherwise computed and stored."""
    if folder is None:
        return block.run()
    kept: Record | None = _cache.find(folder / block.file)
    if kept is None:
        kept = block.run()
        _cache.keep(folder / block.file, kept)
    return kept


def run_all(
    blocks: Iterable[Block], folder: Path | None, n_jobs: int | None = None, progress: bool = False
) -> dict[Block, Record]:
    """All blocks, in processes if there are several workers and a folder; in the order of the blocks."""
    asked = list(blocks)
    found: dict[Block, Record] = {}

    def here(block: Block) -> None:
        found[block] = run_block(block, folder)

    workers = min(n_workers(n_jobs), len(asked))
    if workers < 2 or folder is None:
        for_each(here, asked, 1, progress, unit="block")
        return found
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:

        def away(block: Block) -> None:
            found[block] = pool.submit(run_block, block, folder).result()

        for_each(away, asked, workers, progress, unit="block")
    return {block: found[block] for block in asked}
