"""HVDM and HEOM: distances, searches, and the tables that they read."""

from __future__ import annotations

import datetime
import pickle
import warnings
from fractions import Fraction

import naive
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from problems import by_brute_force, engine
from seeds import over_seeds
from sklearn.base import clone

import knnccv
from knnccv import LeaveGroupsOut, LeaveOut, Neighbors, Subsample, complete_cv, monte_carlo_cv, surface
from knnccv.neighbors.hvdm import HEOM, HVDM, IdentifierWarning, SupervisedDistanceWarning
from knnccv.neighbors.hvdm._tables import learn, read  # a column's codes show in no distance


def mixed_table(seed, n_items=None, most_values=5):
    """Make rows of Python values with None, their labels, and the mask of nominal columns."""
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


@over_seeds(15)
def test_distances_are_the_written_out_sums(seeds):
    for seed in seeds:
        rows, labels, nominal = mixed_table(seed)
        others, _, _ = mixed_table(seed, most_values=8)
        hvdm = HVDM(nominal=nominal).fit(rows, labels)
        expected = [[naive.hvdm_squared(rows, labels, nominal, x, y) for y in others] for x in rows]
        found = hvdm.pairwise(rows, others)
        assert found == pytest.approx(np.sqrt(np.array(expected, float)), rel=1e-12, abs=1e-12), seed
        whole = hvdm.pairwise(rows)
        assert (whole == whole.T).all(), seed
        items, distances = hvdm.kneighbors(others, len(rows))
        assert (np.sort(items) == np.arange(len(rows))).all(), seed
        assert (distances == np.take_along_axis(found.T, items, axis=1)).all(), seed
        assert (np.lexsort((items, distances), axis=1) == np.arange(len(rows))).all(), seed


@over_seeds(3)
def test_groups_are_left_out_as_by_a_fit_to_the_others(seeds):
    """Also values that occur in one group only, and training sets without some class or number."""
    for seed in seeds:
        rows, labels, nominal = mixed_table(seed, n_items=12)
        groups = np.random.default_rng(seed).permutation(np.arange(12) % 4)
        hvdm = HVDM(nominal=nominal).fit(rows, labels)
        near, cells, y = hvdm.neighbors(groups=groups), np.array(rows, object), np.array(labels)
        for group in range(4):
            train, test = np.flatnonzero(groups != group), np.flatnonzero(groups == group)
            other = HVDM(nominal=nominal).fit(cells[train], y[train])
            items, distances = other.kneighbors(cells[test], len(train))
            mine, far = (one[test] for one in near.kneighbors(11))
            outside = groups[mine] != group
            assert (mine[outside].reshape(items.shape) == train[items]).all(), seed
            assert (far[outside].reshape(items.shape) == distances).all(), seed


