"""K nearest neighbors that vote by weights of their distances or of their ranks."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from knnccv._typing import Array
from knnccv._validation import check_choice, check_integer
from knnccv.kernel import Tables, Task, jit, read_as

from ._cells import cells_by_class, classes_of
from ._loss import check_loss, largest_loss, loss_table, score_of
from ._outcomes import MARGIN, Rule, next_cells, reach_of, reach_of_ranks, vote_outcome
from ._weight_functions import FUNCTION, RANKS, base_of, depends_on_pair, fill_weights, pair_weight
from ._weight_parameters import (
    MAX_STEPS,
    TEMPERATURE,
    WeightedVariant,
    check_weights,
    class_factors,
    is_signed,
    rank_weights,
    scale_of,
    settled_form,
)
from ._weighted_tree import tree_score


class WeightedFields(NamedTuple):
    """The integers that the functions read."""

    form: int
    n_votes: int
    random: int
    max_steps: int
    signed: int  # 1 where distances may be below 0


@jit
def weighted_fixed(order, distances, labels, target, constraints):
    """The share of the training sets of one size that classify the sample correctly, or the mean loss."""
    return _score(order, distances, labels, target, constraints, False)


@jit
def weighted_stratified(order, distances, labels, target, constraints):
    """The same for a fixed size per class."""
    return _score(order, distances, labels, target, constraints, True)


@jit
def _score(order, distances, labels, target, constraints, stratified):
    fields = read_as(WeightedFields, constraints.integers)
    form, k = fields.form, fields.n_votes
    own_class = labels.classes[target]
    if len(order.items) == 0:
        return 0.0
    classes, places = classes_of(order.items, labels, constraints.n_classes)
    own = places[own_class]
    if own < 0 and len(constraints.table) == 0:
        return 0.0
    if len(classes) == 1:
        return score_of(constraints.table, own_class, classes[0], 1.0)
    scale = constraints.numbers[0]
    if form == FUNCTION or (distances[0] < 0 and fields.signed == 0):
        return np.nan
    n_listed = len(classes)
    cells = cells_by_class(order, distances, labels, places, n_listed, stratified)
    n_cells = len(cells.kind)
    available = np.empty(n_listed if stratified else 1, np.int64)
    n_train = np.empty(len(available), np.int64)
    for s in range(len(available)):
        stratum = classes[s] if stratified else 0
        available[s], n_train[s] = constraints.counts[stratum], constraints.n_train[stratum]
        if not stratified or s == own:
            available[s] -= constraints.held_out
        if available[s] < n_train[s]:  # a sample that is never tested
            return 0.0
    n_ranks = len(constraints.weights) - constraints.n_classes
    ranks = constraints.weights[:n_ranks]
    factors = np.empty(n_listed)
    for c in range(n_listed):
        factors[c] = constraints.weights[n_ranks + classes[c]]
    by_pair = depends_on_pair(form, scale)
    following = next_cells(cells, n_listed)
    pair_weights = np.zeros(n_cells)
    if by_pair:
        base = base_of(form, cells.distance, n_cells)
        for j in range(n_cells):
            pair_weights[j] = pair_weight(form, cells.distance[j], base, scale)
        reach = reach_of(cells, following, pair_weights, factors, k)
    elif form == RANKS:
        if _order_matters(cells):
            return np.nan
        reach = reach_of_ranks(ranks, k)
    else:
        reach = np.zeros((0, 0))
    scores = np.empty(n_listed)
    for c in range(n_listed):
        scores[c] = score_of(constraints.table, own_class, classes[c], 1.0)
    rule = Rule(
        form, scale, ranks, by_pair, pair_weights, k,
        np.zeros(constraints.n_nearest), np.zeros(constraints.n_nearest),
        scores, factors, np.zeros(n_listed), own if len(constraints.table) == 0 else -1,
        fields.random == 1, following, reach,
        0.0 if _whole(pair_weights) and _whole(ranks) and _whole(factors) else MARGIN,
        labels.values, target,
    )  # fmt: skip
    return tree_score(cells, available, n_train, rule, constraints.n_nearest, fields.max_steps)


@jit
def _whole(numbers):
    n_whole = 0
    for number in numbers:
        n_whole += abs(number) < 1e9 and number == np.floor(number)
    return n_whole == len(numbers)


@jit
def _order_matters(cells):
    """Return True if a tied group has several classes."""
    return (cells.end > cells.first + 1).any()


@jit
def weighted_decide(items, distances, labels, target, constraints):
    """The score of one training set, from its nearest samples."""
    fields = read_as(WeightedFields, constraints.integers)
    n = min(fields.n_votes, len(items))
    n_ranks = len(constraints.weights) - constraints.n_classes
    weights = np.empty(n)
    fill_weights(fields.form, distances, n, constraints.numbers[0], constraints.weights[:n_ranks], weights)
    votes = np.zeros(constraints.n_classes)
    for t in range(n):
        c = labels.classes[items[t]]
        votes[c] += weights[t] * constraints.weights[n_ranks + c]
    scores = np.empty(constraints.n_classes)
    for c in range(constraints.n_classes):
        scores[c] = score_of(constraints.table, labels.classes[target], c, 1.0)
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
        - "inverse": 1 / d_i; samples at distance 0 have the weight 1 and then the others none. This is
          scikit-learn's ``weights="distance"``, which takes distances below 6e-309 for 0.
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
    parameters = {  # noqa: RUF012
        "n_neighbors": 5,
        "weights": "inverse",
        "temperature": TEMPERATURE,
        "bandwidth": None,
        "class_weight": None,
        "loss": None,
        "vote_ties": "smallest",
        "max_steps": MAX_STEPS,
    }
    tie_rules = ("index", "random")
    fields = WeightedFields
    fixed_by_distance = weighted_fixed
    stratified_by_distance = weighted_stratified
    decide = weighted_decide

    def for_classes(self, classes: Array, counts: Array, **parameters: Any) -> Mapping[str, Any]:
        """The parameters with a number for every class as `class_weight`."""
        return {**parameters, "class_weight": class_factors(parameters["class_weight"], classes, counts)}

    def check(self, task: Task, **parameters: Any) -> None:
        """Refuse weights that do not fit K, K larger than a training set, and a loss that does not fit."""
        check_weights(task, parameters)
        check_loss(parameters["loss"], task.n_classes)
        check_choice("vote_ties", parameters["vote_ties"], ("smallest", "random"))
        check_integer("max_steps", parameters["max_steps"], 1)

    def measure(self, **parameters: Any) -> str:
        """Accuracy, or the expected loss."""
        return "accuracy" if parameters.get("loss") is None else "expected loss"

    def largest_score(self, **parameters: Any) -> float:
        """The largest absolute loss."""
        return largest_loss(parameters["loss"])

    def tables(self, task: Task, **parameters: Any) -> Tables:
        """The scale, the weights of the ranks, the factors of the classes, and the losses."""
        if task.number is Fraction:
            msg = "variant 'weighted' has no exact rational mode; leave exact=True out"
            raise ValueError(msg)
        form = settled_form(parameters)
        ranks = rank_weights(parameters) if form == RANKS else np.empty(0)
        factors = parameters["class_weight"] or np.ones(task.n_classes)
        return Tables(
            WeightedFields(
                form,
                int(parameters["n_neighbors"]),
                int(parameters["vote_ties"] == "random"),
                int(parameters["max_steps"]),
                int(is_signed(parameters)),
            ),
            (scale_of(parameters),),
            np.concatenate([ranks, factors]),
            loss_table(parameters["loss"], float),
        )
