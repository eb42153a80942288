"""Tables and targets that a report cannot use, and how columns are read."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from knnccv import report
from knnccv.reporting._settings import at_the_edge, identifier_notes
from knnccv.reporting._table import read_input

X = [[1.0, 2.0], [2.0, 1.0], [3.0, 3.0], [4.0, 1.0], [5.0, 0.0], [6.0, 2.0]]
Y = ["a", "a", "b", "b", "a", "b"]


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((scipy.sparse.eye(6, format="csr"), Y), {}, TypeError, r"pass X.toarray\(\)"),
        (("table.csv", "label"), {}, TypeError, "got the text 'table.csv'; read the file first"),
        ((X[:4], Y[:4]), {}, ValueError, "at least 5 rows, got 4"),
        ((np.ones(6), Y), {}, ValueError, "shape"),
        ((X, Y[:5]), {}, ValueError, "6 rows, but y has 5"),
        ((X, ["a"] * 6), {}, ValueError, "at least 2 classes, but every label is 'a'$"),
        ((X, ["a", None, "b", "b", "a", "b"]), {}, ValueError, r"y\[1\] is missing"),
        ((X, [0.5, np.nan, 1, 2, 3, 4]), {}, ValueError, r"y\[1\] is missing"),
        ((X, Y), {"task": "regression"}, ValueError, "needs numbers as targets, but .* is 'a'"),
        ((X, Y), {"task": "guess"}, ValueError, "task must be"),
        ((np.where(np.eye(6), np.inf, 1.0), Y), {}, ValueError, "'x0' is inf in row 0"),
        ((X, Y), {"feature_names": ["one"]}, ValueError, "2 names"),
        ((X, Y), {"categorical": ["x7"]}, ValueError, "'x7'"),
        ((X, Y), {"categorical": "x0"}, TypeError, "list"),
        ((X, Y), {"n_neighbors": [1, 9]}, ValueError, "between 1 and 4"),
        ((X, Y), {"n_neighbors": []}, ValueError, "at least one"),
        ((X, Y), {"max_items": 2}, ValueError, "at least 5"),
        ((X, Y), {"random_state": None}, TypeError, "random_state"),
        ((X, Y), {"train_size": 6}, ValueError, "between 1 and 5"),
        ((X, Y), {"progress": 1}, TypeError, "progress"),
    ],
)
def test_is_refused(arguments, options, error, message):
    with pytest.raises(error, match=message):
        report(*arguments, **options)


def test_columns_that_may_be_identifiers_are_named():
    rows = [[f"p{i}", "uv"[i % 2], "w" if i else None] for i in range(6)]
    table = read_input(rows, Y, None, ["patient", "ward", "note"], None)
    assert [note.split(" differ")[0] for note in identifier_notes(table)] == [
        "All values of the column patient"
    ]


def test_the_largest_number_of_neighbors_is_remarked():
    assert "15 is the largest K" in at_the_edge(15, 15, 80)
    assert at_the_edge(9, 15, 80) == at_the_edge(15, 15, 15) == at_the_edge(1, 1, 80) == ""


class TestColumns:
    def test_text_and_missing_values_make_a_mixed_table(self):
        table = read_input(
            [["u", 1.5], ["v", None], ["u", 2], [None, 3], ["v", 4]], list("abaab"), None, None, None
        )
        assert table.is_mixed
        assert table.categorical.tolist() == [True, False]
        assert table.n_missing == 2
        np.testing.assert_array_equal(table.X[:, 0], [0, 1, 0, np.nan, 1])
        assert table.rows(0) == ["u", "1.5"]
        assert table.rows(3) == ["", "3"]

    def test_task_of_the_target(self):
        def task(y):
            return read_input(np.arange(len(y), dtype=float)[:, None], y, None, None, None).task

        assert task([1, 2, 1, 2, 1]) == "classification"
        assert task([1.0, 2.0, 1.0, 2.0, 1.0]) == "classification"
        assert task([1.5, 2.0, 1.0, 2.0, 1.0]) == "regression"
        assert task(np.arange(51)) == "regression"
        assert task(np.arange(50)) == "classification"
        assert task([True, False, True, False, True]) == "classification"
