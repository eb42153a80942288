"""Expected scores against all outcomes of splitters: scikit-learn's scorers, and plain loops for ties.

First come outcomes and oracles, then exact scores, then estimates, whose seeds are fixed.
"""

import inspect
from collections import Counter, defaultdict
from fractions import Fraction
from functools import partial

import naive
import naive_splits as splits
import numpy as np
import pytest
from bridge import data, exact_score
from scipy.spatial.distance import cdist
from scipy.stats import chi2
from seeds import over_seeds, seeds
from sklearn import config_context, metrics
from sklearn import model_selection as ms
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.decomposition import PCA
from sklearn.metrics import get_scorer, make_scorer
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from knnccv._core.luck.scorings import controlled_mean
from knnccv.sklearn import _exact, _runs, expected_score

pytestmark = [
    pytest.mark.filterwarnings(f"ignore:{text}")
    for text in (
        "The least populated class",
        "y_pred contains classes",
        "A single label was found",
        "(.*ill-defined|Only one class)",
    )
]
STRATIFIED = (ms.StratifiedKFold, ms.RepeatedStratifiedKFold, ms.StratifiedShuffleSplit)
SHUFFLED = (ms.ShuffleSplit, ms.StratifiedShuffleSplit)
EVERY = (ms.LeaveOneOut, ms.LeavePOut, ms.LeaveOneGroupOut, ms.LeavePGroupsOut)


