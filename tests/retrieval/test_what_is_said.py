"""What results and errors say about the items in every gallery, other names of scores, and lists."""

import numpy as np
import pytest

from knnccv import Neighbors
from knnccv.retrieval import Gallery, cuhk03, expected_retrieval, market1501, sampled_retrieval

RNG = np.random.default_rng(7)
Q_IDS, G_IDS = np.repeat([1, 2, 3, 4], 2), np.r_[np.repeat([1, 2, 3, 4], 4), [0, 0, 0]]
Q_CAMS, G_CAMS = np.resize([1, 2], 8), np.resize([1, 2, 3], 19)
D = RNG.random((8, 19))
CAMS = Q_CAMS, G_CAMS


@pytest.mark.parametrize("compute", [expected_retrieval, sampled_retrieval])
@pytest.mark.parametrize("gallery", [Gallery(per_identity=1), Gallery(shots=1), Gallery(n_identities=3)])
def test_items_in_every_gallery_are_in_the_words(compute, gallery):
    assert "3 items in every gallery" in repr(compute(D, Q_IDS, G_IDS, gallery, always=[0]))
    assert "in every gallery" not in repr(compute(D, Q_IDS, G_IDS, gallery))


def test_a_difference_names_the_items_in_every_gallery():
    one = expected_retrieval(D, Q_IDS, G_IDS, cuhk03(), *CAMS, always=[0])
    two = expected_retrieval(D, Q_IDS, G_IDS, cuhk03(), *CAMS)
    with pytest.raises(ValueError, match=r"different draws: .*3 items in every gallery"):
        one.difference(two, "ap")


def test_the_junk_identity_is_named_once():
    assert expected_retrieval(D, Q_IDS, G_IDS, market1501(), *CAMS).mask.endswith("and junk identity -1")


@pytest.mark.parametrize("given", [market1501, "market1501", Q_CAMS])
def test_cameras_with_something_that_is_no_gallery(given):
    with pytest.raises(TypeError, match="gallery must be a Gallery or a Protocol"):
        expected_retrieval(D, Q_IDS, G_IDS, given, *CAMS)


@pytest.mark.parametrize(
    ("name", "here"),
    [("mAP", "'ap'"), ("mINP", "'inp'"), ("mrr", "'rr'"), ("rank-1", "'cmc'"), ("R1", "'cmc'")],
)
def test_other_names_of_scores(name, here):
    with pytest.raises(ValueError, match=f"got '{name}'; it is .*{here}"):
        expected_retrieval(D, Q_IDS, G_IDS, scores=(name,))


def test_a_former_option_names_what_to_use():
    with pytest.raises(ValueError, match="hajek is no option any more: sampled_retrieval"):
        expected_retrieval(D, Q_IDS, G_IDS, cuhk03(), *CAMS, hajek=True)


def test_a_difference_of_lists_shows_its_bound():
    order = np.argsort(D, axis=1)[:, :6]
    near = Neighbors.between_lists(order, np.take_along_axis(D, order, axis=1), n_gallery=19)
    one, two = (expected_retrieval(x, Q_IDS, G_IDS, Gallery(per_identity=1)) for x in (near, D))
    difference = one.difference(two, "ap")
    assert difference.error_bound == one["ap"].error_bound + two["ap"].error_bound > 1e-3
    assert "error at most" in repr(difference)
    assert "error at most" not in repr(two.difference(two, "ap"))
