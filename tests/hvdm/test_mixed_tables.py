"""Reading tables with numeric, categorical and missing values from all kinds of containers."""

import datetime
import decimal
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from knnccv import complete_cv
from knnccv.hvdm import HEOM, HVDM
from knnccv.hvdm._tables import learn, read

BIG = 2**53


def kinds(X, nominal=None):
    return learn(X, nominal)[0].nominal.tolist()


def numbers(X, nominal=None):
    return learn(X, nominal)[1].numbers.tolist()


def values(X, nominal=None, column=0):
    """Return the known values of a nominal column, in the order of their codes."""
    return list(learn(X, nominal)[0].categories[column])


def codes(X, nominal=None):
    return learn(X, nominal)[1].codes.tolist()


def same(found, expected):
    np.testing.assert_array_equal(found, np.array(expected, float))


TEXTS = [object, "string", "category", "str", pd.StringDtype("python", na_value=np.nan), "string[pyarrow]"]


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
    assert later.n_items == 2


@pytest.mark.parametrize("dtype", [bool, "boolean", object])
def test_columns_of_bools_are_nominal(dtype):
    table = pd.DataFrame({"a": pd.Series([True, False, True], dtype=dtype)})
    assert kinds(table) == [True]
    schema, found = learn(table)
    assert set(schema.categories[0]) == {True, False}
    assert found.codes[0, 0] == found.codes[0, 2] != found.codes[0, 1]
    # 0 and 1 are the same values.
    assert read(schema, [[1], [0]])[0].codes.tolist() == [found.codes[0, :2].tolist()]


def test_bools_of_arrays_are_numbers_unless_they_are_named():
    flags = np.array([[True], [False]])
    assert numbers(flags) == [[1, 0]]
    assert codes(flags, [0]) == [[2, 1]]
    assert values(flags, [0]) == [False, True]
    assert numbers([[True], [None]])[0][0] == 1


def test_nullable_columns():
    table = pd.DataFrame(
        {
            "i": pd.array([1, None, 3], "Int64"),
            "u": pd.array([1, 2, None], "UInt8"),
            "f": pd.array([0.5, None, 1.5], "Float64"),
            "b": pd.array([True, None, False], "boolean"),
        }
    )
    schema, found = learn(table)
    assert schema.nominal.tolist() == [False, False, False, True]
    same(found.numbers, [[1, math.nan, 3], [1, 2, math.nan], [0.5, math.nan, 1.5]])
    assert found.codes[0].tolist() == [1, 0, 2]
    schema, found = learn(table, ["i"])
    assert list(schema.categories[0]) == [1, 3]
    assert found.codes[0].tolist() == [1, 0, 2]


def test_categories():
    """Values are read, not the codes of the dtype: unused categories and their order are ignored."""
    ordered = pd.Categorical(["low", "high", None, "low"], ["none", "low", "high"], ordered=True)
    schema, found = learn(pd.DataFrame({"a": ordered}))
    assert set(schema.categories[0]) == {"low", "high"}
    assert found.codes.tolist() == [[1, 2, 0, 1]]
    other = pd.DataFrame({"a": pd.Categorical(["high", "none", "new"], ["new", "high", "none"])})
    assert read(schema, other)[0].codes.tolist() == [[2, 3, 4]]
    assert read(schema, [["high"], ["none"]])[0].codes.tolist() == [[2, 3]]
    sizes = pd.DataFrame({"a": pd.Categorical([3, 1, 3])})
    assert values(sizes) == [3, 1]
    assert read(learn(sizes)[0], [[1.0], [2.0]])[0].codes.tolist() == [[2, 3]]
    bins = pd.DataFrame({"a": pd.cut([0.1, 0.9, 0.2], [0, 0.5, 1])})
    assert codes(bins) == [[1, 2, 1]]


MISSING = [None, math.nan, pd.NA, pd.NaT, np.float32("nan"), decimal.Decimal("nan")]


@pytest.mark.parametrize("missing", MISSING)
def test_all_kinds_of_missing_values(missing):
    rows = [[1.5, "a"], [missing, "b"], [2.5, missing]]
    for X in (rows, np.array(rows, dtype=object), tuple(map(tuple, rows))):
        schema, found = learn(X, [1])
        same(found.numbers, [[1.5, math.nan, 2.5]])
        assert found.codes.tolist() == [[1, 2, 0]]
        assert list(schema.categories[0]) == ["a", "b"]
    frame = pd.DataFrame({"n": [1.5, 1, 2.5], "c": ["a", "b", missing]})
    frame = frame.astype({"n": object})
    frame.loc[1, "n"] = missing
    assert kinds(frame) == [True, True]  # a column of objects
    assert codes(frame) == [[1, 0, 2], [1, 2, 0]]


