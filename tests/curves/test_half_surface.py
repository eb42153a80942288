"""Standard errors of surfaces: halves against those of single answers, and methods against definitions."""

import pickle
from math import comb
from unittest import mock

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import get_scorer
from sklearn.model_selection import ShuffleSplit
from sklearn.neighbors import KNeighborsClassifier

from knnccv import InferenceWarning, Neighbors, StratifiedSubsample, Subsample, complete_cv, surface
from knnccv._core.scores.curves import _half_surface
from knnccv.sklearn import expected_score

AXIS = {"rank": "rank", "nn": None}
RNG = np.random.default_rng(11)
X = RNG.integers(0, 5, (61, 2)).astype(float)  # with many ties
Y2, Y3 = RNG.integers(0, 2, 61), RNG.integers(0, 3, 61)
VALUES = RNG.integers(0, 9, 61).astype(float)
FEW = 6
quiet = pytest.mark.filterwarnings("ignore::knnccv.InferenceWarning")
CASES = [
    ("nn", Y3, {}, False),
    ("knn", Y2, {}, False),
    ("knn", Y3, {"average": "class", "ties": "index"}, False),
    pytest.param("knn", Y3, {"vote_ties": "random"}, True, marks=pytest.mark.slow),
    ("rank", Y3, {"average": "item"}, False),
    pytest.param("rank", Y3, {}, True, marks=pytest.mark.slow),
    ("confidence", Y3, {"score": "brier"}, False),
    ("confidence", Y3, {"ties": "index"}, True),
    ("regression", VALUES, {}, False),
]


@quiet
@pytest.mark.parametrize(("variant", "y", "options", "stratified"), CASES)
def test_cells_are_those_of_complete_cv(variant, y, options, stratified):
    """Their halves too, which `test_half_scores` enumerates."""
    sizes, design = ([0.3, 0.8], StratifiedSubsample) if stratified else ([6, 20, 55], Subsample)
    axis = AXIS.get(variant, "n_neighbors")
    ks = [1, 2, 6] if axis else [1]
    result = surface(X, y, ks if axis else None, sizes, variant, stratified=stratified, **options)
    groups = np.arange(61) // 3 if stratified or not options else None
    asked = {"n_halvings": FEW, "groups": groups, "random_state": 2}
    halves, errors = result.half_scores(**asked), result.standard_error(**asked)
    interval = result.confidence_interval(0.9, **asked)
    assert errors.shape == (len(ks), len(sizes))
    for row, column in np.ndindex(errors.shape):
        k = {axis: ks[row]} if axis else {}
        one = complete_cv(X, y, variant, design(sizes[column]), **k, **options)
        scores, error = one.half_scores(**asked), one.standard_error(**asked)
        ends = one.confidence_interval(0.9, **asked)
        scale = max(1, one.score)
        found = halves.scores[:, :, row, column]
        assert np.abs(found - scores.scores).max() < 3e-6 * scale
        assert halves.train_sizes[column] == scores.train_size == interval.half_train_size[column]
        assert errors[row, column] == pytest.approx(float(error), abs=2e-6 * scale, rel=1e-6)
        assert interval.low[row, column] == pytest.approx(ends.low, abs=2e-5)
        assert interval.high[row, column] == pytest.approx(ends.high, abs=2e-5)
        assert interval.half_score[row, column] == pytest.approx(ends.half_score, abs=2e-6 * scale)
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
        chosen = result.best(size, choose="one-standard-error", n_halvings=40)
        row = [9, 1, 5, 3].index(k)
        assert chosen == (k, result.scores[row, column])
        assert chosen.regret == pytest.approx(-found.difference[row, column], abs=1e-5)
        assert result.best(choose="one-standard-error", n_halvings=40).n_neighbors[column] == k
    assert kept[best, [0, 1]].all()


@quiet
def test_losses_choose_the_smallest():
    result, _ = made(loss=1 - np.eye(3))
    found = result.difference_to_best(10)
    assert (found.difference >= 0).all()
    k = result.best(50, choose="one-standard-error", n_halvings=10).n_neighbors
    assert k >= result.best(50).n_neighbors


@quiet
def test_the_table_has_errors_and_intervals():
    result, _ = made()
    asked = {"confidence_level": 0.8, "n_halvings": 40}
    frame = result.to_frame(interval=True, **asked)
    low, high = result.confidence_interval(0.8, n_halvings=40)
    expected = [result.standard_error(40), low, high, result.not_worse(0.8, n_halvings=40)]
    assert list(frame.columns)[-4:] == ["standard_error", "low", "high", "not_worse"]
    assert (frame.to_numpy()[:, -4:] == np.stack(expected, axis=-1).reshape(-1, 4)).all()
    assert "low" not in result.to_frame()


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


SHORT = Neighbors.from_data(RNG.normal(size=(60, 2)), n_neighbors=12)
SPLITS = Y2[:60] + 0


