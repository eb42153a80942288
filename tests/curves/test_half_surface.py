"""Standard errors of surfaces: halves against enumeration, and the methods against their definitions."""

import copy
import pickle
import warnings
from math import comb

import naive
import naive_halves
import numpy as np
import pytest
from scipy import stats

from knnccv import InferenceWarning, Neighbors, StratifiedSubsample, Subsample, complete_cv, surface
from knnccv.curves import Surface
from knnccv.inference import draw_halvings

AXIS = {"rank": "rank", "nn": None}
RNG = np.random.default_rng(11)
X = RNG.integers(0, 5, (61, 2)).astype(float)  # with many ties
Y2, Y3 = RNG.integers(0, 2, 61), RNG.integers(0, 3, 61)
VALUES = RNG.integers(0, 9, 61).astype(float)
FEW = 6
quiet = pytest.mark.filterwarnings("ignore::knnccv.InferenceWarning")


def setting(variant, k):
    axis = AXIS.get(variant, "n_neighbors")
    return {axis: int(k)} if axis else {}


@quiet
@pytest.mark.parametrize("ties", ["random", "index"])
@pytest.mark.parametrize("variant", ["nn", "knn", "rank", "confidence", "regression"])
@pytest.mark.parametrize("seed", range(3))
def test_halves_are_those_of_enumeration(seed, variant, ties):
    rng = np.random.default_rng([seed, 5])
    n_items, n_classes = 10 + seed % 2, 2 + seed % 2
    distances = rng.integers(0, 6, (n_items, n_items)).astype(float)
    y = rng.integers(0, n_classes, n_items)
    y[:n_classes] = np.arange(n_classes)
    given = VALUES[:n_items] if variant == "regression" else y
    average = "pooled" if variant == "regression" else ("pooled", "class", "item")[seed]
    ks, sizes = (None if variant == "nn" else [1, 3]), [1, 6, 8]
    same = {"ties": ties, "average": average}
    axes = {"metric": "precomputed", "n_neighbors": ks, "train_sizes": sizes, "variant": variant}
    if ks and variant != "rank":
        axes["train_sizes"] = sizes = [6, 8]
    found = surface(distances, given, **axes, **same).half_scores(3, random_state=seed)
    halvings = draw_halvings(3, n_items, np.random.default_rng(seed))
    assert found.scores.shape == (3, 2, len(ks or [1]), len(sizes))
    for (h, side, row, column), score in np.ndenumerate(found.scores):
        rows = halvings.rows(h, side).tolist()
        half = naive_halves.train_size(n_items, sizes[column], len(rows))
        assert found.train_sizes[column] == half
        parameters = setting(variant, (ks or [1])[row])
        if variant != "rank" and parameters.get("n_neighbors", 1) > half:
            assert np.isnan(score)
            continue
        expected = naive_halves.score(
            distances.tolist(),
            given.tolist(),
            rows,
            variant,
            lambda labels, half=half: naive.subsample(len(labels), half),
            average,
            ties,
            **parameters,
        )
        assert score == pytest.approx(float(expected), abs=1e-6 * max(1, abs(float(expected))))


CASES = [
    ("knn", Y2, {}),
    ("knn", Y3, {"average": "class", "ties": "index"}),
    ("knn", Y3, {"vote_ties": "random"}),
    ("rank", Y3, {}),
    ("confidence", Y3, {"score": "brier"}),
    ("regression", VALUES, {}),
]


@quiet
@pytest.mark.parametrize(("variant", "y", "options"), CASES)
@pytest.mark.parametrize("stratified", [False, True])
def test_cells_are_those_of_complete_cv(variant, y, options, stratified):
    if stratified and variant == "regression":
        return
    sizes, design = ([0.3, 0.8], StratifiedSubsample) if stratified else ([6, 20, 55], Subsample)
    ks = [1, 2, 6]
    result = surface(X, y, ks, sizes, variant, stratified=stratified, **options)
    errors = result.standard_error(FEW, random_state=2)
    interval = result.confidence_interval(0.9, n_halvings=FEW, random_state=2)
    assert errors.shape == (3, len(sizes))
    for row, k in enumerate(ks):
        for column, size in enumerate(sizes):
            one = complete_cv(X, y, variant, design(size), **setting(variant, k), **options)
            error = one.standard_error(FEW, random_state=2)
            ends = one.confidence_interval(0.9, n_halvings=FEW, random_state=2)
            near = {"abs": 2e-6 * max(1, float(error)), "rel": 1e-6}
            assert errors[row, column] == pytest.approx(float(error), **near)
            assert interval.low[row, column] == pytest.approx(ends.low, abs=2e-5)
            assert interval.high[row, column] == pytest.approx(ends.high, abs=2e-5)
            assert interval.half_score[row, column] == pytest.approx(ends.half_score, abs=2e-6)
            assert interval.half_train_size[column] == ends.half_train_size
            assert interval.method == ends.method
    low, high = interval
    assert low is interval.low
    assert high is interval.high
    assert pickle.loads(pickle.dumps(interval)).target == interval.target


