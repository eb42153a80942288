"""`bootstrap_score`: the list of all bootstrap samples, laws, simulations, and what its results hold."""

from fractions import Fraction

import naive_more
import numpy as np
import pytest
from problems import REGRESSION, SETTINGS, plain, problem
from seeds import over_seeds
from sklearn.neighbors import KNeighborsClassifier

from knnccv import Neighbors, SlowComputationWarning, bootstrap_score
from knnccv.datasets import load_wine

RULES = [rule for rule in SETTINGS + REGRESSION if rule[1].get("score") != "log_loss"]  # it is refused
RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = RNG.integers(0, 3, 40)
TIED = RNG.integers(0, 4, (40, 2)).astype(float)


@over_seeds(22)
def test_equals_the_list_of_all_bootstrap_samples(seeds):
    for seed in seeds:
        case, rng = problem(seed, most=6), np.random.default_rng(seed)
        rule, setting = RULES[(seed // 4 + seed) % len(RULES)]
        y = rng.integers(-3, 4, (len(case.y), 2)) if rule == "regression" else case.y
        parameters, most = case.parameters(setting), len(y) - 1
        k = min(max([1, *(v for v in setting.values() if type(v) is int)]), most)
        parameters |= {name: k for name in ("n_neighbors", "rank") if name in parameters}
        sample_size, ties = int(rng.integers(k, 7)), ("random", "index")[seed % 5 == 4]
        found = bootstrap_score(
            case.distances, y, rule, sample_size=sample_size, ties=ties, metric="precomputed", **parameters
        )
        inputs, given = (case.distances.tolist(), y.tolist(), rule), plain(parameters)
        where = f"seed {seed}: {rule} {parameters} {sample_size} {ties}"
        expected = naive_more.out_of_bag(*inputs, sample_size, ties, **given)
        assert np.abs(found.per_item - np.array(expected, float)).max() <= found.error_bound, where
        assert abs(Fraction(found.oob) - sum(expected) / len(y)) <= found.error_bound < 1e-11, where
        apparent = naive_more.resubstitution(*inputs, ties, **given)
        assert found.per_item_resubstitution == pytest.approx(np.array(apparent, float), abs=1e-13), where
        mixed = [naive_more.resubstitution(*inputs, ties, label_of=label, **given) for label in y.tolist()]
        uninformed = sum(sum(row) for row in mixed) / Fraction(len(y) ** 2)
        assert found.no_information == pytest.approx(float(uninformed), abs=1e-12), where


def test_the_nearest_draw_has_a_closed_form():
    sample_size, others = 25, 39
    found = bootstrap_score(X, Y, "nn", sample_size=sample_size)
    for x in range(40):
        order = np.argsort(((X - X[x]) ** 2).sum(axis=1), kind="stable")[1:]
        left = (1 - np.arange(others + 1) / others) ** sample_size  # none of the nearest i are drawn
        assert found.per_item[x] == pytest.approx((-np.diff(left) * (Y[order] == Y[x])).sum(), abs=1e-12)
    D = ((X[:, None] - X[None]) ** 2).sum(axis=2) + np.diag(np.full(40, np.inf))
    endless = bootstrap_score(X, Y, n_neighbors=5, sample_size=2**53)
    assert endless.per_item.tolist() == (Y[D.argmin(axis=1)] == Y).tolist()


@pytest.mark.parametrize("data", [X, TIED], ids=["plain", "tied"])
def test_one_class_is_always_right(data):
    for k, sample_size in [(1, None), (5, 5), (30, None), (20, 100_000)]:
        found = bootstrap_score(data, np.zeros(40, int), "rank", rank=k, sample_size=sample_size)
        assert found.per_item == pytest.approx(1, abs=found.error_bound)
        votes = bootstrap_score(data, np.zeros(40, int), n_neighbors=k, sample_size=sample_size)
        assert votes.per_item == pytest.approx(1, abs=votes.error_bound)


@pytest.mark.parametrize("k", [2, 7])
def test_rules_agree_where_they_must(k):
    two = Y % 2
    rank = bootstrap_score(TIED, two, "rank", rank=1)
    assert rank.per_item == pytest.approx(bootstrap_score(TIED, two, n_neighbors=1).per_item, abs=1e-12)
    brier = bootstrap_score(TIED, Y, "confidence", n_neighbors=k, score="brier")
    squared = bootstrap_score(TIED, np.eye(3)[Y], "regression", n_neighbors=k)
    assert brier.per_item == pytest.approx(squared.per_item, abs=1e-12)
    assert brier.no_information == pytest.approx(squared.no_information, abs=1e-12)
    # All samples tie: every vote is an independent uniform draw of the others.
    share = bootstrap_score(np.zeros((40, 1)), Y, "confidence", n_neighbors=k)
    assert share.per_item == pytest.approx([(np.sum(c == Y) - 1) / 39 for c in Y], abs=1e-12)
    accuracy = bootstrap_score(X, Y, n_neighbors=k)
    loss = bootstrap_score(X, Y, n_neighbors=k, loss=1 - np.eye(3))
    assert loss.is_loss
    for name in ("oob", "resubstitution", "no_information", "score_632", "score_632_plus"):
        assert getattr(loss, name) == pytest.approx(1 - getattr(accuracy, name), abs=1e-12)


@pytest.mark.parametrize(
    ("k", "sample_size"),
    [(3, None), *(pytest.param(*p, marks=pytest.mark.slow) for p in [(1, None), (5, 60)])],
)
def test_equals_a_simulation(k, sample_size):
    wine = load_wine()
    n_items = len(wine.y)
    rng = np.random.default_rng(k)
    right = np.full((200, n_items), np.nan)
    for run in right:
        draws = rng.integers(0, n_items, sample_size or n_items)
        out = np.setdiff1d(np.arange(n_items), draws)
        model = KNeighborsClassifier(k).fit(wine.X[draws], wine.y[draws])
        run[out] = model.predict(wine.X[out]) == wine.y[out]
    found = bootstrap_score(wine.X, wine.y, n_neighbors=k, sample_size=sample_size)
    # A batch of runs has an estimate of its own, in which all samples have equal weight.
    batches = [np.nanmean(part, axis=0).mean() for part in np.split(right, 8)]
    assert abs(np.mean(batches) - found.oob) < 4 * np.std(batches, ddof=1) / np.sqrt(8)
    predicted = KNeighborsClassifier(k).fit(wine.X, wine.y).predict(wine.X)
    apparent = np.mean(predicted != wine.y)
    assert found.resubstitution == pytest.approx(1 - apparent, abs=1e-12)
    gamma = sum(np.mean(wine.y == c) * np.mean(predicted != c) for c in np.unique(wine.y))
    assert found.no_information == pytest.approx(1 - gamma, abs=1e-12)
    error = 1 - found.oob
    assert found.score_632 == pytest.approx(1 - 0.368 * apparent - 0.632 * error)
    rate = (error - apparent) / (gamma - apparent)
    assert found.overfitting_rate == pytest.approx(rate)
    weight = 0.632 / (1 - 0.368 * rate)  # Efron & Tibshirani 1997, eq. 29
    assert found.score_632_plus == pytest.approx(1 - (1 - weight) * apparent - weight * error)


def test_the_rate_is_clipped():
    worse = bootstrap_score(np.arange(20.0)[:, None], np.arange(20) % 2, "nn")
    assert 1 - worse.oob > 1 - worse.no_information  # neighbors have the other label
    assert worse.overfitting_rate == 1
    # Efron & Tibshirani 1997, eq. 32 with R' = 1, an apparent error of 0 and gamma = 1/2.
    assert worse.score_632_plus == pytest.approx(1 - 0.632 * (1 - worse.oob) - 0.5 * 0.368)
    better = bootstrap_score(np.arange(20.0)[:, None], np.zeros(20, int), n_neighbors=3)
    assert better.overfitting_rate == 0
    assert better.score_632_plus == better.score_632 == pytest.approx(1)


@over_seeds(2)
def test_the_rate_is_0_where_the_prediction_is_the_same_for_all(seeds):
    """A vote of all others has one answer: its apparent error is the one without information."""
    for seed in seeds:
        n_items = 9 + seed % 5
        y = np.random.default_rng(seed).permutation([1, 1, 2] + [0] * (n_items - 3))
        data = np.random.default_rng([seed, 1]).normal(size=(n_items, 2))
        lists = Neighbors.from_data(data).kneighbors(n_items - 1)
        for average in ("pooled", "class", {0: 0.7, 1: 0.2, 2: 0.1}):
            for loss in (None, [[0, 1, 2], [1, 0, 0.7], [0.1, 1 / 3, 0]]):
                for near in (data, Neighbors.from_lists(*lists, approximate=True)):
                    asked = {"n_neighbors": n_items - 1, "loss": loss, "average": average}
                    found = bootstrap_score(near, y, **asked)
                    assert found.no_information == pytest.approx(found.resubstitution, abs=1e-15), seed
                    assert found.overfitting_rate == 0, seed
                    assert found.score_632_plus == found.score_632, seed


def test_averages_weight_the_classes():
    asked = {"n_neighbors": 3, "sample_size": 30}
    plain, classes = bootstrap_score(X, Y, **asked), bootstrap_score(X, Y, average="class", **asked)
    recalls = [plain.per_item[c == Y].mean() for c in range(3)]
    assert classes.oob == pytest.approx(np.mean(recalls))
    assert classes.measure == "balanced accuracy"
    shares = {0: 0.5, 1: 0.3, 2: 0.2}
    shifted = bootstrap_score(X, Y, average=shares, **asked)
    assert shifted.oob == pytest.approx(np.dot(list(shares.values()), recalls))
    assert (shifted.per_item == plain.per_item).all()
    frame = plain.to_frame()
    assert np.average(frame.oob, weights=frame.weight) == pytest.approx(plain.oob)


@pytest.mark.parametrize("name", ["knn", "rank", "confidence", "regression"])
def test_short_lists_have_a_bound(name):
    parameters = {"rank": 3} if name == "rank" else {"n_neighbors": 3}
    whole = bootstrap_score(X, Y, name, sample_size=20, **parameters)
    items, distances = Neighbors.from_data(X).kneighbors(8)
    cut = bootstrap_score(Neighbors.from_lists(items, distances), Y, name, sample_size=20, **parameters)
    assert 0 < abs(cut.oob - whole.oob) <= cut.error_bound
    assert cut.resubstitution == pytest.approx(whole.resubstitution, abs=1e-12)
    rough = bootstrap_score(X, Y, name, sample_size=20, tol=1e-3, **parameters)
    assert rough.depth < whole.depth
    assert abs(rough.oob - whole.oob) <= rough.error_bound


def test_approximate_lists_and_lists_without_distances():
    doubled = np.repeat(X[:10], 2, axis=0)
    y = np.arange(20) % 2
    items, distances = Neighbors.from_data(doubled).kneighbors(19)
    assert bootstrap_score(doubled, y, "nn").resubstitution == pytest.approx(0.5)
    measured = Neighbors.from_lists(items, distances)
    assert bootstrap_score(measured, y, "nn").resubstitution == pytest.approx(0.5)
    assert bootstrap_score(Neighbors.from_lists(items), y, "nn").resubstitution == pytest.approx(1)
    first = bootstrap_score(doubled, y, "nn", ties="index")  # the even sample of a pair is the first
    assert first.per_item_resubstitution.tolist() == [1, 0] * 10
    items, distances = Neighbors.from_data(X).kneighbors(20)
    found = bootstrap_score(Neighbors.from_lists(items, distances, approximate=True), Y)
    assert (found.certified, found.error_bound) == (False, np.inf)


@pytest.mark.parametrize("name", ["knn", "confidence", "regression"])
def test_equal_samples_share_a_score(name):
    y = Y % 2
    copies = Neighbors.from_data(TIED)
    apart = Neighbors.from_lists(*copies.kneighbors(39))  # lists do not tell which samples are equal
    found, expected = (bootstrap_score(X, y, name, n_neighbors=4, sample_size=20) for X in (copies, apart))
    apparent = found.per_item_resubstitution
    assert found.per_item == pytest.approx(expected.per_item, abs=1e-12)
    assert apparent == pytest.approx(expected.per_item_resubstitution, abs=1e-12)
    assert found.no_information == pytest.approx(expected.no_information, abs=1e-12)
    for x in range(40):
        same = (TIED[x] == TIED).all(axis=1) & (y == y[x])
        assert (found.per_item[same] == found.per_item[x]).all()
        assert (apparent[same] == apparent[x]).all()


def test_long_runs_are_announced(monkeypatch):
    rng = np.random.default_rng(0)
    many, y = rng.integers(0, 40, (3000, 2)), rng.integers(0, 10, 3000)

    class Started(Exception):
        pass

    def stop(*_, **__):
        raise Started

    monkeypatch.setattr("knnccv._core.driver.Part.scores", stop)
    by_index = "(minutes|hours) with 1 worker: votes of 200 nearest draws among 10 classes. F"
    at_random = "about . minutes? with 1 worker: votes of 15 .* 10 classes, averaged over all"
    for k, ties, words in ((15, "random", at_random), (200, "index", by_index)):
        with pytest.warns(SlowComputationWarning, match=words), pytest.raises(Started):
            bootstrap_score(many, y, n_neighbors=k, ties=ties, n_jobs=1)
    for name, k, ties in (("knn", 5, "random"), ("knn", 15, "index"), ("confidence", 50, "random")):
        with pytest.raises(Started):  # and no warning
            bootstrap_score(many, y, name, n_neighbors=k, ties=ties, n_jobs=1)
