"""Weighted votes and weighted regression against the enumeration of all training sets, and scikit-learn."""

from fractions import Fraction
from pathlib import Path

import naive
import naive_weighted
import numpy as np
import problems
import pytest

from knnccv import KFold, LeaveOut, StratifiedKFold, StratifiedSubsample, Subsample, complete_cv

WEIGHTS = ["uniform", "inverse", "dudani", "softmax", *naive_weighted.KERNELS, "ranks"]
NEIGHBORS = (1, 2, 3, 5)
AVERAGES = ("pooled", "item", "class")
FIXED, STRATIFIED = (Subsample, KFold), (StratifiedKFold, StratifiedSubsample)


def random_weights(rng, k, form):
    """Parameters, the same weights by naive, and the number of nearest samples that they need."""
    given = {"n_neighbors": k, "weights": form}
    if form == "ranks":
        given["weights"] = rng.integers(0, 4, k)
        given["weights"][0] += 1
    if form in naive_weighted.KERNELS and rng.random() < 0.5:
        given["bandwidth"] = float(rng.choice([0.4, 1.0, 1.5]))
    if form == "softmax":
        given["temperature"] = 0.7
    needed = k + (form in naive_weighted.KERNELS and "bandwidth" not in given)
    own = {name: value for name, value in given.items() if name != "n_neighbors"}
    if form == "ranks":
        own["weights"] = given["weights"].tolist()

    def weigh(distances):
        return naive_weighted.weights_of(distances, k, **own)

    return given, weigh, needed


def random_design(rng, pairs, kinds):
    some = [pair for pair in pairs if isinstance(pair[0], kinds)]
    return some[int(rng.integers(len(some)))] if some else (None, None)


def smallest_set(listed):
    return min(len(training) for outcome in listed.outcomes for training in outcome)


@pytest.mark.parametrize("form", WEIGHTS)
@pytest.mark.parametrize("seed", range(20))
def test_votes_equal_the_enumeration(seed, form):
    case = problems.problem(seed)
    rng = np.random.default_rng([seed, WEIGHTS.index(form)])
    labels, y = np.unique(case.y, return_inverse=True)
    distances = case.distances.tolist()
    pairs = problems.designs(case, seed)
    for kinds in (FIXED, STRATIFIED):
        design, listed = random_design(rng, pairs, kinds)
        k = int(rng.choice(NEIGHBORS))
        given, weigh, needed = random_weights(rng, k, form)
        if design is None or needed > smallest_set(listed):
            continue
        factors = loss = None
        if rng.random() < 0.4:
            factors = [1.0, 2.0, 0.5, 3.0][: len(labels)]
            given["class_weight"] = dict(zip(labels.tolist(), factors, strict=True))
        if rng.random() < 0.3:
            given["loss"] = case.loss
            loss = case.loss.tolist()
        vote_ties = given["vote_ties"] = "smallest" if rng.random() < 0.7 else "random"

        def score(x, order):
            near = [y[j] for j in order[:k]]  # noqa: B023
            weights = weigh([distances[x][j] for j in order])  # noqa: B023
            return naive_weighted.score_votes(weights, near, y[x], len(labels), factors, loss, vote_ties)  # noqa: B023

        for ties in ("index", "random"):
            average = AVERAGES[int(rng.integers(3))]
            found = complete_cv(
                case.distances, case.y, "weighted", design, metric="precomputed", ties=ties,
                average=average, n_jobs=1, n_draws=2, **given,
            )  # fmt: skip
            if hasattr(found, "std_error"):
                assert (form, ties) == ("ranks", "random")
                continue
            expected = naive_weighted.mean_score(
                distances, case.y.tolist(), listed, score, needed, ties, average
            )
            assert abs(found.score - expected) <= found.error_bound + 1e-14


def inverse_of_small(distances):
    """In fractions, times a power of 2, so that sums are rounded as those of 1 / d."""
    if 0 in distances:
        return [float(d == 0) for d in distances]
    return [float(Fraction(2) ** -1000 / Fraction(d)) for d in distances]


