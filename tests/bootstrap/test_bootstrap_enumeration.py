"""`bootstrap_score` against the list of all bootstrap samples, in fractions."""

from fractions import Fraction

import naive_bootstrap
import numpy as np
import pytest
from problems import SETTINGS, plain, problem

from knnccv import bootstrap_score

N_PROBLEMS = 220
RULES = [(name, given) for name, given in SETTINGS if given.get("score") != "log_loss"]  # it is refused


@pytest.mark.parametrize("seed", range(N_PROBLEMS))
def test_equals_the_list_of_all_bootstrap_samples(seed):
    case = problem(seed)
    distances, y = case.distances[:6, :6], case.y[:6]
    rng = np.random.default_rng(seed)
    name, setting = RULES[seed % len(RULES)]
    if seed % 9 == 8:
        name, setting = "regression", {"n_neighbors": 1 + seed % 3}
        y = rng.integers(-3, 4, (len(y), 2)) if seed % 2 else rng.integers(-3, 4, len(y))
    parameters = case.parameters(setting)
    if parameters.get("loss") is not None:
        n_classes = len(np.unique(y))
        parameters["loss"] = rng.integers(-2, 6, (n_classes, n_classes))
    k = parameters.get("n_neighbors", parameters.get("rank", 1))
    if k > len(y) - 1:
        parameters["n_neighbors" if "n_neighbors" in parameters else "rank"] = k = len(y) - 1
    n_draws = int(rng.integers(k, 7)) if k < 6 else k
    ties = ["random", "index"][seed % 5 == 4]
    found = bootstrap_score(
        distances, y, name, n_draws=n_draws, ties=ties, metric="precomputed", **parameters
    )
    inputs = distances.tolist(), y.tolist(), name
    expected = naive_bootstrap.out_of_bag(*inputs, n_draws, ties, **plain(parameters))
    assert np.abs(found.per_item - [float(each) for each in expected]).max() <= found.error_bound
    assert abs(Fraction(found.oob) - sum(expected) / len(y)) <= found.error_bound < 1e-11
    apparent = naive_bootstrap.resubstitution(*inputs, ties, **plain(parameters))
    assert found.per_item_resubstitution == pytest.approx([float(each) for each in apparent], abs=1e-13)
    labels = y.tolist()
    mixed = [
        naive_bootstrap.resubstitution(*inputs, ties, label_of=label, **plain(parameters))
        for label in labels
    ]
    uninformed = sum(sum(row) for row in mixed) / Fraction(len(y) ** 2)
    assert found.no_information == pytest.approx(float(uninformed), abs=1e-12)


@pytest.mark.parametrize(("n_items", "n_draws"), [(3, 4), (4, 4), (5, 3)])
def test_equals_the_list_of_all_sequences_of_draws(n_items, n_draws):
    case = problem(5)
    distances, y = case.distances[:n_items, :n_items], np.arange(n_items) % 2
    expected = naive_bootstrap.out_of_bag_by_sequences(
        distances.tolist(), y.tolist(), "knn", n_draws, n_neighbors=2
    )
    found = bootstrap_score(distances, y, n_draws=n_draws, metric="precomputed", n_neighbors=2)
    assert found.per_item == pytest.approx([float(each) for each in expected], abs=1e-13)
