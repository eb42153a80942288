"""What is computed depends on sizes, and is affordable where it was measured to be."""

import pytest

from knnccv.reporting._affordable import (
    CONFUSION_LIMIT,
    INFLUENCE_LIMIT,
    confusion_units,
    influence_units,
)


@pytest.mark.parametrize("n_classes", [2, 3, 10])
@pytest.mark.parametrize("n_neighbors", [1, 5, 15])
def test_the_influence_of_a_hundred_thousand_items(n_classes, n_neighbors):
    assert influence_units(100_000, n_classes, n_neighbors, 1.0) <= INFLUENCE_LIMIT


def test_many_neighbors_and_several_classes_are_refused():
    assert influence_units(100_000, 3, 50, 1.0) > INFLUENCE_LIMIT
    assert influence_units(5_000, 3, 25, 40.0) > INFLUENCE_LIMIT
    assert influence_units(100_000, 2, 25, 1.0) <= INFLUENCE_LIMIT


def test_confusion():
    assert confusion_units(10**6, 2, 50, 100.0) == 0
    assert confusion_units(100_000, 3, 15, 1.0) <= CONFUSION_LIMIT
    assert confusion_units(400, 200, 1, 1.0) <= CONFUSION_LIMIT
    assert confusion_units(100_000, 10, 15, 1.0) > CONFUSION_LIMIT
