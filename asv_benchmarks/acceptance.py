"""Tables for release notes and the guide: speed and scores beside other programs, as Markdown.

    python acceptance.py speed                              # tens of minutes
    python acceptance.py speed "20000 x 64" --repeats 3     # some of the shapes, fewer rounds
    python acceptance.py labels wine --files FOLDER         # the original data files in a folder

- ``speed``: knnccv's times as ratios to those of its peers; ``votes``: votes by K and classes, an hour.
- ``retrieval``: retrieval and episodes beside sorting, one trial and matrix products, with their limits.
- ``weighted``: expected scores of weighted votes beside thousands of splits of scikit-learn; ``draws``: how
  many whole splits have the error of one draw for every sample.
- ``noise``, ``columns``: columns chosen from noise, and on halves of real data; ``prototypes``: prototypes
  beside the rules of Hart and Wilson (pip install imbalanced-learn).
- ``labels``: wrong labels found (pip install cleanlab for its columns).

A ratio is the median over rounds in which all compared programs run in turn; peers that are not installed
are left out. Sections of data sets take them from the cache of `knnccv.datasets`, from the mirror that
KNNCCV_DATA_URL names, or from ``--files``; those of UCI need the package of the reproductions
(pip install ../papers). Do not use the machine meanwhile.
"""

import argparse
import math
import os
import platform
import sys
import time
import warnings
from contextlib import ExitStack
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from pathlib import Path

import numpy as np
from benchmarks import episodes
from benchmarks import retrieval as galleries
from benchmarks.problems import gaussian
from benchmarks.rivals import FEW, PRECISIONS, SHAPES, missing, one_run, ready
from benchmarks.timing import in_turn
from threadpoolctl import threadpool_limits

from knnccv import KFold, Neighbors, Subsample, complete_cv, datasets, item_values, selection
from knnccv.retrieval import Gallery, SameIdentityAndCamera, expected_retrieval

TESTS = Path(__file__).resolve().parents[1] / "tests"


def _uci(name):
    from knnccv_papers import fetch_uci

    return fetch_uci(name)


LIBRARIES = ("knnccv", "numpy", "numba", "scikit-learn", "scikit-learn-intelex", "faiss-cpu")
SETS = {
    "wine": datasets.load_wine,
    "breast-cancer": datasets.fetch_breast_cancer,
    "liver-disorders": datasets.fetch_liver_disorders,
    "abalone": partial(datasets.fetch_abalone, 3),
    "ORL": datasets.fetch_orl,
    "diabetes": datasets.load_diabetes,
} | {name.lower(): partial(_uci, name) for name in ("Sonar", "Glass", "Ionosphere", "Vehicle")}


def data(name, most=None):
    """The complete rows, of at most a number of samples, without constant columns; codes of classes."""
    found = SETS[name]()
    rows = np.flatnonzero(np.isfinite(found.X).all(axis=1))
    if most is not None and len(rows) > most:
        rows = np.sort(np.random.default_rng(0).choice(rows, most, replace=False))
    X, y = found.X[rows].astype(float), found.y[rows]
    return X[:, X.std(axis=0) > 0], y if name == "diabetes" else np.unique(y, return_inverse=True)[1]


def standardized(X, train=None):
    """Columns of mean 0 and standard deviation 1 in the training set; constant ones are 0."""
    train = X if train is None else train
    spread = train.std(axis=0)
    return (X - train.mean(axis=0)) / np.where(spread > 0, spread, 1)


def halves(X, y, number):
    """Seed, then training and test features and labels of random stratified halves, standardized."""
    from sklearn.model_selection import train_test_split

    for seed in range(number):
        train, test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
        yield seed, standardized(train), standardized(test, train), y_train, y_test


def cpu(call, *args, **options):
    """The CPU seconds of a call, and what it returns."""
    before = time.process_time()
    found = call(*args, **options)
    return time.process_time() - before, found


