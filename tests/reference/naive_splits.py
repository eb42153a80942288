"""Scikit-learn's splitters by enumeration: all outcomes with their probabilities, and a literal score.

An *outcome* is the list of (train, test) pairs of one run of the splitter. Nothing here uses a closed
form; the laws are written from the splitters' documentation and source.
"""

from fractions import Fraction
from itertools import chain, combinations, permutations, product

import naive
import numpy as np
from naive import kfold, stratified_kfold
from sklearn.model_selection import KFold, StratifiedKFold


def of_partitions(design):
    """Return the outcomes of a k-fold design of `naive`, all of which are equally likely."""
    everything = frozenset(range(design.n_items))
    share = Fraction(1, len(design.outcomes))
    return [(share, [(sorted(T), sorted(everything - T)) for T in outcome]) for outcome in design.outcomes]


def kfold_outcomes(N, k):
    """KFold(k, shuffle=True)."""
    return of_partitions(kfold(N, k))


def stratified_kfold_outcomes(y, k):
    """StratifiedKFold(k, shuffle=True)."""
    return of_partitions(stratified_kfold(y, k))


def shuffle_outcomes(N, n_train, n_test):
    """ShuffleSplit, one split: all pairs of disjoint sets of these sizes."""
    outcomes = []
    for test in combinations(range(N), n_test):
        rest = [x for x in range(N) if x not in test]
        outcomes += [[(list(train), list(test))] for train in combinations(rest, n_train)]
    return [(Fraction(1, len(outcomes)), outcome) for outcome in outcomes]


def approximate_modes(counts, n_draws):
    """List the equally likely results of scikit-learn's `_approximate_mode`, in its float arithmetic."""
    counts = np.asarray(counts)
    continuous = counts / counts.sum() * n_draws
    floored = np.floor(continuous)
    need = int(n_draws - floored.sum())
    remainder = continuous - floored
    results = [floored.astype(int).tolist()]
    for value in sorted(set(remainder.tolist()), reverse=True):
        if need == 0:
            break
        group = [c for c in range(len(counts)) if remainder[c] == value]
        add = min(len(group), need)
        results = [
            [n + (c in chosen) for c, n in enumerate(result)]
            for result in results
            for chosen in combinations(group, add)
        ]
        need -= add
    return results


def stratified_shuffle_outcomes(y, n_train, n_test):
    """StratifiedShuffleSplit, one split."""
    classes = sorted(set(y))
    members = [[x for x in range(len(y)) if y[x] == c] for c in classes]
    counts = [len(some) for some in members]
    outcomes = []
    trains = approximate_modes(counts, n_train)
    for n_i in trains:
        tests = approximate_modes([n - i for n, i in zip(counts, n_i, strict=True)], n_test)
        for t_i in tests:
            ways = list(product(*(_train_and_test(*each) for each in zip(members, n_i, t_i, strict=True))))
            share = Fraction(1, len(trains) * len(tests) * len(ways))
            for way in ways:
                train, test = (sorted(chain.from_iterable(part[side] for part in way)) for side in (0, 1))
                outcomes.append((share, [(train, test)]))
    return outcomes


def _train_and_test(pool, n_train, n_test):
    pairs = []
    for train in combinations(pool, n_train):
        rest = [x for x in pool if x not in train]
        pairs += [(train, test) for test in combinations(rest, n_test)]
    return pairs


def leave_out_outcomes(N, p):
    """LeavePOut(p): one outcome, which holds all its splits."""
    everything = set(range(N))
    return [
        (Fraction(1), [(sorted(everything - set(test)), list(test)) for test in combinations(range(N), p)])
    ]


def leave_groups_outcomes(groups, p):
    """LeavePGroupsOut(p), and LeaveOneGroupOut with p=1: one outcome."""
    return [(Fraction(1), [_by_groups(groups, some) for some in combinations(sorted(set(groups)), p)])]


def group_shuffle_outcomes(groups, n_train, n_test):
    """GroupShuffleSplit, one split, with numbers of groups."""
    names = sorted(set(groups))
    outcomes = []
    for tested in combinations(names, n_test):
        rest = [name for name in names if name not in tested]
        outcomes += [[_by_groups(groups, tested, trained)] for trained in combinations(rest, n_train)]
    return [(Fraction(1, len(outcomes)), outcome) for outcome in outcomes]


def group_kfold_outcomes(groups, k):
    """GroupKFold(k, shuffle=True): all permutations of the groups."""
    orders = list(permutations(sorted(set(groups))))
    return [
        (
            Fraction(1, len(orders)),
            [_by_groups(groups, set(part.tolist())) for part in np.array_split(np.array(order), k)],
        )
        for order in orders
    ]


def _by_groups(groups, tested, trained=None):
    tested = set(tested)
    test = [x for x in range(len(groups)) if groups[x] in tested]
    train = [
        x for x in range(len(groups)) if (groups[x] in trained if trained else groups[x] not in tested)
    ]
    return train, test


def train_size(N, alpha, n):
    """Return the training size in a half of n samples."""
    if 10 * alpha <= N:
        return alpha
    return n - max(1, min(n - 1, round(Fraction((N - alpha) * n, N))))


def part(D, y, rows):
    """Return the distances and labels of some samples."""
    return [[D[i][j] for j in rows] for i in rows], [y[i] for i in rows]


def score(D, y, rows, variant, make_design, average, ties, **params):
    """Return the complete score of the samples `rows`; make_design(labels) gives the half's design."""
    distances, labels = part(D, y, rows)
    if params.get("loss") is not None:  # naive numbers the classes that are there
        known, there = sorted(set(y)), sorted(set(labels))
        at = [known.index(label) for label in there]
        params["loss"] = [[params["loss"][a][b] for b in at] for a in at]
    return naive.complete(distances, labels, variant, make_design(labels), average, ties, **params)


def variance(pairs):
    """Return a quarter of the mean squared difference of the pairs of scores."""
    return sum(((a - b) ** 2 for a, b in pairs), Fraction(0)) / (4 * len(pairs))


# random runs of folds, one by one


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
