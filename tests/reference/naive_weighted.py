"""Weighted nearest-neighbor rules, written down plainly, and their mean over all training sets.

The formulas are those of the papers, one neighbor after the other, in double precision: Dudani (1976),
Hechenbichler and Schliep (2004), scikit-learn's ``weights="distance"``, DINO's softmax.
"""

import math

import naive

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


def squared_error(weights, targets, own, normalize=True):
    """Return the squared error of the weighted mean of targets (lists), summed over the outputs."""
    total = sum(weights) if normalize else len(weights)
    predicted = [
        sum(w * t for w, t in zip(weights, column, strict=True)) / total
        for column in zip(*targets, strict=True)
    ]
    return sum((p - t) ** 2 for p, t in zip(predicted, own, strict=True))


def mean_score(distances, y, listed, score, n_nearest, ties, average):
    """Return the mean score over the training sets and tie orders of a design of naive.

    ``score(x, order)`` scores sample x from its `n_nearest` nearest samples.
    """

    def decide(near, distances, y, x):  # noqa: ARG001
        return score(x, near)

    return float(naive.complete(distances, y, decide, listed, average, ties, n_nearest=n_nearest))