def made(**options):
    """A surface of two classes, and its halves."""
    result = surface(X, Y2 + (X[:, 0] > 2), [9, 1, 5, 3], [20, 50], **options)
    return result, result.half_scores(40).scores


@quiet
def test_differences_to_the_best():
    result, halves = made()
    found = result.difference_to_best(40)
    best = result.scores.argmax(axis=0)
    assert (found.n_neighbors == np.array([9, 1, 5, 3])[best]).all()
    margin = stats.t.ppf(0.95, 1 / (1 / 60 + 1 / 40))
    kept = result.not_worse(0.9, n_halvings=40)
    for column, at in enumerate(best):
        for row in range(4):
            gap = halves[:, :, row, column] - halves[:, :, at, column]
            error = np.sqrt(np.mean((gap[:, 0] - gap[:, 1]) ** 2) / 4)
            off = result.scores[row, column] - result.scores[at, column]
            assert found.difference[row, column] == off
            assert found.standard_error[row, column] == pytest.approx(error)
            bounds = result.truncation_bound[[row, at], column].sum()
            assert kept[row, column] == (abs(off) <= margin * error + bounds)
        near = np.abs(found.difference[:, column]) <= found.standard_error[:, column]
        k = max(np.array([9, 1, 5, 3])[near])
        size = int(result.train_sizes[column])
        chosen = result.best(size, rule="one-standard-error", n_halvings=40)
        row = [9, 1, 5, 3].index(k)
        assert chosen == (k, result.scores[row, column])
        assert chosen.regret == pytest.approx(-found.difference[row, column], abs=1e-5)
        assert result.best(rule="one-standard-error", n_halvings=40).n_neighbors[column] == k
    assert kept[best, [0, 1]].all()


@quiet
def test_losses_choose_the_smallest():
    result, _ = made(loss=1 - np.eye(3))
    found = result.difference_to_best(10)
    assert (found.difference >= 0).all()
    k = result.best(50, rule="one-standard-error", n_halvings=10).n_neighbors
    assert k >= result.best(50).n_neighbors


@quiet
def test_frame():
    result, _ = made()
    frame = result.to_frame(interval=True, confidence_level=0.8, n_halvings=40)
    low, high = result.confidence_interval(0.8, n_halvings=40)
    assert list(frame.columns)[-4:] == ["standard_error", "low", "high", "not_worse"]
    assert (frame["standard_error"] == result.standard_error(40).ravel()).all()
    assert (frame["low"] == low.ravel()).all()
    assert (frame["high"] == high.ravel()).all()
    assert (frame["not_worse"] == result.not_worse(0.8, n_halvings=40).ravel()).all()
    assert "low" not in result.to_frame()
    with pytest.raises(TypeError, match="interval must be"):
        result.to_frame(interval=0.95)


def test_warnings_name_the_number_of_cells():
    result = surface(X, Y2, [1, 4, 12], [20, 55])
    with pytest.warns(InferenceWarning) as caught:
        errors = result.standard_error(FEW)
    assert np.argwhere(np.isnan(errors)).tolist() == [[2, 0]]
    texts = [str(one.message) for one in caught]
    assert any("in 1 of 6 cells: the rule does not suit" in text for text in texts)
    assert any("in 2 of 6 cells: the halves train on fewer than 4 K" in text for text in texts)
    with pytest.warns(InferenceWarning):
        assert not result.not_worse(n_halvings=FEW)[2, 0]
    groups = np.arange(61) // 4
    one = surface(X, Y2, [1], [40])
    with pytest.warns(InferenceWarning, match="there are 16 groups"):
        one.standard_error(FEW, groups=groups)
    found = one.half_scores(FEW, groups=groups)
    assert found.of_groups
    assert found.n_units == 16


