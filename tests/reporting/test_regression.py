"""The section on regression, against direct calls."""

import json

import numpy as np
import pytest
from some_study import clouds, some_study

from knnccv import LeaveOut, complete_cv
from knnccv.reporting._scores import curve_numbers, regression_section


@pytest.mark.parametrize("step", [0.0, 1.0])
def test_parts_and_curve_are_those_of_direct_calls(step):
    X, _ = clouds(30, step=step)
    y = X[:, 0] + np.random.default_rng(1).normal(size=30)
    y.setflags(write=False)
    study = some_study(X, y, 3, task="regression")
    found = regression_section(study)
    json.dumps(found, allow_nan=False)
    best = study.best
    assert found["mse"] == best.score
    assert found["rmse"] == pytest.approx(np.sqrt(best.score), rel=1e-15)
    assert found["bias2"] == pytest.approx(best.bias2.mean(), rel=1e-12)
    assert found["variance"] == pytest.approx(best.variance.mean(), rel=1e-12)
    assert found["bias2"] + found["variance"] == pytest.approx(found["mse"], rel=1e-9)
    assert found["target_variance"] == pytest.approx(np.square(y - y.mean()).mean(), rel=1e-12)
    assert found["r2"] == pytest.approx(1 - best.score / y.var(), rel=1e-12)
    assert found["loo"]["n_neighbors"] == [1, 2, 3, 4, 5, 7, 10, 15, 20]
    for k, mse in zip(*found["loo"].values(), strict=True):
        direct = complete_cv(study.near, y, "regression", LeaveOut(1), n_neighbors=k, n_jobs=1).score
        assert mse == pytest.approx(direct, rel=1e-9)


def test_constant_targets_have_no_r2():
    found = regression_section(some_study([[0], [1], [2], [3]], np.ones(4), task="regression"))
    assert (found["mse"], found["r2"], found["target_variance"]) == (0, None, 0)
    assert found["conclusion"].startswith("All targets are equal")


def test_worse_than_the_mean():
    found = regression_section(
        some_study(np.arange(8)[:, None], np.array([0.5, 3, 0, 3, 0, 3, 0, 3]), task="regression")
    )
    assert found["r2"] < 0
    assert "worse than the mean" in found["conclusion"]


def test_numbers_of_the_curve():
    assert curve_numbers(6, 8) == [1, 2, 3, 4, 5, 6, 7]
    assert curve_numbers(1, 3) == [1, 2, 3]


def test_classes_have_no_parts():
    assert regression_section(some_study(*clouds(8))) is None
