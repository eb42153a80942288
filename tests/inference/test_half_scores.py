"""Scores of halves, against the enumeration of all training sets within the half."""

import copy
import pickle

import naive
import naive_splits
import numpy as np
import pytest
from odd_rules import nearest_agrees, variant_class
from problems import blobs, plain
from seeds import over_seeds
from sklearn import model_selection
from sklearn.neighbors import KNeighborsClassifier

from knnccv import (
    InferenceWarning,
    KFold,
    LeaveGroupsOut,
    LeaveOut,
    Neighbors,
    StratifiedKFold,
    StratifiedSubsample,
    Subsample,
    compare,
    complete_cv,
    predictions_on,
    surface,
)
from knnccv._core.driver import validate_problem
from knnccv._core.luck.inference import draw_halvings
from knnccv.designs import n_train_in_half
from knnccv.kernel import jit
from knnccv.sklearn import expected_score

quiet = pytest.mark.filterwarnings("ignore::knnccv.InferenceWarning")
SETTINGS = [
    ("nn", {}),
    ("nn", {"loss": True}),
    ("knn", {"n_neighbors": 2}),
    ("knn", {"n_neighbors": 2, "vote_ties": "random"}),
    ("rank", {"rank": 2}),
    ("confidence", {"n_neighbors": 2, "score": "brier"}),
    ("regression", {"n_neighbors": 2}),
]


def larger(seed):
    """8 to 10 samples, of which halves can be split; ties in every third problem."""
    rng = np.random.default_rng([seed, 7])
    n_items, n_classes = int(rng.integers(8, 11)), int(rng.integers(2, 4))
    y = rng.integers(0, n_classes, n_items)
    y[:n_classes] = np.arange(n_classes)
    shape = n_items, n_items
    distances = rng.integers(0, 3, shape).astype(float) if seed % 3 == 0 else rng.random(shape)
    return rng, distances, y, rng.integers(0, 4, (n_classes, n_classes)).astype(float)


