"""Arguments that weighted rules refuse, each with one clear error."""

import numpy as np
import pytest

pytest.importorskip("sklearn")
from decide_rules import Nearness, Prepared, falling
from sklearn.model_selection import KFold as ShuffledFolds
from sklearn.neighbors import KNeighborsClassifier

from knnccv import KFold, Neighbors, StratifiedKFold, complete_cv
from knnccv.kernel import jit
from knnccv.sklearn import ccv_scorer, expected_score

X = np.random.default_rng(0).normal(size=(12, 2))
CLASSES = np.repeat([0, 1, 2], 4)
TARGETS = np.random.default_rng(1).normal(size=12)

VOTES = [
    ({"weights": "invers"}, ValueError, "did you mean 'inverse'"),
    ({"weights": "distance"}, ValueError, "did you mean 'inverse' \\(scikit-learn's 'distance'\\)"),
    ({"weights": "Gaussian"}, ValueError, "did you mean 'gaussian'"),
    ({"weights": "???"}, ValueError, "weights must be 'uniform', 'inverse'"),
    ({"weights": None}, TypeError, "weights must be 'uniform', 'inverse'"),
    ({"weights": 3.0}, TypeError, "weights must be 'uniform', 'inverse'"),
    ({"weights": [1, 2]}, ValueError, "must have shape \\(3,\\), one for each of the n_neighbors=3 ranks"),
    ({"weights": np.ones((3, 1))}, ValueError, "must have shape \\(3,\\)"),
    ({"weights": [1, -1, 0]}, ValueError, "weights of the ranks must be at least 0"),
    ({"weights": [1, np.nan, 0]}, ValueError, "every value must be finite"),
    ({"weights": [1, np.inf, 0]}, ValueError, "every value must be finite"),
    ({"weights": [0, 0, 0]}, ValueError, "one of them above 0"),
    ({"weights": [1e200, 1, 1]}, ValueError, "at most 1e\\+100"),
    ({"weights": ["a", "b", "c"]}, TypeError, "must be real numbers"),
    ({"weights": "softmax", "temperature": 0}, ValueError, "temperature must be above 0"),
    ({"weights": "softmax", "temperature": -1.0}, ValueError, "temperature must be above 0"),
    ({"weights": "softmax", "temperature": np.nan}, ValueError, "temperature must be above 0"),
    ({"weights": "softmax", "temperature": "warm"}, TypeError, "temperature must be a real number"),
    (
        {"weights": "inverse", "temperature": 0.1},
        ValueError,
        "temperature is a parameter of weights='softmax'",
    ),
    ({"weights": "gaussian", "bandwidth": 0}, ValueError, "bandwidth must be above 0"),
    ({"weights": "gaussian", "bandwidth": -1}, ValueError, "bandwidth must be above 0"),
    ({"weights": "gaussian", "bandwidth": np.inf}, ValueError, "bandwidth must be above 0"),
    ({"weights": "gaussian", "bandwidth": [1.0]}, TypeError, "bandwidth must be a real number"),
    ({"weights": "dudani", "bandwidth": 1.0}, ValueError, "bandwidth is a parameter of the kernels"),
    ({"n_neighbors": 0}, ValueError, "n_neighbors must be between 1 and 10"),
    ({"n_neighbors": 12}, ValueError, "n_neighbors must be between 1 and 10"),
    ({"n_neighbors": 2.0}, TypeError, "n_neighbors must be an integer"),
    (
        {"n_neighbors": 10, "weights": "gaussian"},
        ValueError,
        "less one, since the next neighbor's distance",
    ),
    ({"vote_ties": "largest"}, ValueError, "vote_ties"),
    ({"max_steps": 0}, ValueError, "max_steps must be at least 1"),
    ({"loss": [[0, 1], [1, 0]]}, ValueError, "loss must have shape \\(3, 3\\)"),
    ({"class_weight": "balance"}, ValueError, "class_weight must be None, 'balanced'"),
    ({"class_weight": 2.0}, TypeError, "class_weight must be None, 'balanced'"),
    ({"class_weight": {7: 1.0}}, ValueError, "has the label 7, but the classes are"),
    ({"class_weight": {0: 0.0}}, ValueError, "must be above 0"),
    ({"class_weight": {0: np.nan}}, ValueError, "every value must be finite"),
    ({"class_weight": [1.0, 2.0]}, ValueError, "one number for each of the 3 classes"),
    ({"weight": "inverse"}, TypeError, "did you mean 'weights'"),
    ({"exact": True}, ValueError, "exact=True computes with rational numbers"),
]
ERRORS = [
    ({"normalize": 1}, TypeError, "normalize must be True or False"),
    ({"normalize": False}, ValueError, "normalize=False needs bounded weights"),
    ({"normalize": False, "weights": "gaussian"}, ValueError, "normalize=False needs bounded weights"),
    ({"normalize": False, "weights": np.abs}, ValueError, "normalize=False needs bounded weights"),
    ({"normalize": False, "weights": "softmax", "temperature": 1e-3}, ValueError, "at least 0.01"),
    ({"class_weight": "balanced"}, TypeError, "has no parameter 'class_weight'"),
    ({"cv": StratifiedKFold(3)}, ValueError, "no classes to stratify by"),
]


