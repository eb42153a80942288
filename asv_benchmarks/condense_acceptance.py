"""Prototypes on real data, beside all samples and the rules of Hart and Wilson, as a Markdown table.

    python condense_acceptance.py                   # everything; about ten minutes
    python condense_acceptance.py wine sonar        # some of the data sets
    python condense_acceptance.py --repeats 2       # fewer halves

Each half of the data is a training set: prototypes are selected from it, and the nearest prototype
classifies the other half. The rules of Hart and Wilson come from imbalanced-learn (pip install
imbalanced-learn); without it they are left out. The real data come from the cache of `knnccv.datasets`, or
from the mirror that KNNCCV_DATA_URL names; ``--files FOLDER`` serves the original files in a folder.
Seconds are CPU seconds of one thread.
"""

import argparse
import os
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

from knnccv.datasets import (
    fetch_abalone,
    fetch_breast_cancer,
    fetch_liver_disorders,
    fetch_orl,
    fetch_uci,
    load_wine,
)
from knnccv.selection import condense

HELPERS = Path(__file__).resolve().parents[1] / "tests" / "helpers"
SETS = {
    "wine": load_wine,
    "breast-cancer": fetch_breast_cancer,
    "liver-disorders": fetch_liver_disorders,
    "sonar": lambda: fetch_uci("Sonar"),
    "ionosphere": lambda: fetch_uci("Ionosphere"),
    "ORL": fetch_orl,
    "abalone": lambda: fetch_abalone(3),
}


def ours(X, y, _):
    found = condense(X, y, n_jobs=1)
    return found.sample_indices, found.score


def samplers():
    """The compared ways to select prototypes; each returns indices and the inner score, if there is one."""
    found = {"all": lambda _, y, __: (np.arange(len(y)), np.nan), "condense": ours}
    try:
        from imblearn.under_sampling import CondensedNearestNeighbour, EditedNearestNeighbours
    except ImportError:
        print("no imbalanced-learn: Hart's and Wilson's rules are left out (pip install imbalanced-learn)")
        return found

    def hart(X, y, seed):
        rule = CondensedNearestNeighbour(sampling_strategy="all", random_state=seed)
        rule.fit_resample(X, y)
        return rule.sample_indices_, np.nan

    def wilson(X, y, _):
        rule = EditedNearestNeighbours(sampling_strategy="all")
        rule.fit_resample(X, y)
        return rule.sample_indices_, np.nan

    return {"all": found["all"], "Hart": hart, "Wilson": wilson, "condense": ours}


def complete(data):
    used = ~np.isnan(data.X).any(axis=1)
    X = data.X[used].astype(float)
    return X[:, X.std(axis=0) > 0], np.unique(data.y[used], return_inverse=True)[1]


def one_half(X, y, seed, ways):
    """Per way: accuracy on the other half, share removed, CPU seconds, inner score."""
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
    spread = train.std(axis=0)
    mean, spread = train.mean(axis=0), np.where(spread > 0, spread, 1)
    train, test = (train - mean) / spread, (test - mean) / spread
    rows = []
    for select in ways.values():
        started = time.process_time()
        kept, inner = select(train, y_train, seed)
        seconds = time.process_time() - started
        model = KNeighborsClassifier(1, algorithm="brute").fit(train[kept], y_train[kept])
        rows.append((model.score(test, y_test), 1 - len(kept) / len(train), seconds, inner))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", default=[*SETS])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--files", type=Path, help="a folder with the original files")
    given = parser.parse_args()
    ways = samplers()
    with ExitStack() as stack:
        stack.enter_context(threadpool_limits(1))
        if given.files is not None:
            sys.path.insert(0, str(HELPERS))
            import mirror

            server = stack.enter_context(mirror.serve(mirror.folder(given.files)))
            os.environ["KNNCCV_DATA_URL"] = server.url
        condense(np.arange(8.0)[:, None], np.arange(8) % 2, n_jobs=1)  # compiles
        print(
            "| data | samples × columns | prototypes | accuracy | minus all | removed | seconds | inner |"
        )
        print("|---|---|---|---|---|---|---|---|")
        for name in given.names:
            X, y = complete(SETS[name]())
            found = np.array([one_half(X, y, seed, ways) for seed in range(given.repeats)])
            for way, rows in zip(ways, found.swapaxes(0, 1), strict=True):
                gaps = rows[:, 0] - found[:, 0, 0]
                error = gaps.std(ddof=1) / np.sqrt(given.repeats) if given.repeats > 1 else np.nan
                accuracy, removed, seconds, inner = rows.mean(axis=0)
                shown = "" if np.isnan(inner) else f"{inner:.3f}"
                print(
                    f"| {name} | {X.shape[0]} × {X.shape[1]} | {way} | {accuracy:.3f} | "
                    f"{gaps.mean():+.3f} ± {error:.3f} | {100 * removed:.1f} % | {seconds:.2f} | {shown} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
