"""Runs of plain K-nearest-neighbor votes, one by one, for tables of runs."""

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold


def neighbor_order(X):
    """The other samples of each sample by (distance, index), (n, n - 1)."""
    distances = ((X[:, None] - X) ** 2).sum(axis=-1)
    np.fill_diagonal(distances, np.inf)
    return np.argsort(distances, axis=1, kind="stable")[:, :-1]


def votes_of(order, codes, trains, tested, k, n_classes):
    """The votes (n_tested, C) of the k nearest training samples of the tested ones."""
    inside = trains[order[tested]]
    nearest = order[tested][inside & (np.cumsum(inside, axis=1) <= k)].reshape(len(tested), k)
    return (codes[nearest][:, :, None] == np.arange(n_classes)).sum(axis=1)


def add_votes(codes, tested, votes, confusion, histogram):
    """Count predictions, where the first class wins, in a table (C, C), and votes in one (C, C, K + 1)."""
    np.add.at(confusion, (codes[tested], votes.argmax(axis=1)), 1)
    for c in range(votes.shape[1]):
        np.add.at(histogram, (codes[tested], c, votes[:, c]), 1)


def tables_of_runs(order, codes, k, runs):
    """Tables of runs, each a list of pairs (trains, tested) of folds."""
    n_classes = codes.max() + 1
    shape = (len(runs), len(runs[0]), n_classes, n_classes)
    confusion, histogram = np.zeros(shape, np.int32), np.zeros((*shape, k + 1), np.int32)
    for r, folds in enumerate(runs):
        for f, (train, tested) in enumerate(folds):
            trains = np.zeros(len(codes), bool)
            trains[train] = True
            votes = votes_of(order, codes, trains, tested, k, n_classes)
            add_votes(codes, tested, votes, confusion[r, f], histogram[r, f])
    return confusion, histogram


def random_runs(codes, n_runs, n_folds, seed, stratified=True):
    """Shuffled folds of scikit-learn."""
    splitter = StratifiedKFold if stratified else KFold
    blank = np.zeros((len(codes), 1))
    return [
        list(splitter(n_folds, shuffle=True, random_state=seed * 100_000 + r).split(blank, codes))
        for r in range(n_runs)
    ]
