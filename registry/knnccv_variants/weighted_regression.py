"""The weighted mean of the targets of the K nearest neighbors."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from knnccv._typing import Array
from knnccv._validation import check_bool, check_integer
from knnccv.kernel import Tables, Task, jit, read_as

from ._cells import cells_of_samples
from ._outcomes import Rule
from ._weight_functions import (
    FUNCTION,
    GAUSSIAN,
    RANKS,
    SOFTMAX,
    UNIFORM,
    base_of,
    depends_on_pair,
    fill_weights,
    kernel_value,
    pair_weight,
)
from ._weight_parameters import (
    MAX_STEPS,
    TEMPERATURE,
    WeightedVariant,
    check_weights,
    form_of,
    is_signed,
    rank_weights,
    scale_of,
    settled_form,
)
from ._weighted_chain import chain_error
from ._weighted_tree import tree_score

LEAST_TEMPERATURE = 0.01


class WeightedRegressionFields(NamedTuple):
    """The integers that the functions read."""

    form: int
    n_votes: int
    normalize: int
    max_steps: int
    signed: int  # 1 where distances may be below 0


@jit
def weighted_regression_fixed(order, distances, labels, target, constraints):
    """The mean squared error over the training sets of one size."""
    fields = read_as(WeightedRegressionFields, constraints.integers)
    form, k = fields.form, fields.n_votes
    scale = constraints.numbers[0]
    depth = len(order.items)
    if depth == 0:
        return 0.0
    if form == FUNCTION or (distances[0] < 0 and fields.signed == 0):
        return np.nan
    values = labels.values
    if form in (RANKS, UNIFORM) or k == 1 or fields.normalize == 0:
        return _chain(order, distances, values, target, constraints, form, k, scale, fields.normalize)
    cells = cells_of_samples(order, distances)
    by_pair = depends_on_pair(form, scale)
    pair_weights = np.zeros(depth)
    if by_pair:
        base = base_of(form, distances, depth)
        for j in range(depth):
            pair_weights[j] = pair_weight(form, distances[j], base, scale)
    none, no_table = np.empty(0), np.empty((0, 0))
    rule = Rule(
        form, scale, none, by_pair, pair_weights, k,
        np.zeros(constraints.n_nearest), np.zeros(constraints.n_nearest),
        none, none, none, -1, False, np.empty((0, 0), np.int64), no_table, 0.0, values, target,
    )  # fmt: skip
    available = np.full(1, constraints.counts[0] - constraints.held_out)
    return tree_score(cells, available, constraints.n_train, rule, constraints.n_nearest, fields.max_steps)


@jit
def _chain(order, distances, values, target, constraints, form, k, scale, normalize):
    """`chain_error` of weights of the ranks, or of weights of the pair that are not normalized."""
    n_outputs = values.shape[1]
    terms = np.empty((len(order.items), n_outputs))
    start = np.zeros(n_outputs)
    weights = np.full(k, 1 / k)
    if form == RANKS:
        total = constraints.weights.sum()
        for r in range(k):
            weights[r] = constraints.weights[r] / total
    for i in range(len(order.items)):
        for o in range(n_outputs):
            if normalize == 1:
                terms[i, o] = values[order.items[i], o] - values[target, o]
            else:
                terms[i, o] = values[order.items[i], o] * raw_weight(form, distances[i], scale)
    if normalize == 0:
        for o in range(n_outputs):
            start[o] = -values[target, o]
    return chain_error(terms, order.group_end, weights, start, constraints)


@jit
def raw_weight(form, distance, scale):
    """The weight of a pair that is not divided by the sum of the weights."""
    if form == UNIFORM:
        return 1.0
    if form == SOFTMAX:
        return math.exp((1 - distance) / scale)
    return kernel_value(form, distance / scale)


@jit
def weighted_regression_decide(items, distances, labels, target, constraints):
    """The squared error of one training set, summed over the outputs."""
    fields = read_as(WeightedRegressionFields, constraints.integers)
    scale = constraints.numbers[0]
    n = min(fields.n_votes, len(items))
    weights = np.empty(n)
    if fields.normalize == 1:
        fill_weights(fields.form, distances, n, scale, constraints.weights, weights)
    else:
        for t in range(n):
            weights[t] = raw_weight(fields.form, distances[t], scale)
    error = 0.0
    for o in range(labels.values.shape[1]):
        own = labels.values[target, o]
        shift = -own if fields.normalize == 0 else 0.0
        if fields.normalize == 1:
            for t in range(n):
                shift += weights[t] * (labels.values[items[t], o] - own) / weights.sum()
        else:
            for t in range(n):
                shift += weights[t] * labels.values[items[t], o] / n
        error += shift * shift
    return error


class WeightedRegression(WeightedVariant):
    """The weighted mean target of the K nearest training samples, scored by its squared error.

    Its targets are real numbers, y of shape (n_items,) or (n_items, n_outputs); the error is summed over
    the outputs.

    Parameters
    ----------
    n_neighbors : int
        K, 1 to the size of the training set.
    weights : str, array of shape (n_neighbors,), or function
        As for ``"weighted"``.
    temperature : float
        As for ``"weighted"``.
    bandwidth : float or None
        As for ``"weighted"``.
    normalize : bool
        True: the weights are divided by their sum. False: by K, for weights that depend on a sample's own
        distance alone and are bounded: "uniform", "softmax" exp((1 - d) / temperature), and kernels with a
        bandwidth; where all K weights are 0 the prediction is 0.
    max_steps : int
        A sample whose score takes more steps is not computed exactly but sampled. Weights of ranks, and
        weights that are not normalized, take no such steps.
    """

    name = "weighted_regression"
    target = "values"
    parameters = {  # noqa: RUF012
        "n_neighbors": 5,
        "weights": "inverse",
        "temperature": TEMPERATURE,
        "bandwidth": None,
        "normalize": True,
        "max_steps": MAX_STEPS,
    }
    tie_rules = ("index", "random")
    fields = WeightedRegressionFields
    fixed_by_distance = weighted_regression_fixed
    decide = weighted_regression_decide

    def check(self, task: Task, **parameters: Any) -> None:
        """Refuse weights that do not fit K, and K larger than a training set."""
        check_weights(task, parameters)
        check_integer("max_steps", parameters["max_steps"], 1)
        if check_bool("normalize", parameters["normalize"]):
            return
        form = form_of(parameters["weights"])
        if form == SOFTMAX and parameters["temperature"] < LEAST_TEMPERATURE:
            msg = (
                f"temperature must be at least {LEAST_TEMPERATURE} with normalize=False, since the largest "
                f"weight is exp(1 / temperature), got {parameters['temperature']!r}"
            )
            raise ValueError(msg)
        if form in (UNIFORM, SOFTMAX) or (form >= GAUSSIAN and parameters["bandwidth"] is not None):
            return
        msg = (
            "normalize=False needs bounded weights that depend on a sample's own distance alone: "
            "'uniform', 'softmax' or a kernel with a bandwidth, got "
            f"weights={parameters['weights']!r} with bandwidth={parameters['bandwidth']!r}"
        )
        raise ValueError(msg)

    def measure(self, **parameters: Any) -> str:
        """The mean squared error."""
        return "mean squared error"

    def score_range(self, **parameters: Any) -> tuple[float, float]:
        """At least 0."""
        return 0.0, math.inf

    def largest_for(self, values: Array, **parameters: Any) -> float:
        """The square of the diagonal of the box that holds all targets and predictions."""
        if parameters["normalize"]:
            spread = np.ptp(values, axis=0)
        else:
            softmax = form_of(parameters["weights"]) == SOFTMAX
            largest = math.exp(1 / parameters["temperature"]) if softmax else 1.0
            spread = (1 + largest) * np.abs(values).max(axis=0)
        return float((spread * spread).sum())

    def tables(self, task: Task, **parameters: Any) -> Tables:
        """The scale, and the weights of the ranks."""
        if task.number is Fraction:
            msg = "variant 'weighted_regression' has no exact rational mode; leave exact=True out"
            raise ValueError(msg)
        form = settled_form(parameters)
        return Tables(
            WeightedRegressionFields(
                form,
                int(parameters["n_neighbors"]),
                int(parameters["normalize"]),
                int(parameters["max_steps"]),
                int(is_signed(parameters)),
            ),
            (scale_of(parameters),),
            rank_weights(parameters) if form == RANKS else (),
        )
