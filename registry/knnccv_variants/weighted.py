# mypy: allow-untyped-defs
"""K nearest neighbors that vote by weights of their distances or of their ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from knnccv._base.typing import Array
from knnccv.kernel import inner, jit, read_as, read_rest

from ._shared import score_of
from ._weighted_tree import cells_by_class, new_rule, tree_score, vote_outcome
from ._weights import (
    RANKS,
    WEIGHTING,
    WeightedVariant,
    WeightFields,
    WeightNumbers,
    are_unknown,
    class_factors,
    fill_weights,
)


@jit
def weighted_votes(order, distances, labels, target, constraints):
    """The share of the training sets that classify the sample correctly, or the mean loss.

    For training sets of one size, and of one size per class.
    """
    stratified = len(constraints.counts) > 1
    fields = read_as(WeightFields, constraints.integers)
    own_class, losses = labels.classes[target], constraints.table
    if len(order.items) == 0:
        return 0.0
    kinds, classes, own = _classes_of(order.items, labels, own_class, constraints.n_classes)
    n_listed = len(classes)
    if own < 0 and len(losses) == 0:
        return 0.0
    if n_listed == 1:
        return score_of(losses, own_class, classes[0], 1.0)
    if are_unknown(fields, distances):
        return np.nan
    available = np.empty(n_listed if stratified else 1, np.int64)
    n_train = np.empty(len(available), np.int64)
    for s in range(len(available)):
        stratum = classes[s] if stratified else 0
        available[s], n_train[s] = constraints.counts[stratum], constraints.n_train[stratum]
        if not stratified or s == own:
            available[s] -= constraints.held_out
        if available[s] < n_train[s]:  # a sample that is never tested
            return 0.0
    cells = cells_by_class(order, distances, kinds, n_listed, stratified)
    if fields.form == RANKS and (cells.end > cells.first + 1).any():  # the order of several classes matters
        return np.nan
    scores, factors = np.empty(n_listed), np.empty(n_listed)
    for c in range(n_listed):
        scores[c] = score_of(losses, own_class, classes[c], 1.0)
        factors[c] = read_rest(WeightNumbers, constraints.numbers)[classes[c]]
    rule = new_rule(
        fields, constraints, cells, scores, factors, own if len(losses) == 0 else -1, np.empty((0, 0))
    )
    return tree_score(cells, available, n_train, rule, constraints.n_nearest, fields.max_steps)


@inner
def _classes_of(items, labels, own_class, n_classes):
    """The places of the samples' classes among those of the list; these, ascending; the own one or -1."""
    places = np.full(n_classes, -1)
    for item in items:
        places[labels.classes[item]] = 0
    found = np.empty(n_classes, np.int64)
    n_found = 0
    for c in range(n_classes):
        if places[c] == 0:
            places[c] = n_found
            found[n_found] = c
            n_found += 1
    kinds = np.empty(len(items), np.int64)
    for i in range(len(items)):
        kinds[i] = places[labels.classes[items[i]]]
    return kinds, found[:n_found], places[own_class]


@jit
def weighted_decide(items, distances, labels, target, constraints):
    """The score of one training set, from its nearest samples."""
    fields = read_as(WeightFields, constraints.integers)
    scale = read_as(WeightNumbers, constraints.numbers).scale
    factors = read_rest(WeightNumbers, constraints.numbers)
    n, n_classes = min(fields.n_votes, len(items)), constraints.n_classes
    room = np.empty(n + 2 * n_classes)  # a single one, since it takes longer than the arithmetic
    weights, votes, scores = room[:n], room[n : n + n_classes], room[n + n_classes :]
    fill_weights(fields.form, distances, n, scale, constraints.weights, weights)
    for c in range(n_classes):
        votes[c], scores[c] = 0.0, score_of(constraints.table, labels.classes[target], c, 1.0)
    for t in range(n):
        c = labels.classes[items[t]]
        votes[c] += weights[t] * factors[c]
    return vote_outcome(votes, scores, fields.random == 1)


class Weighted(WeightedVariant):
    """The K nearest training samples vote by weights, and the class with the largest sum wins.

    Sums are in double precision, in the order of the neighbors. Where all K weights are 0, all count alike.

    Parameters
    ----------
    n_neighbors : int
        K, 1 to the size of the training set.
    weights : str, array of shape (n_neighbors,), or function
        The weights of the K nearest at distances d_1 <= ... <= d_K, up to a common factor:

        - "uniform": 1.
        - "inverse": 1 / d_i; samples at distance 0 have the weight 1 and then the others none. "distance"
          is the same, by scikit-learn's name, which takes distances below 6e-309 for 0.
        - "dudani": (d_K - d_i) / (d_K - d_1), and 1 if all are equal (Dudani 1976, eq. 1).
        - "softmax": exp((1 - d_i) / temperature), where 1 - d_i is the similarity under
          ``metric="cosine"`` (Wu et al. 2018, section 3.4; Caron et al. 2021, DINO).
        - kernels of u = d_i / bandwidth, 0 from u = 1 on except for the first: "gaussian" exp(-u² / 2),
          "triangular" 1 - u, "epanechnikov" 1 - u², "biweight" (1 - u²)², "triweight" (1 - u²)³, "cosine"
          cos(pi u / 2) (Hechenbichler & Schliep 2004, section 3).
        - an array: the weights of the ranks, at least 0, such as those of Samworth (2012).
        - a function of an array of distances (n, K) that returns weights of the same shape, at least 0, as
          in scikit-learn. Such rules are sampled.
    temperature : float
        Of "softmax", above 0.
    bandwidth : float or None
        Of a kernel, above 0. None: the distance of the (K+1)-th neighbor, as in R's kknn.
    class_weight : None, "balanced", mapping from labels to numbers, or sequence of shape (n_classes,)
        Factors of the votes, above 0; 1 for labels that a mapping leaves out. "balanced" is
        ``n_items / (n_classes * counts)``, from all samples.
    loss : None or array of shape (n_classes, n_classes)
        As for ``"nn"``.
    vote_ties : {"smallest", "random"}
        As for ``"knn"``.
    max_steps : int
        A sample whose score takes more steps is not computed exactly but sampled.
    """

    name = "weighted"
    parameters = {**WEIGHTING, "class_weight": None, "loss": None, "vote_ties": "smallest"}  # noqa: RUF012
    fixed_by_distance = stratified_by_distance = weighted_votes
    decide = weighted_decide

    def for_classes(self, classes: Array, counts: Array, **parameters: Any) -> Mapping[str, Any]:
        """The parameters with a number for every class as `class_weight`."""
        return {**parameters, "class_weight": class_factors(parameters["class_weight"], classes, counts)}
