"""Scorings by name, and the exact controls of their runs."""

import contextlib
import warnings
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from naive_splits import neighbor_order, random_runs, tables_of_runs
from seeds import of_today
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer, get_scorer_names, make_scorer

from knnccv import KFold, Neighbors, StratifiedKFold, StratifiedSubsample, Subsample, complete_cv
from knnccv._core.driver import validate_problem
from knnccv._core.luck.scorings import (
    confusion_controls,
    controlled_mean,
    mixed_ties,
    table_scorer,
    vote_controls,
    vote_laws,
)


def made_of(rng, n_runs, n_controls, strength):
    """Scores of mean 1, and controls of mean 1 on which they depend."""
    controls, mean = rng.exponential(size=(n_runs, n_controls)), np.ones(n_controls)
    noise = rng.exponential(size=n_runs) - 1
    return 1 + strength * (controls[:, :5] - 1).sum(axis=1) + noise, controls, mean


def test_means_of_a_score_that_is_not_linear_are_unbiased_and_their_errors_right():
    rng, found = np.random.default_rng(0), []
    for _ in range(400):
        controls = rng.normal([1, 2], size=(240, 2))
        values = controls @ [0.5, -1] + 0.1 * rng.normal(size=240) + 0.1 * (controls[:, 0] - 1) ** 2
        found.append(controlled_mean(values, controls, np.array([1.0, 2.0]))[:2])
    means, errors = np.transpose(found)
    assert abs(means.mean() - (0.5 - 2 + 0.1)) < 4 * means.std() / 20
    assert 0.85 < np.sqrt((errors**2).mean()) / means.std() < 1.15
    assert means.std() < 0.025  # of the values alone 1.12 / sqrt(240) = 0.072


def test_good_controls_are_used_and_useless_ones_are_not():
    scores, controls, mean = made_of(np.random.default_rng(0), 2000, 9, 5.0)
    assert controlled_mean(scores, controls, mean).variance_ratio > 80
    scores, controls, mean = made_of(np.random.default_rng(0), 60, 50, 0.0)
    assert controlled_mean(scores, controls, mean).variance_ratio > 0.8


def test_constants():
    rng = np.random.default_rng(0)
    controls = np.column_stack([rng.random(50), np.full(50, 0.1), np.zeros(50)])
    assert controlled_mean(np.full(50, 0.1), controls[:, 1:], [0.1, 0.0]) == (0.1, 0.0, 1.0, 0.0)
    linear = controlled_mean(controls[:, 0] * 0.3, controls, [0.5, 0.1, 0.0], is_linear=True)
    assert linear.mean == pytest.approx(0.15, abs=1e-12)
    assert 0 < linear.std_error < 1e-12
    plain = controlled_mean(scores := rng.random(50), controls[:, 1:], [0.1, 0.0])
    assert plain.mean == scores.mean()
    assert plain.variance_ratio == 1
    assert np.isnan(controlled_mean([0.1, np.nan, 0.3], np.zeros((3, 0)), [])).all()
    assert controlled_mean([2.0, 4.0], np.empty((2, 0)), []) == (3.0, pytest.approx(2**0.5), 1.0, 0.0)
    mean, *rest = controlled_mean([2.0], np.empty((1, 0)), [])
    assert mean == 2.0
    assert np.isnan(rest[:2]).all()


def test_rounding_is_no_control():
    """A constant with rounding errors, of an expectation of nine digits, does not move the mean."""
    scores = np.random.default_rng(5).random(1000)
    jitter = 0.3 + 1e-16 * (scores > 0.5)
    assert jitter.std() > 0
    once = np.where(np.arange(1000) == 7, 0.4, jitter)  # varies in one half of the runs
    for control in (jitter, once):
        found = controlled_mean(scores, control[:, None], [0.3 + 1e-10])
        assert found.mean == pytest.approx(scores.mean(), abs=0.1 * found.std_error)
    for seed in range(20):  # of what none of these runs has seen, though it happens
        known = np.random.default_rng(seed).random((150, 3))
        scores = known.sum(axis=1) + 0.01 * np.random.default_rng(seed).random(150)
        known[:, 1] = 0.0
        found = controlled_mean(scores, known, [0.5, 8.856094473e-06, 0.5])
        assert found.mean == pytest.approx(1.505, abs=6 * found.std_error)


