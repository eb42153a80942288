# mypy: allow-untyped-defs
"""The weighted mean of the targets of the K nearest neighbors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from knnccv._base.typing import Array
from knnccv._base.validation import check, check_bool, check_choice
from knnccv.kernel import Score, Task, inner, jit, read_as
from knnccv.kernel.sampling import total_of

from ._weighted_tree import cells_of_samples, new_rule, tree_score
from ._weights import (
    GAUSSIAN,
    RANKS,
    SOFTMAX,
    UNIFORM,
    WEIGHTING,
    WeightedVariant,
    WeightFields,
    WeightNumbers,
    are_unknown,
    fill_weights,
    form_of,
    pair_weight,
)

LEAST_TEMPERATURE = 0.01
P, IN_GROUP, SQUARED_IN_GROUP, SQUARES_IN_GROUP = range(4)


@jit
def weighted_regression_fixed(order, distances, labels, target, constraints):
    """The mean squared or absolute error over the training sets of one size."""
    fields = read_as(WeightFields, constraints.integers)
    depth = len(order.items)
    if depth == 0:
        return 0.0
    if are_unknown(fields, distances):
        return np.nan
    gaps = np.empty((depth, labels.values.shape[1]))
    for i in range(depth):
        for o in range(gaps.shape[1]):
            gaps[i, o] = labels.values[order.items[i], o] - labels.values[target, o]
    if fields.absolute == 0 and (
        fields.form in (RANKS, UNIFORM) or fields.n_votes == 1 or fields.normalize == 0
    ):
        return _chain(order, distances, labels, target, constraints, gaps)
    if fields.normalize == 0 or (
        fields.form == RANKS and (order.group_end[:-1] > np.arange(1, depth)).any()
    ):
        return np.nan  # no mean, or the order of tied samples matters
    cells = cells_of_samples(order, distances)
    available = np.full(1, constraints.counts[0] - constraints.held_out)
    none = np.empty(0)
    rule = new_rule(fields, constraints, cells, none, none, -1, gaps)
    return tree_score(cells, available, constraints.n_train, rule, constraints.n_nearest, fields.max_steps)


@jit
def _chain(order, distances, labels, target, constraints, gaps):
    """`chain_error` of weights of the ranks, or of weights of the pair that are not normalized."""
    fields = read_as(WeightFields, constraints.integers)
    scale = read_as(WeightNumbers, constraints.numbers).scale
    n_outputs = gaps.shape[1]
    start = np.zeros(n_outputs)
    weights = np.full(fields.n_votes, 1 / fields.n_votes)
    if fields.form == RANKS:
        total = total_of(constraints.weights)
        for r in range(len(weights)):
            weights[r] = constraints.weights[r] / total
    if fields.normalize == 0:
        for o in range(n_outputs):
            start[o] = -labels.values[target, o]
            for i in range(len(gaps)):
                weight = pair_weight(fields.form, distances[i], 1.0, scale)
                gaps[i, o] = labels.values[order.items[i], o] * weight
    return chain_error(gaps, order.group_end, weights, start, constraints)


@inner
def chain_error(values, group_end, rank_weights, start, constraints):
    """E|start + S|^2 over all training sets of one size; O(depth * K * outputs).

    S = sum over ranks r of w_r v_(r), where v is known for every sample: with weights of the ranks the
    targets, with weights of the pair the weighted targets. ``values`` (depth, n_outputs) are the terms v of
    the listed samples, ``start`` (n_outputs,) is the constant. The moments of S follow a chain along the
    list, whose state k is the number of samples in the training set so far. For every state the walk keeps
    P(k), E[S; k] and E[S^2; k], of the part S before a tied group. Within a group it keeps the moments of
    the weights that its samples get: which of them they are is a matter of chance, so that the mean, the
    mean square and the mean product of two of the v are enough.
    """
    depth, n_outputs = values.shape
    k_all = len(rank_weights)
    left, need = constraints.counts[0] - constraints.held_out, constraints.n_train[0]
    law = np.zeros((k_all + 1, 4))
    sums = np.zeros((k_all + 1, n_outputs))
    mixed = np.zeros((k_all + 1, n_outputs))  # E[S * weights of the group; k]
    squares = np.zeros(k_all + 1)
    law[0, P] = 1.0
    for o in range(n_outputs):
        sums[0, o] = start[o]
        squares[0] += start[o] * start[o]
    first = 0
    while first < depth and law[k_all, P] < 1:
        end = group_end[first]
        size = end - first
        law[:, IN_GROUP:] = 0.0
        mixed[:] = 0.0
        for i in range(first, end):
            for k in range(min(i, k_all - 1), -1, -1):
                share = max(need - k, 0) / (left - i)
                stay = max(left - i - need + k, 0) / (left - i)
                _pass_on(law, sums, mixed, squares, k, share, stay, rank_weights[k])
        for o in range(n_outputs):
            single = square = 0.0
            for i in range(first, end):
                single += values[i, o]
                square += values[i, o] * values[i, o]
            product = (single * single - square) / (size * (size - 1)) if size > 1 else 0.0
            single, square = single / size, square / size
            for k in range(k_all + 1):
                squares[k] += 2 * mixed[k, o] * single + law[k, SQUARES_IN_GROUP] * square
                if size > 1:
                    pairs = law[k, SQUARED_IN_GROUP] - law[k, SQUARES_IN_GROUP]
                    squares[k] += pairs * product
                sums[k, o] += law[k, IN_GROUP] * single
        first = end
    return max(squares[k_all], 0.0)


@inner
def _pass_on(law, sums, mixed, squares, k, share, stay, weight):
    """Move the share of state k that takes one more sample, at this weight, to the state k + 1."""
    p, one = law[k, P] * share, law[k, IN_GROUP] * share
    law[k + 1, P] += p
    law[k + 1, IN_GROUP] += one + weight * p
    law[k + 1, SQUARED_IN_GROUP] += law[k, SQUARED_IN_GROUP] * share + weight * (2 * one + weight * p)
    law[k + 1, SQUARES_IN_GROUP] += law[k, SQUARES_IN_GROUP] * share + weight * weight * p
    for o in range(sums.shape[1]):
        moved = sums[k, o] * share
        sums[k + 1, o] += moved
        mixed[k + 1, o] += mixed[k, o] * share + weight * moved
        sums[k, o] *= stay
        mixed[k, o] *= stay
    squares[k + 1] += squares[k] * share
    squares[k] *= stay
    for moment in range(4):
        law[k, moment] *= stay


@jit
def weighted_regression_decide(items, distances, labels, target, constraints):
    """The squared or absolute error of one training set, summed over the outputs."""
    fields = read_as(WeightFields, constraints.integers)
    scale = read_as(WeightNumbers, constraints.numbers).scale
    n = min(fields.n_votes, len(items))
    weights = np.empty(n)
    if fields.normalize == 1:
        fill_weights(fields.form, distances, n, scale, constraints.weights, weights)
        total = total_of(weights)
    else:
        for t in range(n):
            weights[t] = pair_weight(fields.form, distances[t], 1.0, scale)
        total = float(n)
    error = 0.0
    for o in range(labels.values.shape[1]):
        own = labels.values[target, o]
        origin = own if fields.normalize == 1 else 0.0
        shift = origin - own
        for t in range(n):
            shift += weights[t] * (labels.values[items[t], o] - origin) / total
        error += abs(shift) if fields.absolute == 1 else shift * shift
    return error


class WeightedRegression(WeightedVariant):
    """The weighted mean target of the K nearest training samples, scored by its squared or absolute error.

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
    score : {"squared_error", "absolute_error"}
        The error. Absolute errors are exact where all sets of the K nearest can be gone through, as for few
        neighbors; otherwise they are sampled, and so are those without `normalize`.
    max_steps : int
        A sample whose score takes more steps is not computed exactly but sampled. Squared errors of equal
        weights, of weights of ranks, and of weights that are not normalized, take no such steps.
    """

    name = "weighted_regression"
    target = "values"
    parameters = {**WEIGHTING, "normalize": True, "score": "squared_error"}  # noqa: RUF012
    fixed_by_distance = weighted_regression_fixed
    decide = weighted_regression_decide

    def check(self, task: Task, **parameters: Any) -> None:
        """Refuse weights that do not fit K, and K larger than a training set."""
        super().check(task, **parameters)
        check_choice("score", parameters["score"], ("squared_error", "absolute_error"))
        if check_bool("normalize", parameters["normalize"]):
            return
        form = form_of(parameters["weights"])
        msg = (
            f"temperature must be at least {LEAST_TEMPERATURE} with normalize=False, since the largest "
            f"weight is exp(1 / temperature), got {parameters['temperature']!r}"
        )
        check(form != SOFTMAX or parameters["temperature"] >= LEAST_TEMPERATURE, msg)
        if form in (UNIFORM, SOFTMAX) or (form >= GAUSSIAN and parameters["bandwidth"] is not None):
            return
        msg = (
            "normalize=False needs bounded weights that depend on a sample's own distance alone: "
            "'uniform', 'softmax' or a kernel with a bandwidth, got "
            f"weights={parameters['weights']!r} with bandwidth={parameters['bandwidth']!r}"
        )
        raise ValueError(msg)

    def score(self, **parameters: Any) -> Score:
        """The mean squared or absolute error."""

        def largest(values: Array) -> float:
            """The largest error in the box that holds all targets and predictions."""
            if parameters["normalize"]:
                spread = np.ptp(values, axis=0)
            else:
                softmax = form_of(parameters["weights"]) == SOFTMAX
                most = math.exp(1 / parameters["temperature"]) if softmax else 1.0
                spread = (1 + most) * np.abs(values).max(axis=0)
            return float(
                spread.sum() if parameters["score"] == "absolute_error" else (spread * spread).sum()
            )

        name = f"mean {parameters['score'].replace('_', ' ')}"
        return Score(name, high=math.inf, is_loss=True, largest=largest)
