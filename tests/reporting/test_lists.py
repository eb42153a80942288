"""Lists that are kept: no section searches again, and no number changes."""

import numpy as np
import pytest
from some_study import clouds

from knnccv import Neighbors, Subsample, complete_cv
from knnccv.reporting._study import enough_depth, keep_lists


@pytest.mark.parametrize("step", [0.0, 0.5])
def test_the_score_and_the_influence_are_the_same_and_read_the_lists(step, monkeypatch):
    X, y = clouds(80, step=step)
    near = Neighbors.from_data(X)
    keep_lists(near, enough_depth(80, 64, 3), 1)
    kept = near._stored

    def refuse(*_):
        raise AssertionError("searched again")

    for engine in {type(each) for each in near._engines} if not step else ():
        monkeypatch.setattr(engine, "search", refuse)
    found = complete_cv(near, y, "knn", Subsample(64), n_neighbors=3, n_jobs=1)
    influence = found.influence(n_jobs=1)
    monkeypatch.undo()
    direct = complete_cv(X, y, "knn", Subsample(64), n_neighbors=3, n_jobs=1)
    assert found.per_item.tolist() == direct.per_item.tolist()
    assert influence.total.tolist() == direct.influence(n_jobs=1).total.tolist()
    assert near._stored is kept or step


def test_lists_that_are_kept_stay():
    near = Neighbors.from_data(np.arange(6)[:, None])
    keep_lists(near, 5, 1)
    kept = near._stored
    keep_lists(near, 3, 1)
    assert near._stored is kept


@pytest.mark.parametrize(("n_items", "train_size", "expected"), [(2, 1, 1), (5, 4, 4), (6, 3, 4)])
def test_small_tables_need_all(n_items, train_size, expected):
    assert enough_depth(n_items, train_size, 1) == expected