def test_the_error_holds_what_no_run_shows():
    """Controls that explain all runs do not tell the effect of an event that happens in none of them."""
    unseen = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        often, rare = rng.binomial(40, 0.3, 300) / 40, (rng.random(300) < 1 / 400) / 40
        controls = np.column_stack([often, rare, np.zeros(300)])
        found = controlled_mean(often + 3 * rare, controls, [0.3, 1 / 16_000, 0.0])
        assert abs(found.mean - 0.3 - 3 / 16_000) < 4 * found.std_error < 0.005
        unseen += not rare.any()
    assert 60 < unseen < 140
    linear = often, controls[:, [0, 2]], [0.3, 1e-20]  # a constant, but for rounding
    assert controlled_mean(*linear, is_linear=True).std_error < 1e-12
    assert 1 < controlled_mean(*linear).std_error / (often.std() / 300) < 4


def test_equal_runs_do_not_exclude_what_happens_in_one_of_so_many():
    zeros = np.zeros(1000)
    for controls, expected in (((), ()), (zeros, [1e-4]), (np.arange(1000.0) % 2, [0.5])):
        known = (np.reshape(controls, (1000, -1)), expected) if len(controls) else (None, ())
        assert controlled_mean(zeros, *known) == (0.0, pytest.approx(1e-3), 1.0, pytest.approx(1e-3))
    assert controlled_mean(zeros, zeros[:, None], [1e-7]).std_error == pytest.approx(1e-3)
    assert controlled_mean(zeros, zeros[:, None], [0.0]) == (0.0, 0.0, 1.0, 0.0)
    assert controlled_mean(zeros, zeros[:, None], [0.1]).std_error == pytest.approx(0.1)  # the runs lack it


def test_controls_of_confusion_tables_have_the_expected_mean():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [30, 20, 11])
    X = rng.normal(size=(61, 2)) + codes[:, None]
    runs = random_runs(codes, 400, 4, 0)
    tables = tables_of_runs(neighbor_order(X), codes, 3, runs)[0]
    result = complete_cv(X, codes, cv=StratifiedKFold(4), variant="knn", n_neighbors=3, average="pooled")
    n_tested = [len(tested) for _, tested in runs[0]]
    assert len(set(n_tested)) > 1
    shares = result.confusion(normalize="all")
    controls, expected = confusion_controls(tables, n_tested, shares)
    errors = controls.std(axis=0, ddof=1) / 20
    assert (np.abs(controls.mean(axis=0) - expected) < 4 * errors + 1e-8).all()
    np.testing.assert_allclose(confusion_controls(tables, tables.sum(axis=(2, 3)), shares)[0], controls)
    scores = table_scorer("f1_macro", [0, 1, 2])(tables).mean(axis=1)
    assert controlled_mean(scores, controls, expected).variance_ratio > 4


CODES = np.array([0, 1, 1, 0, 0, 1, 0])
POINTS = np.random.default_rng(1).normal(size=(7, 2))


def labels_of(codes):
    return validate_problem(codes, len(codes), "nn", KFold(2), "index", "pooled", {}).labels


def lists_of(X, depth=None):
    neighbors = Neighbors.from_data(X)
    return neighbors.search(np.arange(len(X)), depth or neighbors.max_depth)


def training_sets(codes, n_train):
    """All training sets with n_train samples, or with so many of each class."""
    if len(n_train) == 1:
        return list(combinations(range(len(codes)), n_train[0]))
    classes = [np.flatnonzero(codes == c).tolist() for c in (0, 1)]
    parts = [combinations(members, n) for members, n in zip(classes, n_train, strict=True)]
    return [a + b for a, b in product(*parts)]


