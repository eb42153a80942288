"""The command ``curve``: exact learning curves and validation curves."""

from __future__ import annotations

import argparse
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from .._base import __version__
from .._base.files import written_whole
from .._base.formatting import bound_text
from .._base.refusals import need, refuse
from .._base.typing import Array
from .._core.luck.inference import InferenceWarning
from .._core.scores.curves import Surface, surface
from ..neighbors import SupervisedDistanceWarning
from ..reporting import Table
from .commands import parameters
from .data import check_options, metric_in_words, read_problem
from .output import Lines, computing, output_path, show, table_lines
from .score import COMPILES_ONCE

NEEDED = {".png": ("matplotlib", "plot"), ".svg": ("matplotlib", "plot"), ".csv": ("pandas", "pandas")}
"""By the ending of a file, the package that writes it and the extra that has it."""
FEW = (1, 5, 15)
"""The K of learning curves by default, as far as they fit into the training sets."""
ONE_SIZE = 0.8
"""The training size of validation curves by default."""
SHOWN = ("data", "n_items", "n_features", "scaling", "test", "n_test")
"""What JSON says of the table."""


def run(args: argparse.Namespace) -> int:
    """Print curves."""
    remedy = "use knnccv report --groups or knnccv score --groups"
    refuse(args.groups is not None, f"{remedy}: a curve leaves out samples, not groups")
    check_options(args)
    out = None if args.out is None else _checked_ending(output_path("--out", args.out, args.file))
    own = parameters(args)
    counted = "".join({"n_neighbors", "rank"}.intersection(own))
    refuse(counted, f"--parameter {counted} is given by --n-neighbors")
    problem = read_problem(args, own)
    table, rule = problem.table, problem.rule
    learning, n_items = args.kind == "learning", len(table.y)
    sizes = args.train_sizes or (tenths(n_items) if learning else [ONE_SIZE])
    n_neighbors = args.n_neighbors
    if n_neighbors is None and learning and rule.name != "nn":
        smallest = min(int(n * n_items) if isinstance(n, float) else n for n in sizes)
        n_neighbors = [k for k in FEW if k <= smallest] or [1]
    with computing(args.progress, COMPILES_ONCE, SupervisedDistanceWarning, InferenceWarning):
        found = surface(problem.X, table.y, n_neighbors, sizes, rule, **problem.how, **own)
        luck = None if args.interval is None else luck_of(found, args)
    if out is not None:
        write(out, found, args)
    answer = {
        "knnccv": __version__,
        **{name: value for name, value in table.to_dict().items() if name in SHOWN},
        "kind": args.kind,
        **found.to_dict(),
        "metric": metric_in_words(args),
        "interval": luck,
    }
    return show(args, answer, lines(args, table, found, luck, out), 9)


def _checked_ending(path: Path) -> Path:
    """The path; ValueError for an ending without a format, ImportError if its package is missing."""
    ending = path.suffix.lower()
    refuse(ending not in NEEDED, f"--out must end in .png, .svg or .csv, got {str(path)!r}")
    package, extra = NEEDED[ending]
    need(package, extra, f"--out {path} needs {package}")
    return path


def tenths(n_items: int) -> list[int | float]:
    """The fractions 0.1 to 0.9 that are at least one sample, the smallest of each number of samples."""
    sizes = {int(tenth / 10 * n_items): tenth / 10 for tenth in range(9, 0, -1)}
    return sorted(fraction for size, fraction in sizes.items() if size)


def luck_of(found: Surface, args: argparse.Namespace) -> dict[str, Any]:
    """The luck of the data of every cell."""
    how = {"random_state": args.seed}
    low, high = found.confidence_interval(args.interval, **how)
    error, not_worse = found.standard_error(**how), found.not_worse(args.interval, **how)
    ends = {"confidence_level": args.interval, "low": low, "high": high}
    return {**ends, "standard_error": error, "not_worse": not_worse}


def write(path: Path, found: Surface, args: argparse.Namespace) -> None:
    """Write the picture, or the numbers as CSV."""
    ending, level = path.suffix.lower()[1:], args.interval
    with written_whole(path) as part, warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)  # printed as notes
        if ending == "csv":
            frame = found.to_frame(level is not None, level or 0.95, random_state=args.seed)
            frame.to_csv(part, index=False, lineterminator="\n")
            return
        import matplotlib as mpl

        mpl.use("agg")
        import matplotlib.pyplot as plt

        is_learning = args.kind == "learning"
        x, n_points = "train_size" if is_learning else "n_neighbors", found.scores.shape[is_learning]
        given = {} if level is None else {"interval": level, "random_state": args.seed}
        with mpl.rc_context({"svg.hashsalt": "knnccv", "svg.fonttype": "none"}):
            figure: Any = found.plot(x, marker="." if n_points == 1 else "", **given).figure
            try:
                stamp = {"Date": None} if ending == "svg" else {"Software": None}
                figure.savefig(part, format=ending, dpi=150, metadata=stamp)
            finally:
                plt.close(figure)


def lines(args: argparse.Namespace, table: Table, found: Surface, luck: Any, out: Path | None) -> Lines:
    """The table, and the name of the file."""
    n_items, n_features = table.X.shape
    how = f", scaling {table.scaling}" if table.scaling else ""
    features = f"{n_features} feature{'s' * (n_features > 1)}{how}"
    tested = "" if table.test is None else f"; tested: {table.test.source}, {len(table.test.X)} samples"
    yield "Data", f"{table.source}: {n_items} samples, {features}{tested}"
    bound = bound_text(float(found.error_bound.max()))
    yield "Rule", f"{found.variant}, {metric_in_words(args)} distance; error at most {bound}"
    if out is not None:
        yield "Written", str(out)
    yield "", ""
    measure = found.measure or ("expected loss" if found.is_loss else "mean score")
    # Names and values of the rows, which are the horizontal ones, and of the columns, which are the lines.
    x_name, x, name, values = found.symbol, found.n_neighbors, "training samples", found.train_sizes
    cells = cells_of(found, luck)
    if args.kind == "learning":
        by_size = np.argsort(values, kind="stable")
        x_name, x, name, values = name, values[by_size], x_name, x
        cells = cells[:, by_size].T
    titles = list(map(str, values))
    yield f"{measure} by {x_name} (rows) and {name} (columns)", ""
    columns = [[title, *column] for title, column in zip(titles, cells.T, strict=True)]
    yield from ((line, "") for line in table_lines([x_name, *map(str, x)], columns))
    if found.scores.shape[0] > 1:
        yield f"* the best {found.symbol} of its training size", ""
        if luck:
            yield f"= not significantly worse than it, at level {luck['confidence_level']:g}", ""
    if luck:
        percent = 100 * luck["confidence_level"]
        yield f"[low, high]: {percent:g} % interval for the population (luck of the data)", ""


def cells_of(found: Surface, luck: dict[str, Any] | None) -> Array:
    """The text of all cells."""
    several = found.scores.shape[0] > 1
    best = found.n_neighbors[:, None] == np.atleast_1d(found.best().n_neighbors)
    cells = []
    for i, (score, is_best) in enumerate(zip(found.scores.flat, best.flat, strict=True)):
        mark = "*" if is_best else "=" if luck and luck["not_worse"].flat[i] else " "
        ends = f" [{_number(luck['low'].flat[i])}, {_number(luck['high'].flat[i])}]" if luck else ""
        cells.append(f"{_number(score)}{mark * several}{ends}")
    return np.array(cells).reshape(found.scores.shape)


def _number(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:.4f}" if abs(value) < 1000 else f"{value:.6g}"
