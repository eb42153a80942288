"""Tables with odd values, types and sizes: each number of the report, or a clear refusal."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from report_check import check_report

from knnccv import report
from knnccv.reporting._study import tie_size
from knnccv.reporting._table import read_input

Y = list("ababab")


class TestColumns:
    @pytest.mark.parametrize(
        ("value", "error", "message"),
        [
            (
                10**400,
                ValueError,
                "'x0' is 1000.*000 in row 0: numbers must be finite and within the range",
            ),
            (datetime.date(2020, 1, 2), TypeError, "'x0' holds dates or times"),
            (datetime.timedelta(1), TypeError, "'x0' holds dates or times"),
            (1j, TypeError, "'x0' holds complex numbers"),
        ],
    )
    def test_objects_that_are_no_numbers(self, value, error, message):
        X = np.array([[value, 1.0]] * 6, dtype=object)
        with pytest.raises(error, match=message):
            read_input(X, Y, None, None, None)

    def test_dates_can_be_categories(self):
        X = np.array([[datetime.date(2020, 1, 1 + i % 2)] for i in range(6)], dtype=object)
        table = read_input(X, Y, None, None, ["x0"])
        assert table.X[:, 0].tolist() == [0, 1, 0, 1, 0, 1]

    def test_messages_show_plain_labels(self):
        X = np.arange(6.0)[:, None]
        with pytest.raises(ValueError, match=r"every label is 1$"):
            read_input(X, np.ones(6, int), None, None, None)
        with pytest.raises(ValueError, match=r"y\[0\] is 'a'$"):
            read_input(X, Y, "regression", None, None)


def test_ties_of_huge_values():
    X = np.random.default_rng(0).integers(0, 3, (40, 2)).astype(float)
    assert tie_size(X * 2.0**1000, 0) == tie_size(X, 0) > 2


def test_subsample_of_one_class():
    X, y = np.random.default_rng(0).normal(size=(24, 2)), [1] + [0] * 23
    with pytest.raises(ValueError, match="6 rows of the subsample are of one class, 0"):
        report(X, y, max_items=6, random_state=2)


@pytest.mark.slow
class TestAllNumbers:
    """By `check_report`, which recomputes the dictionary."""

    def test_unexplained_gaps_count_as_worse(self):
        """All halves of 6 rows score alike for K that differ on all rows."""
        X = np.random.default_rng(14).normal(size=(6, 6))
        for seed in range(2):
            y = np.random.default_rng(seed).integers(0, 4, 6).astype(float)
            check_report(X, y, report(X, y, task="regression", train_size=3, n_neighbors=[1, 2]).to_dict())

    @pytest.mark.parametrize("n_items", [5, 8])
    @pytest.mark.parametrize("train_size", [1, 0.8, -1])
    def test_few_rows(self, n_items, train_size):
        size = n_items - 1 if train_size == -1 else train_size
        X = np.round(np.random.default_rng(n_items).normal(size=(n_items, 2)), 1)
        for y in (np.arange(n_items) % 2, X[:, 0] + 0.25):
            check_report(X, y, report(X, y, train_size=size).to_dict())

    def test_one_sample_of_a_class(self):
        X = np.round(np.random.default_rng(0).normal(size=(20, 2)))
        y = np.repeat(["few", "many"], [1, 19])
        check_report(X, y, report(X, y).to_dict())

    def test_all_columns_constant(self):
        X = np.full((12, 2), 0.1)
        for y in (np.arange(12) % 3, np.arange(12) / 7, np.full(12, 2.5)):
            check_report(X, y, report(X, y).to_dict())

    def test_gaps_and_categories(self):
        rng = np.random.default_rng(3)
        X = rng.normal(size=(30, 3))
        X[:, 0] = np.arange(30) % 3
        X[rng.random((30, 3)) < 0.2] = np.nan
        X[:, 2] = np.nan
        X[:3, 0] = [0, 1, 2]
        for y in (np.arange(30) // 10, rng.normal(size=30)):
            check_report(X, y, report(X, y, categorical=[0]).to_dict(), nominal=[0])

    def test_target_in_a_column(self):
        X, y = np.random.default_rng(1).normal(size=(20, 2)), np.arange(20)[:, None] % 2
        check_report(X, y[:, 0], report(X, y).to_dict(), given=(X, y))

    def test_small_limit(self):
        X, y = np.random.default_rng(1).normal(size=(20, 2)), np.arange(20) % 2
        check_report(X, y, report(X, y, max_items=12).to_dict())