def test_masked_entries_are_missing_values():
    X = np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[False, True], [False, False]])
    same(numbers(X), [[1, 3], [math.nan, 4]])
    assert codes(X, [1]) == [[0, 1]]
    whole = np.ma.array([[1, 2], [3, 4]])
    assert numbers(whole) == [[1, 3], [2, 4]]
    names = np.ma.array([["a", "b"], ["c", "d"]], mask=[[True, False], [False, False]])
    assert codes(names, [0, 1]) == [[0, 1], [1, 2]]
    assert X.mask.tolist() == [[False, True], [False, False]]


@pytest.mark.parametrize(
    "nominal",
    [
        ["a", "c"],
        ("a", "c"),
        [0, 2],
        [0, -1],
        [-3, "c"],
        np.array([0, 2]),
        np.array(["a", "c"]),
        pd.Index(["c", "a"]),
        [True, False, True],
        np.array([True, False, True]),
        pd.Series([True, False, True]),
        {"a": 1, "c": 2},
    ],
    ids=repr,
)
def test_nominal_names_columns(nominal):
    table = pd.DataFrame({"a": [1, 2], "b": [3, 4], "c": [5, 6]})
    assert kinds(table, nominal) == [True, False, True]
    if all(not isinstance(one, str) for one in nominal):
        assert kinds(table.to_numpy(), nominal) == [True, False, True]


def test_nominal_adds_to_the_dtypes():
    table = pd.DataFrame({"a": ["x", "y"], "b": [3, 4], "c": [5, 6]})
    for nominal, expected in ((None, [0]), ([], [0]), (["b"], [0, 1]), ([False, False, True], [0, 2])):
        assert np.flatnonzero(kinds(table, nominal)).tolist() == expected
    named = pd.DataFrame([[1, 2], [3, 4]], columns=[1, 0])
    assert kinds(named, [1]) == [True, False]  # a name before a number


@pytest.mark.parametrize(
    ("nominal", "error", "message"),
    [
        ("a", TypeError, "nominal must be a list of columns or a mask, got 'a'"),
        (1, TypeError, "nominal must be a list of columns or a mask, got 1"),
        (["d"], ValueError, "numbers -3 to 2 or names among 'a', 'b', 'b', got 'd'"),
        ([3], ValueError, "numbers -3 to 2 or names among 'a', 'b', 'b', got 3"),
        ([-4], ValueError, "got -4"),
        ([1.0], ValueError, "got 1.0"),
        ([True, False], ValueError, "nominal, as a mask, must have 3 entries, got 2"),
        ([None], ValueError, "got None"),
        (["b"], ValueError, "'b', the name of 2 columns; give their numbers"),
    ],
)
def test_nominal_must_name_columns(nominal, error, message):
    table = pd.DataFrame([[1, 2, 3], [4, 5, 6]], columns=["a", "b", "b"])
    with pytest.raises(error, match=message):
        learn(table, nominal)


def test_columns_with_the_same_name():
    table = pd.DataFrame([[1, 2, "x"], [4, 5, "y"]], columns=["a", "b", "b"])
    assert kinds(table) == [False, False, True]
    assert kinds(table, [1]) == [False, True, True]
    assert numbers(table) == [[1, 4], [2, 5]]
    heom = HEOM().fit(table)
    assert heom.pairwise(table)[0, 1] == math.sqrt(3)


TIMES = {
    "days": pd.date_range("2020-01-01", periods=2),
    "zone": pd.date_range("2020-01-01", periods=2, tz="Europe/Paris"),
    "spans": pd.to_timedelta([1, 2], "D"),
}


@pytest.mark.parametrize("name", TIMES)
def test_times_must_be_declared_nominal(name):
    table = pd.DataFrame({"when": TIMES[name], "b": [1, 2]})
    with pytest.raises(TypeError, match=r"X\[:, 'when'\] holds dates or times .*days since.*nominal="):
        learn(table)
    assert codes(table, ["when"]) == [[1, 2]]
    later = table.assign(when=[TIMES[name][1], pd.NaT])
    (found,) = read(learn(table, ["when"])[0], later)
    assert found.codes.tolist() == [[2, 0]]
    plain = table[["when"]].to_numpy()
    if plain.dtype.kind in "mM":
        with pytest.raises(TypeError, match=r"X\[:, 0\] holds dates or times"):
            learn(plain)
        assert codes(plain, [0]) == [[1, 2]]