def splitters(rng, y, groups, strata=None):
    """Every splitter, with its outcomes by enumeration; `strata` folds have samples of every class."""
    n, n_classes, n_groups = len(y), y.max() + 1, len(set(groups))
    k, strata = int(rng.integers(2, 5)), strata or int(rng.integers(2, np.bincount(y).max() + 1))
    n_test = int(rng.integers(1, 3))
    n_train = int(rng.integers(3, n - n_test + 1))
    tested = int(rng.integers(n_classes, n - max(n_classes, 3) + 1))
    trained = int(rng.integers(max(n_classes, 3), n - tested + 1))
    p, share = int(rng.integers(2, n - 2)), -(-35 * n // 100)
    g_test = int(rng.integers(1, n_groups - 1))
    g_train = int(rng.integers(2, n_groups - g_test + 1))
    g_folds, seeded = int(rng.integers(2, 4)), {"random_state": np.random.RandomState(1)}
    return [
        (ms.KFold(k, shuffle=True, random_state=0), splits.kfold_outcomes(n, k)),
        (ms.RepeatedKFold(n_splits=3, n_repeats=2), splits.kfold_outcomes(n, 3)),
        (ms.StratifiedKFold(strata, shuffle=True), splits.stratified_kfold_outcomes(y, strata)),
        (
            ms.RepeatedStratifiedKFold(n_splits=2, n_repeats=3, **seeded),
            splits.stratified_kfold_outcomes(y, 2),
        ),
        (
            ms.ShuffleSplit(2, test_size=n_test, train_size=n_train),
            splits.shuffle_outcomes(n, n_train, n_test),
        ),
        (ms.ShuffleSplit(2, test_size=0.35), splits.shuffle_outcomes(n, n - share, share)),
        (
            ms.StratifiedShuffleSplit(2, test_size=tested, train_size=trained),
            splits.stratified_shuffle_outcomes(y.tolist(), trained, tested),
        ),
        (ms.LeaveOneOut(), splits.leave_out_outcomes(n, 1)),
        (ms.LeavePOut(p), splits.leave_out_outcomes(n, p)),
        (ms.GroupKFold(g_folds, shuffle=True), splits.group_kfold_outcomes(groups, g_folds)),
        (
            ms.GroupShuffleSplit(test_size=g_test, train_size=g_train),
            splits.group_shuffle_outcomes(groups, g_train, g_test),
        ),
        (ms.LeaveOneGroupOut(), splits.leave_groups_outcomes(groups, 1)),
        (ms.LeavePGroupsOut(2), splits.leave_groups_outcomes(groups, 2)),
    ]


def problem(seed, counts=None, tied=True):
    """Labels, groups and points of 6 to 8 samples; tied ones have duplicates of different labels."""
    rng = np.random.default_rng(seed)
    if counts is None:
        n_classes = int(rng.integers(2, 4))
        n_items = 6 + int(rng.integers(0, 3))
        y = np.arange(n_items) % n_classes
        if rng.random() < 0.5:  # else the classes are equal, or nearly so, and stratified numbers are drawn
            y[2 * n_classes :] = rng.integers(0, n_classes, n_items - 2 * n_classes)
    else:
        y = np.repeat(np.arange(len(counts)), counts)
    y = rng.permutation(y)
    n_items = len(y)
    n_groups = min(4, n_items - 2)
    groups = rng.permutation(np.r_[np.arange(n_groups), rng.integers(0, n_groups, n_items - n_groups)])
    if counts is not None:  # all classes in all groups
        for c in range(len(counts)):
            groups[y == c] = np.arange((y == c).sum()) % 3
    X = rng.integers(0, 3, (n_items, 2)).astype(float) if tied else rng.normal(size=(n_items, 2))
    return rng, X, y, groups.tolist()


def groups_of(cv, groups):
    return groups if "Group" in type(cv).__name__ else None


def means(outcomes, score, y):
    """The means of the scores of single samples, given their training set, by (average, balanced)."""
    folds = {True: Fraction(0), False: Fraction(0)}
    sums, numbers = defaultdict(Fraction), defaultdict(Fraction)
    for share, some in outcomes:
        for train, test in some:
            scores = {x: score(x, frozenset(train)) for x in test}
            by_class = [[scores[x] for x in test if y[x] == c] for c in {y[x] for x in test}]
            folds[False] += share / len(some) * naive.mean(list(scores.values()))
            folds[True] += share / len(some) * naive.mean([naive.mean(each) for each in by_class])
            for x in test:
                sums[y[x]] += share * scores[x]
                numbers[y[x]] += share
    return {
        ("folds", False): folds[False],
        ("folds", True): folds[True],
        ("pooled", False): sum(sums.values()) / sum(numbers.values()),
        ("pooled", True): naive.mean([sums[c] / numbers[c] for c in sums]),
    }


def over_orders(D, k, ties, score):
    """A function (sample, training set) -> mean over orders of ties of `score` (sample, its k nearest)."""
    known = {}

    def mean(x, train):
        if (x, train) not in known:
            groups = [[j for j in group if j in train] for group in naive.neighbor_order(D[x], x)[1]]
            orders = naive.equally_likely_orders([group for group in groups if group], k, ties)
            known[x, train] = naive.mean([Fraction(score(x, order[:k])) for order in orders])
        return known[x, train]

    return mean


def smallest_k(outcomes, k):
    return min(k, *(len(train) for _, some in outcomes for train, _ in some))


@over_seeds(2)
def test_scores_are_those_of_all_outcomes_with_ties(seeds):
    """Accuracy, balanced accuracy, costs, squared errors; in folds and pooled; within the stated error."""
    for seed in seeds:
        rng, X, y, groups = problem(seed)
        D = np.abs(X[:, None] - X).sum(axis=2)
        costs = rng.integers(-3, 9, (y.max() + 1, y.max() + 1))
        values = rng.integers(-8, 9, len(y)) / 4
        exactly = [Fraction(value) for value in values.tolist()]

        def vote(near, y=y):
            return np.bincount(y[near]).argmax()

        rules = {
            None: lambda x, near, y=y: int(vote(near) == y[x]),
            "costs": lambda x, near, y=y, costs=costs: int(costs[y[x], vote(near)]),
            "squared": lambda x, near, v=exactly: -((v[x] - naive.mean([v[j] for j in near])) ** 2),
        }
        for number, (cv, outcomes) in enumerate(splitters(rng, y, groups)):
            k = smallest_k(outcomes, 1 + (seed + number) % 3)
            ties = "random" if isinstance(cv, SHUFFLED) else "index"
            train, test = outcomes[0][1][0]
            left_out = isinstance(cv, ms.ShuffleSplit) and 1 < len(test) < len(y) - len(train)
            for name, score in rules.items():
                if name == "squared" and isinstance(cv, STRATIFIED):
                    continue
                wanted = means(outcomes, over_orders(D, k, ties, score), y)
                for (average, balanced), expected in wanted.items():
                    if balanced and (name is not None or (average == "folds" and left_out)):
                        continue
                    scoring = {None: "balanced_accuracy" if balanced else None, "costs": costs}.get(
                        name, "neg_mean_squared_error"
                    )
                    kind = KNeighborsRegressor if name == "squared" else KNeighborsClassifier
                    target = values if name == "squared" else y
                    found = exact_score(
                        kind(k, metric="manhattan"), X, target, cv=cv, groups=groups_of(cv, groups),
                        scoring=scoring, average=average, n_jobs=1,
                    )  # fmt: skip
                    where = f"seed {seed}, {cv}, {scoring}, {average}"
                    assert abs(found.score - expected) <= found.error_bound + 1e-14, where
                    assert found.error_bound < 1e-11, where
                    told = (found.is_exact, found.std_error, found.ties, found.deterministic)
                    assert told == (True, 0.0, ties, isinstance(cv, EVERY)), where


@over_seeds(3)
def test_the_closed_form_of_groups_is_the_mean_of_the_list(seeds, monkeypatch):
    """Of one neighbor, if all classifications have equal weight or all groups one size."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        X, y = rng.integers(0, 3, (8, 2)), rng.integers(0, 2, 8)
        groups, equal = rng.permutation([[0, 0, 0, 1, 1, 2, 3, 3], [0, 0, 1, 1, 2, 2, 3, 3]], axis=1)
        for cv in (
            ms.GroupKFold(3, shuffle=True),
            ms.GroupShuffleSplit(test_size=1, train_size=2),
            ms.LeavePGroupsOut(2),
        ):
            for given, average in ((groups, "pooled"), (equal, "folds")):
                asked = {"cv": cv, "groups": given, "average": average, "n_jobs": 1}
                found = []
                for most in (20_000, 0):
                    monkeypatch.setattr(_exact, "MAX_SPLITS", most)
                    found.append(exact_score(KNeighborsClassifier(1), X, y, **asked))
                assert found[0].score == pytest.approx(found[1].score, abs=1e-13), f"seed {seed}, {asked}"
                assert "each of them computed" in found[0].explanation
                assert "in closed form" in found[1].explanation


@pytest.mark.parametrize(
    ("cv", "outcomes"),
    [
        # Six groups in folds of 2, 2, 1 and 1: a group alone is tested more often than two groups together.
        (ms.GroupKFold(4, shuffle=True), partial(splits.group_kfold_outcomes, k=4)),
        (
            ms.GroupShuffleSplit(1, test_size=1, train_size=2),
            partial(splits.group_shuffle_outcomes, n_train=2, n_test=1),
        ),
    ],
    ids=["folds", "three parts"],
)
@pytest.mark.parametrize("most", [2000, 0], ids=["all", "drawn"])
def test_splits_of_groups_without_a_closed_form(cv, outcomes, most, monkeypatch):
    """All of them with their probabilities, or random runs."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(6), [2, 2, 2, 2, 2, 4])
    y = np.arange(14) % 2
    X = rng.normal(size=(14, 2)) + 1.5 * y[:, None]
    ((wanted,), _) = by_scikit_learn(KNN(3), X, y, outcomes(groups), ["f1_macro"])
    monkeypatch.setattr(_runs, "MAX_RUNS", most)
    found = expected_score(KNN(3), X, y, cv=cv, groups=groups, scoring="f1_macro", n_jobs=1, n_runs=4000)
    assert found.is_exact == (most > 0)
    assert abs(found.score - wanted) < 4 * found.std_error + 1e-12


def test_runs_with_undefined_scores_have_no_controls():
    """The area of folds that lack a class: controls whose mean is that of all runs would shift it."""
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], [6, 4])
    X = rng.normal(size=(10, 2)) + y[:, None]
    fitted, scores = KNN(1), []
    for _, outcome in splits.kfold_outcomes(10, 2):
        if min(len(set(y[test])) for _, test in outcome) == 2:
            shares = [
                fitted.fit(X[train], y[train]).predict_proba(X[test])[:, 1] for train, test in outcome
            ]
            areas = zip(outcome, shares, strict=True)
            scores.append(np.mean([metrics.roc_auc_score(y[test], each) for (_, test), each in areas]))
    found = expected_score(
        KNN(1), X, y, cv=ms.KFold(2, shuffle=True), scoring="roc_auc", n_runs=30_000, random_state=0
    )
    assert abs(found.score - np.mean(scores)) < 4 * found.std_error
    assert found.std_error == pytest.approx(np.std(scores) / np.sqrt(30_000 * 0.952), rel=0.02)


