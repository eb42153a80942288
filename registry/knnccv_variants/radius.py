# mypy: allow-untyped-defs
"""The training samples within a radius: their majority, or the mean of their targets.

For a training set drawn at random, the numbers of training samples of the classes within the radius are
hypergeometric. So the scores are sums over these numbers, and the order of the samples does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from knnccv._base.typing import Array
from knnccv._base.validation import check, check_choice, check_real
from knnccv.kernel import Score, Tables, Task, inner, jit, read_as, squared_diagonal
from knnccv.kernel.sampling import fill_binomial, fill_hypergeometric

from ._shared import NearestVariant, loss_table, score_of

ALL = 2**31 - 1
"""More than any training set has: how many of its samples are within the radius is a matter of chance."""
NO_LABEL, MOST_FREQUENT, ASKED = -1, -2, -3
"""No class; the mode or mean of the training set; nothing: the score is the probability of no neighbor."""
TINY = 1e-22
"""Probabilities that sums of products leave out; far below the allowance for roundings."""


class RadiusFields(NamedTuple):
    """The integers that the functions read."""

    fallback: int  # what is predicted without neighbors; 0 for a number


class RadiusNumbers(NamedTuple):
    """The numbers that they read."""

    radius: float
    value: float  # the prediction without neighbors


class OutlierLabel(NamedTuple):
    """A label, with its class code; the code is negative if no sample has the label."""

    label: Any
    code: int

    def __repr__(self) -> str:
        return repr(self.label)


@inner
def _n_within(distances, constraints):
    """The number of listed samples within the radius."""
    return np.searchsorted(distances, read_as(RadiusNumbers, constraints.numbers).radius, "right")


@inner
def _class_counts(items, labels, n_classes):
    """The number of samples of every class."""
    counts = np.zeros(n_classes, np.int64)
    for item in items:
        counts[labels.classes[item]] += 1
    return counts


@jit
def radius_votes(order, distances, labels, target, constraints):
    """The share of the training sets that classify the sample correctly, or the mean loss."""
    own, losses, n_classes = labels.classes[target], constraints.table, constraints.n_classes
    fallback = read_as(RadiusFields, constraints.integers).fallback
    n, n_train = _n_within(distances, constraints), constraints.n_train
    available = constraints.counts.copy()
    stratified = len(available) > 1
    available[own if stratified else 0] -= constraints.held_out
    if (available < n_train).any():  # a sample that is never tested
        return 0.0
    if fallback == MOST_FREQUENT and stratified:
        fallback = int(np.argmax(n_train))
    within = _class_counts(order.items[:n], labels, n_classes)
    none = 0.0
    if fallback in (MOST_FREQUENT, ASKED):
        none = expected_vote(within, available, n_train, own, losses[:0], ASKED)
    if fallback == ASKED:
        return none
    score = expected_vote(within, available, n_train, own, losses, fallback)
    if none > 0:
        outside = _class_counts(order.items[n:], labels, n_classes)
        score += none * expected_vote(outside, available - n, n_train, own, losses, NO_LABEL)
    return score


@jit
def expected_vote(counts, available, n_train, own, losses, fallback):
    """The expected score of the majority of the training samples among `counts` samples of every class.

    ``sum over t of P(t votes for c) P(no other class has more | t)``, for the sample's class or, with
    losses, for all. No votes are a vote for `fallback`; if that is `ASKED`, the score is their probability.
    In strata the numbers of votes are independent. In training sets of one size they are so given their
    total: then the terms are those of binomial numbers, weighted by the ratio of the total's probabilities.
    O(counts^2), for three classes or more without strata O(counts^3).
    """
    stratified = len(available) > 1
    laws = np.zeros((len(counts), counts.max() + 1))
    ratio = np.ones(counts.sum() + 1)
    product = np.zeros(len(ratio))
    rate = 0.0
    if not stratified:
        rate = min(n_train[0] / available[0], 1 - 0.5 / available[0])
        fill_hypergeometric(product, len(ratio) - 1, n_train[0], available[0], 1.0)
        fill_binomial(ratio, rate)
        for t in range(len(ratio)):
            ratio[t] = product[t] / ratio[t] if ratio[t] > 0 else 0.0
    least, most = np.zeros(len(counts), np.int64), counts.copy()
    for c in range(len(counts)):
        if stratified:
            fill_hypergeometric(laws[c], counts[c], n_train[c], available[c], 1.0)
        else:
            fill_binomial(laws[c, : counts[c] + 1], rate)
        while laws[c, least[c]] <= TINY:
            least[c] += 1
        while laws[c, most[c]] <= TINY:
            most[c] -= 1
    score = 0.0
    for winner in range(len(counts)):
        if len(losses) == 0 and winner != own:
            continue
        right = 0.0
        first = 0 if fallback in (winner, ASKED) else 1
        last = 0 if fallback == ASKED else most[winner]
        for t in range(max(least[winner], first), last + 1):
            product[0] = laws[winner, t]
            low = high = 0
            for c in range(len(counts)):
                limit = min(most[c], t if winner < c else max(t - 1, 0))
                if c == winner or counts[c] == 0:
                    continue
                if stratified:
                    product[0] *= laws[c, : limit + 1].sum()
                    continue
                for d in range(high + limit, low + least[c] - 1, -1):
                    value = 0.0
                    for b in range(max(least[c], d - high), min(limit, d - low) + 1):
                        value += product[d - b] * laws[c, b]
                    product[d] = value
                low, high = low + least[c], high + limit
            for d in range(low, high + 1):
                right += product[d] * ratio[0 if stratified else d + t]
        score += right * score_of(losses, own, winner, 1.0)
    return score


@jit
def radius_decide(items, distances, labels, target, constraints):
    """The score of one training set, of which all samples are given."""
    predicted = read_as(RadiusFields, constraints.integers).fallback
    n = _n_within(distances, constraints)
    if predicted == ASKED:
        return 1.0 if n == 0 else 0.0
    if n > 0 or predicted == MOST_FREQUENT:
        voters = items[:n] if n > 0 else items
        predicted = int(np.argmax(_class_counts(voters, labels, constraints.n_classes)))
    if predicted < 0:
        return 0.0
    return score_of(constraints.table, labels.classes[target], predicted, 1.0)


@inner
def _bias2_and_variance(labels, items, target, value):
    """The square of the mean difference from the target, and the variance; summed over the outputs.

    Without items the mean is `value`.
    """
    bias2 = variance = 0.0
    for o in range(labels.values.shape[1]):
        own = labels.values[target, o]
        mean = value - own if len(items) == 0 else 0.0
        for item in items:
            mean += (labels.values[item, o] - own) / len(items)
        bias2 += mean * mean
        for item in items:
            variance += (labels.values[item, o] - own - mean) ** 2 / len(items)
    return bias2, variance


@jit
def radius_errors(order, distances, labels, target, constraints):
    """The mean squared error over the training sets of one size.

    The mean of t of m targets, drawn without replacement, has the variance ``v (m - t) / (m - 1) / t``.
    """
    fallback = read_as(RadiusFields, constraints.integers).fallback
    value = read_as(RadiusNumbers, constraints.numbers).value
    n, n_train = _n_within(distances, constraints), constraints.n_train[0]
    available = constraints.counts[0] - constraints.held_out
    law = np.zeros(n + 1)
    fill_hypergeometric(law, n, n_train, available, 1.0)
    if fallback == ASKED:
        return law[0]
    bias2, variance = _bias2_and_variance(labels, order.items[:n], target, value)
    error = 0.0
    for t in range(1, n + 1):
        error += law[t] * (bias2 + variance * (n - t) / max(n - 1, 1) / t)
    if law[0] > 0:
        others = order.items[n:] if fallback == MOST_FREQUENT else order.items[:0]
        bias2, variance = _bias2_and_variance(labels, others, target, value)
        m = available - n
        error += law[0] * (bias2 + variance * (m - n_train) / max(m - 1, 1) / n_train)
    return error


@jit
def radius_errors_decide(items, distances, labels, target, constraints):
    """The squared error of one training set, of which all samples are given."""
    fallback = read_as(RadiusFields, constraints.integers).fallback
    n = _n_within(distances, constraints)
    if fallback == ASKED:
        return 1.0 if n == 0 else 0.0
    near = items if n == 0 and fallback == MOST_FREQUENT else items[:n]
    return _bias2_and_variance(labels, near, target, read_as(RadiusNumbers, constraints.numbers).value)[0]


class RadiusVariant(NearestVariant):
    """What both rules share: all training samples within the radius decide."""

    fields = RadiusFields

    def n_nearest(self, **parameters: Any) -> int:
        """All that a training set may have."""
        return ALL

    def radius(self, **parameters: Any) -> float:
        """The radius; infinity where samples without neighbors ask all others."""
        return math.inf if _fallback(parameters) == MOST_FREQUENT else float(parameters["radius"])

    def check(self, task: Task, **parameters: Any) -> None:
        """Refuse a radius below 0, an unknown score, and a loss that does not fit the classes."""
        super().check(task, **parameters)
        radius = parameters["radius"]
        fits = 0 <= check_real("radius", radius) < math.inf
        check(fits, "radius must be a finite number of at least 0", radius)
        check_choice("score", parameters["score"], (type(self).parameters["score"], "outliers"))

    def score(self, **parameters: Any) -> Score:
        """Accuracy, expected loss, mean squared error, or the share without neighbors.

        The order of the samples does not matter.
        """
        if _fallback(parameters) == ASKED:
            return Score("share without neighbors", is_loss=True, monotone=math.inf)
        return replace(super().score(**parameters), monotone=math.inf)

    def tables(self, task: Task, **parameters: Any) -> Tables:
        """The radius, the losses, and what is predicted without neighbors."""
        fallback, loss = _fallback(parameters), parameters.get("loss")
        if loss is not None and fallback in (NO_LABEL, ASKED):
            msg = (
                "pass an outlier_label that is one of the classes, or 'most_frequent': losses and confusion"
                " matrices need a prediction for samples without neighbors, got outlier_label="
                f"{parameters['outlier_label']!r} and score={parameters['score']!r}"
            )
            raise ValueError(msg)
        value = parameters.get("outlier_value", 0.0) if fallback == 0 else 0.0
        numbers = RadiusNumbers(float(parameters["radius"]), float(value))
        return Tables(RadiusFields(fallback), numbers, table=loss_table(loss, float))


def _fallback(parameters: Mapping[str, Any]) -> int:
    """`RadiusFields.fallback`."""
    if parameters["score"] == "outliers":
        return ASKED
    if "outlier_label" in parameters:
        return int(parameters["outlier_label"].code)
    value = parameters["outlier_value"]
    return MOST_FREQUENT if isinstance(value, str) and value == "mean" else 0


class Radius(RadiusVariant):
    """The majority of the training samples within a radius; a tied vote goes to the smallest label.

    It is scikit-learn's ``RadiusNeighborsClassifier``. Samples at the distance `radius` are within.

    Parameters
    ----------
    radius : float
        At least 0, in the units of the metric.
    outlier_label : label, "most_frequent" or None
        The prediction where no training sample is within the radius: a label, or the most frequent one of
        the training set. None, or a label that no sample has, counts as an error.
    loss : None or array of shape (n_classes, n_classes)
        As for ``"nn"``. It needs an `outlier_label` that is one of the classes, or "most_frequent".
    score : {"accuracy", "outliers"}
        The accuracy, or the expected loss; or the probability that no training sample is within the radius.
    """

    name = "radius"
    parameters = {"radius": 1.0, "outlier_label": None, "loss": None, "score": "accuracy"}  # noqa: RUF012
    fixed_by_distance = stratified_by_distance = radius_votes
    decide = radius_decide

    def for_classes(self, classes: Array, counts: Array, **parameters: Any) -> Mapping[str, Any]:
        """The parameters with the class code of `outlier_label`."""
        label, code, known = parameters["outlier_label"], NO_LABEL, classes.tolist()
        label = label.label if isinstance(label, OutlierLabel) else label
        check(np.ndim(label) == 0, "outlier_label must be one label, 'most_frequent' or None", label)
        if isinstance(label, str) and label == "most_frequent":
            code = MOST_FREQUENT
        elif label in known:
            code = known.index(label)
        return {**parameters, "outlier_label": OutlierLabel(label, code)}


class RadiusRegression(RadiusVariant):
    """The mean target of the training samples within a radius, scored by its squared error.

    Its targets are real numbers, y of shape (n_items,) or (n_items, n_outputs); the error is summed over
    the outputs. Samples at the distance `radius` are within.

    Parameters
    ----------
    radius : float
        At least 0, in the units of the metric.
    outlier_value : float or "mean"
        The prediction, for every output, where no training sample is within the radius: a number, or the
        mean target of the training set. scikit-learn's ``RadiusNeighborsRegressor`` predicts NaN.
    score : {"squared_error", "outliers"}
        The mean squared error; or the probability that no training sample is within the radius.
    """

    name = "radius_regression"
    target = "values"
    parameters = {"radius": 1.0, "outlier_value": "mean", "score": "squared_error"}  # noqa: RUF012
    fixed_by_distance = radius_errors
    decide = radius_errors_decide

    def check(self, task: Task, **parameters: Any) -> None:
        """Refuse a radius below 0, an unknown score, and an outlier value that is no number."""
        super().check(task, **parameters)
        value = parameters["outlier_value"]
        if isinstance(value, str) and value == "mean":
            return
        number = check_real("outlier_value other than 'mean'", value)
        check(abs(number) < math.inf, "outlier_value must be 'mean' or a finite number", value)

    def score(self, **parameters: Any) -> Score:
        """Also the predictions without neighbors are in the box of all targets."""
        found = super().score(**parameters)
        if _fallback(parameters) != 0:
            return found
        beside = [[parameters["outlier_value"]]]
        return replace(found, largest=lambda y: squared_diagonal(np.r_[y, np.tile(beside, y.shape[1])]))
