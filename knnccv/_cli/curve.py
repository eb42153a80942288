"""The command ``curve``: exact learning curves and validation curves of a table."""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .._files import written_whole
from .._formatting import error_line, plain
from .._typing import Array
from .._version import __version__
from ..curves import Surface, surface
from ..inference import InferenceWarning
from ..neighbors import SupervisedDistanceWarning
from . import terminal_plot
from .data import check_options, metric_in_words, neighbors_or_features, read_data, rule_of
from .options import need, parameters, refuse
from .output import computing, output_path, print_notes, show
from .score import COMPILES_ONCE
from .table import Table

NEEDED = {".png": ("matplotlib", "plot"), ".svg": ("matplotlib", "plot"), ".csv": ("pandas", "pandas")}
"""By the ending of a file, the package that writes it and the extra that has it."""
FEW = (1, 5, 15)
"""The K of learning curves by default, as far as they fit into the training sets."""
ONE_SIZE = 0.8
"""The training size of validation curves by default."""
WIDTH = 100
"""Characters of a line of the table; more columns go on below."""


def run(args: argparse.Namespace) -> int:
    """Print curves."""
    check_options(args)
    out = None if args.out is None else _checked_ending(output_path("--out", args.out, args.file))
    if out is None and not args.json:
        terminal_plot.load()
    counted = [pair for pair in args.parameter if pair.partition("=")[0] in ("n_neighbors", "rank")]
    refuse(counted, f"--parameter {''.join(counted[:1])} is given by --n-neighbors")
    given = parameters(argparse.Namespace(parameter=args.parameter))
    rule = rule_of(args.variant or "knn", given)
    uncounted = args.n_neighbors is not None and not {"n_neighbors", "rank"} & set(rule.parameters)
    msg = f"variant {rule.name!r} has no number of neighbors to choose; omit --n-neighbors"
    refuse(uncounted, msg)
    table, rule = read_data(args, rule)
    print_notes(table.notes)
    X, measured_by = neighbors_or_features(args, table, rule)
    learning, n_items = args.kind == "learning", len(table.y)
    sizes = args.train_sizes or (tenths(n_items) if learning else [ONE_SIZE])
    n_neighbors = args.n_neighbors
    if n_neighbors is None and learning and rule.name != "nn":
        smallest = min(int(n * n_items) if isinstance(n, float) else n for n in sizes)
        n_neighbors = [k for k in FEW if k <= smallest] or [1]
    how = {"ties": args.ties, "average": args.average, "n_jobs": args.jobs, **measured_by}
    with computing(args, COMPILES_ONCE, SupervisedDistanceWarning, InferenceWarning):
        own = {name: value for name, (_, value) in given.items()}
        found = surface(X, table.y, n_neighbors, sizes, rule, **how, **own)
        luck = None if args.interval is None else luck_of(found, args)
    if out is not None:
        write(out, found, args)
    parts = ("data", "n_items", "n_features", "standardized")
    answer = {
        "knnccv": __version__,
        **{name: table.to_dict()[name] for name in parts},
        "kind": args.kind,
        **found.to_dict(),
        "metric": metric_in_words(args),
        "interval": luck and plain(luck),
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
    ends = {"level": args.interval, "low": low, "high": high}
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

        x, n_points = ("train_size", found.scores.shape[1])
        if args.kind == "validation":
            x, n_points = ("n_neighbors", found.scores.shape[0])
        given = {} if level is None else {"interval": level, "random_state": args.seed}
        with mpl.rc_context({"svg.hashsalt": "knnccv", "svg.fonttype": "none"}):
            figure: Any = found.plot(x, marker="." if n_points == 1 else "", **given).figure
            try:
                stamp = {"Date": None} if ending == "svg" else {"Software": None}
                figure.savefig(part, format=ending, dpi=150, metadata=stamp)
            finally:
                plt.close(figure)


def lines(
    args: argparse.Namespace, table: Table, found: Surface, luck: dict[str, Any] | None, out: Path | None
) -> Iterator[tuple[str, str]]:
    """The plot, or the name of the file, and the table."""
    n_items, n_features = table.X.shape
    features = f"{n_features} feature{'s' * (n_features > 1)}{', standardized' * table.standardized}"
    yield "Data", f"{table.source}: {n_items} samples, {features}"
    yield "Rule", f"{found.variant}, {metric_in_words(args)} distance; {error_line(found)}"
    yield "", ""
    symbol = "R" if found.variant == "rank" else "K"
    measure = found.measure or ("expected loss" if found.is_loss else "mean score")
    # The horizontal name and values, those of the lines, and the places of their cells.
    at: Array = np.arange(found.scores.size).reshape(found.scores.shape)
    x_name, x, name, values = symbol, found.n_neighbors, "training samples", found.train_sizes
    at = at.T
    if args.kind == "learning":
        by_size = np.argsort(values, kind="stable")
        x_name, x, name, values, at = name, values[by_size], x_name, x, at.T[:, by_size]
    x, values = x.tolist(), values.tolist()
    if out is None:
        for line in plot(found.scores.ravel(), x_name, x, name, values, at, measure).split("\n"):
            yield line, ""
    else:
        yield "Written", str(out)
    yield "", ""
    yield f"{measure} by {x_name} (rows) and {name} (columns)", ""
    cells = cells_of(found, luck)
    columns = [[str(value), *(cells[i] for i in row)] for value, row in zip(values, at, strict=True)]
    yield from ((line, "") for line in blocks([x_name, *map(str, x)], columns))
    if found.scores.shape[0] > 1:
        yield f"* the best {symbol} of its training size", ""
        if luck:
            yield f"= not significantly worse than it, at level {luck['level']:g}", ""
    if luck:
        percent = 100 * luck["level"]
        yield f"[low, high]: {percent:g} % interval for the population (luck of the data)", ""


def plot(
    scores: Array, x_name: str, x: list[Any], name: str, values: list[Any], at: Array, measure: str
) -> str:
    """The plot as text."""
    most = len(terminal_plot.SIGNS)
    drawn = sorted({round(i) for i in np.linspace(0, len(values) - 1, min(most, len(values))).tolist()})
    text = terminal_plot.draw(
        x,
        [(str(values[line]), scores[at[line]].tolist()) for line in drawn],
        x_name=x_name,
        y_name=measure,
        legend=name,
        colored=terminal_plot.shows_colors(),
        framed=terminal_plot.shows_frames(),
    )
    more = f"\n{most} of {len(values)} lines are drawn; the table has all of them"
    return text + more * (len(values) > most)


def cells_of(found: Surface, luck: dict[str, Any] | None) -> list[str]:
    """The text of all cells, in the order of the flat arrays."""
    several = found.scores.shape[0] > 1
    best = found.n_neighbors[:, None] == np.atleast_1d(found.best().n_neighbors)
    cells = []
    for i, (score, is_best) in enumerate(zip(found.scores.flat, best.flat, strict=True)):
        mark = "*" if is_best else "=" if luck and luck["not_worse"].flat[i] else " "
        ends = f" [{_number(luck['low'].flat[i])}, {_number(luck['high'].flat[i])}]" if luck else ""
        cells.append(f"{_number(score)}{mark * several}{ends}")
    return cells


def blocks(first: list[str], columns: list[list[str]]) -> Iterator[str]:
    """The lines of a table, whose columns go on below where they are too wide."""
    margin = max(map(len, first))
    widths = [max(map(len, column)) + 2 for column in columns]
    start = 0
    while start < len(columns):
        stop = start + 1
        while stop < len(columns) and margin + sum(widths[start : stop + 1]) <= WIDTH:
            stop += 1
        if start:
            yield ""
        for i, title in enumerate(first):
            row = (columns[j][i].rjust(widths[j]) for j in range(start, stop))
            yield title.rjust(margin) + "".join(row)
        start = stop


def _number(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:.4f}" if abs(value) < 1000 else f"{value:.6g}"
