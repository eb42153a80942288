"""Enumerations of bootstrap samples, of weighted votes and of the values of samples."""

import itertools
import math
from fractions import Fraction

import naive


def multiplicities(n_draws, n_samples):
    """All numbers of copies of the samples in a bootstrap sample, with their probabilities."""
    for bars in itertools.combinations(range(n_draws + n_samples - 1), n_samples - 1):
        ends = (-1, *bars, n_draws + n_samples - 1)
        copies = [right - left - 1 for left, right in itertools.pairwise(ends)]
        ways = math.factorial(n_draws)
        for number in copies:
            ways //= math.factorial(number)
        yield copies, Fraction(ways, n_samples**n_draws)


def score_given(copies, distances_row, y, x, variant, ties, **params):
    """Expected score of x if sample j is in the training set ``copies[j]`` times."""
    entries = [j for j, number in enumerate(copies) for _ in range(number)]
    levels = sorted({distances_row[j] for j in entries})
    groups = [[j for j in entries if distances_row[j] == level] for level in levels]
    return score_of_groups(groups, y, x, variant, ties, **params)


def score_of_groups(groups, y, x, variant, ties, **params):
    """Expected score of x over the orders of tied entries; copies of a sample are entries of their own."""
    k = naive.places(variant, params)
    if ties == "index":
        return naive.score_one(variant, [j for group in groups for j in sorted(group)], y, x, params)
    nearer, group = [], []
    for each in groups:
        group = each
        if len(nearer) + len(each) >= k:
            break
        nearer = nearer + each
    chosen = list(itertools.combinations(range(len(group)), k - len(nearer)))
    scores = [
        naive.score_one(variant, nearer + [group[i] for i in subset], y, x, params) for subset in chosen
    ]
    return sum(scores, Fraction(0)) / len(scores)


def out_of_bag(D, y, variant, n_draws, ties="random", **params):
    """A list of the expected scores of all samples over the bootstrap samples that leave them out."""
    found = []
    for x in range(len(y)):
        others = [j for j in range(len(y)) if j != x]
        total = Fraction(0)
        for copies, probability in multiplicities(n_draws, len(others)):
            all_copies = [0] * len(y)
            for j, number in zip(others, copies, strict=True):
                all_copies[j] = number
            total += probability * score_given(all_copies, D[x], y, x, variant, ties, **params)
        found.append(total)
    return found


def resubstitution(D, y, variant, ties="random", label_of=None, **params):
    """A list of the scores of all samples on all samples, each of them at distance 0 from itself.

    `label_of` is a label that takes the place of every tested sample's own.
    """
    found = []
    for x in range(len(y)):
        row = [0 if j == x else D[x][j] for j in range(len(y))]
        levels = sorted(set(row))
        groups = [[j for j in range(len(y)) if row[j] == level] for level in levels]
        labels, at = list(y), x
        if label_of is not None:
            labels.append(label_of)
            at = len(y)
        found.append(score_of_groups(groups, labels, at, variant, ties, **params))
    return found


KERNELS = {
    "gaussian": lambda u: math.exp(-u * u / 2),
    "triangular": lambda u: max(1 - u, 0),
    "epanechnikov": lambda u: max(1 - u * u, 0),
    "biweight": lambda u: max(1 - u * u, 0) ** 2,
    "triweight": lambda u: max(1 - u * u, 0) ** 3,
    "cosine": lambda u: math.cos(math.pi * u / 2) if u < 1 else 0,
}


def weights_of(distances, k, weights, temperature=0.07, bandwidth=None):
    """Return the weights of the K nearest; `distances` are ascending and may go on beyond K."""
    near = distances[:k]
    if not isinstance(weights, str):
        found = list(weights)
    elif weights == "uniform":
        found = [1.0] * k
    elif weights == "inverse":
        found = [float(d == 0) for d in near] if 0 in near else [1 / d for d in near]
    elif weights == "dudani":
        spread = near[-1] - near[0]
        found = [(near[-1] - d) if spread else 1.0 for d in near]
    elif weights == "softmax":
        found = [math.exp((near[0] - d) / temperature) for d in near]
    else:
        width = distances[k] if bandwidth is None else bandwidth
        found = [KERNELS[weights](d / width if width else 1.0) for d in near]
    return found if any(found) else [1.0] * k


