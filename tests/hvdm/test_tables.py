"""Tables in every container: kinds of text, of missing values, of large integers; layouts; polars.

What columns are read as, and what is refused, is in ``tables.txt``.
"""

import datetime
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from knnccv.hvdm import HEOM, HVDM
from knnccv.hvdm._tables import learn, read  # a column's codes show in no distance

BIG = 2**53
TEXTS = [object, "string", "category", "str", pd.StringDtype("python", na_value=np.nan), "string[pyarrow]"]


def codes(X, nominal=None):
    return learn(X, nominal)[1].codes.tolist()


@pytest.mark.parametrize("dtype", TEXTS, ids=str)
def test_columns_of_text_are_nominal(dtype):
    if "pyarrow" in str(dtype):
        pytest.importorskip("pyarrow")
    table = pd.DataFrame({"a": pd.Series(["x", None, "y", "x"], dtype=dtype), "b": [1, 2, 3, 4]})
    schema, found = learn(table)
    assert schema.nominal.tolist() == [True, False]
    assert schema.names == ("a", "b")
    assert list(schema.categories[0]) == ["x", "y"]
    assert found.codes.tolist() == [[1, 0, 2, 1]]
    assert found.numbers.tolist() == [[1, 2, 3, 4]]
    (later,) = read(schema, table.iloc[[3, 1]].assign(a=pd.Series(["z", None], index=[3, 1], dtype=dtype)))
    assert later.codes.tolist() == [[3, 0]]


def test_all_kinds_of_missing_values():
    for missing in (None, math.nan, pd.NA, pd.NaT, np.float32("nan"), Decimal("nan")):
        rows = [[1.5, "a"], [missing, "b"], [2.5, missing]]
        for X in (rows, np.array(rows, dtype=object), tuple(map(tuple, rows))):
            schema, found = learn(X, [1])
            np.testing.assert_array_equal(found.numbers, [[1.5, math.nan, 2.5]])
            assert found.codes.tolist() == [[1, 2, 0]]
            assert list(schema.categories[0]) == ["a", "b"]
        frame = pd.DataFrame({"n": [1.5, 1, 2.5], "c": ["a", "b", missing]}).astype({"n": object})
        frame.loc[1, "n"] = missing
        assert codes(frame) == [[1, 0, 2], [1, 2, 0]]  # a column of objects is nominal


def test_nominal_names_columns():
    table = pd.DataFrame({"a": [1, 2], "b": [3, 4], "c": [5, 6]})
    mask = [True, False, True]
    names = [
        ["a", "c"],
        ("a", "c"),
        np.array(["a", "c"]),
        pd.Index(["c", "a"]),
        {"a": 1, "c": 2},
        [-3, "c"],
    ]
    numbers = [[0, 2], [0, -1], np.array([0, 2]), mask, np.array(mask), pd.Series(mask)]
    for nominal in names + numbers:
        assert HEOM(nominal=nominal).fit(table).nominal_.tolist() == mask
    for nominal in numbers:
        assert HEOM(nominal=nominal).fit(table.to_numpy()).nominal_.tolist() == mask


LARGE = {
    "floats": lambda big: [[big, 0.5], [1, 0.5]],
    "ints": lambda big: [[big, 1], [1, 2]],
    "text": lambda big: [[big, "a"], [1, "b"]],
    "objects": lambda big: np.array([[big, 1], [1, 2]], object),
    "frame": lambda big: pd.DataFrame({0: [big, 1], 1: [1, 2]}),
    "nullable": lambda big: pd.DataFrame({0: pd.array([big, None], "Int64"), 1: [1, 2]}),
    "unsigned": lambda big: pd.DataFrame({0: pd.array([None, big], "UInt64"), 1: [1, 2]}),
    "pyarrow": lambda big: pd.DataFrame({0: pd.array([big, 1], "int64[pyarrow]"), 1: [1, 2]}),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_integers_are_not_rounded(name):
    """Beyond 2**53 doubles hold every second integer: as numbers refused, as categories distinct."""
    if name == "pyarrow":
        pytest.importorskip("pyarrow")
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


def test_values_of_another_type_cause_a_warning():
    heom = HEOM(nominal=[0]).fit([[1], [2], [3]])
    with pytest.warns(
        UserWarning, match="column 0 holds '2' and none of .*these include 2; do the types differ"
    ):
        assert heom.pairwise([["2"]], [[2]]).tolist() == [[1.0]]


def test_polars():
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    table = polars.DataFrame(
        {"n": [1, None, 3], "f": [0.5, 1.5, None], "t": ["x", None, "y"], "b": [True, False, None]}
    )
    schema, found = learn(table)
    assert schema.nominal.tolist() == [False, False, True, True]
    assert schema.names == ("n", "f", "t", "b")
    np.testing.assert_array_equal(found.numbers, [[1, math.nan, 3], [0.5, 1.5, math.nan]])
    assert found.codes.tolist() == [[1, 0, 2], [1, 2, 0]]
    with pytest.raises(ValueError, match="column 0 of X has the name 'f'"):
        read(schema, table[["f", "n", "t", "b"]])
