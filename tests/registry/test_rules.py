"""Regression, weighted votes and weighted regression against the enumeration of all training sets."""

from fractions import Fraction
from itertools import product
from pathlib import Path

import naive
import naive_more
import numpy as np
import problems
import pytest
from decide_rules import Nearness
from seeds import over_seeds

from knnccv import Neighbors, complete_cv
from knnccv.designs import KFold, LeaveGroupsOut, LeaveOut, StratifiedKFold, StratifiedSubsample, Subsample
from knnccv.kernel import jit

FIXED, STRATIFIED = (Subsample, KFold), (StratifiedKFold, StratifiedSubsample)
WEIGHTS = ["uniform", "inverse", "dudani", "softmax", *naive_more.KERNELS, "ranks"]


def moments(distances, y, listed, average, ties, k):
    """For every sample the mean prediction over all training sets that test it, its bias² and variance."""
    found = []
    tests = naive.classifications(listed)
    for x in range(len(y)):
        _, groups = naive.neighbor_order(distances[x], x)
        predictions, weights = [], []
        for training, tested, weight in tests:
            if tested != x:
                continue
            kept = [[j for j in group if j in training] for group in groups]
            orders = naive.equally_likely_orders([group for group in kept if group], k, ties)
            for order in orders:
                predictions.append(naive.predict_regression(order, y, k))
                weights.append((weight if average == "pooled" else Fraction(1)) / len(orders))
        total = sum(weights)
        mean = [
            sum(w * p for w, p in zip(weights, column, strict=True)) / total
            for column in zip(*predictions, strict=True)
        ]
        bias2 = sum((m - t) ** 2 for m, t in zip(mean, naive.as_outputs(y[x]), strict=True))
        spread = [
            w * sum((p - m) ** 2 for p, m in zip(prediction, mean, strict=True))
            for w, prediction in zip(weights, predictions, strict=True)
        ]
        found.append((mean, bias2, sum(spread) / total))
    return found


