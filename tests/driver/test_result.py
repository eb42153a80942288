"""Details of a result beside its score: classes, and the predictions for them."""

import copy
import itertools
import pickle
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import naive
import numpy as np
import pytest
from problems import SETTINGS, designs, plain, problem

from knnccv import (
    KFold,
    LeaveGroupsOut,
    LeaveOut,
    Neighbors,
    StratifiedKFold,
    StratifiedSubsample,
    Subsample,
    complete_cv,
    get_variant,
    monte_carlo_cv,
    register,
    surface,
    unregister,
)
from knnccv.driver import AVERAGES

VOTES = [setting for setting in SETTINGS if setting[0] in ("nn", "knn")]


def cases(seed):
    """Questions of one problem that have an answer: every design, each with some of the settings."""
    case = problem(seed)
    groups = np.arange(len(case.y)) % 3
    listed = [
        *designs(case, seed),
        (LeaveGroupsOut(groups), naive.leave_groups_out(groups, 1)),
        (LeaveGroupsOut(groups, 2), naive.leave_groups_out(groups, 2)),
    ]
    for d, (design, outcomes) in enumerate(listed):
        smallest = min(len(training) for outcome in outcomes.outcomes for training in outcome)
        for s, (variant, setting) in enumerate(VOTES):
            k = setting.get("n_neighbors", 1)
            if (s + d + seed) % 3 or k > smallest:
                continue
            if k > 1 and isinstance(design, LeaveGroupsOut) and design.p > 1:
                continue
            for ties in get_variant(variant).tie_rules:
                yield case, variant, case.parameters(setting), design, outcomes, ties


def asked(case, variant, parameters, design, ties, average, **more):
    return complete_cv(
        case.distances,
        case.y,
        variant,
        design,
        metric="precomputed",
        ties=ties,
        average=average,
        **parameters,
        **more,
    )


@pytest.mark.parametrize("seed", range(16))
def test_confusion_equals_the_enumeration(seed):
    compared = 0
    for case, variant, parameters, design, listed, ties in cases(seed):
        average = AVERAGES[(seed + compared) % 3]
        inputs = case.distances.tolist(), case.y.tolist(), variant, listed, average, ties
        expected = np.array(naive.confusion(*inputs, **plain(parameters)), dtype=object)
        assert expected.sum() == 1
        where = f"seed {seed}: {variant} {parameters} {design} {ties} {average}"
        exact = asked(case, variant, parameters, design, ties, average, exact=True)
        confusion = exact.confusion()
        assert confusion.tolist() == expected.tolist(), where
        assert all(isinstance(entry, Fraction) for entry in confusion.flat)
        loss = parameters.get("loss")
        worth = np.eye(len(expected), dtype=int) if loss is None else loss
        assert (confusion * worth.astype(object)).sum() == exact.exact, where
        found = asked(case, variant, parameters, design, ties, average, n_jobs=1)
        matrix = found.confusion()
        assert matrix.dtype == float
        assert matrix.min() >= 0
        np.testing.assert_allclose(matrix, expected.astype(float), rtol=0, atol=1e-13, err_msg=where)
        assert (matrix * worth).sum() == pytest.approx(found.score, abs=1e-12), where
        compared += 1
    assert compared > 5


def smooth(n_items=240, n_classes=3, seed=0):
    """Classes of unequal sizes that overlap, without ties."""
    rng = np.random.default_rng(seed)
    y = np.minimum(rng.geometric(0.5, n_items) - 1, n_classes - 1)
    y[: 2 * n_classes] = np.tile(np.arange(n_classes), 2)
    return rng.normal(size=(n_items, 3)) + 0.8 * y[:, None], y


