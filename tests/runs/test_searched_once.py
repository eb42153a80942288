"""Lists of neighbors are as deep as the runs of halves need, so that no block of runs searches anew."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from knnccv import Neighbors, Subsample, tuned_score
from knnccv.sklearn import expected_score

SPLITS = StratifiedKFold(5, shuffle=True)
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(300, 3)), RNG.integers(3, size=300)


def of_votes():
    return expected_score(KNeighborsClassifier(9), X, Y, cv=SPLITS, scoring="f1_macro", n_runs=64)


def of_choice():
    return tuned_score(X, Y, [1, 9], Subsample(0.6), n_runs=64)


@pytest.mark.parametrize("score", [of_votes, of_choice])
def test_halves_search_once(score, monkeypatch):
    found, searches, search = score(), [], Neighbors.lists

    def recorded(self, rows, depth, *more):
        if self._stored is None or depth > self._stored.max_depth:
            searches.append(len(rows))
        return search(self, rows, depth, *more)

    monkeypatch.setattr(Neighbors, "lists", recorded)
    found.standard_error(n_halvings=20)
    assert searches[0] == len(Y)
    assert sum(searches[1:]) < 10  # the lists of a few samples end too early in some run