@over_seeds(5)
def test_errors_their_parts_and_predictions_equal_the_enumeration(seeds):
    """Parts are those of the mean prediction over all training sets, not the mean of each size's."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        n_items = int(rng.integers(4, 8))
        distances = rng.integers(0, rng.choice([2, 3, 1000]), (n_items, n_items)).astype(float)
        y = rng.integers(-5, 9, (n_items, 2) if seed % 2 else n_items)
        size, folds = int(rng.integers(1, n_items)), int(rng.integers(2, n_items + 1))
        groups = rng.permutation(np.arange(n_items) % 4)
        for design, listed in [
            (Subsample(size), naive.subsample(n_items, size)),
            (KFold(folds), naive.kfold(n_items, folds)),
            (LeaveOut(1), naive.leave_out(n_items, 1)),
            (LeaveGroupsOut(groups, 2), naive.leave_groups_out(groups.tolist(), 2)),
        ]:
            k = int(rng.integers(1, min(problems.smallest(listed), 4) + 1))
            ties = str(rng.choice(["index", "random"]))
            average = "pooled" if design.leaves_groups else str(rng.choice(["pooled", "item"]))
            asked = {"metric": "precomputed", "ties": ties, "average": average, "n_neighbors": k}
            what = f"seed {seed}, {design}, {asked}"
            expected = moments(distances.tolist(), y.tolist(), listed, average, ties, k)
            bias2, variance = ([each[at] for each in expected] for at in (1, 2))
            error = [b + v for b, v in zip(bias2, variance, strict=True)]
            floating = complete_cv(distances, y, "regression", design, n_jobs=1, **asked)
            mean = np.array([each[0] for each in expected], float).reshape(y.shape)
            np.testing.assert_allclose(floating.prediction, mean, atol=1e-13, err_msg=what)
            weights = naive.item_weights(y.tolist(), listed, average)
            score = sum(w * e for w, e in zip(weights, error, strict=True))
            assert abs(Fraction(floating.score) - score) <= floating.error_bound, what
            for part, of_items in (("error", error), ("bias2", bias2), ("variance", variance)):
                rational = complete_cv(distances, y, "regression", design, exact=True, part=part, **asked)
                assert list(rational.per_item_fraction) == of_items, what
                assert rational.fraction == sum(w * e for w, e in zip(weights, of_items, strict=True)), what
                found = floating.per_item if part == "error" else getattr(floating, part)
                assert found == pytest.approx(np.array(of_items, float), rel=1e-11, abs=1e-12), what


@pytest.mark.slow
@pytest.mark.parametrize("design", [Subsample(50), KFold(5)], ids=str)
def test_targets_may_be_moved_scaled_and_set_side_by_side(design):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 9, (101, 2)), rng.integers(0, 50, 101) / 8
    for rule, ties in (("regression", "index"), ("regression", "random"), ("weighted_regression", "index")):

        def ask(y, rule=rule, ties=ties):
            return complete_cv(X, y, rule, design, ties=ties, n_neighbors=3)

        plain, moved = ask(y), ask(y + 2.0**40)
        expected = plain.per_item
        assert moved.per_item == pytest.approx(expected, rel=1e-12)
        if rule == "regression":
            np.testing.assert_array_equal(moved.per_item, expected)
            np.testing.assert_array_equal(moved.bias2, plain.bias2)
            np.testing.assert_array_equal(moved.variance, plain.variance)
        np.testing.assert_array_equal(ask(-y).per_item, expected)
        np.testing.assert_array_equal(ask(4 * y).per_item, 16 * expected)
        np.testing.assert_array_equal(ask(y[:, None]).per_item, expected)
        both = expected + ask(y[::-1]).per_item
        np.testing.assert_allclose(ask(np.column_stack([y, y[::-1]])).per_item, both, rtol=1e-12)


@pytest.mark.parametrize("design", [Subsample(20), KFold(3)], ids=str)
def test_lists_that_end_early_are_bounded(design):
    """Where all near samples have the other target, the mean prediction is off as far as it can be."""
    n_items = 40
    y = np.arange(n_items) % 2
    alike = y[:, None] == y
    near = Neighbors.from_distances(np.random.default_rng(0).random((n_items, n_items)) + 9 * alike)
    for part in ("error", "bias2", "variance", "prediction", "bias"):
        whole = complete_cv(near, y, "regression", design, n_neighbors=1, part=part)
        for depth in (1, 2, 4, 10):
            short = Neighbors.from_lists(*near.kneighbors(depth))
            found = complete_cv(short, y, "regression", design, n_neighbors=1, part=part)
            assert abs(found.score - whole.score) <= found.error_bound + whole.error_bound, (part, depth)


def random_weights(rng, form, k):
    """Parameters, the same weights by naive, and the number of nearest samples that they need."""
    given = {"n_neighbors": k, "weights": form}
    if form == "ranks":
        given["weights"] = rng.integers(0, 4, k) + (np.arange(k) == 0)
    if form in naive_more.KERNELS and rng.random() < 0.5:
        given["bandwidth"] = float(rng.choice([0.4, 1.0, 1.5]))
    if form == "softmax":
        given["temperature"] = 0.7
    own = {name: value for name, value in given.items() if name != "n_neighbors"}
    own["weights"] = np.asarray(given["weights"]).tolist()
    needed = k + (form in naive_more.KERNELS and "bandwidth" not in given)
    return given, lambda apart: naive_more.weights_of(apart, k, **own), needed


def some_design(rng, case, seed, kinds, needed):
    """A design of these kinds with enough training samples, and its enumeration; None if there is none."""
    pairs = [pair for pair in problems.designs(case, seed) if isinstance(pair[0], kinds)]
    pairs = [(design, listed) for design, listed in pairs if needed <= problems.smallest(listed)]
    return pairs[int(rng.integers(len(pairs)))] if pairs else None


@over_seeds(3)
def test_weighted_votes_equal_the_enumeration(seeds):
    for seed, form, kinds in product(seeds, WEIGHTS, (FIXED, STRATIFIED)):
        check_weighted_votes(seed, form, kinds)


def check_weighted_votes(seed, form, kinds):
    case = problems.problem(seed)
    rng = np.random.default_rng([seed, WEIGHTS.index(form), len(kinds[0].__name__)])
    labels, y = np.unique(case.y, return_inverse=True)
    distances, k = case.distances.tolist(), int(rng.choice([1, 2, 3, 5]))
    given, weigh, needed = random_weights(rng, form, k)
    pair = some_design(rng, case, seed, kinds, needed)
    if pair is None:
        return
    factors = loss = None
    if rng.random() < 0.4:
        factors = [1.0, 2.0, 0.5, 3.0][: len(labels)]
        given["class_weight"] = dict(zip(labels.tolist(), factors, strict=True))
    if rng.random() < 0.3:
        given["loss"] = case.loss
        loss = case.loss.tolist()
    vote_ties = given["vote_ties"] = "smallest" if rng.random() < 0.7 else "random"

    def score(x, order):
        near, weights = [y[j] for j in order[:k]], weigh([distances[x][j] for j in order])
        return naive_more.score_votes(weights, near, y[x], len(labels), factors, loss, vote_ties)

    for ties in ("index", "random"):
        average = str(rng.choice(["pooled", "item", "class"]))
        asked = {"metric": "precomputed", "ties": ties, "average": average, "n_draws": 2, **given}
        found = complete_cv(case.distances, case.y, "weighted", pair[0], n_jobs=1, **asked)
        if hasattr(found, "std_error"):
            assert (form, ties) == ("ranks", "random")
            continue
        expected = naive_more.mean_score(distances, case.y.tolist(), pair[1], score, needed, ties, average)
        assert abs(found.score - expected) <= found.error_bound + 1e-14, (seed, pair[0], asked)


@over_seeds(3)
def test_weighted_errors_equal_the_enumeration(seeds):
    """ "pairs": weights of the pair that are divided by K."""
    for seed, form in product(seeds, [*WEIGHTS, "pairs"]):
        check_weighted_errors(seed, form)


def check_weighted_errors(seed, form):
    case, rng = problems.problem(seed), np.random.default_rng([seed, len(form)])
    y, distances = rng.integers(-5, 9, (len(case.y), 1 + seed % 2)), case.distances.tolist()
    k = int(rng.choice([1, 2, 3, 5]))
    given, weigh, needed = random_weights(rng, form, k)
    if form == "pairs":
        widths = {"gaussian": 0.8, "biweight": 1.7, "softmax": None, "uniform": None}
        kernel, width = list(widths.items())[seed % 4]
        given |= {"weights": kernel, "normalize": False, **({"bandwidth": width} if width else {})}

        def weigh(apart):
            if width:
                return [naive_more.KERNELS[kernel](d / width) for d in apart]
            return [1.0 if kernel == "uniform" else np.exp((1 - d) / 0.07) for d in apart]

    pair = some_design(rng, case, seed, FIXED, needed)
    if pair is None:
        return

    def score(x, order):
        weights = weigh([distances[x][j] for j in order])
        near = [y[j].tolist() for j in order[:k]]
        return naive_more.error_of_mean(weights, near, y[x].tolist(), form != "pairs", power)

    for ties, power in product(("index", "random"), (1, 2)):
        asked = {"metric": "precomputed", "ties": ties, **given}
        if power == 1:  # exact but for terms of the pair, and ranks of tied samples
            asked["score"] = "absolute_error"
            if form == "pairs" or (form == "ranks" and ties == "random"):
                continue
        asked["method"] = "exact"
        found = complete_cv(case.distances, y, "weighted_regression", pair[0], n_jobs=1, **asked)
        expected = naive_more.mean_score(distances, [0] * len(y), pair[1], score, needed, ties, "pooled")
        assert found.score == pytest.approx(expected, rel=1e-12, abs=1e-12), (seed, pair[0], asked)


def test_drawn_absolute_errors_are_those_of_the_only_training_set():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), rng.normal(size=(20, 2))
    for weights, k in product(("uniform", "inverse", [3, 2, 1]), (1, 3)):
        asked = {"n_neighbors": k, "weights": weights if isinstance(weights, str) else weights[:k]}
        asked |= {"score": "absolute_error", "cv": LeaveOut(1)}
        exact = complete_cv(X, y, "weighted_regression", method="exact", **asked)
        drawn = complete_cv(X, y, "weighted_regression", method="sampled", n_draws=2, **asked)
        assert drawn.score == pytest.approx(exact.score, rel=1e-12)
        if weights == "uniform":
            whole = complete_cv(X, y, "weighted_regression", normalize=False, n_draws=2, **asked)
            assert whole.score == pytest.approx(exact.score, rel=1e-12)


def inverse_of_small(distances):
    """In fractions, times a power of 2, so that sums are rounded as those of 1 / d."""
    if 0 in distances:
        return [float(d == 0) for d in distances]
    return [float(Fraction(2) ** -1000 / Fraction(d)) for d in distances]


EXTREMES = [("inverse", factor) for factor in (2.0**-1074, 3e-322, 1e-310, 2e-309, 2.0**-1022)]
EXTREMES += [("softmax", factor) for factor in (1e3, 1e6, 1e-9, 1e300)]


@pytest.mark.parametrize("seed", range(2))
def test_extreme_distances_equal_the_enumeration(seed):
    """Inverses that would overflow, and softmax weights that would all be 0 beside the nearest sample's."""
    for form, factor in EXTREMES:
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
        check_extremes(apart, np.unique(case.y, return_inverse=True)[1], rng, k, given)