DESIGNS = [Subsample(4), Subsample(2), StratifiedSubsample(0.6), StratifiedSubsample(per_class=1)]


@pytest.mark.parametrize("design", DESIGNS, ids=repr)
def test_laws_are_those_of_all_training_sets(design):
    (kind,) = design.training_sets(labels_of(CODES))
    order, sets = neighbor_order(POINTS), training_sets(CODES, kind.n_train)
    for k in range(1, min(3, kind.least_train) + 1):
        laws = vote_laws(lists_of(POINTS), CODES, kind, k)
        for i in range(len(CODES)):
            law = [0] * (k + 1)
            for train in sets:
                if i not in train:
                    law[sum(CODES[[j for j in order[i] if j in train][:k]])] += 1
            shares = [float(Fraction(n, sum(law))) for n in law]
            np.testing.assert_allclose(laws.laws[i], shares, rtol=1e-13, atol=1e-15)
        np.testing.assert_array_equal(laws.tails, 0)
        members = [np.flatnonzero(c == CODES) for c in (0, 1)]
        tested = [sum(len(np.setdiff1d(each, train)) for train in sets) for each in members]
        np.testing.assert_allclose(laws.n_tested, np.array(tested) / len(sets))


SHORT = np.array([0, 0, 1, 1, 1])
TESTED = [np.array(three) for three in combinations(range(5), 3)]
RUNS = {  # codes, a design, and all its runs: splits, and five samples in folds of three and two
    **{
        repr(design): (CODES, design, [
            [(list(train), np.setdiff1d(np.arange(7), train))] for train in training_sets(CODES, n_train)
        ])
        for design, n_train in ((Subsample(4), [4]), (StratifiedSubsample(0.6), [2, 1]))
    },
    "folds": (SHORT, KFold(2), [
        [(np.setdiff1d(np.arange(5), three), three), (three, np.setdiff1d(np.arange(5), three))]
        for three in TESTED
    ]),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_the_controls_are_exact(name):
    """Over all runs the controls average to their expectation."""
    codes, design, runs = RUNS[name]
    X, labels = np.random.default_rng(3).normal(size=(len(codes), 2)), labels_of(codes)
    laws = [vote_laws(lists_of(X), codes, kind, 2) for kind in design.training_sets(labels)]
    tables = tables_of_runs(neighbor_order(X), codes, 2, runs)[1]
    kinds = design.allotment(labels).kinds if name == "folds" else np.zeros(1, np.int64)
    assert sorted(kinds) == [*range(len(laws))]
    controls, expected = vote_controls(tables, laws, kinds)
    assert controls.std(axis=0).max() > 0.01
    np.testing.assert_allclose(controls.mean(axis=0), expected, rtol=1e-13, atol=1e-15)


def test_the_area_has_a_smaller_error_with_its_control():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], 100)
    X = rng.normal(size=(200, 4)) + codes[:, None] * 0.5
    labels, k = labels_of(codes), 5
    design = StratifiedKFold(5)
    runs = random_runs(codes, 300, 5, 0)
    scores = table_scorer("roc_auc", [0, 1])(tables := tables_of_runs(neighbor_order(X), codes, k, runs)[1])
    laws = [vote_laws(lists_of(X), codes, kind, k) for kind in design.training_sets(labels)]
    kinds = design.allotment(labels).kinds
    found = vote_controls(tables, laws, kinds)
    assert controlled_mean(scores.mean(axis=1), *found).variance_ratio > 5
    one = vote_controls(tables[:, :1], laws, kinds[:1])  # single splits
    assert controlled_mean(scores[:, 0], *one).variance_ratio > 15


def test_ties_of_different_classes_are_told():
    lists = lists_of(np.array([[0.0], [1.0], [-1.0], [5.0]]))
    assert mixed_ties(lists, np.array([0, 0, 1, 1])).tolist() == [True, False, False, False]
    assert not mixed_ties(lists, np.array([0, 1, 1, 1])).any()
    assert mixed_ties(lists_of(np.array([[0.0], [1.0], [-1.0], [5.0]]), 1), np.array([0, 1, 1, 1]))[0]