def test_the_error_of_few_runs_of_scikit_learn_is_that_of_a_mean():
    rng, seen = np.random.default_rng(0), []
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2

    def scoring(estimator, X, y):
        seen.append(estimator.score(X, y))
        return seen[-1]

    asked = {"cv": ms.ShuffleSplit(1, test_size=10), "scoring": scoring, "method": "sampled"}
    found = expected_score(KNN(1), X, y, n_runs=4, n_jobs=1, **asked)
    assert found.std_error == controlled_mean(seen).std_error > np.std(seen, ddof=1) / np.sqrt(4)


class Labeled(ClassifierMixin, BaseEstimator):
    """The shares of votes of a fitted classifier, or the predictions of a regressor, for many scorers."""

    def __init__(self, classes_, answers):
        self.classes_, self.answers = classes_, answers

    def predict(self, X):  # noqa: ARG002
        return self.answers if self.classes_ is None else self.classes_[self.answers.argmax(axis=1)]

    def predict_proba(self, X):  # noqa: ARG002
        return self.answers


class Valued(RegressorMixin, Labeled):
    """The same of a regressor."""


def by_scikit_learn(estimator, X, y, outcomes, scorings, pooled=()):
    """scikit-learn's scores averaged over all outcomes, and others pooled by weights of the samples."""
    weights = defaultdict(lambda: np.zeros(2))
    for share, some in outcomes:
        for train, test in some:
            weights[tuple(train), tuple(test)] += float(share) / len(some), float(share)
    folds, parts, is_class = 0, [], is_classifier(estimator)
    kind, classes = (Labeled, np.unique(y)) if is_class else (Valued, None)
    with config_context(assume_finite=True, skip_parameter_validation=True):
        for (train, test), weight in weights.items():
            fitted, test = estimator.fit(X[list(train)], y[list(train)]), list(test)
            answers = fitted.predict(X[test]) if classes is None else np.zeros((len(test), len(classes)))
            if is_class:
                answers[:, np.searchsorted(classes, fitted.classes_)] = fitted.predict_proba(X[test])
            parts.append((answers, y[test], np.full(len(test), weight[1])))
            order = np.lexsort((*answers.reshape(len(test), -1).T, *y[test].reshape(len(test), -1).T))
            scores = [score_of(one, kind, classes, answers[order], y[test][order]) for one in scorings]
            folds = folds + weight[0] * np.array(scores)
        whole = [np.concatenate(part) for part in zip(*parts, strict=True)]
        return folds, [
            get_scorer(one)(kind(classes, whole[0]), *whole[:2], sample_weight=whole[2]) for one in pooled
        ]


