"""What a sampled score says of its error if all draws agree."""

import numpy as np
import pytest
from decide_rules import Nearness
from problems import blobs

from knnccv import KFold, LeaveGroupsOut, LeaveOut, StratifiedSubsample, Subsample, complete_cv
from knnccv.sklearn._designs import Shares, StratifiedShuffle

X = np.arange(3.0)[:, None]
Y = [0, 1, 0]


@pytest.mark.parametrize("n_draws", [2, 3])
def test_few_draws_that_agree_are_not_certain(n_draws):
    # Every sample has two training sets of one sample. Samples 0 and 2 are right with one of them.
    found = [
        complete_cv(X, Y, "nn", Subsample(1), method="sampled", n_draws=n_draws, random_state=s, n_jobs=1)
        for s in range(60)
    ]
    agree = [each for each in found if not each.per_item_std_error.any()]
    assert len(agree) > 4
    for each in agree:
        assert each.std_error == pytest.approx(1 / (3 * n_draws), rel=1e-12)
        assert abs(each.score - 1 / 3) <= 4 * each.std_error
    assert all(each.std_error > 0 for each in found)


def test_one_training_sample_of_a_random_class():
    # The sizes of all classes are 0, and one of them gets the only sample.
    design = StratifiedShuffle("", Shares((0, 0), (0, 1), 1), 2)
    found = complete_cv(X, Y, Nearness, design, n_neighbors=1, n_draws=400)
    # Sample 1 is never right. Samples 0 and 2 are right with each other, rarer than with sample 1: the
    # class 0 is drawn with probability 1/2, and they are then left out for the other one only.
    assert abs(found.per_item[0] - 1 / 3) < 4 * found.per_item_std_error[0]
    assert found.per_item[1] == 0


def test_samples_without_a_choice_are_certain():
    features, y = blobs(0, 12, 2)
    groups = np.arange(12) // 3
    for cv in (LeaveOut(1), LeaveGroupsOut(groups)):
        found = complete_cv(features, y, Nearness, cv, n_draws=5)
        assert found.std_error == 0
    # Sample 0 alone is tested, by all samples of class 1.
    alone = StratifiedSubsample(per_class={0: 0, 1: int(np.sum(y))})
    assert complete_cv(features, y, Nearness, alone, n_draws=5).std_error == 0
    tied = complete_cv(np.zeros((12, 1)), y, "nn", LeaveOut(1), method="sampled", n_draws=2)
    assert tied.std_error > 0


def test_the_other_draw_has_the_largest_loss():
    features, y = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]]), [0, 0, 0, 1, 1, 1]
    loss = [[0, 7], [7, 0]]
    found = complete_cv(features, y, "nn", KFold(4), method="sampled", n_draws=20, loss=loss)
    assert found.score == 0
    # Half of the folds have one sample, with one training set; the others have two, with 10 draws.
    assert found.std_error == pytest.approx(7 * (1 / 2 / 6) / 10, rel=1e-12)
