"""Scores of halves, against the enumeration of all training sets within the half."""

import pickle
import warnings

import naive
import naive_halves
import numpy as np
import pytest
from problems import plain

from knnccv import (
    InferenceWarning,
    KFold,
    LeaveGroupsOut,
    LeaveOut,
    Neighbors,
    StratifiedKFold,
    StratifiedSubsample,
    Subsample,
    complete_cv,
)
from knnccv._labels import encode_labels
from knnccv.designs import Design, n_train_in_half
from knnccv.driver._problem import validate_problem
from knnccv.halves._half_scores import score_halves
from knnccv.inference import Halvings, draw_halvings
from knnccv.kernel import Variant, jit

SETTINGS = [
    ("nn", {}),
    ("nn", {"loss": True}),
    ("knn", {"n_neighbors": 2}),
    ("knn", {"n_neighbors": 2, "vote_ties": "random"}),
    ("rank", {"rank": 2}),
    ("confidence", {"n_neighbors": 2, "score": "brier"}),
]


def larger(seed):
    """Two problems of `problem` side by side: 8 to 14 samples, of which halves can be split."""
    rng = np.random.default_rng([seed, 7])
    n_items = int(rng.integers(8, 11))
    n_classes = int(rng.integers(2, 4))
    y = rng.integers(0, n_classes, n_items)
    y[:n_classes] = np.arange(n_classes)
    if seed % 3 == 0:
        distances = rng.integers(0, 3, (n_items, n_items)).astype(float)
    else:
        distances = rng.random((n_items, n_items))
    return distances, y, rng.integers(0, 4, (n_classes, n_classes)).astype(float)