EXTREMES = [("inverse", factor) for factor in (2.0**-1074, 3e-322, 1e-310, 2e-309, 2.0**-1022)]
EXTREMES += [("softmax", factor) for factor in (1e3, 1e6, 1e-9, 1e300)]


@pytest.mark.parametrize(("form", "factor"), EXTREMES)
@pytest.mark.parametrize("seed", range(4))
def test_extreme_distances_equal_the_enumeration(seed, form, factor):
    """Inverses that would overflow, and softmax weights that would all be 0 beside the nearest sample's."""
    case, rng = problems.problem(seed), np.random.default_rng(seed)
    n_items = len(case.y)
    k = min(2 + seed % 2, n_items - 2)
    given = {"weights": form}
    if form == "softmax":
        given["temperature"] = min(factor, 1.0)
        apart = case.distances * max(factor, 1.0) - seed % 2 * 5.0
    else:
        usual = rng.random(case.distances.shape) < seed % 2 / 2
        apart = np.where(usual, case.distances, case.distances * factor)
    distances, listed = apart.tolist(), naive.subsample(n_items, n_items - 2)
    labels, y = np.unique(case.y, return_inverse=True)
    targets = rng.integers(-5, 9, (n_items, 1))

    def weigh(x, order):
        near = [distances[x][j] for j in order]
        return inverse_of_small(near) if form == "inverse" else naive_weighted.weights_of(near, k, **given)

    def votes(x, order):
        return naive_weighted.score_votes(weigh(x, order), [y[j] for j in order], y[x], len(labels))

    def error(x, order):
        return naive_weighted.squared_error(weigh(x, order), targets[order].tolist(), targets[x].tolist())

    for name, values, score in (("weighted", y, votes), ("weighted_regression", targets, error)):
        expected = naive_weighted.mean_score(distances, y.tolist(), listed, score, k, "random", "pooled")
        asked = {"cv": Subsample(n_items - 2), "metric": "precomputed", "n_neighbors": k, **given}
        found = complete_cv(apart, values, name, method="exact", **asked)
        assert found.score == pytest.approx(expected, rel=1e-12, abs=1e-13)
        drawn = complete_cv(apart, values, name, method="sampled", **asked)
        assert abs(drawn.score - expected) <= 5 * drawn.std_error + 1e-12


@pytest.mark.parametrize("form", [*WEIGHTS, "pairs"])
@pytest.mark.parametrize("seed", range(16))
def test_errors_equal_the_enumeration(seed, form):
    """ "pairs": weights of the pair that are divided by K."""
    case = problems.problem(seed)
    rng = np.random.default_rng([seed, len(form)])
    y = rng.integers(-5, 9, (len(case.y), 1 + seed % 2))
    distances = case.distances.tolist()
    design, listed = random_design(rng, problems.designs(case, seed), FIXED)
    k = int(rng.choice(NEIGHBORS))
    given, weigh, needed = random_weights(rng, k, form)
    if form == "pairs":
        kernel = ("gaussian", "biweight", "softmax", "uniform")[seed % 4]
        given["weights"] = kernel
        given |= {"gaussian": {"bandwidth": 0.8}, "biweight": {"bandwidth": 1.7}}.get(kernel, {})
        given["normalize"] = False

        def weigh(apart):
            if kernel in naive_weighted.KERNELS:
                return [naive_weighted.KERNELS[kernel](d / given["bandwidth"]) for d in apart]
            return [1.0 if kernel == "uniform" else np.exp((1 - d) / 0.07) for d in apart]

    if needed > smallest_set(listed):
        pytest.skip("too many neighbors")

    def score(x, order):
        weights = weigh([distances[x][j] for j in order])
        near = [y[j].tolist() for j in order[:k]]
        return naive_weighted.squared_error(weights, near, y[x].tolist(), form != "pairs")

    for ties in ("index", "random"):
        found = complete_cv(
            case.distances, y, "weighted_regression", design, metric="precomputed", ties=ties, n_jobs=1,
            method="exact", **given,
        )  # fmt: skip
        expected = naive_weighted.mean_score(distances, [0] * len(y), listed, score, needed, ties, "pooled")
        assert found.score == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("kernel", ["triangular", "epanechnikov", "biweight", "triweight", "cosine"])
