"""Scorings of tables: each equals scikit-learn's own scorer on the predictions that the tables count."""

import contextlib
import warnings

import numpy as np
import pytest
from plain_runs import neighbor_order, random_runs, tables_of_runs
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer, get_scorer_names, make_scorer
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from knnccv.scorings import table_scorer

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


FEW = (TWO[0], TWO[3], SEVERAL[1])
OTHERS = [pytest.param(each, marks=pytest.mark.slow) for each in [*TWO, *SEVERAL] if each not in FEW]


@pytest.mark.parametrize("classes", [*FEW, *OTHERS], ids=str)
def test_every_name_is_as_in_scikit_learn(classes):
    names = names_for(classes)
    assert len(names) > 20
    for name in names:
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
FORMLESS = ("hamming_loss", "zero_one_loss", "mutual_info_score")


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


def test_common_metrics_are_computed_at_once():
    """Scikit-learn's function is asked for undefined folds alone."""
    common = ["accuracy", "balanced_accuracy", "matthews_corrcoef", "roc_auc_ovr", "roc_auc_ovo_weighted"]
    common += [
        f"{name}_{how}" for name in ("f1", "recall", "jaccard") for how in ("macro", "micro", "weighted")
    ]
    common += [
        "average_precision",
        "neg_log_loss",
        *{"d2_log_loss_score", "d2_brier_score"} & {*get_scorer_names()},
    ]
    for classes, names in [([0, 1], [*common, "f1", "precision", "roc_auc"]), ([0, 1, 2], common)]:
        codes, votes, _ = problem(classes, 5)
        for name in names:
            scorer = table_scorer(name, classes)
            object.__setattr__(scorer, "_on_cells", None)
            tables = tables_of(codes, votes, [[np.arange(len(codes))]], scorer.needs)
            assert np.isfinite(scorer(tables)).all()


def test_functions_without_make_scorer_have_no_tables():
    assert table_scorer(lambda model, X, y: 0.0, [0, 1]) is None  # noqa: ARG005
    assert (
        table_scorer(make_scorer(metrics.hinge_loss, response_method="decision_function"), [0, 1]) is None
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_runs_score_as_cross_val_score(n_classes):
    rng = np.random.default_rng(7)
    codes = rng.permutation(np.arange(60) % n_classes)
    X = rng.normal(size=(60, 2)) + codes[:, None]
    runs = random_runs(codes, 2, 4, 8)
    tables = dict(
        zip(("confusion", "votes"), tables_of_runs(neighbor_order(X), codes, 4, runs), strict=True)
    )
    names = ["accuracy", "f1_macro", "neg_log_loss", "roc_auc_ovr", "roc_auc_ovo", "average_precision"]
    for name in names:
        scorer = table_scorer(name, np.arange(n_classes))
        expected = [
            cross_val_score(KNeighborsClassifier(4), X, codes, cv=run, scoring=name) for run in runs
        ]
        np.testing.assert_allclose(scorer(tables[scorer.needs]), expected, rtol=1e-12)
