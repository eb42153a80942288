"""What rules declare decides how their scores are computed and read, not what they are called."""
# ruff: noqa: ARG001, ARG002 (methods of rules take all parameters, used or not)

import numpy as np
import pytest
from odd_rules import problem, variant_class
from sklearn.neighbors import NearestNeighbors

from knnccv import LeaveOut, bootstrap_score, compare, complete_cv, permutation_test, surface
from knnccv.kernel import Score, jit
from knnccv_variants.ranks import Rank
from knnccv_variants.votes import KNN


class Top(Rank):
    """The built-in ranks by another name."""

    name = "top"

    def profile(self, **parameters):
        """As that of the ranks."""
        return "rank"


class Impostor(KNN):
    """A vote that is called "rank"."""

    name = "rank"

    def profile(self, **parameters):
        """As that of the vote."""
        return "votes"


def test_a_surface_of_ranks_is_one_by_its_profile():
    """The last column against the ranks by scikit-learn; the words and curves as those of "rank"."""
    X, y = problem()
    found = surface(X, y, [1, 2, 4], [10, 29], Top)
    near = NearestNeighbors(n_neighbors=4).fit(X).kneighbors(return_distance=False)
    hits = np.cumsum(y[near] == y[:, None], axis=1) > 0
    np.testing.assert_allclose(found.scores[:, 1], hits.mean(axis=0)[[0, 1, 3]], atol=1e-6)
    assert found.symbol == "R"
    other = surface(X, y, [1, 2, 4], [10, 29], Impostor)
    assert (other.scores == surface(X, y, [1, 2, 4], [10, 29], "knn").scores).all()
    assert other.symbol == "K"


def test_the_bootstrap_asks_the_profile_too():
    X, y = problem()
    assert bootstrap_score(X, y, Top, rank=2).oob == bootstrap_score(X, y, "rank", rank=2).oob
    for rule, same in ((Impostor, "knn"), (Top, "rank")):
        assert bootstrap_score(X, y, rule).oob == bootstrap_score(X, y, same).oob


@jit
def right(order, labels, target, constraints):
    """Whether the nearest is right; exact if all other samples train."""
    return constraints.unit * (labels.classes[order.items[0]] == labels.classes[target])


@jit
def wrong(order, labels, target, constraints):
    """Whether the nearest is wrong."""
    return constraints.unit * (labels.classes[order.items[0]] != labels.classes[target])


def error_rate(self, **parameters):
    """Smaller is better."""
    return Score("error rate", is_loss=True)


Right = variant_class("right", fixed=right)
Wrong = variant_class("wrong", fixed=wrong, score=error_rate)


def test_a_rule_says_that_its_score_is_a_loss():
    """Tests and samples to look at point the same way as those of the accuracy."""
    rng = np.random.default_rng(0)
    y = np.arange(24) % 2
    X = rng.normal(size=(24, 1)) + 2.5 * y[:, None]
    asked = {"cv": LeaveOut(1), "n_permutations": 99}
    p_right, p_wrong = (permutation_test(X, y, rule, **asked) for rule in (Right, Wrong))
    assert p_wrong.pvalue == p_right.pvalue <= 0.05
    assert p_wrong.z == pytest.approx(p_right.z)
    good, bad = (complete_cv(X, y, rule, LeaveOut(1)) for rule in (Right, Wrong))
    assert good.score == pytest.approx(1 - bad.score)
    harmful = [each.influence().most_harmful(3).tolist() for each in (good, bad)]
    assert harmful[0] == harmful[1]
    assert compare(good, good, n_halvings=5).is_loss is False
    assert compare(bad, bad, n_halvings=5).is_loss is True
    assert surface(X, y, None, [23], Wrong).is_loss
