"""K-nearest-neighbor regression: the exact mean squared error, its bias and its variance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from knnccv._typing import Array
from knnccv._validation import check_choice, check_integer
from knnccv.kernel import Tables, Task, Variant, jit

from ._inclusion_probabilities import inclusion_weights, mean_inclusion

MEASURES = {
    "error": "mean squared error",
    "bias2": "squared bias",
    "variance": "variance",
    "prediction": "mean prediction",
    "bias": "bias",
}
PARTS = tuple(MEASURES)
ERROR, BIAS2, VARIANCE, PREDICTION, BIAS = range(5)


@jit
def regression_fixed(order, labels, target, constraints):  # type: ignore[no-untyped-def]
    """E|mean of K targets - y|^2, or a part of it; O(depth * outputs).

    Two samples are both among the K nearest with a probability that depends on the farther of them only, so
    one sum of targets over the nearer ones serves all pairs. In a tied group all samples have the group's
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
    if part == BIAS:
        return mean[output] / k
    bias2 = zero
    for o in range(n_outputs):
        bias2 += mean[o] * mean[o]
    if part == BIAS2:
        return bias2 / (k * k)
    if part == VARIANCE:
        return max(squares - bias2, zero) / (k * k)
    return max(squares, zero) / (k * k)


class Regression(Variant):
    """The mean target of the K nearest training samples, judged by its squared error (Kanagawa 2024).

    Its targets are real numbers, y of shape (n_items,) or (n_items, n_outputs); the error is summed over
    the outputs.

    Parameters
    ----------
    n_neighbors : int
        K, 1 to the size of the training set.
    part : {"error", "bias2", "variance", "prediction", "bias"}
        What is told of the predictions over all training sets: the mean squared error; or the parts of it,
        the squared difference of the mean prediction and y, and the prediction's variance; or the mean
        prediction itself; or its difference from y.
    output : int
        Which output, for the prediction and the bias.
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

    def measure(self, **parameters: Any) -> str:
        """The mean squared error, or which part of it."""
        return MEASURES[parameters["part"]]

    def check_targets(self, values: Array, **parameters: Any) -> None:
        """The output must be there: the kernel would read beyond it."""
        limit = "the last output"
        check_integer("output", parameters["output"], 0, values.shape[1] - 1, limit)

    def largest_for(self, values: Array, **parameters: Any) -> float:
        """The square of the diagonal of the box that holds all targets; the diagonal where not squared.

        What is unknown with probability p moves the mean prediction by p diagonals and its square by 2 p
        squared ones; a variance is the mean of squares less that.
        """
        spread = np.ptp(values, axis=0)
        squared = float((spread * spread).sum())
        if parameters["part"] in ("prediction", "bias"):
            return float(squared**0.5)
        diagonals = {"error": 1, "bias2": 2, "variance": 3}
        return squared * diagonals[parameters["part"]]

    def over_kinds(
        self, scores: Array, weights: Array, ask: Callable[..., Array], n_outputs: int, **parameters: Any
    ) -> Array:
        """Bias and variance of the prediction over all training sets, whatever their size.

        The mean over the sizes of each size's squared bias is not the squared bias of the mean prediction,
        and leaves out how much the sizes' mean predictions differ. With one kind the same holds for the
        training sets themselves.
        """
        if parameters["part"] not in ("bias2", "variance"):
            return scores
        biases = [ask(part="bias", output=output) for output in range(n_outputs)]
        means = [(weights * bias).sum(axis=0) for bias in biases]
        bias2 = sum(mean * mean for mean in means)
        if parameters["part"] == "bias2":
            return np.array([bias2] * len(scores))
        if len(scores) == 1:
            within = ask(part="bias2")  # the mean of the squared biases given the training set
            return np.asarray(scores + np.maximum(within - bias2, 0))
        between = sum((bias - mean) ** 2 for bias, mean in zip(biases, means, strict=True))
        return np.asarray(scores + between)

    def tables(self, task: Task, **parameters: Any) -> Tables:
        """K, the part and the output; how likely samples and pairs are among the K nearest."""
        k = self.n_nearest(**parameters)
        integers = (k, PARTS.index(parameters["part"]), parameters["output"])
        return Tables(integers=integers, weights=inclusion_weights(task, k))