def speed(shapes, repeats=5):
    yield "shape", "data", "what", "ratio", "smallest", "largest", "seconds", "peer's seconds"
    peers = {
        "complete_cv": ("cross_val_score, scikit-learn", "cross_val_score, scikit-learn-intelex"),
        "neighbors": ("NearestNeighbors, scikit-learn", "IndexFlatL2, faiss"),
    }
    pairs = [((ours, 3), (peer, 3)) for ours, found in peers.items() for peer in found if not missing(peer)]
    pairs += [(("kernels", n_classes), ("neighbors", 3)) for n_classes in (2, 10)]
    timed = list(dict.fromkeys(one for pair in pairs for one in pair))
    for shape, precision in product(shapes, PRECISIONS):
        calls = [ready(name, shape, precision, n_classes) for name, n_classes in timed]
        taken = dict(zip(timed, in_turn(calls, repeats).T, strict=True))
        for ours, theirs in pairs:
            ratios, both = taken[ours] / taken[theirs], [np.median(taken[one]) for one in (ours, theirs)]
            what = f"{ours[0]}, {ours[1]} classes / {theirs[0]}"
            yield shape, precision, what, np.median(ratios), ratios.min(), ratios.max(), *both


def votes(shapes, repeats=5):
    """KFold(5) / the default, each as a share of one cross_val_score of scikit-learn."""
    yield "shape", "classes", "K = 1", "K = 5", "K = 15", "K = 51"
    for shape, n_classes in product(shapes, (2, 10, 100)):
        X, y = gaussian(*SHAPES[shape], n_classes)
        cells = []
        for k in (1, 5, 15, 51):
            ours = [partial(complete_cv, variant="knn", cv=cv, n_neighbors=k) for cv in (KFold(5), 5)]
            for call in ours:
                call(X[:FEW], y[:FEW])  # compiles
            taken = in_turn([*(partial(call, X, y) for call in ours), one_run(X, y, k)], repeats)
            cells.append(" / ".join(f"{np.median(taken[:, j] / taken[:, 2]):.2g}" for j in (0, 1)))
        yield shape, n_classes, *cells


def retrieval(parts, repeats=3):
    """CPU seconds of one thread on synthetic data of the sizes of the public test sets."""
    yield "what", "seconds", "compared with", "seconds", "ratio", "limit"

    def row(what, ours, peer, theirs, limit):
        taken = np.array([(cpu(ours)[0], cpu(theirs)[0]) for _ in range(repeats)])
        middle = np.median(taken, axis=0)
        return what, middle[0], peer, middle[1], np.median(taken[:, 0] / taken[:, 1]), limit

    if "market" in parts:
        D, query_ids, ids, *cams = galleries.problem(3368, 19_127, 750, 6)
        asked = {"exclude": SameIdentityAndCamera(*cams), "scores": galleries.SCORES, "max_rank": 50}
        ours = partial(expected_retrieval, D, query_ids, ids, Gallery(per_identity=1), n_jobs=1, **asked)
        ours()
        yield row("Market-1501, 1 per identity", ours, "np.argsort", partial(np.argsort, D, axis=1), 2)
    for shots in (1, 10) if "sysu" in parts else ():
        sysu = galleries.Sysu()
        sysu.setup(shots)
        ours, trial = (partial(call, shots) for call in (sysu.time_scores, sysu.time_one_trial_in_numpy))
        yield row(f"SYSU-MM01, {shots} per identity and camera", ours, "one trial, NumPy", trial, "")
    for shot in (1, 5) if "episodes" in parts else ():
        exact = episodes.Products()
        exact.setup(12_000, 640, shot)
        what, ours = f"12,000 x 640, 5-way {shot}-shot", partial(exact.all_ways, 1)
        with threadpool_limits(1):
            yield row(what, ours, "matrix products", exact.products, 2.5)


def halving(distances):
    """A function as users write them: a weight that halves with every fifty units."""
    return np.exp2(-distances / 50.0)


