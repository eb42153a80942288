"""Made-up results to draw, and what a picture shows in words."""

from __future__ import annotations

import math
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np

from knnccv import Comparisons
from knnccv._core.scores.curves import Surface

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.collections import LineCollection, QuadMesh

SCORES = np.array([[0.5, 0.7, 0.6], [0.9, 0.3, 0.4], [0.1, 0.8, 0.2], [0.55, 0.65, 0.45]])
NEIGHBORS = [9, 1, 5, 3]
SIZES = [80, 20, 45]
RUNS = np.array([0.5, 0.625, 0.625, 0.75, 0.375, 0.5])


def made(scores=SCORES, n_neighbors=NEIGHBORS, train_sizes=SIZES, **more):
    """A surface of made-up numbers, neither axis in order."""
    zero = np.zeros(np.shape(scores))
    return Surface(np.array(scores), zero, np.array(n_neighbors), np.array(train_sizes), zero, **more)


def cell(k, size):
    return SCORES[NEIGHBORS.index(k), SIZES.index(size)]


class Banded(SimpleNamespace):
    """Such a surface with intervals; `asked` notes the arguments."""

    def __init__(self):
        fields = {
            name: getattr(made(), name) for name in ("scores", "n_neighbors", "train_sizes", "symbol")
        }
        super().__init__(**fields, is_loss=False, measure="accuracy", best=None, asked=[])

    def confidence_interval(self, level, **how):
        self.asked.append((level, how))
        return SimpleNamespace(low=SCORES - 0.1 * level, high=SCORES + 0.2)

    def not_worse(self, level, **how):
        self.asked.append((level, how))
        return SCORES > 0.42


def retrieved(off=0.0, rank="image"):
    """A result of retrieval, drawn anew for every query."""
    return SimpleNamespace(
        scores={"cmc": None},
        cmc=np.array([0.5, 0.7, 0.95]) - off,
        cmc_std=lambda n: np.array([0.1, 0.08, 0.06]) / math.sqrt(n),
        rank=rank,
    )


TRIALS = SimpleNamespace(trials={}, std=lambda name: {"cmc": np.array([0.2, 0.16, 0.12])}[name])


def compared(scores, alike, is_loss=False):
    """Comparisons of results, the best first, of which the pairs in `alike` do not differ."""
    n = len(scores)
    adjusted, zero = np.eye(n), np.zeros((n, n))
    for i, j in alike:
        adjusted[i, j] = adjusted[j, i] = 0.5
    names = tuple(f"rule {i}" for i in range(n))
    return Comparisons(names, np.array(scores), zero, zero, zero, adjusted, "accuracy", is_loss, {})


def points(pairs):
    return " ".join("(" + ", ".join(f"{value:.4g}" for value in pair) + ")" for pair in pairs)


def shown(axes):
    """What a picture shows, with its numbers, after it was laid out; the figure is closed."""
    axes.figure.canvas.draw()
    lines = [*axes.get_title().splitlines(), f"x: {axes.get_xlabel()}; y: {axes.get_ylabel()}"]
    lines += ["x grows to the left"] if axes.xaxis_inverted() else []
    for legend in axes.findobj(mpl.legend.Legend):
        labels = ", ".join(text.get_text() for text in legend.get_texts())
        lines.append(f"legend {legend.get_title().get_text()}: {labels}")
    for line in axes.lines:
        name = "" if line.get_label().startswith("_") else f" {line.get_label()}"
        lines.append(f"line{name}: {points(line.get_xydata())}")
    for found in axes.collections:
        if isinstance(found, QuadMesh):
            lines += [
                f"cells: {row}"
                for row in found.get_array().reshape(found.get_coordinates().shape[0] - 1, -1)
            ]
        elif isinstance(found, LineCollection):
            lines += [f"range: {points(segment)}" for segment in found.get_segments()]
        else:
            ends = np.unique(found.get_paths()[0].vertices.round(12), axis=0)
            ends = [(x, *(y for other, y in ends if other == x)) for x in np.unique(ends[:, 0])]
            lines.append(f"band: {points((end[0], end[1], end[-1]) for end in ends)}")
    for patch in axes.patches:
        box = patch.get_bbox()
        lines.append(f"box: {points([(box.x0, box.x1), (box.y0, box.y1)])}")
    lines += [f"text {text.get_ha()}: {text.get_text()}" for text in axes.texts]
    lines += [f"color bar: {other.get_ylabel()}" for other in axes.figure.axes if other is not axes]
    plt.close(axes.figure)
    return "\n".join(lines)