OF_FUNCTIONS = [
    (lambda d: -d, ValueError, "must return numbers from 0 to 1e\\+100, got -"),
    (lambda d: d * np.nan, ValueError, "must return numbers from 0 to 1e\\+100, got nan"),
    (lambda d: d * np.inf, ValueError, "must return numbers from 0 to 1e\\+100, got inf"),
    (
        lambda d: d[:, 0],
        ValueError,
        "array of shape \\(\\d+, 3\\), .* got shape \\(\\d+,\\)",
    ),
    (lambda d: d.T, ValueError, "must return an array of shape \\(\\d+, 3\\)"),
    (lambda d: 1.0, ValueError, "got shape \\(\\)"),  # noqa: ARG005
    (lambda d: d.astype(str), TypeError, "must return real numbers, one for each distance, got <U"),
    (lambda d: d + 1j, TypeError, "must return real numbers, one for each distance, got complex128"),
]


def refused(name, y, given, error, message):
    arguments = {"n_neighbors": 3, "cv": KFold(6), "n_jobs": 1, **given}
    with pytest.raises(error, match=message):
        complete_cv(X, y, name, **arguments)


@pytest.mark.parametrize(("given", "error", "message"), VOTES)
def test_votes(given, error, message):
    refused("weighted", CLASSES, given, error, message)


@pytest.mark.parametrize(("given", "error", "message"), ERRORS)
def test_errors(given, error, message):
    refused("weighted_regression", TARGETS, given, error, message)


@pytest.mark.parametrize(("function", "error", "message"), OF_FUNCTIONS)
def test_what_a_function_of_weights_returns(function, error, message):
    refused("weighted", CLASSES, {"weights": function, "n_draws": 4}, error, message)
    refused("weighted_regression", TARGETS, {"weights": function, "n_draws": 4}, error, message)
    estimator = KNeighborsClassifier(3, weights=function)
    with pytest.raises(error, match=message):
        expected_score(estimator, X, CLASSES, cv=ShuffledFolds(6, shuffle=True), method="auto", n_draws=4)


@pytest.mark.parametrize(
    ("n_draws", "error", "message"),
    [
        (1, ValueError, "n_draws must be between 2 and 10000000, got 1"),
        (10**8, ValueError, "n_draws must be between 2 and 10000000, got 100000000"),
        (2.0, TypeError, "n_draws must be an integer, got 2.0"),
    ],
)
def test_numbers_of_draws_of_estimators(n_draws, error, message):
    estimator = KNeighborsClassifier(3, weights="distance")
    with pytest.raises(error, match=message):
        expected_score(estimator, X, CLASSES, method="auto", n_draws=n_draws)
    with pytest.raises(error, match=message):
        ccv_scorer(method="auto", n_draws=n_draws)


@jit
def order_decide(items, distances, labels, target, constraints):  # noqa: ARG001
    """1 if the nearest has the own class."""
    return 1.0 if labels.classes[items[0]] == labels.classes[target] else 0.0


def lists_without_distances(how, folder):
    """Neighbor lists of X, and the same with distances."""
    indices, distances = Neighbors.from_data(X).kneighbors(11)
    if how == "mapped":
        for name, array in (("indices", indices), ("distances", distances)):
            np.save(folder / f"{name}.npy", array)
        indices, distances = (
            np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("indices", "distances")
        )
    if how == "dask":
        da = pytest.importorskip("dask.array")
        indices, distances = (da.from_array(each, chunks=(5, -1)) for each in (indices, distances))
    return Neighbors.from_lists(indices), Neighbors.from_lists(indices, distances)


@pytest.mark.parametrize("how", ["array", "mapped", "dask"])
def test_lists_without_distances(how, tmp_path):
    bare, full = lists_without_distances(how, tmp_path)
    message = r"^pass Neighbors.from_lists\(indices, distances\): .* only the order of the neighbors"
    for weights in ("inverse", "dudani", "softmax", "gaussian", falling):
        given = {"cv": KFold(4), "n_neighbors": 3, "weights": weights, "n_draws": 8}
        for name, y in (("weighted", CLASSES), ("weighted_regression", TARGETS)):
            for method in ("auto", "sampled"):
                with pytest.raises(ValueError, match=message):
                    complete_cv(bare, y, name, method=method, **given)
    for rule, given in ((Nearness, {}), (Prepared, {"weights": falling})):
        with pytest.raises(ValueError, match=message):
            complete_cv(bare, CLASSES, rule, KFold(4), **given)
    for weights in ("uniform", [3, 2, 1], [1, 1, 1]):
        given = {"cv": KFold(4), "n_neighbors": 3, "weights": weights, "n_draws": 8}
        for name, y in (("weighted", CLASSES), ("weighted_regression", TARGETS)):
            for method in ("exact", "sampled"):
                found = [complete_cv(near, y, name, method=method, **given) for near in (bare, full)]
                assert found[0].per_item.tolist() == found[1].per_item.tolist()
    assert complete_cv(bare, CLASSES, "knn", KFold(4), method="sampled", n_draws=8).score > 0


class OfTheOrder(Nearness):
    """A rule that gets distances and does not read them."""

    name = "of-the-order"
    decide = order_decide

    def needs_distances(self, **parameters):  # noqa: ARG002
        """False."""
        return False


def test_a_rule_that_reads_no_distances_takes_lists_without_them(tmp_path):
    bare, full = lists_without_distances("array", tmp_path)
    found = [complete_cv(near, CLASSES, OfTheOrder, KFold(4), n_draws=8) for near in (bare, full)]
    assert found[0].per_item.tolist() == found[1].per_item.tolist()