def test_times_among_objects():
    day = datetime.date(2020, 1, 1)
    with pytest.raises(TypeError, match=r"X\[:, 0\] is datetime.date\(2020, 1, 1\) in row 1"):
        learn([[1], [day]])
    assert values([[day], [None], [day]], [0]) == [day]
    months = pd.DataFrame({"month": pd.period_range("2020-01", periods=2, freq="M")})
    with pytest.raises(TypeError, match=r"X\[:, 'month'\] is Period.*in row 0.*nominal="):
        learn(months)
    assert codes(months, ["month"]) == [[1, 2]]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.longdouble, object, None])
@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_infinite_numbers_are_refused(value, dtype):
    rows = [[1.0, 2.0], [3.0, 4.0], [5.0, value]]
    X = rows if dtype is None else np.array(rows, dtype)
    with pytest.raises(ValueError, match=rf"X\[:, 1\] is {value} in row 2: numbers must be finite"):
        learn(X)
    with pytest.raises(ValueError, match=rf"X\[:, 'b'\] is {value} in row 2"):
        learn(pd.DataFrame(np.array(rows), columns=["a", "b"]))
    assert value in values(rows, [1])  # among names it is one


def test_long_doubles_that_doubles_do_not_hold():
    if np.finfo(np.longdouble).max == np.finfo(float).max:
        pytest.skip("long doubles are doubles here")
    with pytest.raises(ValueError, match=r"X\[:, 0\] is inf in row 1"):
        learn(np.array([["1"], ["1e400"]]).astype(np.longdouble))
    third = np.array([[1], [2]], np.longdouble) / 3
    assert numbers(third) == [[1 / 3, 2 / 3]]


def test_complex_numbers():
    for X in (
        np.array([[1], [2j]]),
        [[1], [2j]],
        np.array([[1], [2j]], object),
        pd.DataFrame({0: [1, 2j]}),
    ):
        with pytest.raises(TypeError, match=r"Complex data not supported: X\[:, 0\] is .*in row \d"):
            learn(X)
    first, second, third = codes([[1], [2j], [1]], [0])[0]
    assert first == third != second


TEXT = r"is 'b' in row 1: the argument must be .*number; name the column in nominal="


def test_text_among_numbers():
    rows = [[1, 2.0], [3, "b"]]
    for X in (rows, np.array(rows, dtype=object)):
        with pytest.raises(TypeError, match=r"X\[:, 1\] " + TEXT):
            learn(X)
    frame = pd.DataFrame({"a": [1, 2], "n": [1.0, 2.0]})
    schema = learn(frame)[0]
    with pytest.raises(TypeError, match=r"X\[:, 'n'\] " + TEXT):
        read(schema, pd.DataFrame({"a": [1, 2], "n": [1.0, "b"]}))
    with pytest.raises(TypeError, match=r"X\[:, 'n'\] is 'x' in row 0"):
        read(schema, pd.DataFrame({"a": [1, 2], "n": pd.Categorical(["x", "y"])}))
    # NumPy has converted everything to text, which is not accepted as numbers.
    for kind in ("U", "S", "T"):
        with pytest.raises(TypeError, match=r"X\[:, 0\] is b?'1.5' in row 0: the argument must be"):
            learn(np.array([["1.5", "a"], ["2", "b"]], kind))
        assert codes(np.array([["a", "b"], ["a", "c"]], kind), [0, 1]) == [[1, 1], [1, 2]]
    # Numbers in a column of another type are read as numbers.
    assert read(schema, pd.DataFrame({"a": pd.Categorical([5, 6]), "n": [True, False]}, dtype=object))
    (found,) = read(schema, pd.DataFrame({"a": pd.Categorical([5, 6]), "n": [True, None]}))
    same(found.numbers, [[5, 6], [1, math.nan]])


def test_variable_width_text_with_missing_ones():
    missing = np.dtypes.StringDType(na_object=None)
    X = np.array([["a"], [None], ["b"]], dtype=missing)
    assert codes(X, [0]) == [[1, 0, 2]]
    assert values(X, [0]) == ["a", "b"]