KNOWN = {}


def score_of(scoring, kind, classes, answers, y):
    """scikit-learn's score of these answers, which many splits have in common."""
    key = str(scoring), classes is None or len(classes), answers.tobytes(), y.tobytes()
    if key not in KNOWN:
        KNOWN[key] = get_scorer(scoring)(kind(classes, answers), answers, y)
    return KNOWN[key]


def scorer(function, **options):
    """The scorer of a function in sklearn.metrics."""
    if "response_method" not in options and function in ("log_loss", "brier_score_loss", "roc_auc_score"):
        options["response_method"] = "predict_proba"
    return make_scorer(getattr(metrics, function), **options)


MEANS = [
    *("accuracy", "recall_micro", "recall_weighted", "precision_micro", "f1_micro"),
    *("neg_mean_absolute_error", "neg_mean_squared_error"),
    scorer("accuracy_score", greater_is_better=False),
    scorer("zero_one_loss"),
    scorer("zero_one_loss", greater_is_better=False),
    scorer("mean_squared_error"),
    scorer("fbeta_score", beta=2.0, average="micro", pos_label=None),
]
OF_CLASSES = [
    "recall_macro",
    scorer("recall_score", average="macro", zero_division=np.nan),
    scorer("recall_score", average="macro", labels=[1]),
    scorer("recall_score", average="macro", labels=[1, 0]),
]
OF_TWO = ["recall", scorer("recall_score", pos_label=0), scorer("recall_score", greater_is_better=False)]
BRIER = ["neg_brier_score", scorer("brier_score_loss", greater_is_better=False)]
if "scale_by_half" in inspect.signature(metrics.brier_score_loss).parameters:  # from scikit-learn 1.7 on
    BRIER += [scorer("brier_score_loss", scale_by_half=half) for half in (True, False, "auto")]
LOG_LOSS = ["neg_log_loss", scorer("log_loss")]
AREAS = ["roc_auc", "roc_auc_ovr", "roc_auc_ovo", "roc_auc_ovr_weighted", "roc_auc_ovo_weighted"]
ONE_AREA = scorer("roc_auc_score", max_fpr=1)
RULES = [
    KNeighborsClassifier(1, algorithm="kd_tree"),
    KNeighborsClassifier(3, algorithm="kd_tree"),
    KNeighborsClassifier(3, weights="distance", algorithm="kd_tree"),
    KNeighborsClassifier(1, weights="distance", algorithm="kd_tree"),
    KNeighborsClassifier(2, weights="distance", algorithm="kd_tree"),
]


