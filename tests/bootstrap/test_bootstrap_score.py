"""Laws of `bootstrap_score`, simulations, and what its results hold."""

import subprocess
import sys

import numpy as np
import pytest

from knnccv import Neighbors, SlowComputationWarning, bootstrap_score
from knnccv.datasets import load_wine

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = RNG.integers(0, 3, 40)
TIED = RNG.integers(0, 4, (40, 2)).astype(float)


def test_the_nearest_draw_has_a_closed_form():
    n_draws, others = 25, 39
    found = bootstrap_score(X, Y, "nn", n_draws=n_draws)
    for x in range(40):
        order = np.argsort(((X - X[x]) ** 2).sum(axis=1), kind="stable")[1:]
        left = (1 - np.arange(others + 1) / others) ** n_draws  # none of the nearest i are drawn
        assert found.per_item[x] == pytest.approx((-np.diff(left) * (Y[order] == Y[x])).sum(), abs=1e-12)


@pytest.mark.parametrize(("k", "n_draws"), [(1, None), (5, 5), (30, None), (20, 100_000)])
@pytest.mark.parametrize("data", [X, TIED], ids=["plain", "tied"])
def test_one_class_is_always_right(data, k, n_draws):
    found = bootstrap_score(data, np.zeros(40, int), "rank", rank=k, n_draws=n_draws)
    assert found.per_item == pytest.approx(1, abs=found.error_bound)
    votes = bootstrap_score(data, np.zeros(40, int), n_neighbors=k, n_draws=n_draws)
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


@pytest.mark.parametrize(("k", "n_draws"), [(1, None), (3, None), (5, 60)])
def test_equals_a_simulation(k, n_draws):
    neighbors = pytest.importorskip("sklearn.neighbors")
    wine = load_wine()
    n_items = len(wine.y)
    rng = np.random.default_rng(k)
    right = np.full((240, n_items), np.nan)
    for run in right:
        draws = rng.integers(0, n_items, n_draws or n_items)
        out = np.setdiff1d(np.arange(n_items), draws)
        model = neighbors.KNeighborsClassifier(k).fit(wine.X[draws], wine.y[draws])
        run[out] = model.predict(wine.X[out]) == wine.y[out]
    found = bootstrap_score(wine.X, wine.y, n_neighbors=k, n_draws=n_draws)
    # A batch of runs has an estimate of its own, in which all samples have equal weight.
    batches = [np.nanmean(part, axis=0).mean() for part in np.split(right, 8)]
    assert abs(np.mean(batches) - found.oob) < 4 * np.std(batches, ddof=1) / np.sqrt(8)
    model = neighbors.KNeighborsClassifier(k).fit(wine.X, wine.y)
    predicted = model.predict(wine.X)
    apparent = np.mean(predicted != wine.y)
    assert found.resubstitution == pytest.approx(1 - apparent, abs=1e-12)
    labels = np.unique(wine.y)
    gamma = sum(np.mean(wine.y == c) * np.mean(predicted != c) for c in labels)
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


@pytest.mark.parametrize("average", ["pooled", "class", {0: 0.7, 1: 0.2, 2: 0.1}])
@pytest.mark.parametrize("seed", range(6))
def test_the_rate_is_0_where_the_prediction_is_the_same_for_all(seed, average):
    """A vote of all others has one answer: its apparent error is the one without information."""
    n_items = 9 + seed % 5
    y = np.random.default_rng(seed).permutation([1, 1, 2] + [0] * (n_items - 3))
    X = np.random.default_rng([seed, 1]).normal(size=(n_items, 2))
    lists = Neighbors.from_data(X).kneighbors(n_items - 1)
    for loss in (None, [[0, 1, 2], [1, 0, 0.7], [0.1, 1 / 3, 0]]):
        for near in (X, Neighbors.from_lists(*lists, approximate=True)):
            found = bootstrap_score(near, y, n_neighbors=n_items - 1, loss=loss, average=average)
            assert found.no_information == pytest.approx(found.resubstitution, abs=1e-15)
            assert found.overfitting_rate == 0
            assert found.score_632_plus == found.score_632