def check_extremes(apart, y, rng, k, given):
    n_items, distances = len(y), apart.tolist()
    listed, targets = naive.subsample(n_items, n_items - 2), rng.integers(-5, 9, (n_items, 1))

    def weigh(x, order):
        near = [distances[x][j] for j in order]
        inverse = given["weights"] == "inverse"
        return inverse_of_small(near) if inverse else naive_more.weights_of(near, k, **given)

    def votes(x, order):
        return naive_more.score_votes(weigh(x, order), [y[j] for j in order], y[x], max(y) + 1)

    def error(x, order):
        return naive_more.error_of_mean(weigh(x, order), targets[order].tolist(), targets[x].tolist())

    for name, values, score in (("weighted", y, votes), ("weighted_regression", targets, error)):
        expected = naive_more.mean_score(distances, y.tolist(), listed, score, k, "random", "pooled")
        asked = {"cv": Subsample(n_items - 2), "metric": "precomputed", "n_neighbors": k, **given}
        found = complete_cv(apart, values, name, method="exact", **asked)
        assert found.score == pytest.approx(expected, rel=1e-12, abs=1e-13), asked
        drawn = complete_cv(apart, values, name, method="sampled", **asked)
        assert abs(drawn.score - expected) <= 5 * drawn.std_error + 1e-12, asked


