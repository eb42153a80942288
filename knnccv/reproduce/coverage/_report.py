"""The study: which blocks it needs, and its report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .. import _cache
from .._comparison import Comparison, Line, Table, tables_of
from .._picture import EXACT_COLOR, PAPER_COLOR, SAMPLED_COLOR, Picture, draw_curves, new_figure
from ._blocks import Block, Record, run_all
from ._cells import PAPER
from ._populations import POPULATIONS
from ._scenes import SCENES
from ._summary import CellSummary, TestSummary, cell_summaries, test_summaries

BOUNDS: Mapping[str, Any] = PAPER["bounds"]
NAMES = ("halves", "binomial", "one run, CLT", "corrected t", "nested", "Wald")
TESTS = ("halves", "McNemar, 10 folds", "corrected t", "5x2 cv t")
GROUPS, GROUPS_N = "groups", 150
N_TESTED = 200


def full_blocks(
    sizes: Sequence[int] = (50, 100, 200),
    n_data_sets: int = 500,
    n_more: int = 2000,
    n_tested: int = 1000,
    n_halvings: int = 200,
    populations: Sequence[str] = tuple(POPULATIONS),
    nested_at: int | None = 100,
) -> Iterator[Block]:
    """The blocks of the whole study.

    Tests are with 200 samples, groups with 150, nested cross-validation with `nested_at`, if at all.
    """
    for n in sizes:
        for name in populations:
            if name == GROUPS and n != sizes[0]:
                continue
            at = GROUPS_N if name == GROUPS else n
            nested = at == nested_at and POPULATIONS[name].kind == "two"
            for first, size in _pieces(n_data_sets, 25):
                yield Block("intervals", name, at, first, size, n_halvings, (), nested)
            for first, size in _pieces(n_more, 500):
                yield Block("scores", name, at, first, size)
    for scene in SCENES:
        for first, size in _pieces(n_tested, 50):
            yield Block("tests", scene, N_TESTED, first, size, n_halvings)


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
    folder = _cache.kept_folder() / f"coverage-{_cache.content_key('coverage', False)[:16]}"
    return report(run_all(full_blocks(), Path(folder), progress=progress))


def report(found: Mapping[Block, Record], quick: bool = False) -> Comparison:
    """Tables, verdicts and pictures of all blocks that are there."""
    cells, tests = cell_summaries(found), test_summaries(found)
    cell_lines = [_cell_line(cell) for cell in cells]
    claims = [*coverage_claims(cells, quick), *test_claims(tests, quick)]
    halvings = sorted({block.n_halvings for block in found if block.kind != "scores"})
    notes = PAPER.notes(halvings=", ".join(map(str, halvings)), **BOUNDS)
    picture = Picture("coverage", "Coverage and width of 95 % intervals", partial(draw_coverage, cells))
    return PAPER.comparison(
        [*cell_lines, *(line for test in tests for line in _test_lines(test)), *claims],
        [*notes, PAPER["quick_note"]] if quick else notes,
        pictures=(picture,) if cells else (),
        tables=(
            *tables_of(cell_lines, PAPER["layout"]),
            *_test_table(tests),
            *tables_of(claims, PAPER["claims_layout"]),
        ),
        columns=tuple(PAPER["columns"]),
    )


def _part(cell: CellSummary) -> str:
    return f"{POPULATIONS[cell.population].name}; {cell.n} samples"


def _kind(cell: CellSummary) -> str:
    return POPULATIONS[cell.population].kind


def _cell_line(cell: CellSummary) -> Line:
    label = ", ".join(cell.key.split(" | "))
    others = {name: 100 * share for name, share in cell.rivals.items()}
    more: dict[str, Any] = {
        "width": cell.width,
        "variance": cell.variance,
        "warned": 100 * cell.warned,
        **others,
    }
    more |= {"label": label, "simple": others.get("binomial", others.get("Wald"))}
    return Line(_part(cell), f"{label}: coverage, %", None, 100 * cell.coverage, digits=1, more=more)


def _test_lines(test: TestSummary) -> Iterator[Line]:
    part = f"Tests at 5 %; {test.n} samples"
    for method, share in test.rejected.items():
        yield Line(part, f"{SCENES[test.scene].name}: {method}, % rejected", None, 100 * share, digits=1)


def _test_table(tests: Sequence[TestSummary]) -> Iterator[Table]:
    if tests:
        header = ("rejected, %", "halves", "McNem.", "corr.t", "5x2cv")
        rows = tuple(
            (SCENES[test.scene].name, *(f"{100 * test.rejected[name]:.1f}" for name in TESTS))
            for test in tests
        )
        yield Table(f"Tests at 5 %; {tests[0].n} samples, 90 % train", header, rows)


def coverage_claims(cells: Sequence[CellSummary], quick: bool) -> Iterator[Line]:
    """Claims about cells that are usually without a warning, and about groups and skewed errors."""
    part = "Intervals by halves"
    calm = [cell for cell in cells if cell.usually_calm and _kind(cell) not in ("groups", "errors")]
    if calm:
        shares = [100 * cell.coverage for cell in calm]
        slack = _slack(0.95, calm[0].n_data_sets, quick)
        apart = slack / math.sqrt(len({(cell.population, cell.n) for cell in calm}))
        for quantity, value, (low, high), off in (
            ("mean coverage, %", math.fsum(shares) / len(shares), BOUNDS["mean"], apart),
            ("lowest coverage, %", min(shares), BOUNDS["cell"], slack),
            ("highest coverage, %", max(shares), BOUNDS["cell"], slack),
        ):
            yield _claim(part, quantity, value, low - off, high + off)
        for quantity, name in (("mean width", "width"), ("mean variance ratio", "variance")):
            mean = math.fsum(getattr(cell, name) for cell in calm) / len(calm)
            yield Line(part, quantity, None, round(mean, 3), digits=3)
    for cell in cells:
        rule = cell.key.split(" | ")[0]
        quantities = {
            "errors": (f"{_part(cell)}, %", "skewed"),
            "groups": (f"groups, {rule}, %", "grouped"),
        }
        if _kind(cell) in quantities:
            quantity, name = quantities[_kind(cell)]
            least = BOUNDS[name] - _slack(BOUNDS[name] / 100, cell.n_data_sets, quick)
            yield _claim(part, quantity, 100 * cell.coverage, least)


def test_claims(tests: Sequence[TestSummary], quick: bool) -> Iterator[Line]:
    """Few rejections where both rules are equally good, many where one is better."""
    part = "Comparisons by halves"
    for test in tests:
        scene, share = SCENES[test.scene], 100 * test.rejected["halves"]
        bound = BOUNDS["most_level" if scene.equal else "least_power"]
        slack = _slack(bound / 100, test.n_data_sets, quick)
        limits = (0.0, bound + slack) if scene.equal else (bound - slack,)
        yield _claim(part, f"{'level' if scene.equal else 'power'}, {scene.name}, %", share, *limits)


def _slack(share: float, number: int, quick: bool) -> float:
    """Three standard errors of a share, in percent, for the quick form; the whole study has none."""
    return 300 * math.sqrt(share * (1 - share) / number) if quick else 0.0


def _claim(part: str, quantity: str, value: float, low: float, high: float = 100.0) -> Line:
    return Line(part, quantity, None, value, (low, min(high, 100.0)), low <= value <= high, digits=1)


def draw_coverage(cells: list[CellSummary]) -> Any:
    """A dot for every cell: coverage by method on the left, width by the number of samples on the right."""
    figure, ((left, right),) = new_figure(9.5, 4.4, 1, 2)
    left.axhspan(92, 99.5, color=SAMPLED_COLOR, alpha=0.25, lw=0)
    left.axhline(95, color=PAPER_COLOR, lw=1, ls="--")
    drawn = {name: shares for name in NAMES if len(shares := _shares(cells, name))}
    for place, (name, shares) in enumerate(drawn.items()):
        spread = np.linspace(-0.25, 0.25, len(shares)) if len(shares) > 1 else np.zeros(1)
        color = EXACT_COLOR if name == "halves" else PAPER_COLOR
        left.plot(place + spread, shares, "o", color=color, ms=3.5, alpha=0.7)
        left.plot([place - 0.3, place + 0.3], [shares.mean()] * 2, color=color, lw=2)
    left.set_xticks(range(len(drawn)), list(drawn), rotation=20)
    left.set_xlim(-0.5, max(len(drawn), 1) - 0.5)
    left.set(ylabel="coverage of 95 % intervals (%)", ylim=(None, 101))
    curves: list[Any] = []
    for calm, marker, label in ((True, "o", "mostly no warning"), (False, "x", "mostly a warning")):
        places = [(cell.n, cell.width) for cell in cells if cell.usually_calm == calm]
        style = {"color": EXACT_COLOR, "ms": 4, "alpha": 0.7, "label": label}
        curves += [(*zip(*places, strict=True), marker, style)] if places else []
    right.axhline(1, color=PAPER_COLOR, lw=1, ls="--")
    names = {"xlabel": "number of samples", "ylabel": "width of intervals by halves / ideal width"}
    draw_curves(right, curves, {}, **names)
    return figure


def _shares(cells: list[CellSummary], name: str) -> Any:
    """Coverage in percent of the cells that have this method and mostly no warning."""
    calm = [{"halves": cell.coverage, **cell.rivals} for cell in cells if cell.usually_calm]
    return 100 * np.array([shares[name] for shares in calm if name in shares])
