"""A pool of training samples and a fixed test set, against the enumeration of all training sets."""

from fractions import Fraction
from itertools import combinations

import naive
import numpy as np
from problems import SETTINGS, plain
from seeds import over_seeds

from knnccv import KFold, LeaveOut, StratifiedSubsample, Subsample, complete_cv
from knnccv.driver import AVERAGES
from knnccv.variants import get_variant


def problem(seed):
    """Distances (n_test, n_pool) with ties, labels of both; a test label may be missing in the pool."""
    rng = np.random.default_rng(seed)
    n_pool, n_test = int(rng.integers(3, 8)), int(rng.integers(1, 4))
    y = rng.integers(0, rng.integers(1, 4), n_pool)
    t = rng.integers(0, 4 if seed % 5 == 0 else y.max() + 1, n_test)
    return (
        rng.integers(0, 4, (n_test, n_pool)).astype(float) if seed % 3 else rng.random((n_test, n_pool)),
        y,
        t,
    )


def designs(y, rng):
    """The library's designs of a pool with the equally likely training sets, in kinds of equal chance."""
    n = len(y)
    size, p = (int(rng.integers(1, n + 1)) for _ in range(2))
    yield Subsample(size), [list(combinations(range(n), size))]
    if p < n:
        yield LeaveOut(p), [list(combinations(range(n), n - p))]
    k = int(rng.integers(2, n + 1))
    yield KFold(k), [list(combinations(range(n), n - fold)) for fold in naive.kfold_sizes(n, k)]
    sizes = {int(c): int(rng.integers(0, (y == c).sum() + 1)) for c in np.unique(y)}
    if sum(sizes.values()):
        listed = [()]
        for c, count in sizes.items():
            own = combinations(np.flatnonzero(y == c).tolist(), count)
            listed = [(*T, *more) for more in own for T in listed]
        yield StratifiedSubsample(per_class=sizes), [listed]


def enumerated(D, y, t, kinds, variant, ties, average, parameters):
    """The mean over all training sets, as a Fraction."""
    labels = [*y.tolist(), *t.tolist()]
    n = len(y)
    per_item = []
    for q, row in enumerate(D.tolist()):
        means = []
        for listed in kinds:
            scores = []
            for T in listed:
                groups = {}
                for j in sorted(T):
                    groups.setdefault(row[j], []).append(j)
                ordered = [groups[d] for d in sorted(groups)]
                scores.append(naive.expected_over_ties(variant, ordered, labels, n + q, parameters, ties))
            means.append(naive.mean(scores))
        per_item.append(naive.mean(means))
    if average == "class":
        return naive.mean(
            [naive.mean([s for s, c in zip(per_item, t, strict=True) if c == d]) for d in set(t.tolist())]
        )
    return naive.mean(per_item)


@over_seeds(12, 300)
def test_a_pool_and_a_test_set_equal_the_enumeration(seeds):
    compared = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        D, y, t = problem(seed)
        n_classes = len(set(y.tolist()) | set(t.tolist()))
        loss = rng.integers(-2, 6, (n_classes, n_classes))
        for d, (design, kinds) in enumerate(designs(y, rng)):
            for s, (variant, setting) in enumerate(SETTINGS):
                smallest = min(len(T) for listed in kinds for T in listed)
                if (s + d + seed) % 5 or setting.get("n_neighbors", 1) > smallest:
                    continue
                parameters = {name: loss if value is True else value for name, value in setting.items()}
                average = AVERAGES[(s + seed) % 3]
                for ties in get_variant(variant).tie_rules:
                    asked = {
                        "metric": "precomputed",
                        "test": t,
                        "ties": ties,
                        "average": average,
                        "n_jobs": 1,
                    }
                    where = f"seed {seed}: {variant} {setting} {design} {ties} {average}"
                    wanted = enumerated(D, y, t, kinds, variant, ties, average, plain(parameters))
                    found = complete_cv(D, y, variant, design, exact=True, **asked, **parameters)
                    assert found.exact == wanted, where
                    found = complete_cv(D, y, variant, design, **asked, **parameters)
                    assert abs(Fraction(found.score) - wanted) <= found.error_bound, where
                    compared += 1
    assert compared > 50
