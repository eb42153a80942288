"""Distances of mixed tables: the written-out sums, a refit without the item, and other libraries."""

from __future__ import annotations

import naive
import numpy as np
import pytest

from knnccv.hvdm import HVDM


def mixed_table(seed, n_items=None, most_values=5):
    """Rows of Python values with None, their labels, and which columns are nominal."""
    rng = np.random.default_rng(seed)
    n_items = n_items or int(rng.integers(4, 13))
    nominal = rng.random(int(rng.integers(1, 5))) < 0.5
    columns = []
    for is_nominal in nominal:
        n_values = int(rng.integers(1, most_values + 1))
        codes = rng.integers(n_values, size=n_items)
        column = [f"v{code}" if is_nominal else int(code) * 0.375 for code in codes]
        columns.append([None if rng.random() < 0.15 else value for value in column])
    rows = [list(row) for row in zip(*columns, strict=True)]
    labels = rng.integers(int(rng.integers(1, 4)), size=n_items).tolist()
    return rows, labels, nominal


@pytest.mark.parametrize("seed", range(50))
def test_distances_are_the_written_out_sums(seed):
    rows, labels, nominal = mixed_table(seed)
    others, _, _ = mixed_table(seed, most_values=8)
    hvdm = HVDM(nominal=nominal).fit(rows, labels)
    expected = [[naive.hvdm_squared(rows, labels, nominal, x, y) for y in others] for x in rows]
    found = hvdm.pairwise(rows, others)
    assert found == pytest.approx(np.sqrt(np.array(expected, float)), rel=1e-12, abs=1e-12)
    whole = hvdm.pairwise(rows)
    assert (whole == whole.T).all()
    items, distances = hvdm.kneighbors(others, len(rows))
    assert (np.sort(items) == np.arange(len(rows))).all()
    assert (distances == np.take_along_axis(found.T, items, axis=1)).all()
    assert (np.lexsort((items, distances), axis=1) == np.arange(len(rows))).all()


@pytest.mark.parametrize("seed", range(50))
def test_leaving_an_item_out_is_a_refit_without_it(seed):
    rows, labels, nominal = mixed_table(seed)
    n_items = len(rows)
    items, distances = HVDM(nominal=nominal).fit(rows, labels).neighbors().kneighbors(n_items - 1)
    for i in range(n_items):
        left, left_labels = rows[:i] + rows[i + 1 :], labels[:i] + labels[i + 1 :]
        exact = {
            j: float(naive.hvdm_squared(left, left_labels, nominal, rows[i], rows[j])) ** 0.5
            for j in range(n_items)
            if j != i
        }
        assert distances[i] == pytest.approx([exact[j] for j in items[i]], rel=1e-12, abs=1e-12)
        if len(left) > 2:
            refit = HVDM(nominal=nominal).fit(left, left_labels).pairwise([rows[i]], rows)[0]
            assert distances[i] == pytest.approx(refit[items[i]], rel=1e-12, abs=1e-12)
