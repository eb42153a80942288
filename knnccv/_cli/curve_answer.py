"""The answer of the command ``curve``: a plot on the terminal and a table, JSON, or a file."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._files import written_whole
from .._formatting import error_line
from .._typing import Array
from .._version import __version__
from ..curves import Surface
from ..inference import InferenceWarning
from . import terminal_plot
from .score_data import Data

WIDTH = 100
"""Characters of a line of the table; more columns go on below."""


@dataclass(frozen=True, eq=False)
class Luck:
    """Intervals, standard errors and the mask of K that are not worse, all of shape (n_K, n_sizes)."""

    low: Array
    high: Array
    standard_error: Array
    not_worse: Array


@dataclass(frozen=True, eq=False)
class CurveAnswer:
    """A surface, and how its curves are shown."""

    data: Data
    found: Surface
    kind: str
    metric: str
    level: float | None
    luck: Luck | None
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def symbol(self) -> str:
        """The name of the number of neighbors."""
        return "R" if self.found.variant == "rank" else "K"

    def as_json(self) -> dict[str, Any]:
        """The answer in types that JSON has; what is not defined is null."""
        found = self.found
        best = found.best()
        columns = (found.train_sizes.tolist(), best.n_neighbors.tolist(), best.score.tolist())
        interval = None
        if self.luck is not None:
            interval = {
                "level": self.level,
                "low": _listed(self.luck.low),
                "high": _listed(self.luck.high),
                "standard_error": _listed(self.luck.standard_error),
                "not_worse": self.luck.not_worse.tolist(),
            }
        return {
            "knnccv": __version__,
            "data": self.data.source,
            "n_items": len(self.data.X),
            "n_features": self.data.X.shape[1],
            "standardized": self.data.standardized,
            "kind": self.kind,
            "variant": found.variant,
            "parameters": {name: _plain(value) for name, value in found.parameters.items()},
            "metric": self.metric,
            "ties": found.ties,
            "average": found.average,
            "measure": found.measure,
            "is_loss": found.is_loss,
            "n_neighbors": found.n_neighbors.tolist(),
            "train_sizes": found.train_sizes.tolist(),
            "scores": _listed(found.scores),
            "error_bound": _listed(found.error_bound),
            "best": [
                {"train_size": size, "n_neighbors": k, "score": score}
                for size, k, score in zip(*columns, strict=True)
            ],
            "interval": interval,
            "seconds": found.seconds,
        }

    def write(self, path: Path) -> None:
        """Write the picture, or the numbers as CSV."""
        with written_whole(path) as part, warnings.catch_warnings():
            warnings.simplefilter("ignore", InferenceWarning)  # printed as notes
            if path.suffix.lower() == ".csv":
                how: dict[str, Any] = {"interval": self.luck is not None, "random_state": self.seed}
                if self.level is not None:
                    how["confidence_level"] = self.level
                self.found.to_frame(**how).to_csv(part, index=False, lineterminator="\n")
                return
            import matplotlib as mpl

            mpl.use("agg")
            import matplotlib.pyplot as plt

            x = "train_size" if self.kind == "learning" else "n_neighbors"
            given: dict[str, Any] = {}
            if self.level is not None:
                given = {"interval": self.level, "random_state": self.seed}
            ending = path.suffix.lower()[1:]
            with mpl.rc_context({"svg.hashsalt": "knnccv", "svg.fonttype": "none"}):
                axes = self.found.plot(x, marker="." if self._n_points == 1 else "", **given)
                figure: Any = axes.figure
                try:
                    stamp = {"Date": None} if ending == "svg" else {"Software": None}
                    figure.savefig(part, format=ending, dpi=150, metadata=stamp)
                finally:
                    plt.close(figure)

    @property
    def _n_points(self) -> int:
        return int(self.found.scores.shape[1 if self.kind == "learning" else 0])

    def as_text(self, out: Path | None) -> str:
        """The plot, or the name of the file, and the table."""
        found = self.found
        n_items, n_features = self.data.X.shape
        scaled = ", standardized" if self.data.standardized else ""
        features = "feature" if n_features == 1 else "features"
        lines = [
            f"Data     {self.data.source}: {n_items} samples, {n_features} {features}{scaled}",
            f"Rule     {found.variant}, {self.metric} distance; {error_line(found)}",
            "",
            self._plot() if out is None else f"Written  {out}",
            "",
            *self._table(),
        ]
        return "\n".join(lines)

    def _axes(self) -> tuple[str, list[int], str, list[int], Array]:
        """The horizontal name and values, those of the lines, and the positions in the flat arrays."""
        k, n = (self.symbol, self.found.n_neighbors.tolist()), self.found.train_sizes.tolist()
        at: Array = np.arange(self.found.scores.size).reshape(self.found.scores.shape)
        if self.kind == "learning":
            by_size = np.argsort(n, kind="stable")
            return "training samples", [n[i] for i in by_size], *k, at[:, by_size]
        return *k, "training samples", n, at.T

    def _plot(self) -> str:
        x_name, x, name, values, at = self._axes()
        scores = self.found.scores.ravel()
        most = len(terminal_plot.SIGNS)
        drawn = list(range(len(values)))
        if len(values) > most:
            drawn = sorted({round(i) for i in np.linspace(0, len(values) - 1, most).tolist()})
        text = terminal_plot.draw(
            x,
            [(str(values[line]), scores[at[line]].tolist()) for line in drawn],
            x_name=x_name,
            y_name=self._measure,
            legend=name,
            colored=terminal_plot.shows_colors(),
            framed=terminal_plot.shows_frames(),
        )
        if len(values) > most:
            text += f"\n{most} of {len(values)} lines are drawn; the table has all of them"
        return text

    @property
    def _measure(self) -> str:
        return self.found.measure or ("expected loss" if self.found.is_loss else "mean score")

    def _table(self) -> list[str]:
        x_name, x, name, values, at = self._axes()
        cells = self._cells()
        first = [x_name, *map(str, x)]
        columns = [[str(value), *(cells[i] for i in row)] for value, row in zip(values, at, strict=True)]
        margin = max(map(len, first))
        lines = [f"{self._measure} by {x_name} (rows) and {name} (columns)"]
        block: list[tuple[list[str], int]] = []
        for column in columns:
            width = max(map(len, column)) + 2
            if block and margin + width + sum(taken for _, taken in block) > WIDTH:
                lines += [*_rows(first, margin, block), ""]
                block = []
            block.append((column, width))
        lines += _rows(first, margin, block)
        if self.found.scores.shape[0] > 1:
            lines.append(f"* the best {self.symbol} of its training size")
            if self.luck is not None:
                lines.append(f"= not significantly worse than it, at level {self.level:g}")
        if self.luck is not None:
            lines.append(
                f"[low, high]: {100 * (self.level or 0):g} % interval for the population (luck of the data)"
            )
        return lines

    def _cells(self) -> list[str]:
        """The text of all cells, in the order of the flat arrays."""
        found, luck = self.found, self.luck
        several = found.scores.shape[0] > 1
        best = found.n_neighbors[:, None] == np.atleast_1d(found.best().n_neighbors)
        cells = []
        for i, (score, is_best) in enumerate(zip(found.scores.flat, best.flat, strict=True)):
            mark = ""
            if several:
                mark = "*" if is_best else "=" if luck is not None and luck.not_worse.flat[i] else " "
            interval = ""
            if luck is not None:
                interval = f" [{_number(luck.low.flat[i])}, {_number(luck.high.flat[i])}]"
            cells.append(f"{_number(score)}{mark}{interval}")
        return cells


def _rows(first: Sequence[str], margin: int, block: Sequence[tuple[list[str], int]]) -> list[str]:
    return [
        (title.rjust(margin) + "".join(column[i].rjust(width) for column, width in block)).rstrip()
        for i, title in enumerate(first)
    ]


def _number(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:.4f}" if abs(value) < 1000 else f"{value:.6g}"


def _listed(values: Array) -> list[list[float | None]]:
    return [[value if math.isfinite(value) else None for value in row] for row in values.tolist()]


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