def test_neighbors_beyond_the_bandwidth():
    """On the page and in the rule: all count alike, and where weights are not normalized none counts."""
    X, y = np.array([[0.0], [3.0], [7.0]]), np.array([5.0, 1.0, 2.0])
    for kernel in ("triangular", "epanechnikov", "biweight", "triweight", "cosine"):
        asked = {"cv": LeaveOut(1), "n_neighbors": 2, "weights": kernel, "bandwidth": 2.0, "n_draws": 2}
        for method in ("exact", "sampled"):
            alike = complete_cv(X, y, "weighted_regression", method=method, **asked)
            assert alike.per_item == pytest.approx([3.5**2, 2.5**2, 1])
            none = complete_cv(X, y, "weighted_regression", method=method, normalize=False, **asked)
            assert none.per_item.tolist() == [25, 1, 4]
    page = (Path(__file__).parents[2] / "docs" / "guide" / "weighted_rules.md").read_text(encoding="utf-8")
    said = "Where all K weights are 0, all K count alike; with `normalize=False` the prediction is then 0"
    assert said in " ".join(page.split())


def test_balanced_classes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.repeat(["a", "b", "c"], [15, 10, 5])
    given = {"a": 30 / 3 / 15, "b": 30 / 3 / 10, "c": 30 / 3 / 5}
    balanced, by_label, plain = (
        complete_cv(X, y, "weighted", KFold(5), n_neighbors=2, class_weight=weight)
        for weight in ("balanced", given, None)
    )
    np.testing.assert_array_equal(balanced.per_item, by_label.per_item)
    assert balanced.score != plain.score


