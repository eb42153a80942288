"""Rows that repeat others: found where they are copies, and not where few values repeat by chance."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from knnccv import LeaveGroupsOut, complete_cv, report, surface
from knnccv.neighbors import CopiesWarning, Neighbors, copies, copies_text
from knnccv.sklearn import WholeData, ccv_scorer, expected_score

SAID = "75 of 175 rows repeat another row with the same label"


def oversampled(rng):
    """75 rows of one class and 25 of another, which are there four times."""
    X = rng.normal(size=(100, 5))
    return np.vstack([X, *[X[75:]] * 3]), np.repeat([0, 1], [75, 100])


def test_copies_are_said():
    X, y = oversampled(np.random.default_rng(0))
    with pytest.warns(CopiesWarning, match=SAID) as seen:
        complete_cv(X, y, n_jobs=1)
    assert seen[0].filename == __file__
    shuffled = StratifiedKFold(5, shuffle=True)
    for cv, scoring in ((5, None), (shuffled, None), (KFold(5, shuffle=True), "f1")):
        with pytest.warns(CopiesWarning, match=SAID) as seen:
            expected_score(KNeighborsClassifier(), X, y, cv=cv, scoring=scoring)
        assert [one.filename for one in seen] == [__file__]
    near, grid = Neighbors.from_data(X), {"n_neighbors": [1, 2]}
    search = GridSearchCV(KNeighborsClassifier(), grid, scoring=ccv_scorer(3), cv=WholeData())
    for ask in (
        lambda: surface(X, y, n_neighbors=[1], train_sizes=[9]),
        lambda: [complete_cv(near, y) for _ in range(2)],
        lambda: complete_cv(X, y.astype(float), "regression"),
        lambda: search.fit(X, y),
    ):
        with pytest.warns(CopiesWarning, match=SAID) as seen:
            ask()
        assert len(seen) == 1
    groups = copies(X)
    assert groups[[0, 75, 100, 125, 174]].tolist() == [0, 75, 75, 75, 99]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        complete_cv(X, y, "knn", LeaveGroupsOut(groups), n_jobs=1)
        complete_cv(X[:100], y[:100], n_jobs=1)


def test_a_report_says_it_once(monkeypatch):
    monkeypatch.setattr("knnccv.reporting._study.MOST_HALVINGS", 20)
    X, y = oversampled(np.random.default_rng(0))
    with pytest.warns(CopiesWarning, match=SAID) as seen:
        page = report(X, y, n_neighbors=1, random_state=0)
    assert [one.filename for one in seen if one.category is CopiesWarning] == [__file__]
    assert SAID in page.to_dict()["data"]["warnings"][0]


@pytest.mark.parametrize("n_items", [60, 200, 2000, 20_000])
@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: rng.integers(0, 3, (n, 3)),
        lambda rng, n: rng.random((n, 12)) < 0.1,
        lambda rng, n: rng.integers(0, 1000, (n, 1)),
        lambda rng, n: np.column_stack([rng.integers(0, 1000, n), rng.random(n) < 0.05]),
        lambda rng, n: np.round(rng.normal(size=(n, 2)), 1),
        lambda rng, n: np.round(rng.normal(size=(n, 1)) + 0.1 * rng.normal(size=(n, 4)), 1),
        lambda rng, n: np.column_stack([rng.poisson(3, n), rng.integers(18, 90, n), rng.integers(0, 2, n)]),
    ],
    ids=["lattice", "sparse bits", "one column", "number and bit", "plane", "correlated", "survey"],
)
def test_few_values_repeat_by_chance(draw, n_items):
    rng = np.random.default_rng(n_items)
    assert not copies_text(draw(rng, n_items), rng.integers(0, 2, n_items))


def test_other_data_are_not_looked_at():
    X, y = oversampled(np.random.default_rng(0))
    distances = np.linalg.norm(X[:, None] - X[None], axis=-1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", CopiesWarning)
        complete_cv(Neighbors.from_distances(distances), y, n_jobs=1)
