"""The study: which blocks it needs, what they show, and its report."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _catalog
from .._paper import Comparison, Line, tables_of
from .._picture import Panel, beside
from ._blocks import Block, Record, run_all
from ._populations import DESIGNS, PAPER, POPULATIONS, SCENES, cells_of

BOUNDS: Mapping[str, Any] = PAPER["bounds"]
NAMES = ("halves", "binomial", "one run, CLT", "corrected t", "nested", "Wald")
NORMAL = 1.959963984540054
LEVEL = 0.05
GROUPS, GROUPS_N = "groups", 150
N_TESTED = 200


def full_blocks(
    sizes: Sequence[int] = (50, 100, 200),
    samples: int = 500,
    more: int = 2000,
    tests: int = 1000,
    halvings: int = 200,
    populations: Sequence[str] = tuple(POPULATIONS),
    designs: Sequence[str] = DESIGNS,
    nested_at: int | None = 100,
) -> Iterator[Block]:
    """The blocks of the whole study: data sets with intervals, more with scores alone, and with tests.

    Tests are with 200 samples, groups with 150, nested cross-validation with `nested_at`, if at all. Blocks
    of all populations take turns, so that a part of the study is about all of them.
    """
    places = []
    for n in sizes:
        for name in populations:
            if name == GROUPS and n != sizes[0]:
                continue
            at = GROUPS_N if name == GROUPS else n
            for design in designs:
                if cells := tuple(cell.key for cell in cells_of(name, at) if cell.design == design):
                    nested = (
                        at == nested_at and POPULATIONS[name].kind == "two" and design == "leave-one-out"
                    )
                    places.append((name, at, cells, nested))
    for first, size in _pieces(samples, 25):
        for name, at, cells, nested in places:
            yield Block("intervals", name, at, first, size, halvings, cells, nested)
    for first, size in _pieces(more, 500):
        for name, at, cells, _ in places:
            yield Block("scores", name, at, first, size, cells=cells)
    for scene in SCENES:
        for first, size in _pieces(tests, 50):
            yield Block("tests", scene, N_TESTED, first, size, halvings)


def quick_blocks(n_data_sets: int = 100) -> Iterator[Block]:
    """A few cells, with few halvings."""
    for asked in PAPER["quick"]:
        name, n, cells = asked["name"], asked["n"], tuple(asked["cells"])
        yield Block("intervals", name, n, 0, n_data_sets, 40, cells)
        yield Block("scores", name, n, 0, 3 * n_data_sets, 0, cells)
    for scene in ("noise", "power"):
        yield Block("tests", scene, N_TESTED, 0, n_data_sets // 2, 40)


def _pieces(total: int, most: int) -> Iterator[tuple[int, int]]:
    for first in range(0, total, most):
        yield first, min(most, total - first)


def coverage(quick: bool, progress: bool = False) -> Comparison:
    """The study; the blocks of the whole one are kept, so that it goes on after an interruption."""
    if quick:
        return report(run_all(quick_blocks(), None, progress=progress), quick=True)
    folder = _catalog.kept_folder() / f"coverage-{_catalog.content_key('coverage', False)[:16]}"
    return report(run_all(full_blocks(), folder, progress=progress))


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

    @property
    def kind(self) -> str:
        """The kind of the population."""
        return POPULATIONS[self.population].kind

    @property
    def rule(self) -> str:
        """The name of the rule."""
        return self.key.split(" | ")[0]

    @property
    def part(self) -> str:
        """The part of the report."""
        return f"{POPULATIONS[self.population].name}; {self.n} samples"

    def line(self) -> Line:
        """The line of the report."""
        label = ", ".join(self.key.split(" | "))
        more: dict[str, Any] = {name: 100 * share for name, share in self.rivals.items()}
        more |= {"label": label, "simple": more.get("binomial", more.get("Wald"))}
        more |= {"width": self.width, "variance": self.variance, "warned": 100 * self.warned}
        return Line(self.part, f"{label}: coverage, %", None, 100 * self.coverage, digits=1, more=more)


def gathered(found: Mapping[Block, Record], kind: str) -> dict[tuple[str, int], dict[str, list[Any]]]:
    """The results of blocks of a kind, by population or scene and number of samples, then by their key."""
    whole: dict[tuple[str, int], dict[str, list[Any]]] = {}
    for block, record in found.items():
        if block.kind == kind:
            place = whole.setdefault((block.name, block.n), defaultdict(list))
            for key, values in record.items():
                place[key] += values
    return whole


def cell_summaries(found: Mapping[Block, Record]) -> list[CellSummary]:
    """One for every cell that has intervals, in the order of the blocks."""
    more = gathered(found, "scores")
    return [
        _summary(place, key, rows, more.get(place, {}).get(key, []))
        for place, cells in gathered(found, "intervals").items()
        for key, rows in cells.items()
    ]


def _summary(place: tuple[str, int], key: str, rows: list[list[Any]], more: list[float]) -> CellSummary:
    scores, low, high, variances, warned = np.array([row[:5] for row in rows], dtype=float).T
    every = np.array([*scores, *more])
    number, truth = len(every), math.fsum(every) / len(every)
    spread = max(math.fsum(every**2) / number - truth**2, 0.0) * number / max(number - 1, 1)
    rivals = {
        name: float(np.mean([row[5][name][0] <= truth <= row[5][name][1] for row in rows]))
        for name in rows[0][5]
    }
    return CellSummary(
        *place,
        key,
        len(scores),
        truth,
        float(np.mean((low <= truth) & (truth <= high))),
        float((high - low).mean() / (2 * NORMAL * math.sqrt(spread))) if spread else math.nan,
        float(variances.mean() / spread) if spread else math.nan,
        float(warned.mean()),
        rivals,
    )


def test_lines(found: Mapping[Block, Record], quick: bool) -> tuple[list[Line], list[Line]]:
    """How often each method rejects, and claims: few where both rules are equally good, else many."""
    lines, claims = [], []
    for (name, n), methods in gathered(found, "tests").items():
        scene = SCENES[name]
        for method, some in methods.items():
            share, quantity = 100 * np.mean(np.array(some) <= LEVEL), f"{scene.name}: {method}, % rejected"
            lines.append(Line(f"Tests at 5 %; {n} samples", quantity, None, float(share), digits=1))
            if method == "halves":
                what, bound = ("level", "most_level") if scene.equal else ("power", "least_power")
                slack = _slack(BOUNDS[bound], len(some), quick)
                limits = (0.0, BOUNDS[bound] + slack) if scene.equal else (BOUNDS[bound] - slack,)
                quantity = f"{what}, {scene.name}, %"
                claims.append(_claim("Comparisons by halves", quantity, float(share), *limits))
    return lines, claims


def report(found: Mapping[Block, Record], quick: bool = False) -> Comparison:
    """Tables, verdicts and pictures of all blocks that are there."""
    cells, (tests, claims) = cell_summaries(found), test_lines(found, quick)
    lines, others = [cell.line() for cell in cells], [*tests, *coverage_claims(cells, quick), *claims]
    halvings = sorted({block.n_halvings for block in found if block.kind != "scores"})
    notes = PAPER.notes(halvings=", ".join(map(str, halvings)), **BOUNDS)
    return PAPER.comparison(
        [*lines, *others],
        [*notes, PAPER["quick_note"]] if quick else notes,
        pictures=beside("coverage", PAPER["caption"], _panels(cells) if cells else []),
        tables=(*tables_of(lines, PAPER["layout"]), *tables_of(others, PAPER["claims_layout"])),
        columns=tuple(PAPER["columns"]),
    )


def coverage_claims(cells: Sequence[CellSummary], quick: bool) -> Iterator[Line]:
    """Claims about cells that are usually without a warning, and about groups and skewed errors."""
    part = "Intervals by halves"
    calm = [cell for cell in cells if cell.usually_calm and cell.kind not in ("groups", "errors")]
    if calm:
        shares = [100 * cell.coverage for cell in calm]
        slack = _slack(95, calm[0].n_data_sets, quick)
        apart = slack / math.sqrt(len({(cell.population, cell.n) for cell in calm}))
        for quantity, value, (low, high), off in (
            ("mean coverage, %", math.fsum(shares) / len(shares), BOUNDS["mean"], apart),
            ("lowest coverage, %", min(shares), BOUNDS["cell"], slack),
            ("highest coverage, %", max(shares), BOUNDS["cell"], slack),
        ):
            yield _claim(part, quantity, value, low - off, high + off)
        for row in by_rule(calm):
            low, high = BOUNDS["rule"]
            quantity = f"{row['rule']}, {row['samples']} samples, mean coverage, %"
            yield _claim(part, quantity, row["mean"], low - slack, high + slack)
        for quantity, name in (("mean width", "width"), ("mean variance ratio", "variance")):
            mean = math.fsum(getattr(cell, name) for cell in calm) / len(calm)
            yield Line(part, quantity, None, round(mean, 3), digits=3)
    for cell in cells:
        quantities = {
            "errors": (f"{cell.part}, %", BOUNDS["skewed"]),
            "groups": (f"groups, {cell.rule}, %", BOUNDS["grouped"]),
        }
        if cell.kind in quantities:
            quantity, least = quantities[cell.kind]
            least -= _slack(least, cell.n_data_sets, quick)
            yield _claim(part, quantity, 100 * cell.coverage, least)


def by_rule(cells: Sequence[CellSummary]) -> list[dict[str, Any]]:
    """A row for every rule and number of samples, and whether most of a cell's data sets gave a warning."""
    parts: dict[tuple[bool, int, str], list[CellSummary]] = defaultdict(list)
    for cell in cells:
        rule = f"{cell.rule}, {cell.kind}" if cell.kind in ("groups", "errors") else cell.rule
        parts[not cell.usually_calm, cell.n, rule].append(cell)
    rows = []
    for (warns, n, rule), some in sorted(parts.items(), key=lambda part: part[0][:2]):
        shares = [100 * cell.coverage for cell in some]
        row: dict[str, Any] = {"samples": n, "rule": rule, "warns": "mostly" if warns else "seldom"}
        row |= {"cells": len(some), "data sets": min(cell.n_data_sets for cell in some)}
        row |= {"mean": math.fsum(shares) / len(some), "least": min(shares), "most": max(shares)}
        for name in ("width", "variance"):
            row[name] = math.fsum(getattr(cell, name) for cell in some) / len(some)
        for name in NAMES[1:]:
            known = [100 * cell.rivals[name] for cell in some if name in cell.rivals]
            row[name] = math.fsum(known) / len(known) if known else None
        rows.append(row)
    return rows