@pytest.mark.slow
def test_the_full_kernel_of_the_rule_is_not_compiled_where_the_light_one_serves():
    code = (
        "from knnccv import bootstrap_score; from knnccv.datasets import load_wine; "
        "from knnccv_variants.votes import knn_fixed; "
        "bootstrap_score(load_wine().X, load_wine().y, n_neighbors=3); assert not knn_fixed.signatures"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_endless_draws_are_the_nearest_sample_alone():
    nearest = bootstrap_score(X, Y, n_neighbors=5, n_draws=2**53)
    D = ((X[:, None] - X[None]) ** 2).sum(axis=2) + np.diag(np.full(40, np.inf))
    assert nearest.per_item.tolist() == (Y[D.argmin(axis=1)] == Y).tolist()


def test_losses_have_the_sign_of_losses():
    accuracy = bootstrap_score(X, Y, n_neighbors=3)
    loss = bootstrap_score(X, Y, n_neighbors=3, loss=1 - np.eye(3))
    assert loss.is_loss
    for name in ("oob", "resubstitution", "no_information", "score_632", "score_632_plus"):
        assert getattr(loss, name) == pytest.approx(1 - getattr(accuracy, name), abs=1e-12)


def test_averages_weight_the_classes():
    asked = {"n_neighbors": 3, "n_draws": 30}
    plain, classes = bootstrap_score(X, Y, **asked), bootstrap_score(X, Y, average="class", **asked)
    recalls = [plain.per_item[c == Y].mean() for c in range(3)]
    assert classes.oob == pytest.approx(np.mean(recalls))
    assert classes.measure == "balanced accuracy"
    shares = {0: 0.5, 1: 0.3, 2: 0.2}
    shifted = bootstrap_score(X, Y, average=shares, **asked)
    assert shifted.oob == pytest.approx(np.dot(list(shares.values()), recalls))
    assert (shifted.per_item == plain.per_item).all()


@pytest.mark.parametrize("data", [X, TIED], ids=["plain", "tied"])
def test_threads_change_no_bit(data):
    one, two = (bootstrap_score(data, Y, n_neighbors=4, n_jobs=n) for n in (1, 3))
    assert (one.per_item == two.per_item).all()
    assert (one.oob, one.score_632_plus) == (two.oob, two.score_632_plus)


@pytest.mark.parametrize("name", ["knn", "rank", "confidence", "regression"])
def test_short_lists_have_a_bound(name):
    parameters = {"rank": 3} if name == "rank" else {"n_neighbors": 3}
    whole = bootstrap_score(X, Y, name, n_draws=20, **parameters)
    items, distances = Neighbors.from_data(X).kneighbors(8)
    cut = bootstrap_score(Neighbors.from_lists(items, distances), Y, name, n_draws=20, **parameters)
    assert 0 < abs(cut.oob - whole.oob) <= cut.error_bound
    assert cut.resubstitution == pytest.approx(whole.resubstitution, abs=1e-12)
    rough = bootstrap_score(X, Y, name, n_draws=20, tol=1e-3, **parameters)
    assert rough.depth < whole.depth
    assert abs(rough.oob - whole.oob) <= rough.error_bound


def test_lists_without_distances_have_no_copies_of_the_tested_sample():
    doubled = np.repeat(X[:10], 2, axis=0)
    y = np.arange(20) % 2
    items, distances = Neighbors.from_data(doubled).kneighbors(19)
    assert bootstrap_score(doubled, y, "nn").resubstitution == pytest.approx(0.5)
    measured = Neighbors.from_lists(items, distances)
    assert bootstrap_score(measured, y, "nn").resubstitution == pytest.approx(0.5)
    assert bootstrap_score(Neighbors.from_lists(items), y, "nn").resubstitution == pytest.approx(1)
    first = bootstrap_score(doubled, y, "nn", ties="index")  # the even sample of a pair is the first
    assert first.per_item_resubstitution.tolist() == [1, 0] * 10


def test_approximate_neighbors_are_not_certified():
    items, distances = Neighbors.from_data(X).kneighbors(20)
    found = bootstrap_score(Neighbors.from_lists(items, distances, approximate=True), Y)
    assert not found.certified
    assert found.error_bound == np.inf
    assert "approximate" in repr(found)


@pytest.mark.parametrize("name", ["knn", "confidence", "regression"])
def test_equal_samples_share_a_score(name):
    y = Y % 2
    copies = Neighbors.from_data(TIED)
    apart = Neighbors.from_lists(*copies.kneighbors(39))  # lists do not tell which samples are equal
    found, expected = (bootstrap_score(X, y, name, n_neighbors=4, n_draws=20) for X in (copies, apart))
    assert found.per_item == pytest.approx(expected.per_item, abs=1e-12)
    apparent = found.per_item_resubstitution
    assert apparent == pytest.approx(expected.per_item_resubstitution, abs=1e-12)
    assert found.no_information == pytest.approx(expected.no_information, abs=1e-12)
    for x in range(40):
        same = (TIED[x] == TIED).all(axis=1) & (y == y[x])
        assert (found.per_item[same] == found.per_item[x]).all()
        assert (apparent[same] == apparent[x]).all()


def test_long_runs_are_announced():
    rng = np.random.default_rng(0)
    many, y = rng.integers(0, 40, (3000, 2)), rng.integers(0, 10, 3000)

    class Started(Exception):
        pass

    def stop(*_, **__):
        raise Started

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("knnccv.driver.Part.scores", stop)
        for k, ties, words in (
            (15, "random", "about . minutes? with 1 worker: votes of 15 .* 10 classes, averaged over all"),
            (
                200,
                "index",
                "(minutes|hours) with 1 worker: votes of 200 nearest draws among 10 classes. F",
            ),
        ):
            with pytest.warns(SlowComputationWarning, match=words), pytest.raises(Started):
                bootstrap_score(many, y, n_neighbors=k, ties=ties, n_jobs=1)
        for name, k, ties in (("knn", 5, "random"), ("knn", 15, "index"), ("confidence", 50, "random")):
            with pytest.raises(Started):  # and no warning
                bootstrap_score(many, y, name, n_neighbors=k, ties=ties, n_jobs=1)


def test_a_result_shows_itself():
    found = bootstrap_score(X, Y, n_neighbors=3)
    assert repr(found).startswith("<BootstrapScore of 40 samples, 40 draws, knn(n_neighbors=3")
    pytest.importorskip("pandas")
    frame = found.to_frame()
    assert list(frame) == ["label", "oob", "resubstitution", "weight"]
    assert np.average(frame.oob, weights=frame.weight) == pytest.approx(found.oob)
    several = bootstrap_score(X, np.eye(3)[Y], "regression", n_neighbors=3).to_frame()
    assert list(several)[:3] == ["label_0", "label_1", "label_2"]


REFUSED = {
    "variant": ({"variant": "none"}, ValueError, "none"),
    "no-draws": ({"n_draws": 0}, ValueError, "n_draws must be at least 1, got 0"),
    "few-draws": (
        {"n_draws": 4},
        ValueError,
        "n_draws must be at least the number of nearest neighbors, 5",
    ),
    "endless-draws": ({"n_draws": 10**30}, ValueError, r"n_draws must be at most 2\*\*53, got 1000"),
    "half-draws": ({"n_draws": 4.5}, TypeError, "n_draws must be an integer, got 4.5"),
    "bool-draws": ({"n_draws": True}, TypeError, "n_draws must be an integer, got True"),
    "text-draws": ({"n_draws": "all"}, TypeError, "n_draws must be an integer, got 'all'"),
    "neighbors": ({"n_neighbors": 40}, ValueError, "n_neighbors must be between 1 and 39"),
    "no-neighbors": ({"n_neighbors": 0}, ValueError, "n_neighbors must be between 1 and 39"),
    "average": ({"average": "classes"}, ValueError, "average must be one of"),
    "shares": ({"average": {0: 0.5, 1: 0.5}}, ValueError, r"missing \[2\]"),
    "ties": ({"ties": "first"}, ValueError, "ties must be one of"),
    "tol": ({"tol": 1.0}, ValueError, r"tol must be in \[0, 1\), got 1.0"),
    "jobs": ({"n_jobs": 0}, ValueError, "n_jobs"),
    "loss": ({"loss": [[0, 1], [1, 0]]}, ValueError, r"loss must have shape \(3, 3\)"),
    "parameter": ({"cv": 5}, (TypeError, ValueError), "cv"),
    "metric": ({"metric": "none"}, ValueError, "none"),
    "y": ({"y": Y[:5]}, ValueError, "X has 40 samples, but y has 5 labels"),
    "part": (
        {"variant": "regression", "part": "bias2"},
        ValueError,
        "knows the part 'error' of regression only, got 'bias2'",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_arguments_are_refused(name):
    arguments, error, pattern = REFUSED[name]
    with pytest.raises(error, match=pattern):
        bootstrap_score(**{"X": X, "y": Y, **arguments})


def test_rules_of_others_are_refused():
    from knnccv import get_variant

    class Other(type(get_variant("nn"))):
        name = "other"

    with pytest.raises(ValueError, match=r"bootstrap_score knows the rules 'nn', .* got 'other'"):
        bootstrap_score(X, Y, Other)


def test_log_loss_is_refused():
    with pytest.raises(ValueError, match="needs score='share' or score='brier'"):
        bootstrap_score(TIED, Y, "confidence", score="log_loss")


def test_many_neighbors_are_refused():
    with pytest.raises(ValueError, match="at most 500 nearest neighbors, got 501"):
        bootstrap_score(np.arange(600.0)[:, None], np.arange(600) % 2, n_neighbors=501)
