"""Feature selection by the exact score, on noise and on real data, as Markdown tables.

    python selection_acceptance.py                  # everything; about ten minutes
    python selection_acceptance.py noise            # columns of noise (ESL §7.10.2)
    python selection_acceptance.py wine sonar       # some of the real data sets
    python selection_acceptance.py --repeats 2      # fewer halves and data sets, to see that it runs

The real data come from the cache of `knnccv.datasets`, or from the mirror that KNNCCV_DATA_URL names;
``--files FOLDER`` serves the original files in a folder. Seconds are CPU seconds of one thread.
"""

import argparse
import os
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

from knnccv.datasets import fetch_abalone, fetch_breast_cancer, fetch_uci, load_wine
from knnccv.selection import search_weights, select_features

HELPERS = Path(__file__).resolve().parents[1] / "tests" / "helpers"
N_ITEMS, N_COLUMNS = 50, 5000
TOL = 1e-6
K = 5


def noise(n_sets, n_repeats):
    """Inner and honest scores of forward selection from columns that are independent of the classes."""
    inner, honest, seconds = [], [], []
    for seed in range(n_sets):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(N_ITEMS, N_COLUMNS)), np.repeat([0, 1], N_ITEMS // 2)
        started = time.process_time()
        found = select_features(X, y, n_jobs=1)
        seconds.append(time.process_time() - started)
        found.honest(n_repeats=n_repeats, random_state=seed, n_jobs=1)
        inner.append(found.inner_score)
        honest.append(found.honest_score)
        if seed == 0:
            print(f"\n{found!r}, of which the search took {seconds[0]:.2f} s\n")
    error = np.std(honest, ddof=1) / np.sqrt(n_sets)
    z = (np.mean(honest) - 0.5) / error
    print("| noise | data sets | inner score | honest score | z from 0.5 | seconds of a search |")
    print("|---|---|---|---|---|---|")
    print(
        f"| {N_ITEMS} × {N_COLUMNS:,} | {n_sets} | {np.mean(inner):.3f} ({min(inner):.3f} to "
        f"{max(inner):.3f}) | {np.mean(honest):.3f} ± {error:.3f} | {z:+.1f} | {np.mean(seconds):.2f} |"
    )
    return abs(z) <= 2


def abalone():
    data = fetch_abalone(3)
    rows = np.sort(np.random.default_rng(0).choice(len(data.X), 1000, replace=False))
    return data.X[rows], data.y[rows]


def complete(data):
    used = ~np.isnan(data.X).any(axis=1)
    X = data.X[used]
    return X[:, X.std(axis=0) > 0], data.y[used]


SETS = {
    "wine": lambda: complete(load_wine()),
    "breast-cancer": lambda: complete(fetch_breast_cancer()),
    "abalone": abalone,
    "sonar": lambda: complete(fetch_uci("Sonar")),
    "ionosphere": lambda: complete(fetch_uci("Ionosphere")),
    "vehicle": lambda: complete(fetch_uci("Vehicle")),
}


def held_out(train, test, y_train, y_test):
    return KNeighborsClassifier(K).fit(train, y_train).score(test, y_test)


def one_half(X, y, seed):
    """Accuracies on the other half, seconds, inner and honest score, and numbers of columns."""
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
    spread = train.std(axis=0)
    mean, spread = train.mean(axis=0), np.where(spread > 0, spread, 1)
    train, test = (train - mean) / spread, (test - mean) / spread
    row = {"all": held_out(train, test, y_train, y_test)}

    started = time.process_time()
    found = select_features(train, y_train, tol=TOL, n_jobs=1)
    row["exact s"] = time.process_time() - started
    row["exact"] = held_out(train[:, found.columns], test[:, found.columns], y_train, y_test)
    row["exact columns"], row["inner"] = len(found.columns), found.inner_score
    row["honest"] = found.honest(n_repeats=1, random_state=seed, n_jobs=1).score

    started = time.process_time()
    other = SequentialFeatureSelector(
        KNeighborsClassifier(K), n_features_to_select="auto", tol=TOL, cv=5, n_jobs=1
    ).fit(train, y_train)
    row["sklearn s"] = time.process_time() - started
    row["sklearn"] = held_out(other.transform(train), other.transform(test), y_train, y_test)
    row["sklearn columns"] = int(other.get_support().sum())

    started = time.process_time()
    weights = search_weights(train, y_train, tol=TOL, n_jobs=1).weights
    row["weights s"] = time.process_time() - started
    row["weights"] = held_out(train * weights, test * weights, y_train, y_test)
    return row


def real(names, n_halves):
    print(
        "\n| data | samples × columns | all columns | exact score | scikit-learn | difference | weights "
        "| inner | honest | columns | seconds: exact, scikit-learn, weights |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name in names:
        X, y = SETS[name]()
        X = X.astype(float)
        rows = [one_half(X, y, seed) for seed in range(n_halves)]
        mean = {key: np.mean([row[key] for row in rows]) for key in rows[0]}
        gaps = np.array([row["exact"] - row["sklearn"] for row in rows])
        error = gaps.std(ddof=1) / np.sqrt(n_halves)
        print(
            f"| {name} | {len(X)} × {X.shape[1]} | {mean['all']:.3f} | {mean['exact']:.3f} | "
            f"{mean['sklearn']:.3f} | {gaps.mean():+.3f} ± {error:.3f} | {mean['weights']:.3f} | "
            f"{mean['inner']:.3f} | {mean['honest']:.3f} | {mean['exact columns']:.1f}, "
            f"{mean['sklearn columns']:.1f} | {mean['exact s']:.2f}, {mean['sklearn s']:.2f}, "
            f"{mean['weights s']:.2f} |",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["noise", *SETS])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--files", type=Path, help="a folder with the original files")
    given = parser.parse_args()
    with ExitStack() as stack:
        stack.enter_context(threadpool_limits(1))
        if given.files is not None:
            sys.path.insert(0, str(HELPERS))
            import mirror

            server = stack.enter_context(mirror.serve(mirror.folder(given.files)))
            os.environ["KNNCCV_DATA_URL"] = server.url
        right = True
        names = [name for name in given.parts if name != "noise"]
        if names:
            real(names, given.repeats)
        if "noise" in given.parts:
            right = noise(2 * given.repeats, 2)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