@quiet
def test_halves_of_groups_are_those_of_complete_cv():
    groups = np.arange(61) // 3
    errors = surface(X, Y3, [1, 3], [30]).standard_error(FEW, groups)
    for k, error in zip([1, 3], errors[:, 0], strict=True):
        one = complete_cv(X, Y3, "knn", Subsample(30), n_neighbors=k)
        assert error == pytest.approx(float(one.standard_error(FEW, groups)), abs=2e-6)


SHORT = Neighbors.from_data(RNG.normal(size=(60, 2)), n_neighbors=12)
SPLITS = Y2[:60] + 0


@pytest.mark.parametrize("how", [{}, {"variant": "confidence"}, {"loss": 1 - np.eye(2)}])
def test_cells_with_undecided_halves_have_no_standard_error(how):
    result = surface(SHORT, SPLITS, [1, 5], [15, 50], **how)
    with pytest.warns(InferenceWarning) as caught:
        errors = result.standard_error(FEW)
    texts = [str(one.message) for one in caught]
    assert np.isnan(errors).tolist() == [[True, False], [True, True]]
    assert any("in 3 of 4 cells: the neighbor lists end too early" in text for text in texts)
    assert not any("the rule does not suit" in text for text in texts)
    with pytest.raises(ValueError, match="longer lists than 12 neighbors"):
        surface(SHORT, SPLITS, [5], [15], **how).standard_error(FEW)


def test_short_lists_are_reported():
    with pytest.warns(InferenceWarning, match="end too early for halves of the samples: up to 0.00"):
        error = surface(SHORT, SPLITS, [1], [48]).standard_error(FEW)
    assert error > 0


@quiet
def test_threads_do_not_matter():
    errors = [surface(X, Y3, [1, 5], [10, 40], n_jobs=n).standard_error(9) for n in (1, 3)]
    assert (errors[0] == errors[1]).all()


@quiet
def test_halves_of_a_seed_are_kept():
    result, halves = made()
    assert result.half_scores(40).scores is halves
    assert result.half_scores(40, random_state=1).scores is not halves
    generator = np.random.default_rng(0)
    assert (result.half_scores(40, random_state=generator).scores == halves).all()


