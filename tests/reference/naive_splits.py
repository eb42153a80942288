"""Scikit-learn's splitters by enumeration: all outcomes with their probabilities, and a literal score.

An *outcome* is the list of (train, test) pairs of one run of the splitter. Nothing here uses a closed
form; the laws are written from the splitters' documentation and source.
"""

from fractions import Fraction
from itertools import chain, combinations, permutations, product

import numpy as np
from naive import expected_over_ties, kfold, mean, neighbor_order, stratified_kfold


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


def expectation(outcomes, score_split, pooled=False):
    """Mean over the outcomes of the mean of their splits' scores.

    With `pooled`, of all classifications: the sum of n_test * score over the sum of n_test.
    """
    total = weight = Fraction(0)
    known = {}
    for share, splits in outcomes:
        for train, test in splits:
            key = tuple(train), tuple(test)
            if key not in known:
                known[key] = score_split(train, test)
            w = share * (len(test) if pooled else Fraction(1, len(splits)))
            total += w * known[key]
            weight += w
    return total / weight


def item_scores(D, y, train, test, k, ties="index", loss=None, rule="knn"):
    """The expected score of each tested sample, by its k nearest training samples."""
    scores, params = [], {"n_neighbors": k}
    if loss is not None:
        params["loss"] = loss
    for x in test:
        groups = [[j for j in group if j in train] for group in neighbor_order(D[x], x)[1]]
        groups = [group for group in groups if group]
        scores.append(Fraction(expected_over_ties(rule, groups, y, x, params, ties)))
    return scores


def accuracy(D, y, k, ties="index", loss=None):
    """A function (train, test) -> mean score of the tested samples."""
    return lambda train, test: mean(item_scores(D, y, train, test, k, ties, loss))


def balanced(D, y, k, ties="index"):
    """The same, of the mean over the tested classes of the mean within the class."""

    def score(train, test):
        scores = item_scores(D, y, train, test, k, ties)
        classes = sorted({y[x] for x in test})
        return mean([mean([s for s, x in zip(scores, test, strict=True) if y[x] == c]) for c in classes])

    return score


def squared_error(D, y, k, ties="index"):
    """A function (train, test) -> mean squared error of the mean of the k nearest."""
    return lambda train, test: mean(item_scores(D, y, train, test, k, ties, rule="regression"))