def test_numbers_of_other_kinds():
    assert numbers([[Fraction(1, 3)], [np.float32(0.5)], [np.int8(3)], [None]])[0][:3] == [1 / 3, 0.5, 3]
    assert numbers([[decimal.Decimal("1.5")], [2]])[0] == [1.5, 2]
    with pytest.raises(ValueError, match="numbers must be finite"):
        learn(np.array([[Fraction(10**400)], [1]], dtype=object))


@pytest.mark.parametrize(
    "make",
    [
        lambda big: [[big, 0.5], [1, 0.5]],
        lambda big: [[big, 1], [1, 2]],
        lambda big: [[big, "a"], [1, "b"]],
        lambda big: np.array([[big, 1], [1, 2]], object),
        lambda big: pd.DataFrame({0: [big, 1], 1: [1, 2]}),
        lambda big: pd.DataFrame({0: pd.array([big, None], "Int64"), 1: [1, 2]}),
        lambda big: pd.DataFrame({0: pd.array([None, big], "UInt64"), 1: [1, 2]}),
        lambda big: pd.DataFrame({0: pd.array([big, 1], "int64[pyarrow]"), 1: [1, 2]}),
    ],
    ids=["floats", "ints", "text", "objects", "frame", "nullable", "unsigned", "pyarrow"],
)
def test_large_integers_are_not_rounded(make):
    """Beyond 2**53 doubles hold every second integer: as numbers refused, as categories distinct."""
    try:
        X = make(BIG)
    except ImportError:
        pytest.skip("needs pyarrow")
    nominal = [1] if isinstance(X, list) and X[0][1] == "a" else []
    assert BIG in learn(X, nominal)[1].numbers
    with pytest.raises(ValueError, match=rf"is {BIG + 1} in row \d; integers beyond 2\*\*53 .*nominal="):
        learn(make(BIG + 1), nominal)
    schema, found = learn(make(BIG + 1), [0, *nominal])
    assert BIG + 1 in schema.categories[0]
    row = int(np.argmax(found.codes[0] == 1 + schema.categories[0][BIG + 1]))
    for later, known in ((BIG, False), (BIG + 1, True), (BIG + 2, False)):
        (again,) = read(schema, make(later))
        assert (again.codes[0, row] == found.codes[0, row]) == known


def test_integers_beyond_all_types():
    with pytest.raises(ValueError, match=r"X\[:, 0\] is 1000.*000 in row 1; integers beyond"):
        learn([[1], [10**400]])
    with pytest.raises(ValueError, match=rf"is {2**64 - 1} in row 0"):
        learn(np.array([[2**64 - 1], [0]], np.uint64))
    with pytest.raises(ValueError, match=rf"is -{BIG + 1} in row 1"):
        learn(np.array([[0], [-BIG - 1]]))
    assert values([[10**400], [10**400 + 1]], [0]) == [10**400, 10**400 + 1]
    assert numbers([[1e300], [1]]) == [[1e300, 1]]


def test_values_of_several_types_in_one_column():
    """Equal values are the same value, as in a dict: 1, 1.0 and True; the text "1" is another."""
    mixed = [[1], ["1"], [True], [1.0], [b"1"], [None], [0], [False], [""], [" "]]
    found = codes(mixed, [0])[0]
    assert found == [1, 2, 1, 1, 3, 0, 4, 4, 5, 6]
    assert codes(np.array([[1], ["1"], [2.5]], dtype=object), [0]) == [[1, 2, 3]]
    assert codes(pd.DataFrame({"a": [1, "1", True, 1.0, (1, 2), (1, 2)]})) == [[1, 2, 1, 1, 3, 3]]
    distance = HVDM(nominal=[0]).fit(mixed, [0, 1] * 5)
    assert (distance.pairwise([[1]], [[True], [1.0]]) == 0).all()
    assert distance.pairwise([[1]], [["1"]]) > 0


