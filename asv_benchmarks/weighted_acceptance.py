"""Weighted votes and decoupled sampling against whole splits, enumeration and time; prints figures.

    python weighted_acceptance.py --files FOLDER               # everything
    python weighted_acceptance.py estimators --files FOLDER    # some of the sections below
    python weighted_acceptance.py --scale 0.05                 # fewer splits and repetitions: that it runs

- ``estimators``: `expected_score` of weights="distance", a function and a regression, against the mean of
  20,000 splits of scikit-learn's splitters, on ten data sets.
- ``enumeration``: sampled scores of 100 small problems (50 seeds each) against all training sets.
- ``errors``: the stated standard error against the scatter of 1,000 sampled scores.
- ``variance``: the variance of the mean of R whole splits over that of R draws for every sample.
- ``dino``: votes weighted by exp(similarity / 0.07) on 20,000 x 384 features, beside the neighbor search.

``--files`` is the folder of the original data files, which is served on this machine. Without it the data
sets are downloaded, or found in KNNCCV_DATA_DIR.
"""

import argparse
import contextlib
import math
import os
import sys
import time
from itertools import combinations
from pathlib import Path

import numpy as np
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold, ShuffleSplit
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from knnccv import LeaveOut, Neighbors, Subsample, complete_cv
from knnccv.datasets import (
    fetch_abalone,
    fetch_breast_cancer,
    fetch_liver_disorders,
    fetch_orl,
    fetch_uci,
    load_diabetes,
    load_wine,
)
from knnccv.sklearn import expected_score

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path += [str(TESTS / "reference"), str(TESTS / "helpers")]

import mirror  # noqa: E402
import plain_weighted as plain  # noqa: E402

SPLITS = 20_000
SEEDS = 50
WINE_SHARE = 0.5


def halving(distances):
    """A function as users write them: a weight that halves with every fifty units."""
    return np.exp2(-distances / 50.0)


def codes(y):
    return np.unique(np.asarray(y), return_inverse=True)[1]


def abalone(n_items=None):
    """Rings up to 8, 9 and 10, and more: three classes."""
    found = fetch_abalone()
    rows = np.random.default_rng(0).permutation(len(found.y))[:n_items]
    return found.X[rows], np.digitize(found.y[rows], [8.5, 10.5])


def uci(name):
    found = fetch_uci(name)
    return np.asarray(found.X, dtype=float), codes(found.y)


def plainly(load):
    found = load()
    return np.asarray(found.X, dtype=float), codes(found.y)


def diabetes():
    found = load_diabetes()
    return found.X, found.y


DATA = {
    "wine": lambda: plainly(load_wine),
    "breast cancer": lambda: plainly(fetch_breast_cancer),
    "abalone, 1,500 rows": lambda: abalone(1500),
    "liver disorders": lambda: plainly(fetch_liver_disorders),
    "ORL": lambda: plainly(fetch_orl),
    "diabetes, regression": diabetes,
    "Sonar": lambda: uci("Sonar"),
    "Glass": lambda: uci("Glass"),
    "Ionosphere": lambda: uci("Ionosphere"),
    "Vehicle": lambda: uci("Vehicle"),
}
RULES = {"distance": ("distance", plain.inverse), "function": (halving, halving)}


