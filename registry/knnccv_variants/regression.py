# mypy: allow-untyped-defs
"""K-nearest-neighbor regression: the exact mean squared error, its bias and its variance."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from knnccv._base.typing import Array
from knnccv._base.validation import check_choice, check_integer
from knnccv.kernel import Score, Tables, Task, inner, jit, read_as, squared_diagonal
from knnccv.kernel.sampling import Inclusion, inclusion_law

from ._shared import NearestVariant


def _squared(name: str, diagonals: int, *, is_mean: bool = False) -> Score:
    """A square, which is at most some squared diagonals of the box that holds all targets.

    An event of probability p moves the mean prediction by at most p diagonals, and its square by 2 p
    squared diagonals; a variance is the mean of the squares minus the square of the mean.
    """

    def largest(values: Array) -> float:
        return diagonals * squared_diagonal(values)

    return Score(name, high=math.inf, is_loss=True, is_mean=is_mean, largest=largest)


def _prediction(name: str) -> Score:
    """A prediction, or what is added to one."""
    return Score(name, -math.inf, math.inf, None, largest=lambda y: squared_diagonal(y) ** 0.5)


SCORES = {
    "error": _squared("mean squared error", 1, is_mean=True),
    "bias2": _squared("squared bias", 2),
    "variance": _squared("variance", 3),
    "prediction": _prediction("mean prediction"),
    "bias": _prediction("bias"),
}
PARTS = tuple(SCORES)
ERROR, BIAS2, VARIANCE, PREDICTION, BIAS = range(5)


class RegressionFields(NamedTuple):
    """The integers that the kernel reads."""

    part: int  # ERROR, BIAS2, VARIANCE, PREDICTION or BIAS
    output: int


def inclusion_weights(task: Task, k: int) -> Array:
    """P(a sample, or a pair of samples, is among the K nearest).

    The arrays of `inclusion_law`, one after the other, shape (2 * n_available,).
    """
    return np.concatenate(inclusion_law(task.n_available, task.train_size, k, task.number))


@inner
def inclusion_of(constraints):
    """The views of `inclusion_weights`."""
    middle = len(constraints.weights) // 2
    return Inclusion(constraints.weights[:middle], constraints.weights[middle:])


@inner
def mean_inclusion(inclusion, start, end, unit):
    """The mean probabilities of a tied group over its orders.

    For one of its samples; for one of its samples and a given sample before the group; and for two of its
    samples.
    """
    size = end - start
    one = unit * 0
    with_nearer = unit * 0
    within = unit * 0
    for i in range(start, end):
        one += inclusion.single[i]
        with_nearer += inclusion.with_nearer[i]
        within += inclusion.with_nearer[i] * (i - start)
    if size > 1:
        within = within * 2 / (size * (size - 1))
    return one / size, with_nearer / size, within


@jit
def regression_fixed(order, labels, target, constraints):
    """E|mean of K targets - y|^2, or a part of it; O(depth * outputs).

    Two samples are both among the K nearest with a probability that depends on the farther of them only, so
    one sum of targets over the nearer ones serves all pairs. In a tied group all samples have the group's
    mean probability, and so have all pairs. Targets are relative to y, so that offsets do not matter.
    """
    items, group_end = order.items, order.group_end
    values = labels.values
    k = constraints.n_nearest
    part, output = read_as(RegressionFields, constraints.integers)
    inclusion = inclusion_of(constraints)
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
        weight, with_nearer, within = mean_inclusion(inclusion, start, end, unit)
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


class Regression(NearestVariant):
    """The mean target of the K nearest training samples, scored by its squared error (Kanagawa 2024).

    Its targets are real numbers, y of shape (n_items,) or (n_items, n_outputs); the error is summed over
    the outputs.

    Parameters
    ----------
    n_neighbors : int
        K, 1 to the size of the training set.
    part : {"error", "bias2", "variance", "prediction", "bias"}
        The statistic of the predictions over all training sets: the mean squared error; its two parts,
        which are the squared difference of the mean prediction and y, and the variance of the prediction;
        the mean prediction; or the difference of the mean prediction and y.
    output : int
        The output of which the prediction or the bias is returned.
    """

    name = "regression"
    target = "values"
    parameters = {"n_neighbors": 5, "part": "error", "output": 0}  # noqa: RUF012
    fields = RegressionFields
    fixed = regression_fixed

    def profile(self, **parameters: Any) -> str:
        """`Variant.profile`."""
        return "error" if parameters["part"] == "error" else ""

    def check(self, task: Task, **parameters: Any) -> None:
        """Refuse K larger than a training set, and an unknown part."""
        super().check(task, **parameters)
        check_choice("part", parameters["part"], PARTS)
        check_integer("output", parameters["output"], 0)

    def score(self, **parameters: Any) -> Score:
        """The mean squared error, or a part of it."""
        return SCORES[parameters["part"]]

    def check_targets(self, values: Array, **parameters: Any) -> None:
        """Refuse an output that does not exist: the kernel does not check bounds."""
        check_integer("output", parameters["output"], 0, values.shape[1] - 1, "the last output")

    def over_kinds(
        self, scores: Array, weights: Array, ask: Callable[..., Array], n_outputs: int, **parameters: Any
    ) -> Array:
        """Bias and variance of the prediction over all training sets, of any size.

        The mean of the squared biases of several sizes is not the squared bias of the mean prediction: the
        mean predictions of the sizes differ. With one kind the same holds for the training sets.
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
        """The part, the output, and the probabilities that samples and pairs are among the K nearest."""
        fields = RegressionFields(PARTS.index(parameters["part"]), parameters["output"])
        return Tables(fields, weights=inclusion_weights(task, self.n_nearest(**parameters)))