def test_a_new_value_is_the_same_in_both_tables():
    schema, _ = learn([["a", 1], ["b", 2]], [0])
    second = np.array([["x", 0], ["y", 0], ["z", 0], ["a", 0]], object)
    one, other = read(schema, [["z", 1], ["y", 2]], second)

    assert one.codes.tolist() == [[3, 4]]
    assert other.codes.tolist() == [[5, 4, 3, 1]]
    heom = HEOM(nominal=[0]).fit([["a", 1], ["b", 2]])
    apart = heom.pairwise([["z", 1], ["y", 1]], [["y", 1], ["z", 1]])
    assert apart.tolist() == [[1, 0], [0, 1]]
    hvdm = HVDM(nominal=[0]).fit([["a", 1], ["b", 2]], [0, 1])
    assert (hvdm.pairwise([["z", 1], ["y", 1]], [["y", 1], ["z", 1]]) == 0).all()  # neither tells a class


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.empty((3, 0)), r"at least 1 feature, got shape \(3, 0\)"),
        (pd.DataFrame(index=[1, 2]), r"at least 1 feature, got shape \(2, 0\)"),
        ([1, 2, 3], r"shape \(n_items, n_features\), got shape \(3,\)"),
        ([], r"got shape \(0,\)"),
        (5, r"got shape \(\)"),
        (pd.Series([1, 2]), r"got shape \(2,\)"),
        (np.zeros((2, 2, 2)), r"got shape \(2, 2, 2\)"),
        ([[1, 2], [3]], "X must be a table, all rows of one length"),
        ([["a", 2], ["b"]], "X must be a table, all rows of one length"),
    ],
)
def test_other_shapes_are_refused(X, message):
    with pytest.raises(ValueError, match=message):
        learn(X)


def test_sparse_matrices():
    sparse = pytest.importorskip("scipy.sparse")
    for X in (sparse.eye(3).tocsr(), sparse.coo_array(np.eye(3))):
        with pytest.raises(TypeError, match=r"X is a sparse matrix; pass X.toarray\(\)"):
            learn(X)
    columns = pd.DataFrame({"a": pd.arrays.SparseArray([0, 0, 2])})
    assert numbers(columns) == [[0, 0, 2]]


def test_tables_without_rows():
    schema, found = learn(np.empty((0, 2)), [1])
    assert found.n_items == 0
    for X in (np.empty((0, 2)), np.empty((0, 2), object), pd.DataFrame({"a": [], "b": []})):
        (again,) = read(schema, X)
        assert (again.numbers.shape, again.codes.shape) == ((1, 0), (1, 0))
    for distance in (HEOM(nominal=[1]), HVDM(nominal=[1])):
        with pytest.raises(ValueError, match="X must have at least 2 samples, got n_samples=0"):
            distance.fit(np.empty((0, 2)), [])
        distance.fit([[1, "a"], [2, "b"]], [0, 1])
        assert distance.pairwise(np.empty((0, 2)), [[1, "a"]]).shape == (0, 1)
        assert distance.pairwise([[1, "a"]], np.empty((0, 2))).shape == (1, 0)
        assert [part.shape for part in distance.kneighbors(np.empty((0, 2)), 2)] == [(0, 2), (0, 2)]


def test_later_tables_have_the_same_columns():
    table = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    for distance in (HEOM().fit(table), HVDM().fit(table, [0, 1])):
        for X in (table[["a"]], [[1, 2, 3]]):
            with pytest.raises(
                ValueError, match=rf"X has {np.shape(X)[1]} features, but .*fitted with 2 features"
            ):
                distance.pairwise(X)
        message = "column 0 of X has the name 'b', but 'a' when the distance was fitted.*same order"
        with pytest.raises(ValueError, match=message):
            distance.pairwise(table, table[["b", "a"]])
        with pytest.raises(ValueError, match="column 1 of X has the name 'c', but 'b'"):
            distance.kneighbors(table.rename(columns={"b": "c"}), 1)
        # Tables without names, or with numbers as names, are accepted.
        assert (distance.pairwise(table.to_numpy()) == distance.pairwise(table)).all()
        assert (distance.pairwise(pd.DataFrame(table.to_numpy())) == distance.pairwise(table)).all()


def test_values_must_be_hashable():
    inside = np.empty((2, 1), object)
    inside[:, 0] = [np.array([1, 2]), 3]
    for X, shown in (([[{1}], [2]], r"\{1\}"), (inside, r"array\(\[1, 2\]\)"), ([[{}], [2]], r"\{\}")):
        with pytest.raises(
            TypeError, match=rf"X\[:, 0\] is {shown} in row 0; values of a nominal .*hashable"
        ):
            learn(X, [0])
        with pytest.raises(TypeError, match=rf"X\[:, 0\] is {shown} in row 0: the argument must be"):
            learn(X)


def frozen(X):
    X.flags.writeable = False
    return X


