"""The nominal part of HVDM against imbalanced-learn's value difference metric, if installed."""

import numpy as np
import pytest

from knnccv.hvdm import HVDM


@pytest.mark.parametrize("seed", range(10))
def test_nominal_terms_are_those_of_imbalanced_learn(seed):
    """Its k is the power of a class's term, and its r that of a column's."""
    metrics = pytest.importorskip("imblearn.metrics.pairwise")
    rng = np.random.default_rng(seed)
    n_items, n_columns = int(rng.integers(10, 60)), int(rng.integers(1, 6))
    n_values = rng.integers(1, 7, n_columns)
    codes = np.column_stack([np.r_[np.arange(n), rng.integers(0, n, n_items - n)] for n in n_values])
    labels = rng.integers(0, int(rng.integers(2, 5)), n_items)
    vdm = metrics.ValueDifferenceMetric(n_categories=n_values, k=2, r=2).fit(codes, labels)
    others = np.column_stack([rng.integers(0, n, 20) for n in n_values])
    hvdm = HVDM(nominal=range(n_columns)).fit(codes, labels)
    np.testing.assert_allclose(hvdm.pairwise(codes) ** 2, vdm.pairwise(codes), atol=1e-12)
    np.testing.assert_allclose(hvdm.pairwise(codes, others) ** 2, vdm.pairwise(codes, others), atol=1e-12)
    assert hvdm.pairwise(codes, others).max() > 0 or (n_values == 1).all()