def exact_scorings(cv, rule, n_classes, full, pooled):
    """All scorings that are exact; `full`: every split trains and tests every class."""
    scorings, votes = [*MEANS], rule.weights == "uniform" or rule.n_neighbors == 1
    grouped = "Group" in type(cv).__name__
    if grouped and pooled and not votes and rule.n_neighbors == 3:
        return scorings  # scikit-learn scores the splits, and only means of samples can be pooled
    if not isinstance(cv, ms.ShuffleSplit):
        scorings.append("balanced_accuracy")
    if full and (grouped or isinstance(cv, STRATIFIED)):
        scorings += OF_CLASSES + (OF_TWO if n_classes == 2 else []) + (BRIER if votes else [])
    if isinstance(cv, STRATIFIED) and full and votes:
        scorings += LOG_LOSS
        if rule.n_neighbors == 1 and not pooled:
            scorings += [*AREAS, ONE_AREA] if n_classes == 2 else ["roc_auc_ovo"]
    if grouped and not pooled:
        scorings.append("f1_macro")
    return scorings


def check_on_all_splits(where, rule, X, y, outcomes, scorings, method="exact", **asked):
    """Scores in folds and pooled, by the `scorings` of both, are scikit-learn's of all outcomes."""
    wanted = by_scikit_learn(rule, X, y, outcomes, *scorings)
    for average, some, values in zip(("folds", "pooled"), scorings, wanted, strict=True):
        named = {f"{at} {scoring}": scoring for at, scoring in enumerate(some)}
        how = {"method": method if average == "folds" else "exact", "average": average, "n_jobs": 1}
        found = expected_score(rule, X, y, scoring=named, **asked, **how)
        for (name, one), value in zip(found.items(), values, strict=True):
            told = f"{where}, {asked}, {rule}, {name}, {average}"
            assert one.score == pytest.approx(value, abs=1e-12), told
            assert one.is_exact, told
            assert one.deterministic == isinstance(asked["cv"], EVERY), told


@over_seeds(1)
@pytest.mark.parametrize(
    "counts",
    [(4, 3), pytest.param((3, 3, 2), marks=pytest.mark.slow)],
    ids=["two classes", "three classes"],
)
def test_scorings_are_those_of_scikit_learn_on_all_splits(counts, seeds):
    """Weights of neighbors, scorings in folds and pooled, and ways to ask, with all splitters."""
    for seed in seeds:
        rng, X, y, groups = problem(seed, counts, tied=False)
        for number, (cv, outcomes) in enumerate(splitters(rng, y, groups, min(counts))):
            rule = RULES[(seed + number) % len(RULES)]
            if rule.n_neighbors > smallest_k(outcomes, 3):
                rule = RULES[0]
            sides = [y[list(side)] for _, some in outcomes for split in some for side in split]
            full = min(len(set(side)) for side in sides) == len(counts)
            method = ["exact", "auto", "sampled" if isinstance(cv, EVERY) else "exact"][(seed + number) % 3]
            scorings = [
                exact_scorings(cv, rule, len(counts), full, pooled)[(seed + number) % 7 :: 7]
                for pooled in (False, True)
            ]
            asked = {"cv": cv, "groups": groups_of(cv, groups), "method": method}
            check_on_all_splits(f"seed {seed}", rule, X, y, outcomes, scorings, **asked)