def designs(n_items, seed):
    rng = np.random.default_rng([seed, 8])
    alpha = int(rng.integers(n_items // 2, n_items))
    k = int(rng.integers(2, n_items + 1))
    yield (
        Subsample(alpha),
        lambda y: naive.subsample(len(y), naive_halves.train_size(n_items, alpha, len(y))),
    )
    yield LeaveOut(1), lambda y: naive.leave_out(len(y), 1)
    yield KFold(k), lambda y: naive.kfold(len(y), min(k, len(y)))


def drawn(n_halvings, n_items, seed, **how):
    halvings = draw_halvings(n_halvings, n_items, np.random.default_rng(seed), **how)
    return [[halvings.rows(h, s).tolist() for s in (0, 1)] for h in range(n_halvings)]


def halves_quietly(result, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferenceWarning)
        return result.half_scores(*arguments)


@pytest.mark.parametrize("seed", range(30))
def test_every_half_scores_what_its_own_training_sets_give(seed):
    distances, y, loss = larger(seed)
    compared = 0
    for s, (variant, setting) in enumerate(SETTINGS):
        parameters = {name: loss if value is True else value for name, value in setting.items()}
        for d, (design, in_half) in enumerate(designs(len(y), seed)):
            if (s + d + seed) % 3:
                continue
            average, ties = ("pooled", "item", "class")[(s + seed) % 3], ("random", "index")[seed % 2]
            asked = {"metric": "precomputed", "ties": ties, "average": average, **parameters}
            result = complete_cv(distances, y, variant, design, **asked)
            try:
                found = halves_quietly(result, 4, None, seed).scores
            except ValueError as error:
                assert "does not suit them" in str(error)  # noqa: PT017
                continue
            for (first, second), scores in zip(drawn(4, len(y), seed), found, strict=True):
                for rows, score in zip((first, second), scores, strict=True):
                    expected = naive_halves.score(
                        distances.tolist(),
                        y.tolist(),
                        rows,
                        variant,
                        in_half,
                        average,
                        ties,
                        **plain(parameters),
                    )
                    assert score == pytest.approx(float(expected), abs=1e-12)
                    compared += 1
    assert compared >= 16


@pytest.mark.parametrize("seed", range(20))
def test_halves_of_stratified_designs(seed):
    distances, y, _ = larger(seed)
    counts = np.bincount(y)
    codes = encode_labels(y).codes
    for design in (StratifiedKFold(2), StratifiedSubsample(per_class=int(counts.min()) // 2 or 1)):
        result = complete_cv(distances, y, "nn", design, metric="precomputed", ties="index")
        try:
            found = halves_quietly(result, 4, None, seed).scores
        except ValueError as error:
            assert "does not suit them" in str(error)  # noqa: PT017
            continue
        for pair, scores in zip(drawn(4, len(y), seed, classes=codes), found, strict=True):
            for rows, score in zip(pair, scores, strict=True):
                half = np.bincount(y[rows], minlength=len(counts))
                if isinstance(design, StratifiedKFold):

                    def in_half(labels):
                        return naive.stratified_kfold(labels, 2)
                else:
                    n_train = n_train_in_half(
                        [design.per_class] * len(counts), counts.tolist(), half.tolist()
                    )

                    def in_half(labels, n_train=n_train):
                        return naive.stratified(labels, {c: n_train[c] for c in set(labels)})

                expected = naive_halves.score(
                    distances.tolist(), y.tolist(), rows, "nn", in_half, "pooled", "index"
                )
                assert score == pytest.approx(float(expected), abs=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_halves_of_groups_hold_whole_groups(seed):
    distances, y, _ = larger(seed)
    groups = np.random.default_rng(seed).permutation(np.arange(len(y)) % 5)
    for design, own in ((LeaveGroupsOut(groups), None), (KFold(2), groups)):
        result = complete_cv(distances, y, "nn", design, metric="precomputed", ties="random")
        found = halves_quietly(result, 4, own, seed)
        assert found.of_groups
        assert found.n_units == 5
        for pair, scores in zip(drawn(4, len(y), seed, groups=groups), found.scores, strict=True):
            assert not set(groups[pair[0]]) & set(groups[pair[1]])
            for rows, score in zip(pair, scores, strict=True):

                def in_half(labels, rows=rows, own=own):
                    if own is None:
                        return naive.leave_groups_out(groups[rows], 1)
                    return naive.kfold(len(labels), 2)

                expected = naive_halves.score(
                    distances.tolist(), y.tolist(), rows, "nn", in_half, "pooled", "random"
                )
                assert score == pytest.approx(float(expected), abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_all_halvings_of_a_few_samples_give_the_expected_variance(seed):
    rng = np.random.default_rng(seed)
    n_items = int(rng.integers(5, 9))
    distances, y = rng.random((n_items, n_items)), np.arange(n_items) % 2
    alpha = int(rng.integers(n_items // 2, n_items))
    pairs = naive_halves.all_halvings(n_items)
    half_of = np.full((len(pairs), n_items), -1, np.int8)
    for one, (first, second) in zip(half_of, pairs, strict=True):
        one[list(first)], one[list(second)] = 0, 1
    problem_ = validate_problem(y, n_items, "nn", Subsample(alpha), None, "pooled", {})
    halvings = Halvings(half_of, n_items, False)
    scores, _, undecided = score_halves(problem_, Neighbors.from_distances(distances), halvings, 1)
    size = naive_halves.train_size(n_items, alpha, n_items // 2)
    by_rows = {
        rows: naive_halves.score(
            distances.tolist(),
            y.tolist(),
            rows,
            "nn",
            lambda labels: naive.subsample(len(labels), size),
            "pooled",
            "random",
        )
        for rows in {rows for pair in pairs for rows in pair}
    }
    assert undecided == 0
    expected = naive_halves.variance([(by_rows[a], by_rows[b]) for a, b in pairs])
    assert np.square(scores[:, 0] - scores[:, 1]).mean() / 4 == pytest.approx(float(expected), abs=1e-14)


def regression(part="error"):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(11, 2))
    return X, X[:, 0] + rng.normal(size=11), {"n_neighbors": 2, "part": part}


@pytest.mark.parametrize("part", ["error", "variance"])
def test_halves_of_a_regression_equal_scores_of_the_halves(part):
    X, y, parameters = regression(part)
    result = complete_cv(X, y, "regression", KFold(2), **parameters)
    found = halves_quietly(result, 3, None, 1).scores
    for pair, scores in zip(drawn(3, len(y), 1), found, strict=True):
        for rows, score in zip(pair, scores, strict=True):
            alone = complete_cv(X[rows], y[rows], "regression", KFold(2), **parameters)
            assert score == pytest.approx(alone.score, rel=1e-9)


def moons(n_items, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n_items)
    return rng.normal(size=(n_items, 3)) + y[:, None], y


@pytest.mark.parametrize(
    ("variant", "design", "n_classes", "parameters"),
    [
        ("nn", Subsample(0.5), 2, {}),
        ("knn", KFold(7), 2, {"n_neighbors": 5}),
        ("knn", StratifiedKFold(5), 3, {"n_neighbors": 3}),
        ("nn", StratifiedSubsample(0.7), 3, {}),
        ("rank", Subsample(20), 4, {"rank": 2}),
    ],
)
def test_halves_of_more_samples_equal_scores_of_the_halves(variant, design, n_classes, parameters):
    X, y = moons(230, n_classes)
    result = complete_cv(X, y, variant, design, **parameters)
    found = halves_quietly(result, 3, None, 5).scores
    stratified = isinstance(design, StratifiedKFold | StratifiedSubsample)
    pairs = drawn(3, len(y), 5, classes=y if stratified else None)
    labels = encode_labels(y)
    for pair, scores in zip(pairs, found, strict=True):
        for rows, score in zip(pair, scores, strict=True):
            half = design.halved(labels, np.array(rows))
            alone = complete_cv(X[rows], y[rows], variant, half, **parameters)
            assert score == pytest.approx(alone.score, abs=2e-6)


def test_threads_do_not_change_a_bit():
    X, y = moons(300)
    one, two = (complete_cv(X, y, "knn", KFold(5), n_neighbors=3, n_jobs=n).half_scores(10) for n in (1, 2))
    assert np.array_equal(one.scores, two.scores)


@jit
def nearest_agrees(order, labels, target, constraints):
    """The plain formula of ICML eq. 4, as a plugin would write it."""
    score = 0.0
    left = constraints.counts[0] - constraints.held_out
    p_none = 1.0
    for i in range(len(order.items)):
        if labels.classes[order.items[i]] == labels.classes[target]:
            score += p_none * constraints.n_train[0] / left
        p_none *= (left - constraints.n_train[0]) / left
        left -= 1
        if p_none <= 0:
            break
    return score


class Mine(Variant):
    name = "mine"
    fixed = nearest_agrees

    def n_nearest(self):
        return 1


def test_a_plugin_needs_no_line_of_its_own():
    X, y = moons(60)
    mine, nn = (complete_cv(X, y, variant, KFold(5)) for variant in (Mine(), "nn"))
    assert float(mine.standard_error(20)) == pytest.approx(float(nn.standard_error(20)), rel=1e-9)
    assert mine.confidence_interval(n_halvings=20).method == "wald"


def test_standard_errors_are_kept_and_pickled_results_have_none():
    X, y = moons(60)
    result = complete_cv(X, y, "nn", KFold(5))
    assert result.half_scores(20) is result.half_scores(20)
    error = result.standard_error(20)
    again = pickle.loads(pickle.dumps(error))
    assert (again, again.target, again.half_score) == (error, error.target, error.half_score)
    copy = pickle.loads(pickle.dumps(result))
    for ask in (copy.standard_error, copy.confidence_interval):
        with pytest.raises(ValueError, match="needs the data"):
            ask()


def test_the_order_of_the_samples_does_not_matter_in_distribution():
    X, y = moons(200)
    order = np.random.default_rng(1).permutation(200)
    errors = [
        complete_cv(features, labels, "nn", KFold(10)).standard_error(200)
        for features, labels in ((X, y), (X[order], y[order]))
    ]
    assert errors[0] == pytest.approx(errors[1], rel=0.3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_halvings": 1}, "n_halvings must be"),
        ({"n_halvings": 2.5}, "n_halvings must be"),
        ({"n_halvings": True}, "n_halvings must be"),
        ({"random_state": "a"}, "random_state must be"),
        ({"random_state": -1}, "random_state must be"),
        ({"groups": [1, 2]}, "groups must have one label for each of the 12 samples, got 2"),
        ({"groups": [1] * 12}, "at least 4 groups, two for each half, got 1"),
        ({"groups": [1, 2, 3] * 4}, "at least 4 groups, two for each half, got 3"),
        ({"groups": [None] * 12}, "groups.0. is missing"),
        ({"groups": np.zeros((12, 2))}, "groups must have shape"),
    ],
)
def test_bad_arguments(arguments, message):
    X, y = moons(12)
    result = complete_cv(X, y, "nn", KFold(3))
    with pytest.raises((ValueError, TypeError), match=message):
        result.standard_error(**arguments)


@pytest.mark.parametrize("level", [0, 1, -1, 95, 1.5, "high", True, None, float("nan")])
def test_bad_levels(level):
    X, y = moons(12)
    result = complete_cv(X, y, "nn", KFold(3))
    with pytest.raises((ValueError, TypeError), match="confidence_level must be"):
        result.confidence_interval(level)


def test_what_cannot_be_halved():
    X, y = moons(12)
    with pytest.raises(ValueError, match="at least 4 samples"):
        complete_cv(X[:3], [0, 1, 0], "nn", KFold(3)).standard_error()
    with pytest.raises(ValueError, match=r"halves of the samples, 6 in each.*n_neighbors must be"):
        complete_cv(X, y, "knn", KFold(3), n_neighbors=7).standard_error()
    own = LeaveGroupsOut(np.arange(12) // 2)
    with pytest.raises(ValueError, match="groups cannot be given for LeaveGroupsOut"):
        complete_cv(X, y, "nn", own).standard_error(groups=np.arange(12))


def test_warnings_at_the_limits_of_the_study():
    X, y = moons(40)
    with pytest.warns(InferenceWarning, match="fewer than 4 K = 20"):
        complete_cv(X, y, "knn", Subsample(30), n_neighbors=5).standard_error(20)
    with pytest.warns(InferenceWarning, match="10 groups, fewer than 20"):
        complete_cv(X, y, "nn", KFold(5)).standard_error(20, groups=np.arange(40) // 4)
    angle = np.random.default_rng(0).uniform(0, 6 * np.pi, 300)
    label = np.arange(300) % 2
    spiral = np.column_stack([angle * np.cos(angle + label * np.pi), angle * np.sin(angle + label * np.pi)])
    with pytest.warns(InferenceWarning, match="needs more than half of the data"):
        complete_cv(spiral, label, "nn", KFold(10)).standard_error(20)


def test_the_target_is_named():
    X, y = moons(60)
    target = complete_cv(X, y, "nn", KFold(7)).standard_error(20).target
    assert "accuracy in the population of nn, trained on 51 to 52 samples" in target


def test_lists_of_other_programs():
    X, y = moons(80)
    items, distances = Neighbors.from_data(X).kneighbors(30)
    given = complete_cv(Neighbors.from_lists(items, distances), y, "nn", Subsample(0.8))
    whole = complete_cv(X, y, "nn", Subsample(0.8))
    assert given.standard_error(20) == pytest.approx(whole.standard_error(20), rel=1e-6)
    short = complete_cv(Neighbors.from_lists(items[:, :16], distances[:, :16]), y, "nn", Subsample(0.8))
    with pytest.warns(InferenceWarning, match="end too early for halves"):
        short.standard_error(20)
    few = complete_cv(Neighbors.from_lists(items[:, :4], distances[:, :4]), y, "nn", Subsample(0.8))
    with pytest.raises(ValueError, match="needs deeper neighbor lists"):
        few.standard_error(20)
    near = Neighbors.from_lists(items, distances, approximate=True)
    with pytest.warns(InferenceWarning, match="neighbors are approximate"):
        complete_cv(near, y, "nn", Subsample(0.8)).confidence_interval(n_halvings=20)


def test_other_names_of_the_classes_draw_the_same_halves():
    X, y = moons(81, 3)
    one, other = (
        complete_cv(X, labels, "nn", StratifiedKFold(5)) for labels in (y, np.array([7, 1, 3])[y])
    )
    assert one.standard_error(20) == pytest.approx(other.standard_error(20), rel=1e-9)


def test_a_design_from_elsewhere_must_keep_the_share():
    class Twelve(Design):
        def training_sets(self, labels):
            return Subsample(12).training_sets(labels)

        def draw(self, labels, rng):
            return Subsample(12).draw(labels, rng)

    class Wrong(Twelve):
        def halved(self, labels, rows):  # noqa: ARG002
            return None

    class Right(Twelve):
        def halved(self, labels, rows):  # noqa: ARG002
            return Subsample(6)

    X, y = moons(40)
    with pytest.raises(ValueError, match="keeps the share"):
        complete_cv(X, y, "nn", Twelve()).standard_error(5)
    with pytest.raises(TypeError, match="halved must return a design, got None"):
        complete_cv(X, y, "nn", Wrong()).standard_error(5)
    found = complete_cv(X, y, "nn", Right()).standard_error(5)
    assert found == complete_cv(X, y, "nn", Subsample(12)).standard_error(5)


@jit
def nowhere(order, labels, target, constraints):  # noqa: ARG001
    return np.nan


def test_a_score_that_is_no_number_has_no_error():
    class Nowhere(Mine):
        name = "nowhere"
        fixed = nowhere

    X, y = moons(20)
    result = complete_cv(X, y, Nowhere(), KFold(5))
    for ask in (result.standard_error, result.split_std, result.influence, result.confidence_interval):
        with pytest.raises(ValueError, match="a score that is a number, but the score of 'nowhere' is nan"):
            ask()


def test_kept_halves_cannot_be_overwritten():
    X, y = moons(20)
    with pytest.raises(ValueError, match="read-only"):
        complete_cv(X, y, "nn", KFold(5)).half_scores(5).scores[:] = 0


def test_a_small_class_that_counts_as_much_as_the_others():
    X, _ = moons(100)
    y = np.arange(100) % 10 == 0
    with pytest.warns(InferenceWarning, match="the smallest class has 10 samples"):
        complete_cv(X, y, "nn", KFold(5), average="class").standard_error(5)