def splitter_of(number, n_splits, stratified):
    """Name, splitter, splits of one run."""
    if number == 0:
        return "ShuffleSplit(test_size=0.25)", ShuffleSplit(n_splits, test_size=0.25, random_state=1), 1
    kind = RepeatedStratifiedKFold if stratified else RepeatedKFold
    return f"{kind.__name__}(5)", kind(n_splits=5, n_repeats=n_splits // 5, random_state=2), 5


def estimators(scale):
    """z = (expected score - mean of the splits) / standard error of both."""
    print(f"\n## estimators: {int(SPLITS * scale)} splits\n")
    print("| data | weights | K | splitter | score | its error | mean of splits | error | z | seconds |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    worst = 0.0
    for number, (name, load) in enumerate(DATA.items()):
        X, y = load()
        near = plain.Sorted.from_data(X)
        regression = y.dtype == float
        score = plain.neg_mean_squared_error if regression else plain.accuracy
        estimator_of = KNeighborsRegressor if regression else KNeighborsClassifier
        splitter, cv, per_run = splitter_of(number % 2, int(SPLITS * scale), stratified=not regression)
        k = (5, 9)[number // 2 % 2]
        weights = ("distance", "distance", "function")[number % 3]
        given, weigh = RULES[weights]
        started = time.process_time()
        found = expected_score(
            estimator_of(k, weights=given),
            X,
            y,
            cv=cv,
            scoring=score.__name__,
            method="auto",
            random_state=3,
            n_jobs=1,
        )
        taken = time.process_time() - started
        scores = plain.split_scores(near, y, cv.split(X, y), k, weigh, score)
        mean, error = plain.mean_and_error(scores, per_run)
        z = (found.score - mean) / math.hypot(error, found.std_error)
        worst = max(worst, abs(z))
        print(
            f"| {name} | {weights} | {k} | {splitter} | {found.score:.6f} | {found.std_error:.1e} "
            f"| {mean:.6f} | {error:.1e} | {z:+.2f} | {taken:.1f} |",
            flush=True,
        )
    print(f"\nlargest |z|: {worst:.2f} (limit 4)")


def enumerated(D, y, size, k, weigh):
    """The mean accuracy over all training sets of a size, tied neighbors in the order of the rows."""
    total = 0.0
    for target in range(len(y)):
        others = [row for row in np.argsort(D[target], kind="stable") if row != target]
        sets = np.array(list(combinations(range(len(others)), size)))[:, :k]
        items = np.array(others)[sets]
        weights = weigh(D[target][items])
        total += float((plain.classify(y[items], weights, int(y.max()) + 1) == y[target]).mean())
    return total / len(y)


def small(seed):
    """A small problem, every third one with tied distances."""
    rng = np.random.default_rng([seed, 16])
    n_items = int(rng.integers(8, 14))
    n_classes = int(rng.integers(2, 4))
    y = rng.permutation(np.arange(n_items) % n_classes)
    X = rng.normal(size=(n_items, 2)) + y[:, None] * 0.6
    if seed % 3 == 0:
        X = np.round(X)
    size = int(rng.integers(3, n_items - 1))
    return X, y, size, int(rng.integers(1, min(size, 5) + 1))


def enumeration(scale):
    """The mean of sampled scores with many seeds against all training sets: |z| < 4.

    The variance of a single score of a few samples is estimated from few draws that can differ, so that a
    single z is no normal number; the mean of many scores and of their variances is used.
    """
    print("\n## enumeration\n")
    number, found_z = int(100 * scale) or 1, []
    for seed in range(number):
        X, y, size, k = small(seed)
        near = Neighbors.from_data(X)
        runs = [
            sampled(near, y, k, 20, 1000 * seed + run, Subsample(size), ties="index")
            for run in range(SEEDS)
        ]
        error = math.sqrt(np.mean([run.std_error**2 for run in runs]) / SEEDS)
        true = enumerated(plain.cdist(X, X), y, size, k, plain.inverse)
        apart = np.mean([run.score for run in runs]) - true
        if error > 0:
            found_z.append(apart / error)
        else:
            assert abs(apart) < 1e-12, (seed, apart)
    z = np.array(found_z)
    print(f"{number} problems, {len(z)} of them random: largest |z| {np.abs(z).max():.2f} (limit 4),")
    print(f"mean of z {z.mean():+.3f}, standard deviation {z.std():.3f}")


def problems(small_ones):
    """Name, neighbors and classes of the data of the sections `errors` and `variance`."""
    loaders = {"wine": DATA["wine"], "abalone": abalone, "ORL": DATA["ORL"], "20,000 x 64": clouds}
    for name in ("wine", "ORL") if small_ones else loaders:
        X, y = loaders[name]()
        yield name, X, y


def clouds(n_items=20_000, n_features=64, n_classes=10, spread=0.35):
    rng = np.random.default_rng(20000629)
    y = rng.integers(n_classes, size=n_items)
    centers = rng.normal(size=(n_classes, n_features)) * spread
    return centers[y] + rng.normal(size=(n_items, n_features)), y


def sampled(near, y, k, n_draws, seed, design=None, **options):
    options = {"weights": "inverse", "n_jobs": 1} | options
    return complete_cv(
        near,
        y,
        "weighted",
        design or Subsample(WINE_SHARE),
        n_neighbors=k,
        method="sampled",
        n_draws=n_draws,
        random_state=seed,
        **options,
    )


def errors(scale):
    """The stated standard error beside the scatter of many sampled scores."""
    repeats = max(int(1000 * scale), 20)
    print(f"\n## errors: {repeats} repetitions\n")
    print("| data | K | draws | stated error (mean) | scatter of the scores | stated / scatter |")
    print("|---|---|---|---|---|---|")
    for name, X, y in problems(small_ones=True):
        near = Neighbors.from_data(X)
        for k in (5, 20):
            runs = [sampled(near, y, k, 100, seed) for seed in range(repeats)]
            stated = math.sqrt(np.mean([run.std_error**2 for run in runs]))
            scatter = np.std([run.score for run in runs], ddof=1)
            print(
                f"| {name} | {k} | 100 | {stated:.3e} | {scatter:.3e} | {stated / scatter:.3f} |",
                flush=True,
            )


def variance(scale):
    """Variance of the mean of R whole splits over that of R draws for every sample."""
    print("\n## variance: R whole splits of half of the samples, against R draws for every sample\n")
    print("| data | K | R | std of one split | error of R splits | error of R draws | variance ratio |")
    print("|---|---|---|---|---|---|---|")
    n_draws = 200
    for name, X, y in problems(small_ones=False):
        near = Neighbors.from_data(X)
        depth = min(400, len(y) - 1)
        if len(y) <= 5000:
            lists = plain.Sorted.from_data(X)
        else:
            found = near.search(np.arange(len(y)), depth)
            lists = plain.Sorted(found.items, np.sqrt(found.values))
        n_splits = max(int((2000 if len(y) < 1000 else 400) * scale), 20)
        rng = np.random.default_rng(5)
        size = len(y) // 2
        for k in (5, 20):
            orders = (rng.permutation(len(y)) for _ in range(n_splits))
            splits = ((np.sort(order[:size]), order[size:]) for order in orders)
            one = plain.split_scores(lists, y, splits, k, plain.inverse).std(ddof=1)
            whole = one / math.sqrt(n_draws)
            drawn = sampled(near, y, k, n_draws, 1).std_error
            print(
                f"| {name} | {k} | {n_draws} | {one:.4f} | {whole:.2e} | {drawn:.2e} "
                f"| {(whole / drawn) ** 2:.0f} |",
                flush=True,
            )


def unit_features(n_items, n_features, n_classes, seed=0):
    """Features of length 1 around class centers, hard enough that votes matter."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n_items)
    centers = rng.normal(size=(n_classes, n_features))
    X = centers[y] + rng.normal(size=(n_items, n_features)) * 5.0
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32), y


def dino(scale):
    """CPU seconds of the scores beside those of the neighbor search; limit of the sum: 2 searches."""
    n_items = int(20_000 * min(1.0, scale * 4))
    X, y = unit_features(n_items, 384, 100)
    warm = unit_features(600, 384, 5)
    options = {"weights": "softmax", "temperature": 0.07, "n_jobs": 1}
    print(f"\n## dino: {n_items} x 384, 100 classes, T = 0.07, cosine, CPU seconds of one thread\n")
    print("| design | K | score | error | draws | search | search and scores | ratio (limit 2) |")
    print("|---|---|---|---|---|---|---|---|")
    for design, n_draws in ((LeaveOut(1), 2), (Subsample(0.5), 150)):
        for k in (20, 200):
            method = "exact" if isinstance(design, LeaveOut) else "sampled"
            asked = {"cv": design, "n_neighbors": k, "metric": "cosine", "method": method} | options
            asked["n_draws"] = n_draws
            complete_cv(*warm, "weighted", **asked)
            depth = complete_cv(Neighbors.from_data(X, "cosine"), y, "knn", design, n_neighbors=k).depth
            near = Neighbors.from_data(X, "cosine")
            started = time.process_time()
            near.prepare(depth)
            near.search(np.arange(n_items), depth)
            search = time.process_time() - started
            started = time.process_time()
            found = complete_cv(X, y, "weighted", **asked)
            whole = time.process_time() - started
            error = getattr(found, "std_error", 0.0)
            print(
                f"| {design!r} | {k} | {found.score:.5f} | {error:.1e} | {n_draws if error else 'none'} "
                f"| {search:.2f} | {whole:.2f} | {whole / search:.2f} |",
                flush=True,
            )


SECTIONS = {
    "estimators": estimators,
    "enumeration": enumeration,
    "errors": errors,
    "variance": variance,
    "dino": dino,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sections", nargs="*", help=f"some of {', '.join(SECTIONS)}; default: all")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the splits and repetitions")
    parser.add_argument("--files", type=Path, help="folder of the original data files")
    asked = parser.parse_args()
    unknown = set(asked.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"no section {', '.join(sorted(unknown))}; choose from {', '.join(SECTIONS)}")
    with contextlib.ExitStack() as stack:
        if asked.files:
            server = stack.enter_context(mirror.serve(mirror.folder(asked.files)))
            os.environ["KNNCCV_DATA_URL"] = server.url
        for name in asked.sections or SECTIONS:
            SECTIONS[name](asked.scale)


if __name__ == "__main__":
    main()