def designs(y, groups, rng):
    """Designs, the groups or classes that stay together, and the enumeration of the half with some rows."""
    n_items, counts = len(y), np.bincount(y).tolist()
    alpha, k = int(rng.integers(n_items // 2, n_items)), int(rng.integers(2, n_items + 1))
    own = min(counts) // 2 or 1

    def stratified(rows):
        half = np.bincount(y[rows], minlength=len(counts)).tolist()
        n_train = n_train_in_half([own] * len(counts), counts, half)
        return naive.stratified(y[rows], {c: n_train[c] for c in set(y[rows].tolist())})

    def of_fixed_size(rows):
        return naive.subsample(len(rows), naive_splits.train_size(n_items, alpha, len(rows)))

    by_class, by_group = {"classes": y}, {"groups": groups}
    return [
        (Subsample(alpha), {}, of_fixed_size),
        (LeaveOut(1), {}, lambda rows: naive.leave_out(len(rows), 1)),
        (KFold(k), {}, lambda rows: naive.kfold(len(rows), min(k, len(rows)))),
        (StratifiedKFold(2), by_class, lambda rows: naive.stratified_kfold(y[rows], 2)),
        (StratifiedSubsample(per_class=own), by_class, stratified),
        (LeaveGroupsOut(groups), by_group, lambda rows: naive.leave_groups_out(groups[rows], 1)),
        (KFold(2), by_group, lambda rows: naive.kfold(len(rows), 2)),
    ]


def drawn(n_halvings, n_items, seed, **how):
    """The rows of both halves of every halving."""
    halvings = draw_halvings(n_halvings, n_items, np.random.default_rng(seed), **how)
    return [[halvings.rows(h, s) for s in (0, 1)] for h in range(n_halvings)]


@quiet
@over_seeds(8)
def test_every_half_scores_what_its_own_training_sets_give(seeds):
    compared = 0
    for seed in seeds:
        rng, distances, y, loss = larger(seed)
        groups = rng.permutation(np.arange(len(y)) % 5)
        for d, (design, how, enumerated) in enumerate(designs(y, groups, rng)):
            variant, setting = SETTINGS[(d + seed) % 7 if "classes" not in how else (d + seed) % 6]
            average, ties = ("pooled", "item", "class")[(d + seed) % 3], ("random", "index")[seed % 2]
            targets = y
            if variant == "regression":
                average, targets = "pooled", rng.integers(0, 9, len(y))
            parameters = {name: loss if value is True else value for name, value in setting.items()}
            asked = {"metric": "precomputed", "ties": ties, "average": average, **parameters}
            result = complete_cv(distances, targets, variant, design, **asked)
            own = groups if how and design == KFold(2) else None
            try:
                found = result.half_scores(4, own, seed)
            except ValueError as error:
                assert "does not suit them" in str(error)  # noqa: PT017
                continue
            where = f"seed {seed}: {variant} {setting} {design} {average} {ties}"
            assert (found.of_groups, found.n_units) == (
                (True, 5) if "groups" in how else (False, len(y))
            ), where
            for pair, scores in zip(drawn(4, len(y), seed, **how), found.scores, strict=True):
                assert "groups" not in how or not set(groups[pair[0]]) & set(groups[pair[1]])
                for rows, score in zip(pair, scores, strict=True):
                    expected = naive_splits.score(
                        distances.tolist(),
                        targets.tolist(),
                        rows.tolist(),
                        variant,
                        lambda _, rows=rows, enumerated=enumerated: enumerated(rows),
                        average,
                        ties,
                        **plain(parameters),
                    )
                    assert score == pytest.approx(float(expected), rel=1e-12, abs=1e-12), where
                    compared += 1
    assert compared > 20 * len(seeds)


@quiet
@pytest.mark.parametrize(
    ("variant", "design", "n_classes", "parameters"),
    [
        ("nn", Subsample(0.5), 2, {}),
        ("knn", KFold(7), 2, {"n_neighbors": 5}),
        ("knn", StratifiedKFold(5), 3, {"n_neighbors": 3}),
        ("nn", StratifiedSubsample(0.7), 3, {}),
        ("rank", Subsample(20), 4, {"rank": 2}),
        ("regression", KFold(7), 2, {"n_neighbors": 2, "part": "variance"}),
    ],
)
def test_halves_of_more_samples_equal_scores_of_the_halves(variant, design, n_classes, parameters):
    X, y = blobs(0, 230, n_classes)
    labels = validate_problem(y, 230, "nn", design, None, "pooled", {}).labels
    how = {"classes": y} if isinstance(design, StratifiedKFold | StratifiedSubsample) else {}
    targets = X[:, 0] + X[:, 1] ** 2 if variant == "regression" else y
    found = complete_cv(X, targets, variant, design, **parameters).half_scores(3, None, 5).scores
    for pair, scores in zip(drawn(3, 230, 5, **how), found, strict=True):
        for rows, score in zip(pair, scores, strict=True):
            half = design.halved(labels, rows)
            alone = complete_cv(X[rows], targets[rows], variant, half, **parameters)
            assert score == pytest.approx(alone.score, abs=2e-6)


@jit
def nowhere(order, labels, target, constraints):  # noqa: ARG001
    return np.nan


Mine = variant_class("mine", fixed=nearest_agrees)
Nowhere = variant_class("nowhere", fixed=nowhere)


def test_a_plugin_needs_no_line_of_its_own():
    X, y = blobs(0, 60, 2)
    mine, nn = (complete_cv(X, y, variant, KFold(5)) for variant in (Mine(), "nn"))
    assert float(mine.standard_error(20)) == pytest.approx(float(nn.standard_error(20)), rel=1e-9)
    assert mine.confidence_interval(n_halvings=20).method == "wilson"
    result = complete_cv(X, y, Nowhere(), KFold(5))
    for ask in (result.standard_error, result.split_std, result.influence, result.confidence_interval):
        with pytest.raises(ValueError, match="a score that is a number, but the score of 'nowhere' is nan"):
            ask()


def test_halves_are_kept_and_errors_can_be_pickled():
    X, y = blobs(0, 60, 2)
    result = complete_cv(X, y, "nn", KFold(5))
    assert result.half_scores(20) is result.half_scores(20)
    codes = np.arange(60) // 2
    assert result.half_scores(20, codes) is result.half_scores(20, [f"patient {one}" for one in codes])
    assert not result.half_scores(20).scores.flags.writeable
    error = result.standard_error(20)
    again = pickle.loads(pickle.dumps(error))
    assert (again, again.target, again.half_score) == (error, error.target, error.half_score)


def two(kind):
    """Two results of a kind that has halves."""
    X, y = blobs(0, 60, 2)
    if kind == "scikit-learn":
        cv = model_selection.KFold(5, shuffle=True)
        return [expected_score(KNeighborsClassifier(k), X, y, cv=cv) for k in (1, 3)]
    cv = KFold(5) if kind == "samples" else LeaveGroupsOut(np.arange(60) // 2)
    return [complete_cv(X, y, "knn", cv, n_neighbors=k) for k in (1, 3)]


def unpickled(result):
    """As from another process."""
    return pickle.loads(pickle.dumps(result))


@pytest.mark.parametrize("kind", ["samples", "groups", "scikit-learn"])
@pytest.mark.parametrize("copied", [copy.deepcopy, unpickled])
def test_copies_know_the_halves_and_take_the_data_along_on_wish(kind, copied):
    """What was asked before is known, all else needs the data."""
    a, b = two(kind)
    interval, difference = a.confidence_interval(n_halvings=20), compare(a, b, n_halvings=20)
    first, second = copied(copied(a)), copied(b)
    found = first.confidence_interval(n_halvings=20)
    assert (found, found.target, first.measure) == (interval, interval.target, a.measure)
    for pair in ((first, second), (first, b)):
        again = compare(*pair, n_halvings=20)
        assert (again.difference, again.pvalue) == (difference.difference, difference.pvalue)
    for how in ({"n_halvings": 19}, {"n_halvings": 20, "random_state": 1}, {"groups": np.zeros(60)}):
        with pytest.raises(ValueError, match=r"copying, or copy result.with_data\(\)"):
            first.standard_error(**how)
    assert copied(copied(a.with_data())).standard_error(19) == a.standard_error(19)


@quiet
def test_copied_surfaces_know_the_halves():
    X, y = blobs(0, 60, 2)
    for rule, targets in (("knn", y), ("regression", X[:, 0])):
        found = surface(X, targets, [1, 3], [30], rule)
        low, high = found.confidence_interval(n_halvings=20)
        other = unpickled(found if rule == "knn" else found.with_data())
        np.testing.assert_array_equal(other.confidence_interval(n_halvings=20), (low, high))
        asked = {"choose": "one-standard-error", "n_halvings": 20}
        assert other.best(30, **asked) == found.best(30, **asked)


def test_predictions_are_compared_with_a_copy():
    X, y = blobs(0, 60, 2)
    predictions = predictions_on([(None, np.arange(60))], [1 - y], y)
    for design in (KFold(5), LeaveGroupsOut(np.arange(60) // 2)):
        result = complete_cv(X, y, "nn", design)
        found = compare(unpickled(result), predictions)
        assert found.pvalue == compare(result, predictions).pvalue


def test_lists_of_other_programs():
    X, y = blobs(0, 80, 2)
    items, distances = Neighbors.from_data(X).kneighbors(30)

    def given(depth=30, **more):
        near = Neighbors.from_lists(items[:, :depth], distances[:, :depth], **more)
        return complete_cv(near, y, "nn", Subsample(0.8))

    whole = complete_cv(X, y, "nn", Subsample(0.8))
    assert given().standard_error(20) == pytest.approx(whole.standard_error(20), rel=1e-6)
    with pytest.warns(InferenceWarning, match="end too early for halves"):
        given(16).standard_error(20)
    with pytest.raises(ValueError, match="needs deeper neighbor lists"):
        given(4).standard_error(20)
    with pytest.warns(InferenceWarning, match="neighbors are approximate"):
        given(approximate=True).confidence_interval(n_halvings=20)
