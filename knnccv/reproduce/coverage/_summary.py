"""Coverage, width and variance of every cell, and rejections of every test, from the blocks."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._blocks import Block, Record

NORMAL = 1.959963984540054
LEVEL = 0.05
Place = tuple[str, int, str]
"""Population, number of samples and key of a cell."""


@dataclass(frozen=True)
class CellSummary:
    """What the samples of a cell show.

    Attributes
    ----------
    population : str
        The population.
    n : int
        Samples in a data set.
    key : str
        The cell.
    n_data_sets : int
        Data sets with an interval.
    truth : float
        The mean exact score of all data sets, also of those without an interval: unbiased for the target.
    coverage : float
        The share of intervals that contain `truth`.
    width : float
        Mean width over that of ±1.96 standard deviations of the score.
    variance : float
        Mean estimated over true variance.
    warned : float
        The share of data sets with a warning.
    rivals : mapping of str to float
        Coverage by method.
    """

    population: str
    n: int
    key: str
    n_data_sets: int
    truth: float
    coverage: float
    width: float
    variance: float
    warned: float
    rivals: Mapping[str, float]

    @property
    def usually_calm(self) -> bool:
        """Whether fewer than half of the data sets led to a warning."""
        return self.warned < 0.5


def cell_summaries(found: Mapping[Block, Record]) -> list[CellSummary]:
    """One for every cell that has intervals, in the order of the blocks."""
    kinds: dict[str, defaultdict[Place, list[Any]]] = {
        "intervals": defaultdict(list),
        "scores": defaultdict(list),
    }
    for block, record in found.items():
        for key, values in record.items() if block.kind != "tests" else ():
            rows = kinds[block.kind][block.name, block.n, key]
            rows += values if block.kind == "intervals" else [values]
    cells, more = kinds.values()
    return [_summary(place, rows, more[place]) for place, rows in cells.items() if rows]


def _summary(place: Place, rows: list[list[Any]], more: list[list[float]]) -> CellSummary:
    scores, low, high, variances, warned = np.array([row[:5] for row in rows], dtype=float).T
    number = len(scores) + sum(one[0] for one in more)
    truth = math.fsum([*scores, *(one[1] for one in more)]) / number
    squares = math.fsum([*(scores**2), *(one[2] for one in more)])
    spread = max(squares / number - truth**2, 0.0) * number / max(number - 1, 1)
    ends: defaultdict[str, list[bool]] = defaultdict(list)
    for row in rows:
        for name, (lowest, highest) in row[5].items():
            ends[name].append(lowest <= truth <= highest)
    return CellSummary(
        *place,
        len(scores),
        truth,
        float(np.mean((low <= truth) & (truth <= high))),
        float((high - low).mean() / (2 * NORMAL * math.sqrt(spread))) if spread else math.nan,
        float(variances.mean() / spread) if spread else math.nan,
        float(warned.mean()),
        {name: float(np.mean(inside)) for name, inside in ends.items()},
    )


@dataclass(frozen=True)
class TestSummary:
    """The share of data sets of a scene in which each method rejects at 5 %."""

    scene: str
    n: int
    n_data_sets: int
    rejected: Mapping[str, float]


def test_summaries(found: Mapping[Block, Record]) -> list[TestSummary]:
    """One for every scene."""
    scenes: dict[tuple[str, int], defaultdict[str, list[float]]] = {}
    for block, record in found.items():
        for method, values in record.items() if block.kind == "tests" else ():
            scenes.setdefault((block.name, block.n), defaultdict(list))[method] += values
    summaries = []
    for (scene, n), methods in scenes.items():
        rejected = {method: float(np.mean(np.array(values) <= LEVEL)) for method, values in methods.items()}
        summaries.append(TestSummary(scene, n, len(next(iter(methods.values()))), rejected))
    return summaries