@pytest.mark.filterwarnings("ignore:give longer neighbor lists")
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
def test_halves_of_a_seed_are_kept():
    result, halves = made()
    assert result.half_scores(40).scores is halves
    assert result.half_scores(40, random_state=1).scores is not halves
    other, _ = made(n_jobs=3)
    generator = np.random.default_rng(0)
    assert (other.half_scores(40, random_state=generator).scores == halves).all()
    groups = np.arange(61) // 2
    found = result.half_scores(FEW, groups)
    named = np.array([f"g{code:02d}" for code in groups])
    assert result.half_scores(FEW, groups.tolist()) is found
    assert (result.half_scores(FEW, named).scores == found.scores).all()
    assert result.half_scores(FEW, groups // 2) is not found
    for kept in (halves, found.scores, found.train_sizes):
        assert not kept.flags.writeable


@quiet
def test_differences_within_the_bounds_are_none():
    """Two far clusters of 30, one for each class: the votes are those of a hypergeometric draw."""
    cluster = np.random.default_rng(0).normal(size=(60, 2))
    labels = np.repeat([0, 1], 30)
    ks, sizes = [1, 3, 5, 7], [20, 50]
    result = surface(cluster + 9 * labels[:, None], labels, ks, sizes)
    with pytest.warns(InferenceWarning, match="in 2 of 8 cells: the halves score the same"):
        kept = result.not_worse(n_halvings=20)

    def right(k, size):
        """The chance that most of the k nearest, which are all of the sample's own cluster, are drawn."""
        ways = [comb(29, own) * comb(30, size - own) for own in range(k // 2 + 1, min(size, 29) + 1)]
        return sum(ways) / comb(59, size)

    exact = np.array([[right(k, size) for size in sizes] for k in ks])
    assert result.scores == pytest.approx(exact, abs=1e-6)
    assert (result.standard_error(20) == 0).all()
    assert (exact[:, 1] == 1).all()
    assert (exact[0, 0] - exact[:, 0] < 1e-6).tolist() == [True, True, False, False]
    assert kept.all()
    chosen = result.best(choose="one-standard-error", n_halvings=20).n_neighbors
    assert chosen.tolist() == [3, 7]


@quiet
def test_the_best_without_a_standard_error():
    rng = np.random.default_rng(6)
    x, noise = rng.normal(size=(40, 2)), rng.random(40) < 0.45
    result = surface(x, (x[:, 0] > 0) ^ noise, [1, 5, 25], [27, 30])
    errors = result.standard_error(n_halvings=FEW)
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
        best = result.best(30, choose="one-standard-error", n_halvings=FEW)
    assert best == (5, result.scores[1, 1])
    only = surface(x, (x[:, 0] > 0) ^ noise, [10, 25], [27, 10 + 26])
    mixed = only.best(36, choose="one-standard-error", n_halvings=FEW)
    assert mixed.n_neighbors == 10
    none = surface(x, (x[:, 0] > 0) ^ noise, [15, 20], [25, 36])
    with pytest.raises(ValueError, match="at training size 25 no K has one"):
        none.best(choose="one-standard-error", n_halvings=FEW)


def smooth(y, rng):
    """Features without ties that tell something about the labels."""
    return rng.normal(size=(len(y), 3)) + y[:, None]


@quiet
@pytest.mark.parametrize(
    ("scoring", "y", "stratified"),
    [
        ("f1_macro", Y3, True),
        pytest.param("roc_auc", Y2, False, marks=pytest.mark.slow),
        ("neg_log_loss", Y2, False),
    ],
)
def test_halves_of_a_scoring_are_fits_of_scikit_learn(scoring, y, stratified):
    features, scored = smooth(y, np.random.default_rng(5)), []

    def spy(problem, near, runs, *rest):
        found = score_tables(problem, near, runs, *rest)
        scored.append((problem.parameters["n_neighbors"], runs.folds(0), found[0]))
        return found

    score_tables = _half_surface.score_tables
    found = surface(features, y, [1, 5], [0.5, 0.75], scoring=scoring, stratified=stratified, n_runs=600)
    with mock.patch.object(_half_surface, "score_tables", spy):
        halves = found.half_scores(n_halvings=3)
    for k, folds, scores in scored:
        for fold, score in zip(folds[:6], scores[:6], strict=True):
            rule = KNeighborsClassifier(k).fit(features[fold == -1], y[fold == -1])
            theirs = get_scorer(scoring)(rule, features[fold == 0], y[fold == 0])
            assert score == pytest.approx(theirs, abs=1e-9)
    runs = np.array(next(scores for k, _, scores in scored[1::2] if k == 5)).reshape(2, 3, 2)
    assert halves.runs[:2, ..., 1, 0] == pytest.approx(runs, abs=1e-12)
    gaps = runs[..., 0] - runs[..., 1]
    if len(halves.runs) == 2:
        products = max((gaps[0] * gaps[1]).mean() / 4, 0.0) + found.std_error[1, 0] ** 2
        assert halves.variance[1, 0] == pytest.approx(products)


@quiet
def test_intervals_of_a_scoring_are_those_of_expected_score():
    """The same method by another engine, on other halves and runs."""
    features = smooth(Y2, np.random.default_rng(6))
    found = surface(features, Y2, [3, 25], [0.6], scoring="f1_macro")
    assert np.isnan(found.standard_error()).tolist() == [[False], [True]]
    (low, _), (high, _) = found.confidence_interval()
    cv = ShuffleSplit(train_size=0.6)
    theirs = expected_score(KNeighborsClassifier(3), features, Y2, cv=cv, scoring="f1_macro")
    assert (low[0], high[0]) == pytest.approx(tuple(theirs.confidence_interval(random_state=1)), abs=0.03)
    assert found.confidence_interval().method == theirs.confidence_interval().method == "wilson"
    assert found.best(36, "one-standard-error").n_neighbors == 3
    copied = pickle.loads(pickle.dumps(found))
    assert (copied.standard_error(random_state=0)[0] == found.standard_error()[0]).all()
    several = surface(features, Y2, [3, 25], [0.6], scoring="f1_macro", n_jobs=2)
    assert several.standard_error()[0] == found.standard_error()[0]
