"""The scalings of columns, against their definitions column by column."""

from fractions import Fraction

import numpy as np
import pytest

from knnccv.reporting import scaled


def by_definition(column, scaling):
    """The scaled column, computed in fractions up to the square root."""
    exact = [Fraction(value) for value in column.tolist()]
    mean, low, high = sum(exact) / len(exact), min(exact), max(exact)
    if low == high:
        return [0.0] * len(exact)
    if scaling == "min-max":
        return [float((value - low) / (high - low)) for value in exact]
    variance = sum((value - mean) ** 2 for value in exact) / len(exact)
    signs = [1 if value >= mean else -1 for value in exact]
    return [s * float((v - mean) ** 2 / variance) ** 0.5 for s, v in zip(signs, exact, strict=True)]


@pytest.mark.parametrize("scaling", ["standardized", "min-max"])
def test_columns_of_any_size(scaling):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 5)) * [1, 1e-170, 1e170, 0, 1e-3]
    X[:, 3] = 0.1
    X[:, 4] += 7
    given = X.copy()
    expected = np.column_stack([by_definition(column, scaling) for column in X.T])
    np.testing.assert_allclose(scaled(X, scaling), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(X, given)


def test_raw_columns_stay():
    X = [[1.0, -2.5], [3.0, 0.0]]
    assert scaled(X, "raw").tolist() == X


@pytest.mark.parametrize(
    ("X", "scaling", "message"),
    [
        ([[1.0], [2.0]], "minmax", "scaling must be"),
        ([1.0, 2.0], "raw", "shape"),
        ([[1.0], [np.nan]], "min-max", "finite"),
    ],
)
def test_what_cannot_be_scaled(X, scaling, message):
    with pytest.raises(ValueError, match=message):
        scaled(X, scaling)