TWO = [[0, 1], [-1, 1], [1, 2], ["bad", "good"]]
SEVERAL = [[0, 1, 2], [-3, 0, 5, 7], ["a", "b", "c", "d", "e"]]


class Known(ClassifierMixin, BaseEstimator):
    """A classifier whose predictions are known; X are numbers of samples."""

    def __init__(self, classes, votes):
        self.classes_, self.votes = np.array(classes), votes

    def fit(self, X, y):  # noqa: ARG002
        return self

    def predict_proba(self, X):
        return self.votes[X] / self.votes.sum(axis=1, keepdims=True)[X]

    def predict(self, X):
        return self.classes_[self.votes[X].argmax(axis=1)]


def problem(classes, seed, k=5):
    """Codes and votes (n, C) of samples, and the runs: the tested samples of every fold."""
    rng = np.random.default_rng(seed)
    n_classes, n = len(classes), 60
    shares = rng.dirichlet(np.full(n_classes, 2.0))
    codes = np.r_[np.arange(n_classes), rng.choice(n_classes, n - n_classes, p=shares)]
    votes = np.stack([rng.multinomial(k, (np.eye(n_classes)[c] + shares) / 2) for c in codes])
    runs = [np.array_split(rng.permutation(n), [2, 9, 20, 22]) for _ in range(3)]
    return codes, votes, runs


def tables_of(codes, votes, runs, needs):
    n_classes, k = votes.shape[1], votes[0].sum()
    shape = (len(runs), len(runs[0]), n_classes, n_classes)
    tables = np.zeros(shape if needs == "confusion" else (*shape, k + 1), np.int32)
    for r, folds in enumerate(runs):
        for f, tested in enumerate(folds):
            for i in tested:
                if needs == "confusion":
                    tables[r, f, codes[i], votes[i].argmax()] += 1
                else:
                    for c in range(n_classes):
                        tables[r, f, codes[i], c, votes[i, c]] += 1
    return tables


def expected_scores(scorer, classes, codes, votes, runs):
    """Scikit-learn's score of every fold; NaN where it raises an error, as cross_val_score has it."""
    model, y = Known(classes, votes), np.array(classes)[codes]
    scores = np.full((len(runs), len(runs[0])), np.nan)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for r, folds in enumerate(runs):
            for f, tested in enumerate(folds):
                with contextlib.suppress(ValueError):
                    scores[r, f] = scorer(model, tested, y[tested])
    return scores


def check(scoring, classes, seed, k=5):
    scorer = metrics.accuracy_score if scoring is None else get_scorer(scoring)
    codes, votes, runs = problem(classes, seed, k)
    found = table_scorer(scoring, classes)
    tables = tables_of(codes, votes, runs, found.needs)
    expected = expected_scores(scorer, classes, codes, votes, runs)
    assert np.isfinite(expected).any()
    np.testing.assert_allclose(found(tables), expected, rtol=1e-10, atol=1e-12)
    return found


def names_for(classes):
    """The names of all scorings that scikit-learn's scorer computes for the whole sample."""
    codes, votes, _ = problem(classes, 0)
    everything = [[np.arange(len(codes))]]
    return [
        name
        for name in get_scorer_names()
        if np.isfinite(expected_scores_or_nan(get_scorer(name), classes, codes, votes, everything)).all()
    ]


def expected_scores_or_nan(scorer, *rest):
    try:
        return expected_scores(scorer, *rest)
    except TypeError:  # numbers of labels that are words
        return np.array([[np.nan]])


FEW = (SEVERAL[1],)
OTHERS = [pytest.param(each, marks=pytest.mark.slow) for each in [*TWO, *SEVERAL] if each not in FEW]