def test_neighbors_beyond_the_bandwidth(kernel):
    """On the page and in the rule: all count alike, and where weights are not normalized none counts."""
    X, y = np.array([[0.0], [3.0], [7.0]]), np.array([5.0, 1.0, 2.0])
    asked = {"cv": LeaveOut(1), "n_neighbors": 2, "weights": kernel, "bandwidth": 2.0, "n_draws": 2}
    for method in ("exact", "sampled"):
        alike = complete_cv(X, y, "weighted_regression", method=method, **asked)
        assert alike.per_item == pytest.approx([3.5**2, 2.5**2, 1])
        none = complete_cv(X, y, "weighted_regression", method=method, normalize=False, **asked)
        assert none.per_item.tolist() == [25, 1, 4]
    page = (Path(__file__).parents[2] / "docs" / "guide" / "rules.md").read_text(encoding="utf-8")
    said = "Where all K weights are 0, all K count alike; with `normalize=False` the prediction is then 0"
    assert said in " ".join(page.split())


def by_scikit_learn(estimator, X, y, training, x):
    """The prediction of an estimator for one sample."""
    return estimator.fit(X[training], y[training]).predict(X[x : x + 1])[0]


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(2))
def test_each_training_set_is_scored_as_by_scikit_learn(seed, k):
    """`weights="distance"`, with samples at distance 0."""
    neighbors = pytest.importorskip("sklearn.neighbors")
    rng = np.random.default_rng(seed)
    X = np.sort(rng.random(7))[:, None] ** 2
    y = rng.integers(0, 3, 7)
    y[:3] = [0, 1, 2]
    targets = rng.normal(size=7)
    if seed % 2:
        X[5] = X[4]
    listed = naive.subsample(7, 5)
    right, squared = [], []
    for training, x, _ in naive.classifications(listed):
        rows = sorted(training)
        voter = neighbors.KNeighborsClassifier(k, weights="distance", algorithm="kd_tree")
        right.append(by_scikit_learn(voter, X, y, rows, x) == y[x])
        mean = neighbors.KNeighborsRegressor(k, weights="distance", algorithm="kd_tree")
        squared.append((by_scikit_learn(mean, X, targets, rows, x) - targets[x]) ** 2)
    votes = complete_cv(X, y, "weighted", Subsample(5), n_neighbors=k, ties="index", method="exact")
    assert votes.score == pytest.approx(np.mean(right), abs=1e-12)
    errors = complete_cv(
        X, targets, "weighted_regression", Subsample(5), n_neighbors=k, ties="index", method="exact"
    )
    assert errors.score == pytest.approx(np.mean(squared), rel=1e-9)


def test_uniform_weights_are_plain_votes_and_means():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 3, 60)
    for name, plain in (("weighted", "knn"), ("weighted_regression", "regression")):
        found = complete_cv(X, y, name, KFold(10), n_neighbors=3, weights="uniform", method="exact")
        expected = complete_cv(X, y, plain, KFold(10), n_neighbors=3)
        np.testing.assert_allclose(found.per_item, expected.per_item, atol=1e-11)


def test_balanced_classes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.repeat(["a", "b", "c"], [15, 10, 5])
    balanced = complete_cv(X, y, "weighted", KFold(5), n_neighbors=2, class_weight="balanced")
    given = {"a": 30 / 3 / 15, "b": 30 / 3 / 10, "c": 30 / 3 / 5}
    by_label = complete_cv(X, y, "weighted", KFold(5), n_neighbors=2, class_weight=given)
    np.testing.assert_array_equal(balanced.per_item, by_label.per_item)
    assert balanced.score != complete_cv(X, y, "weighted", KFold(5), n_neighbors=2).score