@quiet
def test_kept_halves_are_keyed_by_what_was_checked():
    result, halves = made()
    with pytest.raises(TypeError, match="n_halvings"):
        result.half_scores(40.0)
    for seed, error in ((True, TypeError), (0.0, TypeError), (-1, ValueError)):
        with pytest.raises(error, match="random_state"):
            result.half_scores(40, random_state=seed)
    groups = np.arange(61) // 2
    found = result.half_scores(FEW, groups)
    named = np.array([f"g{code:02d}" for code in groups])
    assert result.half_scores(FEW, named) is found
    assert result.half_scores(FEW, groups // 2) is not found
    with pytest.raises(ValueError, match="one label for each of the 61 samples, got 60"):
        result.half_scores(FEW, groups[:60])
    missing = groups.astype(float)
    missing[3] = np.nan
    for _ in range(2):
        with pytest.raises(ValueError, match=r"groups\[3\] is missing"):
            result.half_scores(FEW, missing)
    for kept in (halves, found.scores, found.train_sizes):
        with pytest.raises(ValueError, match="read-only"):
            kept[0] = 0


@quiet
def test_differences_within_the_bounds_are_none():
    """Two far clusters of 30, one for each class: the votes are those of a hypergeometric draw."""
    cluster = np.random.default_rng(0).normal(size=(60, 2))
    labels = np.repeat([0, 1], 30)
    ks, sizes = [1, 3, 5, 7], [20, 50]
    result = surface(cluster + 9 * labels[:, None], labels, ks, sizes)
    with pytest.warns(InferenceWarning, match="in 2 of 8 cells: the halves score the same"):
        kept = result.not_worse(n_halvings=20)
    exact = np.array(
        [
            [
                sum(comb(29, own) * comb(30, size - own) for own in range(k // 2 + 1, min(size, 29) + 1))
                / comb(59, size)
                for size in sizes
            ]
            for k in ks
        ]
    )
    assert result.scores == pytest.approx(exact, abs=1e-6)
    assert (result.standard_error(20) == 0).all()
    assert (exact[:, 1] == 1).all()
    assert (exact[0, 0] - exact[:, 0] < 1e-6).tolist() == [True, True, False, False]
    assert kept.all()
    chosen = result.best(rule="one-standard-error", n_halvings=20).n_neighbors
    assert chosen.tolist() == [3, 7]


@quiet
def test_the_best_without_a_standard_error():
    rng = np.random.default_rng(6)
    x, noise = rng.normal(size=(40, 2)), rng.random(40) < 0.45
    result = surface(x, (x[:, 0] > 0) ^ noise, [1, 5, 25], [27, 30])
    errors = quietly(result.standard_error)(n_halvings=FEW)
    assert result.best().n_neighbors.tolist() == [25, 25]
    assert np.isnan(errors[2]).all()
    gap = result.half_scores(FEW).scores[:, :, 0] - result.half_scores(FEW).scores[:, :, 1]
    error = np.sqrt(np.mean((gap[:, 0] - gap[:, 1]) ** 2, axis=0) / 4)
    off = result.scores[0] - result.scores[1]
    assert (off < 0).all()
    with pytest.warns(InferenceWarning, match="the best K at training size 27, 30 has no standard error"):
        kept = result.not_worse(n_halvings=FEW)
    margin = stats.t.ppf(0.975, 1 / (1 / 39 + 1 / FEW))
    assert kept.tolist() == [(-off <= margin * error).tolist(), [True, True], [True, True]]
    with pytest.warns(InferenceWarning, match="the best K at training size 30 has no standard error"):
        best = result.best(30, rule="one-standard-error", n_halvings=FEW)
    assert best == (5, result.scores[1, 1])
    only = surface(x, (x[:, 0] > 0) ^ noise, [10, 25], [27, 10 + 26])
    mixed = quietly(only.best)(36, rule="one-standard-error", n_halvings=FEW)
    assert mixed.n_neighbors == 10
    none = surface(x, (x[:, 0] > 0) ^ noise, [15, 20], [25, 36])
    with pytest.raises(ValueError, match="at training size 25 no K has one"):
        quietly(none.best)(rule="one-standard-error", n_halvings=FEW)


def quietly(ask):
    """The same function without warnings of inference."""

    def asked(*args, **kwargs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InferenceWarning)
            return ask(*args, **kwargs)

    return asked


def test_what_is_refused():
    result = surface(X, Y2, [1, 3], [30])
    for other in (pickle.loads(pickle.dumps(result)), copy.copy(result), copy.deepcopy(result)):
        assert isinstance(other, Surface)
        asks = (other.standard_error, other.confidence_interval, other.not_worse, other.difference_to_best)
        for ask in asks:
            with pytest.raises(ValueError, match="call surface again"):
                ask()
    for ask in (result.confidence_interval, result.not_worse):
        with pytest.raises(ValueError, match=r"confidence_level must be in \(0, 1\), got 95"):
            ask(95)
    with pytest.raises(ValueError, match="rule must be"):
        result.best(rule="1se")
    with pytest.raises(ValueError, match="n_halvings must be at least 2"):
        result.standard_error(1)
    for variant in ("rank", "nn"):
        asked = {} if variant == "nn" else {"n_neighbors": [1, 2]}
        with pytest.raises(ValueError, match="rule='best' is allowed"):
            surface(X, Y2, train_sizes=[30], variant=variant, **asked).best(rule="one-standard-error")
    with pytest.raises(ValueError, match="at least 4 samples"):
        surface(X[:3], [0, 1, 1], [1], [2]).standard_error()
    with pytest.raises(ValueError, match="in no cell: n_neighbors=12 or more, halves train on at most 10"):
        surface(X, Y2, [12, 15], [20]).standard_error()
    with pytest.raises(ValueError, match="does not suit"):
        surface(X, Y2, [15, 20], 0.4, stratified=True).standard_error(2)
    with pytest.raises(ValueError, match="one of 2 does not suit the training sizes"):
        surface(X, Y2, [1], [6]).standard_error(2, groups=[0, 1, 2] + 58 * [3])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result.best()