@pytest.mark.parametrize("classes", [*FEW, *OTHERS], ids=str)
def test_every_name_is_as_in_scikit_learn(classes):
    names = names_for(classes)
    assert len(names) > 20
    for name in of_today(names, 3):
        if name == "top_k_accuracy" and len(classes) > 2:
            assert table_scorer(name, classes) is None
        else:
            check(name, classes, 1)


OPTIONS = [
    (metrics.accuracy_score, {"normalize": False}),
    (metrics.balanced_accuracy_score, {"adjusted": True}),
    (metrics.zero_one_loss, {"greater_is_better": False}),
    (metrics.hamming_loss, {}),
    (metrics.fbeta_score, {"beta": 0.5, "average": "macro", "pos_label": None}),
    (metrics.fbeta_score, {"beta": 0, "average": "macro", "pos_label": None}),
    (metrics.fbeta_score, {"beta": np.inf, "average": "macro", "pos_label": None}),
    (metrics.precision_score, {"average": "macro", "zero_division": 1, "pos_label": None}),
    (metrics.precision_score, {"average": "weighted", "zero_division": np.nan, "pos_label": None}),
    (metrics.precision_score, {"average": "macro", "zero_division": np.nan, "pos_label": None}),
    (metrics.jaccard_score, {"average": "weighted", "zero_division": 1, "pos_label": None}),
    (metrics.cohen_kappa_score, {}),
    (metrics.cohen_kappa_score, {"weights": "linear"}),
    (metrics.cohen_kappa_score, {"weights": "quadratic"}),
    (metrics.mutual_info_score, {}),
    (metrics.log_loss, {"response_method": "predict_proba", "normalize": False}),
]


@pytest.mark.slow
@pytest.mark.parametrize("classes", [[-1, 1], ["a", "b", "c"]], ids=str)
def test_options_are_as_in_scikit_learn(classes):
    some = classes[1:]
    chosen = [
        (metrics.recall_score, {"labels": some, "average": "weighted", "pos_label": None}),
        (metrics.f1_score, {"labels": some, "average": "micro", "pos_label": None}),
        (metrics.f1_score, {"labels": some, "average": "macro", "zero_division": 1.0, "pos_label": None}),
        (metrics.cohen_kappa_score, {"labels": classes}),
        (metrics.log_loss, {"labels": classes, "response_method": "predict_proba"}),
    ]
    for function, options in [*OPTIONS, *chosen]:
        if function is metrics.log_loss and options.get("normalize") is False and len(classes) > 2:
            assert table_scorer(make_scorer(function, **options), classes) is None
        else:
            check(make_scorer(function, **options), classes, 2)


def test_options_of_two_classes_are_as_in_scikit_learn():
    shares = {"response_method": "predict_proba"}
    for function, options in [
        (metrics.f1_score, {"pos_label": "bad"}),
        (metrics.precision_score, {"pos_label": "bad", "zero_division": np.nan}),
        (metrics.average_precision_score, {"pos_label": "bad", **shares}),
        (metrics.brier_score_loss, {"pos_label": "bad", "greater_is_better": False, **shares}),
        (metrics.top_k_accuracy_score, {"k": 1, "response_method": ("decision_function", "predict_proba")}),
        (metrics.roc_auc_score, {"max_fpr": 0.4, **shares}),
        (lambda true, share: float(np.mean((true == "good") * share)), shares),
    ]:
        for k in (4, 5):
            check(make_scorer(function, **options), ["bad", "good"], 3, k)


def test_averages_of_several_classes_are_as_in_scikit_learn():
    shares = {"response_method": "predict_proba"}
    found = []
    for average in ("macro", "weighted", "micro"):
        found.append(
            check(make_scorer(metrics.average_precision_score, average=average, **shares), [0, 1, 2], 4)
        )
        options = {"multi_class": "ovr", "average": average, **shares}
        found.append(check(make_scorer(metrics.roc_auc_score, **options), [0, 1, 2], 4))
    assert all(scorer is not None for scorer in found)
