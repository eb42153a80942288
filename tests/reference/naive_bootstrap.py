"""Bootstrap scores by listing all draws, in fractions: slow, obvious, and independent of knnccv."""

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


def out_of_bag_by_sequences(D, y, variant, n_draws, ties="random", **params):
    """The same from all N^n sequences of draws."""
    total, number = [Fraction(0)] * len(y), [0] * len(y)
    for draws in itertools.product(range(len(y)), repeat=n_draws):
        copies = [draws.count(j) for j in range(len(y))]
        for x in range(len(y)):
            if copies[x] == 0:
                total[x] += score_given(copies, D[x], y, x, variant, ties, **params)
                number[x] += 1
    return [t / n for t, n in zip(total, number, strict=True)]


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
