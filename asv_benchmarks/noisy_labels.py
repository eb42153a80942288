"""How well wrong labels are found: 10 % of the labels are changed, and the samples are ranked.

    python noisy_labels.py                                  # five data sets, five seeds; minutes
    python noisy_labels.py wine "breast cancer" --seeds 3

The rankings are the KNN-Shapley values, the influence on the exact 5-fold score, the samples' own expected
scores A_x, and, where cleanlab is installed, its label quality from out-of-fold probabilities of the same
rule. For each: the share of wrong labels among the n lowest, where n labels are wrong (precision and recall
are the same there), and the average precision; means over the seeds and, in parentheses, their standard
deviation. The last column is cleanlab's own list (`find_label_issues`): precision and recall.
The data are downloaded on first use; KNNCCV_DATA_URL can name a mirror.
"""

import argparse
import warnings

import numpy as np

from knnccv import KFold, Neighbors, complete_cv, item_values
from knnccv.datasets import fetch_abalone, fetch_breast_cancer, fetch_orl, fetch_uci, load_wine

K = 5
SHARE = 0.1


def standardized(X):
    """Columns of mean 0 and standard deviation 1; constant ones are 0."""
    X = np.asarray(X, dtype=float)
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)


def wine():
    """178 samples of 3 classes, standardized."""
    data = load_wine()
    return standardized(data.X), data.y


def breast_cancer():
    """683 complete rows of 2 classes."""
    data = fetch_breast_cancer()
    X = np.asarray(data.X, dtype=float)
    whole = np.isfinite(X).all(axis=1)
    return X[whole], np.asarray(data.y)[whole]


def abalone():
    """4,177 samples: the seven measurements, standardized; up to 8, 9 or 10, and more rings."""
    data = fetch_abalone()
    X = np.asarray(data.X)[:, -7:]
    return standardized(X), np.digitize(np.asarray(data.y, dtype=float), [8.5, 10.5])


def orl():
    """400 images of 40 people."""
    data = fetch_orl()
    return np.asarray(data.X, dtype=float).reshape(len(data.y), -1), data.y


def vehicle():
    """846 silhouettes of 4 classes (UCI), standardized."""
    data = fetch_uci("Vehicle")
    return standardized(data.X), data.y


SETS = {"wine": wine, "breast cancer": breast_cancer, "abalone": abalone, "ORL": orl, "vehicle": vehicle}


def flipped(y, seed):
    """Codes of the labels with some of them changed to another class at random, and a mask of these."""
    rng = np.random.default_rng(seed)
    classes, codes = np.unique(y, return_inverse=True)
    n_wrong = max(round(SHARE * len(codes)), 1)
    wrong = np.zeros(len(codes), bool)
    wrong[rng.choice(len(codes), n_wrong, replace=False)] = True
    codes = codes.copy()
    codes[wrong] = (codes[wrong] + rng.integers(1, len(classes), n_wrong)) % len(classes)
    return codes, wrong


def rankings(X, near, y, seed):
    """The scores of every sample by ranking, low = suspicious, and cleanlab's own list, or None."""
    result = complete_cv(near, y, "knn", KFold(5), n_neighbors=K)
    found = {
        "Shapley": item_values(near, y, n_neighbors=K).values,
        "influence": result.influence().total,
        "A_x": result.per_item,
    }
    try:
        from cleanlab.filter import find_label_issues
        from cleanlab.rank import get_label_quality_scores
    except ImportError:
        return found, None
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.neighbors import KNeighborsClassifier

    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes of fewer samples than folds
        probabilities = cross_val_predict(KNeighborsClassifier(K), X, y, cv=folds, method="predict_proba")
        found["cleanlab"] = get_label_quality_scores(y, probabilities)
        return found, find_label_issues(y, probabilities)


def among_lowest(scores, wrong):
    """The share of wrong ones among the lowest, as many as are wrong."""
    return wrong[np.argsort(scores, kind="stable")[: wrong.sum()]].mean()


def average_precision(scores, wrong):
    """The mean over the wrong samples of the precision of all that score at most as much."""
    own = scores[wrong]
    return np.mean([wrong[scores <= score].mean() for score in own])


def measured(X, y, seeds):
    """By ranking the mean and standard deviation of both measures, (2, 2), and cleanlab's list."""
    near = Neighbors.from_data(X)
    by_name, listed = {}, []
    for seed in range(seeds):
        codes, wrong = flipped(y, seed)
        found, issues = rankings(X, near, codes, seed)
        for name, scores in found.items():
            each = by_name.setdefault(name, [])
            each.append((among_lowest(scores, wrong), average_precision(scores, wrong)))
        if issues is not None:
            right = (issues & wrong).sum()
            listed.append((right / max(issues.sum(), 1), right / wrong.sum()))
    measures = {name: (np.mean(each, axis=0), np.std(each, axis=0)) for name, each in by_name.items()}
    return measures, np.mean(listed, axis=0) if listed else None


def table(names, seeds):
    """The lines of the Markdown table, one by one."""
    columns = None
    for name in names:
        X, y = SETS[name]()
        measures, listed = measured(X, y, seeds)
        if columns is None:
            columns = [*measures, *(["cleanlab's list"] if listed is not None else [])]
            yield "| data | " + " | ".join(columns) + " |"
            yield "|---" * (len(columns) + 1) + "|"
        cells = [f"{mean[0]:.2f}, {mean[1]:.2f} ({spread[1]:.2f})" for mean, spread in measures.values()]
        if listed is not None:
            cells.append(f"{listed[0]:.2f}, {listed[1]:.2f}")
        yield f"| {name} | " + " | ".join(cells) + " |"


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("names", nargs="*", default=list(SETS), metavar="NAME", help=", ".join(SETS))
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in SETS]
    if unknown:
        parser.error(f"unknown data {unknown}; there are {list(SETS)}")
    for line in table(options.names, options.seeds):
        print(line, flush=True)


if __name__ == "__main__":
    main()