def test_a_walk_that_takes_too_long_is_sampled():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
    full = complete_cv(X, y, "weighted", Subsample(20), n_neighbors=3, method="exact")
    short = complete_cv(X, y, "weighted", Subsample(20), n_neighbors=3, max_steps=3000, n_draws=2000)
    exact = short.per_item_std_error == 0
    assert 0 < exact.sum() < 40
    np.testing.assert_array_equal(short.per_item[exact], full.per_item[exact])
    assert abs(short.score - full.score) < 5 * short.std_error
    with pytest.raises(ValueError, match=r"cannot score sample \d+ exactly: .*; method='auto'"):
        complete_cv(X, y, "weighted", Subsample(20), n_neighbors=3, max_steps=3000, method="exact")


def test_neighbors_of_one_class_are_one_node():
    y = np.repeat([0, 1], 300)
    X = np.random.default_rng(0).normal(size=(600, 2)) + 100 * y[:, None]
    found = complete_cv(X, y, "weighted", KFold(10), n_neighbors=50, weights="softmax", temperature=5.0)
    assert found.score == 1
    assert found.certified


def halving(distances):
    """A weight that halves with every half unit."""
    return np.exp2(-2 * distances)


@pytest.mark.parametrize("seed", range(6))
def test_functions_of_distances_are_sampled(seed):
    case = problems.problem(seed)
    distances, y = case.distances.tolist(), np.unique(case.y, return_inverse=True)[1].tolist()
    n_items = len(y)
    k = 2
    found = complete_cv(
        case.distances, y, "weighted", Subsample(3), metric="precomputed", n_neighbors=k, weights=halving
    )

    def score(x, order):
        weights = [0.5 ** (2 * distances[x][j]) for j in order]
        return naive_weighted.score_votes(weights, [y[j] for j in order], y[x], max(y) + 1)

    listed = naive.subsample(n_items, 3)
    expected = naive_weighted.mean_score(distances, y, listed, score, k, "random", "pooled")
    assert not found.certified
    assert abs(found.score - expected) <= 5 * found.std_error + 1e-12


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        (lambda d: -d - 1, ValueError, "must return numbers from 0 to 1e\\+100, got -"),
        (lambda d: d * np.nan, ValueError, "must return numbers from 0 to 1e\\+100, got nan"),
        (lambda d: d + np.inf, ValueError, "must return numbers from 0 to 1e\\+100, got inf"),
        (
            lambda d: d[:, 0],
            ValueError,
            "must return an array of shape \\(\\d+, 3\\)",
        ),
        (lambda d: d[:1], ValueError, "must return an array of shape \\(\\d+, 3\\)"),
        (lambda _: 1.0, ValueError, "got shape \\(\\)"),
        (lambda _: None, ValueError, "got shape \\(\\)"),
        (lambda d: d.astype(str), TypeError, "must return real numbers"),
    ],
)
def test_bad_functions(weights, error, message):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 2)), np.repeat([0, 1], 6)
    with pytest.raises(error, match=message):
        complete_cv(X, y, "weighted", KFold(3), n_neighbors=3, weights=weights, n_jobs=1)


@pytest.mark.parametrize("weights", ["inverse", "gaussian"])
def test_distances_below_0_are_refused(weights):
    rng = np.random.default_rng(0)
    distances, y = rng.normal(size=(12, 12)), np.tile([0, 1], 6)
    with pytest.raises(ValueError, match="needs distances of at least 0, got -"):
        complete_cv(
            distances,
            y,
            "weighted",
            KFold(3),
            n_neighbors=3,
            weights=weights,
            metric="precomputed",
            n_jobs=1,
        )


def test_leave_one_out_with_many_neighbors_is_exact():
    rng = np.random.default_rng(0)
    X, y = rng.random((140, 2)), rng.integers(0, 3, 140)
    found = complete_cv(X, y, "weighted", LeaveOut(1), n_neighbors=125, weights="softmax", temperature=0.1)
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2)) + np.diag(np.full(140, np.inf))
    near = np.argsort(D, axis=1)[:, :125]
    votes = np.exp((1 - np.take_along_axis(D, near, axis=1)) / 0.1)[:, :, None] * np.eye(3)[y[near]]
    assert found.certified
    assert found.per_item.tolist() == (votes.sum(axis=1).argmax(axis=1) == y).tolist()
