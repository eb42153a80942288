"""Coverage, width and variance of every cell, and rejections of every test, from the blocks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ._blocks import Block, Record

NORMAL = 1.959963984540054
LEVEL = 0.05


@dataclass(frozen=True)
class CellSummary:
    """What the samples of a cell show.

    Attributes
    ----------
    population, key : str
        The population and the cell.
    n, n_data_sets : int
        Samples in a data set; data sets with an interval.
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
    key: str
    n: int
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
    cells: dict[tuple[str, int, str], list[list[object]]] = {}
    more: dict[tuple[str, int, str], list[list[float]]] = {}
    for block, record in found.items():
        if block.kind == "tests":
            continue
        for key, values in record.items():
            place = (block.name, block.n, key)
            if block.kind == "intervals":
                cells.setdefault(place, []).extend(values)
            else:
                more.setdefault(place, []).append(values)
    return [_summary(place, rows, more.get(place, [])) for place, rows in cells.items() if rows]


def _summary(place: tuple[str, int, str], rows: list[list[object]], more: list[list[float]]) -> CellSummary:
    scores, low, high, variances, warned = (
        np.array([row[i] for row in rows], dtype=float) for i in range(5)
    )
    number = len(scores) + sum(one[0] for one in more)
    truth = math.fsum([*scores, *(one[1] for one in more)]) / number
    squares = math.fsum([*(scores**2), *(one[2] for one in more)])
    spread = max(squares / number - truth**2, 0.0) * number / max(number - 1, 1)
    ends: dict[str, list[bool]] = {}
    for row in rows:
        for name, (lowest, highest) in row[5].items():  # type: ignore[attr-defined]
            ends.setdefault(name, []).append(lowest <= truth <= highest)
    population, n, key = place
    return CellSummary(
        population,
        key,
        n,
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
    scenes: dict[tuple[str, int], dict[str, list[float]]] = {}
    for block, record in found.items():
        if block.kind == "tests":
            methods = scenes.setdefault((block.name, block.n), {})
            for method, values in record.items():
                methods.setdefault(method, []).extend(values)
    return [
        TestSummary(
            scene,
            n,
            len(next(iter(methods.values()))),
            {method: float(np.mean(np.array(values) <= LEVEL)) for method, values in methods.items()},
        )
        for (scene, n), methods in scenes.items()
    ]
