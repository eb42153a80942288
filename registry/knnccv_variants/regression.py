"""K-nearest-neighbour regression: the exact mean squared error, its bias and its variance."""

from __future__ import annotations

from typing import Any

import numpy as np

from knnccv._checks import check_choice, check_integer
from knnccv.kernel import Array, Tables, Task, Variant, jit

from ._inclusion import inclusion_weights, mean_inclusion

PARTS = ("error", "bias2", "variance", "prediction")
ERROR, BIAS2, VARIANCE, PREDICTION = range(4)


@jit
def regression_fixed(order, labels, target, constraints):  # type: ignore[no-untyped-def]
    """E|mean of K targets - y|^2, or a part of it; O(depth * outputs).

    Two items are both among the K nearest with a probability that depends on the farther of them only, so
    one sum of targets over the nearer ones serves all pairs. In a tied group all items have the group's
    mean probability, and so have all pairs. Targets are taken relative to y, which keeps offsets out.
    """
    items, group_end = order.items, order.group_end
    values = labels.values
    k, part, output = constraints.integers
    single = constraints.weights
    n_available = constraints.counts[0] - constraints.held_out
    unit = constraints.unit
    zero = unit * 0
    n_outputs = values.shape[1]
    nearer = np.full(n_outputs, zero)  # sum of the targets before the group
    group = np.full(n_outputs, zero)
    mean = np.full(n_outputs, zero)
    squares = zero
    depth = len(items)
    start = 0
    while start < depth:
        end = group_end[start]
        weight, with_nearer, within = mean_inclusion(single, n_available, start, end, unit)
        if weight == 0:
            break
        group[:] = zero
        for i in range(start, end):
            for o in range(n_outputs):
                gap = (values[items[i], o] - values[target, o]) * unit
                squares += weight * gap * gap + 2 * within * gap * group[o]
                group[o] += gap
        for o in range(n_outputs):
            squares += 2 * with_nearer * group[o] * nearer[o]
            mean[o] += weight * group[o]
            nearer[o] += group[o]
        start = end
    if part == PREDICTION:
        return values[target, output] * unit + mean[output] / k
    bias = zero
    for o in range(n_outputs):
        bias += mean[o] * mean[o]
    if part == BIAS2:
        return bias / (k * k)
    if part == VARIANCE:
        return max(squares - bias, zero) / (k * k)
    return max(squares, zero) / (k * k)


class Regression(Variant):
    """The mean target of the K nearest training items, judged by its squared error (Kanagawa 2024).

    Its targets are real numbers, y of shape (n_items,) or (n_items, n_outputs); the error is summed over
    the outputs.

    Parameters
    ----------
    n_neighbors : int
        K, 1 to the size of the training set.
    part : {"error", "bias2", "variance", "prediction"}
        What is averaged over the training sets: the squared error; or the parts of it, the squared
        difference of the mean prediction and y, and the prediction's variance; or the prediction itself.
    output : int
        Which output, for the prediction.
    """

    name = "regression"
    target = "values"
    parameters = {"n_neighbors": 5, "part": "error", "output": 0}  # noqa: RUF012
    tie_rules = ("index", "random")
    fixed = regression_fixed

    def n_nearest(self, **parameters: Any) -> int:
        """K."""
        return int(parameters["n_neighbors"])

    def check(self, task: Task, **parameters: Any) -> None:
        """K must fit into every training set."""
        limit = "the size of the training set"
        check_integer("n_neighbors", parameters["n_neighbors"], 1, task.train_size, limit)
        check_choice("part", parameters["part"], PARTS)
        check_integer("output", parameters["output"], 0)

    def check_targets(self, values: Array, **parameters: Any) -> None:
        """The output must be there: the kernel would read beyond it."""
        limit = "the last output"
        check_integer("output", parameters["output"], 0, values.shape[1] - 1, limit)

    def largest_for(self, values: Array, **parameters: Any) -> float:
        """The square of the diagonal of the box that holds all targets; for the prediction its diagonal."""
        spread = np.ptp(values, axis=0)
        squared = float((spread * spread).sum())
        return squared**0.5 if parameters["part"] == "prediction" else squared

    def tables(self, task: Task, **parameters: Any) -> Tables:
        """K, the part and the output; how likely items and pairs are among the K nearest."""
        k = self.n_nearest(**parameters)
        integers = (k, PARTS.index(parameters["part"]), parameters["output"])
        return Tables(integers=integers, weights=inclusion_weights(task, k))