def test_a_walk_that_takes_too_long_is_sampled():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
    full = complete_cv(X, y, "weighted", Subsample(20), n_neighbors=3, method="exact")
    short = complete_cv(X, y, "weighted", Subsample(20), n_neighbors=3, max_steps=3000, n_draws=2000)
    exact = short.per_item_std_error == 0
    assert 0 < exact.sum() < 40
    np.testing.assert_array_equal(short.per_item[exact], full.per_item[exact])
    assert abs(short.score - full.score) < 5 * short.std_error


def test_neighbors_of_one_class_are_one_node():
    y = np.repeat([0, 1], 300)
    X = np.random.default_rng(0).normal(size=(600, 2)) + 100 * y[:, None]
    found = complete_cv(X, y, "weighted", KFold(10), n_neighbors=50, weights="softmax", temperature=5.0)
    assert found.score == 1
    assert found.certified


def test_functions_of_distances_are_sampled():
    for seed in range(6):
        case = problems.problem(seed)
        distances, y = case.distances.tolist(), np.unique(case.y, return_inverse=True)[1].tolist()

        def score(x, order, distances=distances, y=y):
            weights = [0.5 ** (2 * distances[x][j]) for j in order]
            return naive_more.score_votes(weights, [y[j] for j in order], y[x], max(y) + 1)

        asked = {"metric": "precomputed", "n_neighbors": 2, "weights": lambda apart: np.exp2(-2 * apart)}
        found = complete_cv(case.distances, y, "weighted", Subsample(3), **asked)
        listed = naive.subsample(len(y), 3)
        expected = naive_more.mean_score(distances, y, listed, score, 2, "random", "pooled")
        assert not found.certified
        assert abs(found.score - expected) <= 5 * found.std_error + 1e-12, seed


def test_leave_one_out_with_many_neighbors_is_exact():
    rng = np.random.default_rng(0)
    X, y = rng.random((140, 2)), rng.integers(0, 3, 140)
    found = complete_cv(X, y, "weighted", LeaveOut(1), n_neighbors=125, weights="softmax", temperature=0.1)
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2)) + np.diag(np.full(140, np.inf))
    near = np.argsort(D, axis=1)[:, :125]
    votes = np.exp((1 - np.take_along_axis(D, near, axis=1)) / 0.1)[:, :, None] * np.eye(3)[y[near]]
    assert found.certified
    assert found.per_item.tolist() == (votes.sum(axis=1).argmax(axis=1) == y).tolist()


@jit
def order_decide(items, distances, labels, target, constraints):  # noqa: ARG001
    return 1.0 if labels.classes[items[0]] == labels.classes[target] else 0.0


class OfTheOrder(Nearness):
    """A rule that gets distances and does not read them."""

    name = "of-the-order"
    decide = order_decide

    def needs_distances(self, **parameters):  # noqa: ARG002
        """False."""
        return False


def test_lists_without_distances():
    """Rules that weigh by the rank or by nothing take them; the transcript has what the others say."""
    X, y = np.random.default_rng(0).normal(size=(12, 2)), np.repeat([0, 1, 2], 4)
    arrays = Neighbors.from_data(X).kneighbors(11)
    lists = Neighbors.from_lists(arrays[0]), Neighbors.from_lists(*arrays)
    for rule, weights in product(("weighted", "weighted_regression"), ("uniform", [3, 2, 1])):
        asked = {"variant": rule, "cv": KFold(4), "n_neighbors": 3, "n_draws": 8, "weights": weights}
        for method in ("exact", "sampled"):
            found = [complete_cv(near, y, method=method, **asked) for near in lists]
            assert found[0].per_item.tolist() == found[1].per_item.tolist()
    found = [complete_cv(near, y, OfTheOrder, KFold(4), n_draws=8) for near in lists]
    assert found[0].per_item.tolist() == found[1].per_item.tolist()
