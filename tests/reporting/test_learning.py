"""The extrapolation of learning curves."""

import numpy as np
import pytest

import knnccv
from knnccv.reporting._scores import extrapolated

SIZES = np.array([4, 8, 16, 32, 64, 128])


def test_a_power_law_is_continued():
    found, _ = extrapolated(SIZES, 0.9 - 0.5 * SIZES**-0.5, 256, 1.0)
    assert found["score"] == pytest.approx(0.9 - 0.5 / 16, abs=1e-6)


@pytest.mark.parametrize("step", [1, -1])
def test_a_score_beyond_its_range_is_refused(step):
    scores = 0.5 + step * (0.05 * np.log2(SIZES) + 0.14)
    found, reason = extrapolated(SIZES, scores, 256, 1.0)
    assert found is None
    assert reason in ("the fitted power law goes above 100%", "the fitted power law goes below 0")
    assert ("100" in reason) == (step > 0)


@pytest.mark.slow
def test_an_accuracy_is_not_extrapolated_beyond_1():
    X = np.random.default_rng(0).normal(size=(40, 2))
    found = knnccv.report(X, X[:, 0] > 0, n_neighbors=[1]).to_dict()["learning"]
    scores, sizes = found["curves"][0]["scores"], found["train_sizes"]
    free, _ = extrapolated(np.array(sizes), np.array(scores), 80)
    assert free["score"] > 1
    assert found["extrapolation"] is None
    assert found["conclusion"].endswith("not extrapolated, since the fitted power law goes above 100%.")