LOSS = np.array([[0, 1, 4], [2, -1, 1], [5, 3, 0]])
GROUPS = np.random.default_rng(5).integers(0, 12, 240)
DESIGNS = [
    Subsample(0.6),
    LeaveOut(1),
    KFold(7),
    StratifiedKFold(4),
    StratifiedSubsample(0.5),
    StratifiedSubsample(per_class={0: 10, 1: 30, 2: 5}),
    LeaveGroupsOut(GROUPS),
    LeaveGroupsOut(GROUPS, 4),
]


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("design", DESIGNS, ids=str)
@pytest.mark.parametrize("loss", [None, LOSS], ids=["match", "loss"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_confusion_adds_up_to_the_score(design, average, loss, n_classes):
    X, y = smooth()
    y = np.minimum(y, n_classes - 1)
    if loss is not None:
        loss = loss[:n_classes, :n_classes]
    if n_classes == 2 and isinstance(design, StratifiedSubsample) and design.per_class:
        design = StratifiedSubsample(per_class={0: 10, 1: 35})
    variant, setting = ("nn", {}) if getattr(design, "p", 1) > 1 else ("knn", {"n_neighbors": 4})
    found = complete_cv(X, y, variant, design, average=average, loss=loss, **setting)
    confusion = found.confusion()
    assert confusion.shape == (n_classes, n_classes)
    assert confusion.min() >= 0
    assert confusion.sum() == pytest.approx(1, abs=1e-12)
    worth = np.eye(n_classes) if loss is None else loss
    assert (confusion * worth).sum() == pytest.approx(found.score, abs=1e-11)
    weights = [found.weights[y == c].sum() for c in range(n_classes)]
    np.testing.assert_allclose(confusion.sum(axis=1), weights, atol=1e-12)
    if loss is None:
        recalls = np.diag(found.confusion(normalize="true"))
        np.testing.assert_allclose(recalls, list(found.per_class().values()), atol=1e-12)


@pytest.mark.parametrize("normalize", [None, "true", "pred", "all"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_confusion_is_the_mean_of_scikit_learns(k, normalize):
    pytest.importorskip("sklearn")
    from sklearn.metrics import confusion_matrix
    from sklearn.model_selection import LeavePGroupsOut, LeavePOut
    from sklearn.neighbors import KNeighborsClassifier

    rng = np.random.default_rng(k)
    X, y = rng.normal(size=(12, 2)), np.array(list("bca" * 4))
    groups = np.arange(12) // 3
    trials = [(LeaveOut(2), LeavePOut(2).split(X))]
    if k == 1:
        trials.append((LeaveGroupsOut(groups, 2), LeavePGroupsOut(2).split(X, y, groups)))
    for design, splits in trials:
        true, predicted = [], []
        for train, test in splits:
            model = KNeighborsClassifier(k).fit(X[train], y[train])
            true.extend(y[test])
            predicted.extend(model.predict(X[test]))
        expected = confusion_matrix(true, predicted, normalize=normalize)
        if normalize is None:
            expected = expected / len(true)
        found = complete_cv(X, y, "knn", design, n_neighbors=k)
        np.testing.assert_allclose(found.confusion(normalize=normalize), expected, atol=1e-13)


def test_confusion_of_exact_results_is_scaled_exactly():
    X, y = smooth(30)
    found = complete_cv(X, y, "nn", KFold(4), exact=True)
    assert found.confusion().sum() == 1
    assert found.confusion("true").sum(axis=1).tolist() == [1, 1, 1]
    assert found.confusion("pred").sum(axis=0).tolist() == [1, 1, 1]
    assert (found.confusion("all") == found.confusion()).all()


def test_what_has_no_weight_has_no_share():
    """Class 1 is never tested, and class 2 never predicted."""
    y = np.array([0] * 6 + [1] * 3 + [2] * 3)
    X = np.arange(12.0)[:, None]
    for exact in (False, True):
        found = complete_cv(
            X, y, "nn", StratifiedSubsample(per_class={0: 3, 1: 3, 2: 0}), exact=exact, average="item"
        )
        confusion = found.confusion()
        assert (confusion[1] == 0).all()
        assert (confusion[:, 2] == 0).all()
        rows, columns = found.confusion("true").astype(float), found.confusion("pred").astype(float)
        assert np.isnan(rows).tolist() == [[False] * 3, [True] * 3, [False] * 3]
        assert np.isnan(columns).tolist() == [[False, False, True]] * 3
        classes = found.per_class()
        assert np.isnan(classes[1])
        assert classes[2] == 0
        assert found.balanced_accuracy == pytest.approx((classes[0] + 0) / 2)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_short_lists_leave_a_part_open(n_classes):
    X, y = smooth(200)
    y = np.minimum(y, n_classes - 1)
    near = Neighbors.from_data(X, n_neighbors=4)
    found = complete_cv(near, y, "knn", Subsample(60), n_neighbors=3)
    assert found.error_bound > 0.1
    confusion = found.confusion()
    assert 1 - found.error_bound <= confusion.sum() < 1
    assert np.trace(confusion) == pytest.approx(found.score, abs=1e-12)
    assert found.confusion("all").sum() == pytest.approx(1)


def test_approximate_neighbors_have_a_confusion_too():
    X, y = smooth(200)
    indices, distances = Neighbors.from_data(X).kneighbors(40)
    near = Neighbors.from_lists(indices, distances, approximate=True)
    found = complete_cv(near, y, "nn", Subsample(100))
    assert not found.certified
    assert np.trace(found.confusion()) == pytest.approx(found.score, abs=1e-12)


@pytest.mark.parametrize("loss", [None, LOSS], ids=["match", "loss"])
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_per_class_is_the_mean_over_the_class(design, average, loss):
    X, y = smooth()
    names = np.array(["x", "a", "m"])[y]
    if isinstance(design, StratifiedSubsample) and design.per_class:
        design = StratifiedSubsample(per_class={"x": 10, "a": 30, "m": 5})
    found = complete_cv(X, names, "nn", design, average=average, loss=loss)
    classes = found.per_class()
    assert list(classes) == ["a", "m", "x"]
    for name, score in classes.items():
        own = names == name
        assert score == pytest.approx(found.per_item[own].mean(), rel=1e-12)
    total = sum(found.weights[names == name].sum() * score for name, score in classes.items())
    assert total == pytest.approx(found.score, rel=1e-12)
    mean = np.mean(list(classes.values()))
    if average == "class":
        assert mean == pytest.approx(found.score, rel=1e-12)
    if loss is not None:
        with pytest.raises(ValueError, match=r"no balanced accuracy, since the score is: .*expected loss"):
            _ = found.balanced_accuracy
    else:
        assert found.balanced_accuracy == pytest.approx(mean, rel=1e-14)


MEASURES = [
    ("nn", {}, "accuracy", "balanced accuracy"),
    ("knn", {"loss": LOSS}, "expected loss", "class-mean expected loss"),
    ("rank", {"rank": 3}, "rank-3 accuracy (CMC at rank 3)", "balanced rank-3 accuracy (CMC at rank 3)"),
    ("confidence", {}, "share of the votes", "class-mean share of the votes"),
    ("confidence", {"score": "brier"}, "Brier score", "class-mean Brier score"),
    ("regression", {}, "mean squared error", "mean squared error"),
    ("regression", {"part": "variance"}, "variance", "variance"),
]


@pytest.mark.parametrize(("variant", "setting", "plain_name", "by_class"), MEASURES)
def test_the_score_has_a_name(variant, setting, plain_name, by_class):
    X, y = smooth(60)
    for average, name in (("pooled", plain_name), ("item", plain_name), ("class", by_class)):
        found = complete_cv(X, y, variant, Subsample(30), average=average, **setting)
        runs = monte_carlo_cv(X, y, variant, Subsample(30), average=average, n_repeats=2, **setting)
        assert found.measure == runs.measure == name
        assert f", {name} over " in repr(found)
        assert f", {name} of 2 random runs" in repr(runs)
        assert found.tie_report().measure == name
        if "accuracy" not in name or "rank" in name:
            with pytest.raises(ValueError, match="no balanced accuracy, since the score is: "):
                _ = found.balanced_accuracy
        cells = (
            {"loss": LOSS} if "loss" in setting else {key: v for key, v in setting.items() if key != "rank"}
        )
        curve = surface(X, y, [1, 3] if variant != "nn" else None, [30], variant, average=average, **cells)
        assert curve.measure == name.replace("3", "R")
        assert curve.measure in repr(curve)


def test_confusion_without_normalize_is_all_but_for_rounding():
    X, y = smooth(60)
    found = complete_cv(X, y, "nn", KFold(7))
    np.testing.assert_allclose(found.confusion(), found.confusion("all"), rtol=1e-12)
    assert "shares, not counts" in found.confusion.__doc__
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    assert '"all", as in scikit-learn' not in readme


def test_balanced_accuracy_is_scikit_learns():
    pytest.importorskip("sklearn")
    from sklearn.metrics import balanced_accuracy_score
    from sklearn.model_selection import LeaveOneOut, cross_val_predict
    from sklearn.neighbors import KNeighborsClassifier

    X, y = smooth()
    predicted = cross_val_predict(KNeighborsClassifier(3), X, y, cv=LeaveOneOut())
    found = complete_cv(X, y, "knn", LeaveOut(), n_neighbors=3)
    assert found.balanced_accuracy == pytest.approx(balanced_accuracy_score(y, predicted), abs=1e-13)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([False, True]),
        np.array([3, -7]),
        np.array(["b", "a"]),
        np.array([b"b", b"a"]),
        np.array(["2021-01-01", "2020-05-05"], "datetime64[ns]"),
        np.array([10**20, 3], dtype=object),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_classes_are_named_by_their_labels(labels):
    X, y = smooth(40, 2)
    found = complete_cv(X, labels[y], "nn", LeaveOut())
    classes = found.per_class()
    assert len(classes) == 2
    for c, label in enumerate(labels):
        assert classes[label] == pytest.approx(found.per_item[y == c].mean())


def test_classes_named_by_plain_labels_are_plain():
    X, y = smooth(40, 2)
    assert repr(list(complete_cv(X, y, "nn", 2).per_class())) == "[0, 1]"


def test_a_single_class_is_always_predicted():
    X, _ = smooth(20)
    found = complete_cv(X, np.zeros(20, int), "nn", Subsample(10))
    np.testing.assert_allclose(found.confusion(), [[1]], atol=1e-13)
    assert found.balanced_accuracy == pytest.approx(1)


def test_a_copy_leaves_the_data_behind():
    X, y = smooth(3000)
    found = complete_cv(X, y, "nn", KFold(5))
    found.confusion()
    packed = pickle.dumps(found)
    assert len(packed) < 5 * y.nbytes + 5000  # three arrays of the items' own
    for other in (
        pickle.loads(packed),
        copy.deepcopy(found),
        copy.copy(found),
        replace(found, seconds=1.0),
    ):
        assert other.score == found.score
        assert other.per_class() == found.per_class()
        assert other.n_train_sets == found.n_train_sets
        with pytest.raises(ValueError, match="copied or pickled result does not contain; call complete_cv"):
            other.confusion()
    with pytest.raises(AttributeError, match="cannot assign"):
        found.score = 1.0
    assert found != copy.copy(found)


def test_the_data_may_be_asked_after_the_caller_changed_the_labels():
    X, y = smooth(100)
    found = complete_cv(X, y, "nn", LeaveOut())
    expected = found.confusion()
    loss = LOSS.copy()
    costly = complete_cv(X, y, "nn", LeaveOut(), loss=loss)
    loss[:] = 0
    y[:] = 0
    np.testing.assert_array_equal(found.confusion(), expected)
    assert (costly.confusion() * LOSS).sum() == pytest.approx(costly.score, abs=1e-12)


def test_rules_that_predict_no_class_have_no_confusion():
    X, y = smooth(60)
    found = complete_cv(X, y, "rank", KFold(5))
    with pytest.raises(ValueError, match="variant 'rank' does not predict a class"):
        found.confusion()
    assert len(found.per_class()) == 3


@pytest.mark.parametrize("normalize", ["rows", 1, True, ["true"]])
def test_unknown_scales_are_refused(normalize):
    X, y = smooth(60)
    found = complete_cv(X, y, "nn", KFold(5))
    with pytest.raises(ValueError, match="normalize must be None, 'true', 'pred', 'all', got"):
        found.confusion(normalize=normalize)


def test_the_confusion_does_not_depend_on_threads():
    X, y = smooth()
    results = [complete_cv(X, y, "knn", 5, n_jobs=n_jobs).confusion() for n_jobs in (1, 2)]
    np.testing.assert_array_equal(*results)


def test_another_rule_with_a_loss_serves():
    from knnccv_variants.nearest import NN

    class Named(NN):
        name = "named"

    X, y = smooth(60)
    register(Named)
    try:
        found = complete_cv(X, y, "named", KFold(3))
        expected = complete_cv(X, y, "nn", KFold(3)).confusion()
        np.testing.assert_array_equal(found.confusion(), expected)
    finally:
        unregister("named")


def test_naive_confusion_by_hand():
    """Points 0, 1, 3 of classes a, a, b, two of them training: nearest of 0 and 1 are a's, of 3 too."""
    D = [[abs(p - q) for q in (0, 1, 3)] for p in (0, 1, 3)]
    third = Fraction(1, 3)
    found = naive.confusion(D, "aab", "nn", naive.subsample(3, 2))
    assert found == [[2 * third, 0], [third, 0]]
    for average, ties in itertools.product(AVERAGES, ("index", "random")):
        by_class = naive.confusion(D, "aab", "nn", naive.subsample(3, 2), average, ties)
        assert sum(map(sum, by_class)) == 1
