"""The nearest of a row of values against a plain stable sort, on values that agree in their upper bits."""

import numpy as np
import pytest

from knnccv.neighbors._engines.brute_force import nearest_of

ULP = 2.0**-52
VALUES = {
    "different": lambda rng, shape: rng.random(shape),
    "few": lambda rng, shape: rng.integers(0, 4, shape).astype(float),
    "all equal": lambda rng, shape: np.zeros(shape),  # noqa: ARG005
    "last bits": lambda rng, shape: 1 + rng.integers(0, 2000, shape) * ULP,
    "last bits, many ties": lambda rng, shape: (
        1 + rng.integers(0, 3, shape) * ULP * rng.integers(0, 2, shape)
    ),
    "last bits in clusters": lambda rng, shape: (
        rng.integers(1, 5, shape) + rng.integers(0, 9, shape) * 4 * ULP
    ),
    "zeros and denormals": lambda rng, shape: rng.choice([0.0, -0.0, 5e-324, 1e-320, 2.3e-308], shape),
    "huge": lambda rng, shape: rng.choice([1e308, np.nextafter(1e308, 2e308), 1.7e308], shape),
    "negative": lambda rng, shape: -1 - rng.integers(0, 5, shape) * ULP,
    "all magnitudes": lambda rng, shape: rng.normal(size=shape) * 10.0 ** rng.integers(-300, 300, shape),
}


def by_sorting(values, row, depth):
    """Items, values and whether the next one ties, from a stable sort of the others."""
    others = np.delete(np.arange(len(values)), row)
    order = others[np.argsort(values[others], kind="stable")]
    nearest = order[:depth]
    return nearest, values[nearest], depth < len(order) and values[order[depth]] == values[nearest[-1]]


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("n_items", [2, 3, 16, 17, 70, 300])
def test_the_order_is_that_of_a_stable_sort(kind, n_items):
    rng = np.random.default_rng(n_items)
    n_rows = min(n_items, 5)
    rows = rng.choice(n_items, n_rows, replace=False)
    values = np.ascontiguousarray(VALUES[kind](rng, (n_rows, n_items)))
    values[0, rows[0]] = np.nan  # whatever stands at the sample itself does not matter
    for depth in {1, 2, n_items // 3, n_items // 2, n_items - 2, n_items - 1}:
        if not 1 <= depth < n_items:
            continue
        kept = values.copy()
        items, ranked, may_tie_beyond = nearest_of(values, rows, depth)
        assert items.dtype == np.int32
        np.testing.assert_array_equal(values, kept)
        for r, row in enumerate(rows):
            expected = by_sorting(values[r], row, depth)
            np.testing.assert_array_equal(items[r], expected[0])
            np.testing.assert_array_equal(ranked[r], expected[1])
            np.testing.assert_array_equal(np.signbit(ranked[r]), np.signbit(expected[1]))
            assert may_tie_beyond[r] == expected[2]