def _slack(share: float, number: int, quick: bool) -> float:
    """Three standard errors of a share, in percent, for the quick form; the whole study has none."""
    return 3 * math.sqrt(share * (100 - share) / number) if quick else 0.0


def _claim(part: str, quantity: str, value: float, low: float, high: float = 100.0) -> Line:
    return Line(part, quantity, None, value, (low, min(high, 100.0)), low <= value <= high, digits=1)


def _panels(cells: Sequence[CellSummary]) -> list[list[Panel]]:
    """Coverage by method, and width by the number of samples."""
    shares = [(cell, {"halves": cell.coverage, **cell.rivals}) for cell in cells]
    covered = {name: [(cell, 100 * one[name]) for cell, one in shares if name in one] for name in NAMES}
    widths = {
        f"{n} samples": [(cell, cell.width) for cell in cells if cell.n == n]
        for n in sorted({cell.n for cell in cells})
    }
    labels = "coverage of 95 % intervals (%)", "width of intervals by halves / ideal width"
    return [[_ranges(covered, labels[0])], [_ranges(widths, labels[1])]]


def _ranges(found: Mapping[str, Sequence[tuple[CellSummary, float]]], label: str) -> Panel:
    """The mean over cells, with bars from the lowest to the highest."""
    rows = {name: values for name, values in found.items() if values}
    series = {}
    for calm, told in ((True, "mean, lowest and highest of cells"), (False, "mostly with a warning")):
        some = [[value for cell, value in row if cell.usually_calm == calm] for row in rows.values()]
        means = np.array([np.mean(values or math.nan) for values in some])
        ends = np.array([(min(values), max(values)) if values else (0, 0) for values in some]).T
        series[told] = means, np.abs(ends - means)
    return Panel("", list(rows), series, label)