@over_seeds(1)
def test_errors_are_those_of_scikit_learn_on_all_splits(seeds):
    scorings = ["neg_mean_squared_error", "neg_mean_absolute_error"]
    for seed in seeds:
        rng, X, y, groups = problem(seed, tied=False)
        values = rng.normal(size=(len(y), 2))
        for number, (cv, outcomes) in enumerate(splitters(rng, y, groups)):
            if isinstance(cv, STRATIFIED):
                continue
            k, weights = smallest_k(outcomes, 1 + number % 3), ["uniform", "distance"][(seed + number) % 2]
            rule = KNeighborsRegressor(k, weights=weights, algorithm="kd_tree")
            asked = {"cv": cv, "groups": groups_of(cv, groups)}
            target = (values, values[:, 0])[(seed + number // 2) % 2]
            check_on_all_splits(f"seed {seed}", rule, X, target, outcomes, [scorings] * 2, **asked)


OUTPUTS = {
    "mean_accuracy": lambda true, predicted: (true == predicted).mean(),
    "hamming": metrics.hamming_loss,
    "accuracy": metrics.accuracy_score,
    "neg_mean_absolute_error": lambda *given: -metrics.mean_absolute_error(*given),
    "neg_root_mean_squared_error": lambda *given: -metrics.root_mean_squared_error(*given),
    "r2": metrics.r2_score,
}
THREE_CLASSES = {  # which scikit-learn's functions refuse
    "hamming": lambda true, predicted: (true != predicted).mean(),
    "accuracy": lambda true, predicted: (true == predicted).all(axis=1).mean(),
}


@over_seeds(1)
def test_several_outputs_are_scored_on_all_splits(seeds):
    """Exactly by output, and by runs together, which agree on average; sets of labels as scikit-learn."""
    errors = defaultdict(list)
    for seed in seeds:
        rng, X, _, groups = problem(seed, tied=False)
        n, several = len(X), 2 + seed % 2
        labels, values = rng.integers(0, 2, (n, several)), rng.integers(-4, 5, (n, several)) / 4
        labels[:2] = [[0] * several, [1 + seed // 2 % 2] * several]
        functions = {**OUTPUTS, **(THREE_CLASSES if seed // 2 % 2 else {})}
        listed = (
            (FOLDS, splits.kfold_outcomes(n, 3)),
            (ms.ShuffleSplit(test_size=2, train_size=3), splits.shuffle_outcomes(n, 3, 2)),
            (ms.LeavePOut(2), splits.leave_out_outcomes(n, 2)),
            (ms.GroupShuffleSplit(test_size=2), splits.group_shuffle_outcomes(groups, 2, 2)),
        )
        for cv, outcomes in listed[seed % 2 :: 2]:
            k, asked = smallest_k(outcomes, 1 + seed % 3), {"cv": cv, "groups": groups_of(cv, groups)}
            shares = defaultdict(float)
            for share, some in outcomes:
                for train, test in some:
                    shares[tuple(train), tuple(test)] += float(share) / len(some)
            predicted = [
                {train: rule(k).fit(X[list(train)], Y[list(train)]).predict(X) for train, _ in shares}
                for rule, Y in ((KNR, values), (KNN, labels))
            ]
            for scoring, function in functions.items():
                is_class = list(OUTPUTS).index(scoring) < 3
                rule, Y = (KNN(k), labels) if is_class else (KNR(k), values)
                with config_context(assume_finite=True, skip_parameter_validation=True):
                    wanted = sum(
                        share * function(Y[list(test)], predicted[is_class][train][list(test)])
                        for (train, test), share in shares.items()
                    )
                given = make_scorer(metrics.hamming_loss) if scoring == "hamming" else scoring
                found = expected_score(rule, X, Y, scoring=given, n_jobs=1, random_state=seed, **asked)
                where = f"seed {seed}, {cv}, {rule}, {scoring}"
                linear = scoring in ("mean_accuracy", "hamming", "neg_mean_absolute_error")
                assert found.is_exact or not (linear or (is_class and k == 1)), where
                if found.std_error == 0:
                    assert found.score == pytest.approx(wanted, rel=1e-11, abs=1e-12), where
                else:
                    errors[scoring].append((found.score - wanted) / found.std_error)
                if linear and found.per_output is not None:
                    alone = [expected_score(rule, X, y, scoring=given, n_jobs=1, **asked) for y in Y.T]
                    np.testing.assert_allclose(found.per_output, [float(one) for one in alone], atol=1e-12)
                    assert found.score == pytest.approx(found.per_output.mean(), abs=1e-12)
                assert (found.per_output is not None) == linear, where
    for scoring, each in errors.items():
        assert abs(np.sum(each)) < 4.5 * np.sqrt(len(each)), scoring
        assert np.max(np.abs(each)) < 7, scoring


@over_seeds(2)
def test_drawn_sets_of_groups_agree_with_all_of_them(seeds, monkeypatch):
    """Of unequal groups, in folds and pooled; as if there were too many to go through."""
    errors = defaultdict(list)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        X, groups = rng.normal(size=(14, 2)), rng.permutation(np.r_[np.arange(6), rng.integers(0, 6, 8)])
        y, values = rng.integers(0, 2, 14), rng.normal(size=(14, 2))
        k = 1 + seed % 3
        for rule, target, scoring in (
            (KNN(k), y, None),
            (KNN(k), y, "balanced_accuracy"),
            (KNN(k), np.c_[y, values[:, 0] > 0].astype(int), "mean_accuracy"),
            (KNR(k), values, "neg_mean_squared_error"),
            (KNR(k), values, "neg_mean_absolute_error"),
        ):
            for cv, average in (
                (ms.GroupShuffleSplit(test_size=2), "folds"),
                (ms.GroupKFold(4, shuffle=True), ("folds", "pooled")[seed % 2]),
                (ms.LeavePGroupsOut(2), "folds"),
                (ms.LeavePGroupsOut(3), "pooled"),
            ):
                asked = {"cv": cv, "groups": groups, "scoring": scoring, "average": average, "n_jobs": 1}
                exact = expected_score(rule, X, target, **asked)
                assert exact.is_exact
                with monkeypatch.context() as patch:
                    patch.setattr(_exact, "MAX_SPLITS", 0)
                    patch.setattr(_runs, "MAX_SPLITS", 0)
                    patch.setattr(_runs, "MAX_RUNS", 0)
                    patch.setattr("knnccv._core.driver.groups.MAX_SETS", 0)
                    patch.setattr("knnccv._core.driver.groups.MAX_CASES", (2, 10**6)[seed % 2])
                    found = expected_score(
                        rule, X, target, **asked, random_state=seed, n_draws=100, n_runs=400
                    )
                where = f"seed {seed}, {rule}, {asked}"
                if found.is_exact or found.std_error == 0:
                    assert found.score == pytest.approx(exact.score, abs=1e-12), where
                else:
                    errors[average, scoring].append((found.score - exact.score) / found.std_error)
                assert found.n_runs == (400 if average == "folds" else 0), where
    for which, each in errors.items():
        assert abs(np.sum(each)) < 4.5 * np.sqrt(len(each)), which
        assert np.max(np.abs(each)) < 7, which


def test_splitters_draw_all_outcomes_with_their_probabilities():
    """scikit-learn draws what is enumerated; its training sets are unsorted where ties are random."""
    rng, X, y, groups = problem(0, (3, 3))
    for cv, outcomes in splitters(rng, y, groups, 3):
        listed = Counter()
        for share, some in outcomes:
            listed[of_sets(some)] += share
        if isinstance(cv, EVERY):
            assert {of_sets(cv.split(X, y, groups_of(cv, groups))): 1} == listed, cv
            continue
        drawn, unsorted = Counter(), 0
        per_run = len(outcomes[0][1])
        cv.random_state, given = np.random.RandomState(1), groups_of(cv, groups)
        for _ in range(12 * len(listed)):
            run = [split for split, _ in zip(cv.split(X, y, given), range(per_run), strict=False)]
            drawn[of_sets(run)] += 1
            unsorted += any((np.diff(train) < 0).any() for train, _ in run)
        assert set(drawn) <= set(listed), cv
        expected = {run: float(share) * drawn.total() for run, share in listed.items()}
        statistic = sum((drawn[run] - number) ** 2 / number for run, number in expected.items())
        assert chi2.sf(statistic, len(listed) - 1) > 1e-4, cv
        assert (unsorted > 0) == isinstance(cv, SHUFFLED), cv


def of_sets(some):
    return frozenset((frozenset(map(int, train)), frozenset(map(int, test))) for train, test in some)


@pytest.mark.parametrize("k", [2, 3])
def test_weights_of_tied_neighbors_in_the_order_of_the_rows(k):
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 3, (10, 2)).astype(float), np.arange(10) % 2
    D = cdist(X, X)

    def right(x, near):
        zero = D[x, near] == 0
        weights = zero.astype(float) if zero.any() else 1 / D[x, near]
        return int(np.bincount(y[near], weights).argmax() == y[x])

    groups = (np.arange(10) % 4).tolist()
    cases = [(ms.KFold(n, shuffle=True), splits.kfold_outcomes(10, n)) for n in (2, 10)]
    if k == 2:  # of more neighbors scikit-learn scores the splits, with an order of its own
        cases.append((ms.LeaveOneGroupOut(), splits.leave_groups_outcomes(groups, 1)))
    for cv, outcomes in cases:
        wanted = means(outcomes, over_orders(D, k, "index", right), y)["folds", False]
        rule = KNeighborsClassifier(k, weights="distance")
        found = exact_score(rule, X, y, cv=cv, groups=groups_of(cv, groups))
        assert found.ties == "index"
        assert found.score == pytest.approx(float(wanted), abs=1e-12)


def fading(distances):
    return np.exp2(-distances)


KNN, KNR = (partial(kind, algorithm="kd_tree") for kind in (KNeighborsClassifier, KNeighborsRegressor))
FOLDS, STRATA = ms.KFold(3, shuffle=True), ms.StratifiedKFold(2, shuffle=True)
FUNCTIONS = ["f1", "roc_auc", "average_precision", "matthews_corrcoef", scorer("fbeta_score", beta=3)]
PART = ms.ShuffleSplit(2, test_size=2, train_size=6)
ESTIMATES = {
    "counted": (KNN(3), STRATA, FUNCTIONS, {}),
    "single splits": (KNN(2), PART, ["f1_macro"], {}),
    "weighted": (KNN(3, weights="distance"), STRATA, ["f1", "roc_auc"], {}),
    "weighted by a function": (KNN(3, weights=fading), FOLDS, ["accuracy"], {}),
    "scaled": (make_pipeline(StandardScaler(), KNN(3)), STRATA, ["accuracy", "f1"], {}),
    "fitted": (make_pipeline(PCA(1), KNN(3)), STRATA, ["accuracy"], {"n_runs": 30}),
    "tuned": (ms.GridSearchCV(KNN(), {"n_neighbors": [1, 2]}, cv=ms.KFold(2)), FOLDS, ["accuracy"], {}),
    "by scikit-learn": (KNN(1), PART, ["accuracy"], {"method": "sampled", "n_runs": 40}),
    "regression": (KNR(2), FOLDS, ["r2", "neg_root_mean_squared_error"], {}),
    "weighted regression": (KNR(3, weights=fading), FOLDS, ["neg_mean_squared_error"], {"n_draws": 200}),
}


@pytest.mark.parametrize("name", ESTIMATES)
@pytest.mark.slow
def test_estimates_scatter_about_the_mean_of_all_splits(name):
    rule, cv, scorings, asked = ESTIMATES[name]
    rng, X, y, _ = problem(2, (5, 4), tied=False)
    X[:, 0] = 3 * X[:, 0] + y
    if not is_classifier(rule):
        y = X[:, 0] + rng.normal(size=9)
    if cv is STRATA:
        outcomes = splits.stratified_kfold_outcomes(y, 2)
    elif cv is PART:
        outcomes = splits.shuffle_outcomes(9, 6, 2)
    else:
        outcomes = splits.kfold_outcomes(9, 3)
    wanted, _ = by_scikit_learn(rule, X, y, outcomes, scorings)
    for scoring, value in zip(scorings, wanted, strict=True):
        found = expected_score(rule, X, y, cv=cv, scoring=scoring, random_state=1, **asked)
        assert not found.is_exact
        assert found.error_bound == np.inf
        assert abs(found.score - value) < 4 * found.std_error < 0.3, scoring
        assert found.std_error > 0


@pytest.mark.slow
def test_a_test_set_is_scored_by_all_training_sets_of_the_pool():
    rules = KNeighborsClassifier, partial(KNeighborsClassifier, weights="distance"), KNeighborsRegressor
    for seed in seeds(2):
        rng, X, y, groups = problem(seed, tied=False)
        Z, t = rng.normal(size=(9, 2)), np.arange(9) % (y.max() + 1)
        for number, (cv, outcomes) in enumerate(splitters(rng, y, groups)):
            rule = rules[(seed + number // 5) % 3](smallest_k(outcomes, 2))
            regression = isinstance(rule, KNeighborsRegressor)
            if (seed + number) % 5 or (regression and isinstance(cv, STRATIFIED)):
                continue
            names = ["accuracy", "balanced_accuracy", "f1_macro"]
            if regression:
                names = ["neg_mean_squared_error", "r2"]
            law = Counter()
            for share, some in outcomes:
                for train, _ in some:
                    law[tuple(train)] += share / len(some)
            wanted = np.zeros(len(names))
            for train, share in law.items():
                fitted = rule.fit(X[list(train)], y[list(train)])
                wanted += [float(share) * get_scorer(name)(fitted, Z, t) for name in names]
            found = expected_score(
                rule, X, y, cv=cv, scoring=names, groups=groups_of(cv, groups), n_jobs=1, random_state=seed,
                test=(Z, t), n_runs=100 if regression else 1000,
            )  # fmt: skip
            for name, value in zip(names, wanted, strict=True):
                one = found[name]
                where = f"seed {seed}, {cv}, {rule}, {name}"
                assert abs(one.score - value) <= 5 * one.std_error + 1e-10, where
                assert one.std_error < 0.03, where
                assert one.is_exact or name in ("f1_macro", "r2"), where


def test_steps_that_are_fitted_once_see_the_test_set():
    (X, Z), (y, t) = (np.split(part, [40]) for part in data(1, 52))
    three, cv = KNeighborsClassifier(3), ms.ShuffleSplit(train_size=30)
    both = StandardScaler().fit_transform(np.concatenate([Z, X]))
    scaled = make_pipeline(StandardScaler(), three)
    known = expected_score(scaled, X, y, cv=cv, test=(Z, t), transductive=True)
    assert known.score == expected_score(three, both[12:], y, cv=cv, test=(both[:12], t)).score
    assert known.confidence_interval().low < known.score
