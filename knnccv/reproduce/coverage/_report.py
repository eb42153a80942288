"""The study: which blocks it needs, and its report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

from .. import _cache
from .._comparison import Comparison, Line, Table
from .._picture import Picture
from ._blocks import Block, Record, run_all
from ._pictures import draw_coverage
from ._populations import POPULATIONS
from ._scenes import SCENES
from ._summary import CellSummary, TestSummary, cell_summaries, test_summaries

TITLE = "Coverage of 95 % intervals and levels of tests: samples of known populations"
SOURCE = "no paper; all numbers are of knnccv's own simulations"
METHODS = ("binomial", "one run, CLT", "corrected t", "nested", "Wald")
TESTS = ("halves", "McNemar, 10 folds", "corrected t", "5x2 cv t")
HEADER = ("", "cover", "width", "var.", "warn", "simple", "CLT", "corr.t", "nested")
COLUMNS = ("part", "quantity", "knnccv", "verdict", "width", "variance", "warned", *METHODS, "note")
GROUPS_N = 150
GROUPS = "groups"
CELL, MEAN, GROUPED, SKEWED = (92.0, 99.5), (94.5, 97.0), 90.0, 80.0
"""Allowed coverage in percent: of a cell, on average, and at least of groups and of skewed errors."""
MOST_LEVEL, LEAST_POWER = 8.0, 35.0

QUICK_CELLS = {
    ("gaussians", 50): ("1-NN | leave-one-out",),
    ("gaussians", 100): ("1-NN | train 50 %", "5-NN | train 90 %"),
    ("lattice", 100): ("5-NN | train 90 %",),
    ("imbalance", 100): ("5-NN | 5 stratified folds",),
    ("three", 100): ("5-NN | 5 folds",),
    ("regression", 100): ("5-NN regression | train 90 %",),
    ("errors-exponential", 100): ("5-NN regression | 5 folds",),
    (GROUPS, GROUPS_N): ("5-NN | groups left out",),
}
QUICK_SCENES = ("noise", "power")
N_TESTED = 200


def full_blocks(
    sizes: Sequence[int] = (50, 100, 200),
    n_data_sets: int = 500,
    *,
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
    for (name, n), cells in QUICK_CELLS.items():
        yield Block("intervals", name, n, 0, n_data_sets, 40, cells)
        yield Block("scores", name, n, 0, 3 * n_data_sets, 0, cells)
    for scene in QUICK_SCENES:
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
    test_lines = [line for test in tests for line in _test_lines(test)]
    claims = [*_coverage_claims(cells, quick), *_test_claims(tests, quick)]
    pictures = (
        (Picture("coverage", "Coverage and width of 95 % intervals", partial(draw_coverage, cells)),)
        if cells
        else ()
    )
    return Comparison(
        TITLE,
        SOURCE,
        (*cell_lines, *test_lines, *claims),
        _notes(found, quick),
        pictures,
        tables=(*_cell_tables(cells), *_test_table(tests), _claim_table(claims)),
        columns=COLUMNS,
    )


def _part(cell: CellSummary) -> str:
    return f"{POPULATIONS[cell.population].name}; {cell.n} samples"


def _kind(cell: CellSummary) -> str:
    return POPULATIONS[cell.population].kind


def _cell_line(cell: CellSummary) -> Line:
    more = {"width": cell.width, "variance": cell.variance, "warned": 100 * cell.warned}
    more |= {name: 100 * share for name, share in cell.rivals.items()}
    quantity = f"{_label(cell)}: coverage, %"
    return Line(_part(cell), quantity, None, 100 * cell.coverage, digits=1, more=more)


def _label(cell: CellSummary) -> str:
    return ", ".join(cell.key.split(" | "))


def _test_lines(test: TestSummary) -> Iterator[Line]:
    part = f"Tests at 5 %; {test.n} samples"
    for method, share in test.rejected.items():
        yield Line(part, f"{SCENES[test.scene].name}: {method}, % rejected", None, 100 * share, digits=1)


def _coverage_claims(cells: list[CellSummary], quick: bool) -> Iterator[Line]:
    """Claims about cells that are usually without a warning, and about groups and skewed errors."""
    part = "Intervals by halves"
    calm = [cell for cell in cells if cell.usually_calm and _kind(cell) not in ("groups", "errors")]
    if calm:
        shares = [100 * cell.coverage for cell in calm]
        slack = _slack(0.95, calm[0].n_data_sets, quick)
        mean = math.fsum(shares) / len(shares)
        apart = slack / math.sqrt(len({(cell.population, cell.n) for cell in calm}))
        low, high = CELL[0] - slack, CELL[1] + slack
        for quantity, value, bounds in (
            ("mean coverage, %", mean, (MEAN[0] - apart, MEAN[1] + apart)),
            ("lowest coverage, %", min(shares), (low, high)),
            ("highest coverage, %", max(shares), (low, high)),
        ):
            yield _claim(part, quantity, value, bounds)
        for quantity, values in (
            ("mean width", [cell.width for cell in calm]),
            ("mean variance ratio", [cell.variance for cell in calm]),
        ):
            yield Line(part, quantity, None, round(math.fsum(values) / len(values), 3), digits=3)
    for cell in cells:
        if _kind(cell) == "errors":
            least = SKEWED - _slack(0.8, cell.n_data_sets, quick)
            yield _claim(part, f"{_part(cell)}, %", 100 * cell.coverage, (least, 100.0))
        if _kind(cell) == "groups":
            least = GROUPED - _slack(0.9, cell.n_data_sets, quick)
            yield _claim(
                part, f"groups, {cell.key.split(' | ')[0]}, %", 100 * cell.coverage, (least, 100.0)
            )


def _test_claims(tests: list[TestSummary], quick: bool) -> Iterator[Line]:
    part = "Comparisons by halves"
    for test in tests:
        scene = SCENES[test.scene]
        share = 100 * test.rejected["halves"]
        if scene.equal:
            most = MOST_LEVEL + _slack(0.08, test.n_data_sets, quick)
            yield _claim(part, f"level, {scene.name}, %", share, (0.0, most))
        else:
            least = LEAST_POWER - _slack(0.35, test.n_data_sets, quick)
            yield _claim(part, f"power, {scene.name}, %", share, (least, 100.0))


def _slack(share: float, number: int, quick: bool) -> float:
    """Three standard errors of a share, in percent, for the quick form; the whole study has none."""
    return 300 * math.sqrt(share * (1 - share) / number) if quick else 0.0


def _claim(part: str, quantity: str, value: float, bounds: tuple[float, float]) -> Line:
    holds = bounds[0] <= value <= bounds[1]
    return Line(part, quantity, None, value, (bounds[0], min(bounds[1], 100.0)), holds, digits=1)


def _shown(value: float | None, digits: int = 1) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def _cell_tables(cells: list[CellSummary]) -> Iterator[Table]:
    for part, members in groupby(cells, key=_part):
        rows = tuple(
            (
                _label(cell),
                _shown(100 * cell.coverage),
                _shown(cell.width, 2),
                _shown(cell.variance, 2),
                _shown(100 * cell.warned, 0),
                _shown(100 * cell.rivals.get("binomial", cell.rivals.get("Wald", math.nan))),
                *(_shown(100 * cell.rivals.get(name, math.nan)) for name in METHODS[1:-1]),
            )
            for cell in members
        )
        yield Table(part, HEADER, rows)


def _test_table(tests: list[TestSummary]) -> Iterator[Table]:
    if tests:
        header = ("rejected, %", "halves", "McNem.", "corr.t", "5x2cv", *[""] * (len(HEADER) - 5))
        rows = tuple(
            (
                SCENES[test.scene].name,
                *(_shown(100 * test.rejected[name]) if name in test.rejected else "" for name in TESTS),
                *[""] * (len(HEADER) - 5),
            )
            for test in tests
        )
        yield Table(f"Tests at 5 %; {tests[0].n} samples, 90 % train", header, rows)


def _claim_table(claims: list[Line]) -> Table:
    header = ("", "found", "least", "most", "holds", *[""] * (len(HEADER) - 5))
    rows = []
    for line in claims:
        least, most = line.allowed or (math.nan, math.nan)
        verdict = "" if line.holds is None else "yes" if line.holds else "no"
        numbers = (_shown(line.computed, line.digits), _shown(least), _shown(most), verdict)
        rows.append((line.quantity, *numbers, *[""] * (len(HEADER) - 5)))
    return Table("Claims", header, tuple(rows))


def _notes(found: Mapping[Block, Record], quick: bool) -> tuple[str, ...]:
    halvings = sorted({block.n_halvings for block in found if block.kind != "scores"})
    notes = [
        "The target of an interval is the mean exact score over data sets of the population. Its mean over "
        "all data sets drawn, also of those without an interval, is unbiased and stands for it.",
        "cover: percentage of 95 % intervals by halves that contain the target; width: mean width over "
        "that of ±1.96 standard deviations of the exact score; var.: mean estimated over true variance; "
        "warn: percentage of data sets with an InferenceWarning. "
        f"Halvings: {', '.join(map(str, halvings))}.",
        "Others: simple, the exact score as if answers were independent (binomial), for regression the "
        "symmetric interval with the same standard error (Wald); CLT, one run of "
        "folds with the same share; corr.t, 15 random splits; nested, 10 folds and 30 repetitions, beside "
        "leave-one-out. None is recommended.",
        "Claims on coverage are about cells in which fewer than half of the data sets led to a warning: on "
        f"average {MEAN[0]} to {MEAN[1]} %, in each {CELL[0]:g} to {CELL[1]} %, with groups at least "
        f"{GROUPED:g} %, and squared errors of a sine or a lognormal target at least {SKEWED:g} %, with or "
        f"without a warning. Tests: at most {MOST_LEVEL:g} % where both rules are equally good, at least "
        f"{LEAST_POWER:g} % of rejections where one is better.",
    ]
    if quick:
        notes.append(
            "The quick form draws few data sets; its bounds are wider by three standard errors of what it "
            "can see."
        )
    return tuple(notes)
