"""The rule, and whether knnccv finds it."""

from knnccv import get_variant
from knnccv.testing import check_variant
from knnccv_kth import Kth


def score(near, own, n_neighbors):
    """Score one classification; `near` are the classes of the training samples, nearest first."""
    return int(near[n_neighbors - 1] == own)


def test_the_kernels_agree_with_the_enumeration_of_all_training_sets():
    assert check_variant(Kth, score, parameters=[{"n_neighbors": k} for k in (1, 2, 4)]) > 100


def test_the_entry_point_names_the_rule():
    assert type(get_variant("kth")) is Kth