def weighted(names, repeats=10):
    """z = (expected score - mean of 2,000 splits for each repeat) / standard error of both; limit 4."""
    import plain_weighted as plain
    from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold, ShuffleSplit
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    from knnccv.sklearn import expected_score

    yield "data", "weights", "K", "splitter", "score", "its error", "of splits", "error", "z", "seconds"
    for number, name in enumerate(names):
        X, y = data(name, 1500)
        learner, score, folds = KNeighborsClassifier, plain.accuracy, RepeatedStratifiedKFold
        if name == "diabetes":
            learner, score, folds = KNeighborsRegressor, plain.neg_mean_squared_error, RepeatedKFold
        cv, per_run = folds(n_splits=5, n_runs=400 * repeats, random_state=2), 5
        if number % 2 == 0:
            cv, per_run = ShuffleSplit(2000 * repeats, test_size=0.25, random_state=1), 1
        k = (5, 9)[number // 2 % 2]
        given, weigh = (halving, halving) if number % 3 == 2 else ("distance", plain.inverse)
        options = {"scoring": score.__name__, "method": "auto", "random_state": 3, "n_jobs": 1}
        taken, found = cpu(expected_score, learner(k, weights=given), X, y, cv=cv, **options)
        scores = plain.split_scores(plain.Sorted.from_data(X), y, cv.split(X, y), k, weigh, score)
        mean, error = plain.mean_and_error(scores, per_run)
        z = (found.score - mean) / math.hypot(error, found.std_error)
        rule = (name, getattr(given, "__name__", given), k, type(cv).__name__)
        yield *rule, f"{found.score:.6f}", found.std_error, f"{mean:.6f}", error, f"{z:+.2f}", taken


def draws(names, repeats=10):
    """The variance of the mean of 200 whole splits in half, over that of 200 draws for every sample."""
    import plain_weighted as plain

    yield "data", "K", "error of 200 splits", "error of 200 draws", "variance ratio"
    for name, k in product(names, (5, 20)):
        X, y = data(name)
        size, rng = len(y) // 2, np.random.default_rng(5)
        orders = (rng.permutation(len(y)) for _ in range(40 * repeats))
        splits = ((np.sort(order[:size]), order[size:]) for order in orders)
        scores = plain.split_scores(plain.Sorted.from_data(X), y, splits, k, plain.inverse)
        whole = scores.std(ddof=1) / math.sqrt(200)
        sampled = {"method": "sampled", "n_draws": 200, "random_state": 1}
        rule = {"variant": "weighted", "n_neighbors": k, "weights": "inverse"}
        drawn = complete_cv(X, y, cv=Subsample(0.5), **rule, **sampled).std_error
        yield name, k, whole, drawn, (whole / drawn) ** 2


def noise(_, repeats=10):
    """Columns chosen from 5,000 that are independent of the classes."""
    yield "data sets", "inner", "smallest", "largest", "honest", "its error", "z from 0.5", "seconds"
    scores = []
    for seed in range(2 * repeats):
        X, y = np.random.default_rng(seed).normal(size=(50, 5000)), np.repeat([0, 1], 25)
        taken, found = cpu(selection.select_features, X, y, n_jobs=1)
        scores.append((found.inner_score, honest_score(X, y, 2, seed), taken))
    inner, honest, taken = np.transpose(scores)
    error = honest.std(ddof=1) / math.sqrt(len(scores))
    center = (honest.mean(), error, (honest.mean() - 0.5) / error)
    yield len(scores), inner.mean(), inner.min(), inner.max(), *center, taken.mean()


def honest_score(X, y, n_runs, seed):
    """The score of 5 nearest neighbors by columns that are chosen within every training set."""
    from sklearn.model_selection import StratifiedKFold
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline

    from knnccv.sklearn import expected_score

    line = make_pipeline(selection.FeatureSelector(n_jobs=1), KNeighborsClassifier(5))
    splits = StratifiedKFold(5, shuffle=True)
    return expected_score(line, X, y, cv=splits, n_runs=n_runs, random_state=seed, n_jobs=1).score


def columns(names, repeats=10):
    """Columns chosen on one half of the data; the accuracy of 5 nearest neighbors on the other half."""
    from sklearn.feature_selection import SequentialFeatureSelector
    from sklearn.neighbors import KNeighborsClassifier

    ways = ("all columns", "exact", "scikit-learn", "weights")
    heads = ("inner", "honest", "columns", "scikit-learn's", *(f"seconds, {way}" for way in ways[1:]))
    yield "data", "samples", *ways, *heads, "exact - scikit-learn", "its error"
    for name in names:
        X, y = data(name, 1000)
        rows = []
        for seed, train, test, y_train, y_test in halves(X, y, repeats):
            model = KNeighborsClassifier(5)
            other = SequentialFeatureSelector(model, n_features_to_select="auto", tol=1e-6, cv=5)
            exact_s, exact = cpu(selection.select_features, train, y_train, min_gain=1e-6, n_jobs=1)
            other_s, other = cpu(other.fit, train, y_train)
            weigh_s, weighed = cpu(selection.search_weights, train, y_train, min_gain=1e-6, n_jobs=1)
            chosen = [np.isin(np.arange(X.shape[1]), exact.columns), other.get_support()]
            factors = [np.ones(X.shape[1]), *chosen, weighed.weights]
            reached = [model.fit(train * each, y_train).score(test * each, y_test) for each in factors]
            honest = honest_score(train, y_train, 1, seed)
            sizes = [each.sum() for each in chosen]
            rows.append((*reached, exact.inner_score, honest, *sizes, exact_s, other_s, weigh_s))
        rows = np.array(rows)
        gaps = rows[:, 1] - rows[:, 2]
        error = gaps.std() / math.sqrt(max(repeats - 1, 1))
        yield name, f"{len(X)} x {X.shape[1]}", *rows.mean(axis=0), gaps.mean(), error


def selectors():
    """Ways to select prototypes, each a function that returns indices and the inner score or NaN."""
    try:
        from imblearn.under_sampling import CondensedNearestNeighbour, EditedNearestNeighbours
    except ImportError:
        rules = {}
    else:
        hart = CondensedNearestNeighbour(sampling_strategy="all", random_state=0)
        rules = {"Hart": hart, "Wilson": EditedNearestNeighbours(sampling_strategy="all")}

    def resample(rule, X, y):
        rule.fit_resample(X, y)
        return rule.sample_indices_, math.nan

    def condense(X, y):
        found = selection.condense(X, y, n_jobs=1)
        return found.sample_indices, found.score

    by_rule = {name: partial(resample, rule) for name, rule in rules.items()}
    return {"all": lambda _, y: (np.arange(len(y)), math.nan)} | by_rule | {"condense": condense}


def prototypes(names, repeats=10):
    """Prototypes of one half of the data; the nearest one classifies the other half."""
    from sklearn.neighbors import KNeighborsClassifier

    yield "data", "prototypes", "accuracy", "share removed", "seconds", "inner", "minus all", "its error"
    ways = selectors()
    for name in names:
        found = np.empty((len(ways), repeats, 4))
        for seed, train, test, y_train, y_test in halves(*data(name), repeats):
            for way, select in enumerate(ways.values()):
                taken, (kept, inner) = cpu(select, train, y_train)
                model = KNeighborsClassifier(1, algorithm="brute").fit(train[kept], y_train[kept])
                found[way, seed] = model.score(test, y_test), 1 - len(kept) / len(train), taken, inner
        for way, rows in zip(ways, found, strict=True):
            gaps = rows[:, 0] - found[0, :, 0]
            yield name, way, *rows.mean(axis=0), gaps.mean(), gaps.std() / math.sqrt(max(repeats - 1, 1))


def flipped(y, seed):
    """Codes with 10 % of the labels changed to another class at random, and a mask of these."""
    rng = np.random.default_rng(seed)
    classes, codes = np.unique(y, return_inverse=True)
    wrong = np.zeros(len(codes), bool)
    wrong[rng.choice(len(codes), max(round(0.1 * len(codes)), 1), replace=False)] = True
    codes[wrong] = (codes[wrong] + rng.integers(1, len(classes), wrong.sum())) % len(classes)
    return codes, wrong


def rankings(X, near, codes, seed):
    """Scores by name, low where a label looks wrong, and cleanlab's list or None."""
    score = complete_cv(near, codes, "knn", KFold(5), n_neighbors=5)
    values = item_values(near, codes, n_neighbors=5).per_item
    found = {"Shapley": values, "influence": score.influence().per_item, "A_x": score.per_item}
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
        shares = cross_val_predict(KNeighborsClassifier(5), X, codes, cv=folds, method="predict_proba")
        found["cleanlab"] = get_label_quality_scores(codes, shares)
        return found, find_label_issues(codes, shares)


def among_lowest(scores, wrong):
    """The share of wrong ones among the lowest, as many as are wrong."""
    return wrong[np.argsort(scores, kind="stable")[: wrong.sum()]].mean()


def average_precision(scores, wrong):
    """The mean over the wrong samples of the precision of all that score at most as much."""
    return np.mean([wrong[scores <= score].mean() for score in scores[wrong]])


def labels(names, repeats=5):
    """Wrong labels among the lowest, and average precision (standard deviation over the seeds)."""
    for name in names:
        X, y = data(name)
        if name not in ("breast-cancer", "ORL"):
            X = standardized(X[:, -7:] if name == "abalone" else X)
        near, measures, listed = Neighbors.from_data(X), {}, []
        for seed in range(repeats):
            codes, wrong = flipped(y, seed)
            found, issues = rankings(X, near, codes, seed)
            for way, scores in found.items():
                each = among_lowest(scores, wrong), average_precision(scores, wrong)
                measures.setdefault(way, []).append(each)
            if issues is not None:
                listed.append(((issues & wrong).sum() / max(issues.sum(), 1), issues[wrong].mean()))
        if name == names[0]:
            yield "data", *measures, *(["cleanlab's list"] if listed else [])
        parts = [(*np.mean(each, axis=0), np.std(each, axis=0)[1]) for each in measures.values()]
        last = ["{:.2f}, {:.2f}".format(*np.mean(listed, axis=0))] if listed else []
        yield name, *("{:.2f}, {:.2f} ({:.2f})".format(*part) for part in parts), *last


SECTIONS = {
    speed: list(SHAPES),
    votes: ["2000 x 8", "20000 x 8", "20000 x 64", "100000 x 3"],
    retrieval: ["market", "sysu", "episodes"],
    weighted: list(SETS),
    draws: ["wine", "abalone", "ORL"],
    noise: [],
    columns: ["wine", "breast-cancer", "abalone", "sonar", "ionosphere", "vehicle"],
    prototypes: ["wine", "breast-cancer", "liver-disorders", "sonar", "ionosphere", "ORL", "abalone"],
    labels: ["wine", "breast-cancer", "abalone", "ORL", "vehicle"],
}


def installed(library):
    try:
        return f"{library} {version(library)}"
    except PackageNotFoundError:
        return f"no {library}"


def main():
    describe = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=describe)
    sections = {section.__name__: section for section in SECTIONS}
    parser.add_argument("section", choices=sections)
    parser.add_argument("names", nargs="*", help="some of its shapes, data sets or parts; default: all")
    parser.add_argument("--repeats", type=int, help="rounds, halves, seeds or shares of the splits")
    parser.add_argument("--files", type=Path, help="folder of the original data files")
    asked = parser.parse_args()
    section = sections[asked.section]
    if unknown := set(asked.names) - {*SECTIONS[section]}:
        known = ", ".join(SECTIONS[section]) or "no names"
        parser.error(f"{asked.section} has {known}; got {', '.join(sorted(unknown))}")
    sys.path += [str(TESTS / "reference"), str(TESTS / "helpers")]
    print(f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}")
    print(", ".join(map(installed, LIBRARIES)), end="\n\n")
    with ExitStack() as stack:
        if asked.files:
            import mirror

            server = stack.enter_context(mirror.serve(mirror.folder(asked.files)))
            os.environ["KNNCCV_DATA_URL"] = server.url
        options = {} if asked.repeats is None else {"repeats": asked.repeats}
        for number, row in enumerate(section(asked.names or SECTIONS[section], **options)):
            cells = (f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row)
            print(f"| {' | '.join(cells)} |", flush=True)
            if number == 0:
                print("|---" * len(row) + "|")


if __name__ == "__main__":
    main()
