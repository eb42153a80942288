"""Rules of all training samples within a radius, against the enumeration of all training sets and scikit-learn."""

from fractions import Fraction
from itertools import product

import naive
import numpy as np
import pytest
from problems import blobs, designs, problem
from seeds import over_seeds, seeds

from knnccv import (
    KFold,
    LeaveGroupsOut,
    LeaveOut,
    StratifiedKFold,
    StratifiedSubsample,
    Subsample,
    complete_cv,
)

FREQUENT = "most_frequent"


def most_common(labels):
    """The most frequent label, the smallest of several."""
    return max(sorted(set(labels)), key=labels.count)


def vote_in(case, radius, outlier, loss=None):
    """The score of one training set, for naive: the majority within the radius, or the outlier label."""

    def decide(near, distances, y, x):
        voters = [y[j] for j, d in zip(near, distances, strict=True) if d <= radius]
        if not voters and outlier == FREQUENT:
            voters = [y[j] for j in near]
        label = most_common(voters) if voters else outlier
        if loss is None:
            return label == y[x]
        return int(loss[case.classes.index(y[x])][case.classes.index(label)])

    return decide


def error_in(radius, outlier):
    """The same for the mean target."""

    def decide(near, distances, y, x):
        own = naive.as_outputs(y[x])
        used = [naive.as_outputs(y[j]) for j, d in zip(near, distances, strict=True) if d <= radius]
        if not used and outlier != "mean":
            return sum((Fraction(outlier) - t) ** 2 for t in own)
        used = used or [naive.as_outputs(y[j]) for j in near]
        return sum(
            (naive.mean(column) - t) ** 2 for column, t in zip(zip(*used, strict=True), own, strict=True)
        )

    return decide


def none_in(radius):
    """The same for the share without neighbors."""
    return lambda near, distances, y, x: not any(d <= radius for d in distances)


@over_seeds(8, 200)
def test_votes_equal_the_enumeration(seeds):
    for seed in seeds:
        case = problem(seed, most=8)
        rng = np.random.default_rng([seed, 7])
        radius = float(rng.choice(case.distances.ravel()))  # samples at the radius are within
        for at, (design, listed) in enumerate(designs(case, seed)):
            outlier = [None, FREQUENT, case.classes[at % len(case.classes)], 99][(at + seed) % 4]
            loss = case.loss if outlier in (FREQUENT, *case.classes) and (at + seed) % 3 == 0 else None
            average = ("pooled", "item", "class")[(at + seed) % 3]
            asked = {"radius": radius, "metric": "precomputed", "average": average, "n_jobs": 1}
            for score, rule in (
                ("accuracy", vote_in(case, radius, outlier, loss)),
                ("outliers", none_in(radius)),
            ):
                expected = naive.complete(
                    case.distances, case.y, rule, listed, average, "index", n_nearest=len(case.y)
                )
                found = complete_cv(
                    case.distances, case.y, "radius", design, **asked, score=score, loss=loss,
                    outlier_label=outlier, ties=("index", "random")[at % 2],
                )  # fmt: skip
                where = seed, design, outlier, average, score
                assert abs(Fraction(found.score) - expected) <= found.error_bound < 1e-11, where
                assert found.tied == 0, where


@over_seeds(6, 200)
def test_errors_equal_the_enumeration(seeds):
    for seed in seeds:
        case = problem(seed, most=8)
        rng = np.random.default_rng([seed, 7])
        radius = float(rng.choice(case.distances.ravel()))
        targets = rng.integers(-3, 4, (len(case.y), 1 + seed % 2))
        for at, (design, listed) in enumerate(designs(case, seed)):
            if not isinstance(design, Subsample | LeaveOut | KFold):
                continue
            outlier = ("mean", 2)[(at + seed) % 2]
            expected = naive.complete(
                case.distances, targets, error_in(radius, outlier), listed, "pooled", "index", n_nearest=8
            )
            asked = {"radius": radius, "outlier_value": outlier, "metric": "precomputed", "n_jobs": 1}
            found = complete_cv(case.distances, targets, "radius_regression", design, **asked)
            assert abs(Fraction(found.score) - expected) <= found.error_bound < 1e-10, (
                seed,
                design,
                outlier,
            )