def test_arrays_in_every_layout():
    X = np.arange(24.0).reshape(6, 4) % 7
    X[2, 1] = np.nan
    y = [0, 1, 0, 1, 1, 0]
    expected = HVDM(nominal=[3]).fit(X, y).pairwise(X)
    spread = np.zeros((12, 8))
    spread[::2, ::2] = X
    forms = [
        np.asfortranarray(X),
        spread[::2, ::2],
        X[::-1][::-1],
        frozen(X.copy()),
        X.astype(np.float32),
        X.astype(np.float16),
        X.astype(np.longdouble),
        X.astype(">f8"),
        X.astype(object),
        X.tolist(),
        pd.DataFrame(X),
        pd.DataFrame(X).astype("float32"),
        pd.DataFrame(X).astype({0: "int16", 3: "category"}),
    ]
    for form in forms:
        before = form.copy()
        distance = HVDM(nominal=[3]).fit(form, y)
        assert (distance.pairwise(form) == expected).all()
        distance.kneighbors(form, 3)
        distance.neighbors().kneighbors(3)
        if isinstance(form, pd.DataFrame):
            pd.testing.assert_frame_equal(form, before)
        else:
            np.testing.assert_array_equal(np.array(form, float), np.array(before, float))


def test_a_fit_does_not_change_with_the_table():
    X = np.array([[1.0, 5.0], [2.0, 7.0], [4.0, 5.0]])
    for distance in (HVDM(nominal=[1]).fit(X, [0, 1, 1]), HEOM(nominal=[1]).fit(X)):
        near = distance.neighbors()
        before = distance.pairwise([[1.0, 5.0]], [[2.0, 7.0]]), near.kneighbors(1)
        X *= 10
        assert (distance.pairwise([[1.0, 5.0]], [[2.0, 7.0]]) == before[0]).all()
        assert (distance.kneighbors([[1.0, 5.0]], 1)[1] == 0).all()
        assert (distance.neighbors().kneighbors(1)[1] == before[1][1]).all()
        X /= 10


def test_polars():
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    table = polars.DataFrame(
        {"n": [1, None, 3], "f": [0.5, 1.5, None], "t": ["x", None, "y"], "b": [True, False, None]}
    )
    schema, found = learn(table)
    assert schema.nominal.tolist() == [False, False, True, True]
    assert schema.names == ("n", "f", "t", "b")
    same(found.numbers, [[1, math.nan, 3], [0.5, 1.5, math.nan]])
    assert found.codes.tolist() == [[1, 0, 2], [1, 2, 0]]
    with pytest.raises(ValueError, match="column 0 of X has the name 'f'"):
        read(schema, table[["f", "n", "t", "b"]])
    enum = polars.DataFrame({"c": polars.Series(["x", "y", "x"], dtype=polars.Categorical)})
    assert codes(enum) == [[1, 2, 1]]


def test_values_of_another_type_cause_a_warning():
    heom = HEOM(nominal=[0]).fit([[1], [2], [3]])
    with pytest.warns(
        UserWarning,
        match="column 0 holds '2' and none of the values .*these include 2; do the types differ",
    ):
        assert heom.pairwise([["2"]], [[2]]).tolist() == [[1.0]]
    assert heom.pairwise([[2.0], [7]], [[2]]).tolist() == [[0.0], [1.0]]
    assert heom.pairwise([["new"]], [[2]]).tolist() == [[1.0]]


def test_messages_on_tables_with_text_name_heom():
    table = pd.DataFrame({"a": ["x", "y", "x", "y"], "b": [1.0, 2.0, 3.0, 4.0]})
    with pytest.raises(TypeError, match=r"knnccv\.hvdm\.HEOM"):
        complete_cv(table, [0, 1, 0, 1], "nn", 2)
    with pytest.raises(TypeError, match=r"pass the neighbors of its fitted samples, HEOM\(...\).fit"):
        complete_cv(HEOM().fit(table), [0, 1, 0, 1], "nn", 2)
    complete_cv(HEOM().fit(table).neighbors(), [0, 1, 0, 1], "nn", 2)


def test_distances_have_parameters_as_estimators_have():
    hvdm = clone(HVDM(nominal=[0], leave_one_out="fixed"))
    assert hvdm.get_params() == {"nominal": [0], "leave_one_out": "fixed"}
    assert hvdm.set_params(nominal=None).nominal is None
    with pytest.raises(ValueError, match="has the parameters nominal, leave_one_out, not 'metric'"):
        hvdm.set_params(metric=1)