def test_only_the_design_that_leaves_out_these_groups_is_exact():
    rows, labels, _ = mixed_table(3, n_items=12)
    hvdm, groups = HVDM(nominal=[0]).fit([[row[0]] for row in rows], labels), np.arange(12) // 3
    near = hvdm.neighbors(groups=groups)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        complete_cv(pickle.loads(pickle.dumps(near)), labels, "nn", LeaveGroupsOut(groups))
    for design in (LeaveGroupsOut(groups, 2), LeaveGroupsOut(np.arange(12) // 2), Subsample(0.5)):
        with pytest.warns(SupervisedDistanceWarning, match="more labels are used than any training set"):
            complete_cv(near, labels, "nn", design)
    with pytest.raises(ValueError, match="groups must have one label for each of the 12 samples, got 11"):
        hvdm.neighbors(groups=groups[1:])


@over_seeds(10)
def test_leaving_an_item_out_is_a_refit_without_it(seeds):
    for seed in seeds:
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
            expected = [exact[j] for j in items[i]]
            assert distances[i] == pytest.approx(expected, rel=1e-12, abs=1e-12), seed
            if len(left) > 2:
                refit = HVDM(nominal=nominal).fit(left, left_labels).pairwise([rows[i]], rows)[0]
                assert distances[i] == pytest.approx(refit[items[i]], rel=1e-12, abs=1e-12), seed


def large_table(seed, n_items=1100):
    """Make a table for the matrix-product search: rare values, outliers, ties, missing values."""
    rng = np.random.default_rng(seed)
    numbers = [
        rng.normal(size=n_items),
        rng.integers(4, size=n_items) * 1e6,
        np.where(rng.random(n_items) < 0.01, 1e4, rng.normal(size=n_items)),
        np.where(np.arange(n_items) == 7, 1.0, 2.0),
        np.full(n_items, 0.1),
    ]
    values = [
        rng.integers(2, size=n_items),
        rng.integers(12, size=n_items),
        np.minimum(rng.geometric(0.02, size=n_items), 150),
        rng.integers(n_items // 3, size=n_items),
    ]
    chosen = [i for i in range(9) if rng.random() < 0.6] or [0]
    X = np.array([(numbers + values)[i] for i in chosen], float).T
    for column in range(X.shape[1]):
        if rng.random() < 0.4:
            X[rng.random(n_items) < 0.1, column] = np.nan
    X[5] = np.nan
    X[20:40] = X[19]
    labels = rng.integers(int(rng.integers(1, 7)), size=n_items)
    return X, labels, [at for at, i in enumerate(chosen) if i >= len(numbers)]


@over_seeds(1)
def test_matrix_products_find_what_the_comparison_of_all_pairs_finds(seeds):
    for seed in seeds:
        X, labels, nominal = large_table(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IdentifierWarning)
            distances = [
                HVDM(nominal=nominal, leave_one_out=kind).fit(X, labels) for kind in ("exact", "fixed")
            ]
        for fitted in (*distances, HEOM(nominal=nominal).fit(X)):
            fast, plain = fitted.neighbors(), by_brute_force(fitted.neighbors())
            for depth in (1, 30):
                found, expected = fast.kneighbors(depth), plain.kneighbors(depth)
                assert (found[0] == expected[0]).all(), seed
                assert (found[1] == expected[1]).all(), seed
                fast._engines[0].release()
            assert isinstance(fitted, HEOM) or engine(fast, 30) == "MatrixProduct", seed


@pytest.mark.parametrize("offset", [1e13, 1.7e15, 2.0**52])
def test_columns_far_from_zero_are_searched_as_they_are_compared(offset):
    """Times in microseconds: their scaled rounding errors would be larger than their differences."""
    rng = np.random.default_rng(1)
    X = offset + np.floor(rng.random((2000, 4)) * 12)
    hvdm = HVDM().fit(X, rng.integers(3, size=2000))
    for fitted in (hvdm, HEOM().fit(X)):
        expected = by_brute_force(fitted.neighbors()).kneighbors(10)
        np.testing.assert_array_equal(fitted.neighbors().kneighbors(10), expected)
    near = HVDM().fit(X - offset, np.zeros(2000, int))
    assert hvdm.deviations_ == pytest.approx(near.deviations_, rel=1e-12)


def test_few_rows_are_compared_directly():
    """Otherwise the search would not be faster than the comparison of all pairs."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=3000)
    X = np.column_stack([rng.normal(size=(3000, 6)) + labels[:, None], rng.integers(8, size=(3000, 6))])
    near = HVDM(nominal=range(6, 12)).fit(X, labels).neighbors()
    compared = []
    product = near._engine(30)
    compare = product.compare
    product.compare = lambda rows: compared.append(len(rows)) or compare(rows)
    near.kneighbors(30)
    assert sum(compared) < 300


def test_scores_warn_about_label_leakage():
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=60)
    X = np.column_stack([rng.integers(9, size=60), rng.normal(size=60)])
    exact = HVDM(nominal=[0]).fit(X, labels).neighbors()
    fixed = HVDM(nominal=[0], leave_one_out="fixed").fit(X, labels).neighbors()
    for near in (exact, fixed):
        for ask in (
            lambda near: complete_cv(near, labels, "knn", Subsample(40)),
            lambda near: complete_cv(near, labels, "knn", knnccv.LeaveGroupsOut(np.arange(60) // 2)),
            lambda near: monte_carlo_cv(near, labels, "nn", Subsample(40), n_runs=2),
            lambda near: surface(near, labels, [1, 3], [20, 59], "confidence"),
        ):
            with pytest.warns(SupervisedDistanceWarning, match="labels of all samples") as caught:
                ask(near)
            assert [warning.filename for warning in caught] == [__file__]
    for ask in (
        lambda near: complete_cv(near, labels, "knn", LeaveOut(1)),
        lambda near: surface(near, labels, [1, 3], 59),
        lambda near: surface(near, labels, [1, 3], 59, "regression"),
    ):
        ask(exact)  # what is left out is left out of the distance
        with pytest.warns(SupervisedDistanceWarning):
            ask(fixed)
    only_numbers = HVDM().fit(X[:, 1:], labels).neighbors()
    no_labels = HEOM(nominal=[0]).fit(X).neighbors()
    for near in (only_numbers, no_labels):
        complete_cv(near, labels, "knn", Subsample(40))
    assert complete_cv(only_numbers, labels).score == complete_cv(X[:, 1:], labels).score


def test_the_same_terms_in_other_columns_tie():
    """Sums of the same thirds in another order differ in their last bits."""
    X = np.array(list(np.ndindex(3, 3, 3)), float)
    labels = np.array([int(sum(row)) % 3 for row in X])
    squares = HVDM(nominal=range(3), leave_one_out="fixed").fit(X, labels).pairwise(X) ** 2
    numbers = HVDM().fit(X, labels).pairwise(X)
    for values in (squares, numbers):
        levels = np.unique(values)
        assert (np.diff(levels) > 1e-9).all()


def test_far_rows_have_finite_distances():
    hvdm = HVDM().fit([[1.0], [2.0], [3.0]], [0, 1, 0])
    far = hvdm.pairwise([[1e300], [-1e300], [1.0]])
    assert np.isfinite(far).all()
    assert (far == far.T).all()
    assert (np.diag(far) == 0).all()
    assert far[0, 1] > far[0, 2] > 1e100


def test_deviations_of_large_integers():
    values = [2.0**53 - i for i in (1, 2, 1, 2, 5)]
    mean = sum(map(Fraction, values)) / 5
    variance = sum((Fraction(value) - mean) ** 2 for value in values) / 4
    hvdm = HVDM().fit(np.array(values)[:, None], [0, 1, 0, 1, 0])
    assert hvdm.deviations_[0] == pytest.approx(float(variance) ** 0.5, rel=1e-12)


def test_one_far_outlier_does_not_change_the_other_distances():
    for outlier in (1e100, 1e200, 1e308):
        X = [[outlier], [1.0], [2.0], [3.0]]
        items, distances = HVDM().fit(X, [0, 1, 0, 1]).neighbors().kneighbors(3)
        assert np.isfinite(distances).all()
        assert distances[0].min() > 1e90
        assert (items[1:, 2] == 0).all()


@pytest.mark.parametrize(
    ("n_items", "n_columns", "n_values"), [(2, 1, 1), (40, 3, 2), (300, 8, 6), (400, 2, 255)]
)
def test_counts_of_differing_columns_give_the_lists_of_brute_force(n_items, n_columns, n_values):
    rng = np.random.default_rng(n_items)
    for missing in (0.0, 0.2):
        table = rng.integers(n_values, size=(n_items, n_columns)).astype(float)
        table[rng.random(table.shape) < missing] = np.nan
        near = HEOM(nominal=range(n_columns)).fit(table).neighbors()
        values = near.values(np.arange(n_items))
        assert engine(near, 1) == "OverlapSearch"
        for depth in {1, n_items // 3 + 1, n_items - 1}:
            lists = near.search(np.arange(n_items), depth)
            expected = Neighbors.from_distances(values).search(np.arange(n_items), depth)
            for name in ("items", "values", "may_tie_beyond"):
                np.testing.assert_array_equal(getattr(lists, name), getattr(expected, name))


def test_many_values_or_columns_are_compared_one_by_one():
    for n_items, n_columns, n_values in ((300, 2, 300), (300, 255, 2), (1500, 1, 1100)):
        rng = np.random.default_rng(0)
        table = np.column_stack([rng.permutation(n_items) % n_values for _ in range(n_columns)])
        near = HEOM(nominal=range(n_columns)).fit(table).neighbors()
        assert engine(near, 5) != "OverlapSearch"
        items, _ = near.kneighbors(5)
        differing = (table[:, None] != table).sum(axis=2)
        found = np.take_along_axis(differing, items, axis=1)
        np.fill_diagonal(differing, n_columns + 1)
        np.testing.assert_array_equal(found, np.sort(differing, axis=1)[:, :5])


BIG = 2**53
LARGE = {
    "floats": lambda big: [[big, 0.5], [1, 0.5]],
    "ints": lambda big: [[big, 1], [1, 2]],
    "text": lambda big: [[big, "a"], [1, "b"]],
    "objects": lambda big: np.array([[big, 1], [1, 2]], object),
    "frame": lambda big: pd.DataFrame({0: [big, 1], 1: [1, 2]}),
    "nullable": lambda big: pd.DataFrame({0: pd.array([big, None], "Int64"), 1: [1, 2]}),
    "unsigned": lambda big: pd.DataFrame({0: pd.array([None, big], "UInt64"), 1: [1, 2]}),
    "pyarrow": lambda big: pd.DataFrame({0: pd.array([big, 1], "int64[pyarrow]"), 1: [1, 2]}),
    "polars": lambda big: pl.DataFrame({"a": [big, None], "b": [1, 2]}),
    "table": lambda big: pa.table({"a": [None, big], "b": [1, 2]}),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_integers_are_not_rounded(name):
    """Beyond 2**53 doubles hold every second integer: as numbers refused, as categories distinct."""
    make, nominal = LARGE[name], [1] if name == "text" else []
    assert BIG in learn(make(BIG), nominal)[1].numbers
    with pytest.raises(ValueError, match=rf"is {BIG + 1} in row \d; integers beyond 2\*\*53 .*nominal="):
        learn(make(BIG + 1), nominal)
    schema, found = learn(make(BIG + 1), [0, *nominal])
    row = int(np.argmax(found.codes[0] == 1 + schema.categories[0][BIG + 1]))
    for later, known in ((BIG, False), (BIG + 1, True), (BIG + 2, False)):
        (again,) = read(schema, make(later))
        assert (again.codes[0, row] == found.codes[0, row]) == known


def test_arrays_of_rare_types_are_read_and_left_as_they_are():
    X = np.arange(24.0).reshape(6, 4) % 7
    X[2, 1] = np.nan
    y = [0, 1, 0, 1, 1, 0]
    expected = HVDM(nominal=[3]).fit(X, y).pairwise(X)
    for dtype in (np.float16, np.longdouble, ">f8", object):
        form = X.astype(dtype)
        distance = HVDM(nominal=[3]).fit(form, y)
        assert (distance.pairwise(form) == expected).all()
        np.testing.assert_array_equal(form.astype(float), X)
    frame = pd.DataFrame(X).astype({0: "int16", 3: "category"})
    before = frame.copy()
    distance = HVDM().fit(frame, y)
    assert (distance.pairwise(frame) == expected).all()
    distance.kneighbors(frame, 3)
    pd.testing.assert_frame_equal(frame, before)


def test_a_fit_does_not_change_with_the_table_or_a_parameter():
    X = np.array([[1.0, 5.0], [2.0, 7.0], [4.0, 5.0]])
    for distance in (HVDM(nominal=[1]).fit(X, [0, 1, 1]), HEOM(nominal=[1]).fit(X)):
        before = distance.pairwise([[1.0, 5.0]], [[2.0, 7.0]]), distance.neighbors().kneighbors(1)
        X *= 10
        assert (distance.pairwise([[1.0, 5.0]], [[2.0, 7.0]]) == before[0]).all()
        assert (distance.kneighbors([[1.0, 5.0]], 1)[1] == 0).all()
        assert (distance.neighbors().kneighbors(1)[1] == before[1][1]).all()
        X /= 10
    hvdm = clone(HVDM()).fit(pd.DataFrame({"a": ["x", "y", "x"]}), [0, 1, 0])
    assert hvdm.neighbors().fitted_to_labels == "exact"
    hvdm.leave_one_out = "fixed"
    assert hvdm.neighbors().fitted_to_labels == "exact"
    hvdm.fit([[1.0], [2.0]], [0, 1])
    assert not hasattr(hvdm, "feature_names_in_")
    assert hvdm.neighbors().fitted_to_labels == ""


def test_dates_are_the_same_in_every_unit():
    days = ["2020-01-01", "2020-01-02", "2020-01-03"]
    hvdm = HVDM(nominal=[0]).fit(np.array(days, "M8[ns]")[:, None], [0, 1, 1])
    for same in (
        np.array(days, "M8[D]")[:, None],
        pd.DataFrame({0: pd.to_datetime(days)}),
        [[datetime.datetime(2020, 1, day)] for day in (1, 2, 3)],
    ):
        assert (np.diag(hvdm.pairwise(same, np.array(days, "M8[ns]")[:, None])) == 0).all()
        assert hvdm.pairwise(same)[0, 1] > 1