def score_votes(weights, classes, own, n_classes, factors=None, loss=None, vote_ties="smallest"):
    """Return the score of the class with the largest sum of weights."""
    votes = [0.0] * n_classes
    for weight, c in zip(weights, classes, strict=True):
        votes[c] += weight * (1.0 if factors is None else factors[c])
    winners = [c for c in range(n_classes) if votes[c] == max(votes)]
    if vote_ties == "smallest":
        winners = winners[:1]
    scores = [float(c == own) if loss is None else float(loss[own][c]) for c in winners]
    return sum(scores) / len(scores)


def error_of_mean(weights, targets, own, normalize=True, power=2):
    """Return the error of the weighted mean of targets (lists), to a power, summed over the outputs."""
    total = sum(weights) if normalize else len(weights)
    predicted = [
        sum(w * t for w, t in zip(weights, column, strict=True)) / total
        for column in zip(*targets, strict=True)
    ]
    return sum(abs(p - t) ** power for p, t in zip(predicted, own, strict=True))


def mean_score(distances, y, listed, score, n_nearest, ties, average):
    """Return the mean score over the training sets and tie orders of a design of naive.

    ``score(x, order)`` scores sample x from its `n_nearest` nearest samples.
    """

    def decide(near, distances, y, x):  # noqa: ARG001
        return score(x, near)

    return float(naive.complete(distances, y, decide, listed, average, ties, n_nearest=n_nearest))


def share_of_right(flags, k):
    """The utility of a training set: right ones among its K nearest, divided by K."""
    return Fraction(sum(flags[:k]), k)


def shapley(flags, k):
    """Values of samples in this order, by all subsets; `flags` tells which are right."""
    n = len(flags)
    values = [Fraction(0)] * n
    for subset in itertools.product((False, True), repeat=n):
        size = sum(subset)
        utility = share_of_right([flag for flag, taken in zip(flags, subset, strict=True) if taken], k)
        for j in range(n):
            if subset[j]:
                share = Fraction(math.factorial(size - 1) * math.factorial(n - size), math.factorial(n))
            else:
                share = -Fraction(math.factorial(size) * math.factorial(n - size - 1), math.factorial(n))
            values[j] += share * utility
    return values


def of_one_test(distances, right, k, ties):
    """Values of training samples for one tested sample: the mean over the orders of tied samples."""
    groups = [
        [j for j, value in enumerate(distances) if value == distance] for distance in sorted(set(distances))
    ]
    orders = [list(itertools.permutations(g)) if ties == "random" else [tuple(g)] for g in groups]
    values = [Fraction(0)] * len(distances)
    count = math.prod(len(order) for order in orders)
    for chosen in itertools.product(*orders):
        order = [j for group in chosen for j in group]
        for j, value in zip(order, shapley([right[j] for j in order], k), strict=True):
            values[j] += value / count
    return values


def leave_one_out(distances, y, k, ties):
    """Means over the samples, each tested on all others."""
    n = len(y)
    values = [Fraction(0)] * n
    for x in range(n):
        others = [j for j in range(n) if j != x]
        found = of_one_test([distances[x][j] for j in others], [int(y[j] == y[x]) for j in others], k, ties)
        for j, value in zip(others, found, strict=True):
            values[j] += value / n
    return values


def of_tests(distances, y_test, y, k, ties):
    """Means over other tested samples."""
    values = [Fraction(0)] * len(y)
    for row, label in zip(distances, y_test, strict=True):
        for j, value in enumerate(of_one_test(row, [int(own == label) for own in y], k, ties)):
            values[j] += value / len(y_test)
    return values
