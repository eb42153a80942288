"""The sets of Wilson and Martinez (1999): names, values, rows, typing, frames and pickles."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import pickle
import re
from collections import Counter

import mirror
import numpy as np
import pytest
from uci_counts import EXPECTED, HEARTS, LEDS, texts_of

from knnccv.datasets import DatasetError
from knnccv_papers import _uci, fetch_uci, uci_names

pytestmark = pytest.mark.usefixtures("stored")


def naive_rows(folder, name, entry):
    """All rows of a set as texts, read with the csv module."""
    rows = []
    for path in entry["files"]:
        lines = (folder / "uci31" / path).read_text(encoding="ascii").splitlines()
        if name == "Image Segmentation":
            lines = lines[5:]
        if entry["separator"] == ",":
            found = [[text.strip() for text in row] for row in csv.reader(lines) if row]
        else:
            found = [re.findall(r"\S+", line) for line in lines]
        rows += found
    if name == "Echocardiogram":
        rows = [row[1:] if len(row) == 14 else row for row in rows]
    if name == "Promoters":
        rows = [[row[0], row[1], *row[2]] for row in rows]
    return rows


def naive_columns(entry, n_fields):
    """The numbers of the target, and of the features: numeric and others."""
    target = entry["target"] % n_fields
    left = [c for c in range(n_fields) if c != target and c not in [d % n_fields for d in entry["dropped"]]]
    numeric = left if entry["numeric"] == "all" else [c % n_fields for c in entry["numeric"]]
    return target, left, numeric


def order(pair):
    """Numbers by size, then texts."""
    text = pair[0]
    return (0, float(text), "") if text.isdigit() else (1, 0.0, text)


def test_names_are_those_of_table_1_of_the_paper_and_of_the_typing(typing):
    assert uci_names() == sorted([*EXPECTED, *LEDS]) == sorted(typing)
    assert len(uci_names()) == 30
    uci_names().clear()
    assert len(uci_names()) == 30


def check_form(data, name):
    """Counts of rows, columns, missing values and classes, and the codes of categorical columns."""
    n_items, n_features, n_nominal, n_unknown, classes = EXPECTED[name]
    assert data.X.shape == (n_items, n_features)
    assert (data.X.dtype, data.y.dtype) == (np.float64, np.int64)
    assert data.X.flags.c_contiguous
    assert data.y.flags.c_contiguous
    assert sum(data.nominal) == n_nominal
    assert np.isnan(data.X).sum() == n_unknown
    assert dict(Counter(data.target_names[label] for label in data.y)) == classes
    assert list(data.target_names) == list(dict(sorted(classes.items(), key=order)))
    assert len(set(data.feature_names)) == len(data.nominal) == len(data.categories) == n_features
    for is_nominal, texts, column in zip(data.nominal, data.categories, data.X.T, strict=True):
        assert is_nominal == (texts is not None)
        assert texts is None or set(column[~np.isnan(column)]) == set(range(len(texts)))
    assert data.citation
    assert re.search(r"\d+ attributes? (?:are|is) numeric and \d+ categorical\.", data.description)


def check_values(data, name, rows, entry):
    """Every value and label is that of the file."""
    target, left, numeric = naive_columns(entry, len(rows[0]))
    rows = [row for row in rows if row[target] not in ("?", "", "NIL")]
    assert data.X.shape == (len(rows), len(left))
    assert data.nominal == tuple(column not in numeric for column in left)
    for at, column in enumerate(left):
        found = [None if row[column] in ("?", "") else row[column] for row in rows]
        if column in numeric:
            values = [np.nan if text is None else float(text) for text in found]
            np.testing.assert_array_equal(data.X[:, at], values)
        else:
            assert texts_of(data, at) == found
    labels = [row[target] for row in rows]
    if "(" in name and name.split("(")[1][:-1] in HEARTS:
        labels = ["0" if label == "0" else "1 to 4" for label in labels]
    assert [data.target_names[label] for label in data.y] == labels


def check_frame(data, pandas):
    """The data frame has categories or numbers, and is a copy."""
    before, frame = data.X.copy(), data.to_frame()
    assert tuple(frame.columns) == data.feature_names
    assert len(frame) == len(data.X)
    for at, name in enumerate(frame):
        series = frame[name]
        np.testing.assert_array_equal(series.isna(), np.isnan(data.X[:, at]))
        if data.nominal and data.nominal[at]:
            assert isinstance(series.dtype, pandas.CategoricalDtype)
            assert not series.cat.ordered
            assert tuple(series.cat.categories) == data.categories[at]
            assert [None if pandas.isna(text) else text for text in series] == texts_of(data, at)
        else:
            assert series.dtype == np.float64
            np.testing.assert_array_equal(series, data.X[:, at])
            frame.loc[:, name] = -1.0
    np.testing.assert_array_equal(data.X, before)


def check_pickle(data):
    again = pickle.loads(pickle.dumps(data))
    np.testing.assert_array_equal(again.X, data.X)
    np.testing.assert_array_equal(again.y, data.y)
    for field in ("feature_names", "target_names", "nominal", "categories", "description", "citation"):
        assert getattr(again, field) == getattr(data, field)


@pytest.mark.parametrize("name", EXPECTED)
def test_values_rows_and_columns(name, data_folder, typing):
    data, every = fetch_uci(name), fetch_uci(name, rows="all", random_state=7)
    check_form(data, name)
    check_values(every, name, naive_rows(data_folder, name, typing[name]), typing[name])
    if name not in ("Vowel", "Image Segmentation"):  # of which the paper has fewer rows
        np.testing.assert_array_equal(data.X, every.X)
        np.testing.assert_array_equal(data.y, every.y)
        assert data.description == every.description
    check_pickle(data)
    check_frame(data, pytest.importorskip("pandas"))


def test_names_and_categories_by_hand():
    promoters = fetch_uci("Promoters")
    first = "".join(texts_of(promoters, column)[0] for column in range(57))
    assert first == "tactagcaatacgcttgcgttcggtggttaagtatgtataatgcgcgggcttgtcgt"
    assert promoters.categories == (("a", "c", "g", "t"),) * 57
    assert promoters.feature_names[::50] == ("p-50", "p1")
    voting = fetch_uci("Voting")
    unknown = np.isnan(voting.X[:, voting.feature_names.index("export-administration-act-south-africa")])
    assert unknown.sum() == 104  # by its description
    data = fetch_uci("Echocardiogram")  # where a stray comma moves no field
    ages = data.X[:, data.feature_names.index("age-at-heart-attack")]
    assert 30 < np.nanmin(ages) <= np.nanmax(ages) < 90


def test_codes_of_numbers_follow_the_numbers():
    assert fetch_uci("Vowel").target_names == tuple(map(str, range(11)))
    assert fetch_uci("Australian").categories[4] == tuple(str(k) for k in range(1, 15))
    assert fetch_uci("Anneal").categories[7] == ("1", "2", "3", "5")


def test_the_description_says_what_was_done():
    for name, said in {
        "Echocardiogram": "58 rows without a known alive-at-1 are left out.",
        "Bridges": "3 rows without a known type are left out.",
        "Horse Colic": "1 row without a known outcome is left out.",
        "Vowel": "the 528 rows with train_or_test 0",
        "Image Segmentation": "210 of the 2100 of segmentation.test, 30 of each class, drawn",
        "Crx": "67 of the 10350 values are missing",
        "Liver (Bupa)": "and no diagnosis",
    }.items():
        assert said in fetch_uci(name).description


def test_rows_of_vowel():
    some, every = fetch_uci("Vowel"), fetch_uci("Vowel", rows="all")
    assert every.X.shape == (990, 10)
    assert np.bincount(every.y).tolist() == [90] * 11
    np.testing.assert_array_equal(some.X, every.X[:528])  # the file begins with them
    assert "990" not in every.description


def test_rows_of_image_segmentation():
    every = fetch_uci("Image Segmentation", rows="all")
    assert every.X.shape == (2310, 19)
    assert np.bincount(every.y).tolist() == [330] * 7
    items = [(*row, label) for row, label in zip(every.X.tolist(), every.y.tolist(), strict=True)]
    seen = set()
    draws = [fetch_uci("Image Segmentation", random_state=seed) for seed in range(30)]
    for data in draws:
        np.testing.assert_array_equal(data.X[:210], every.X[:210])
        np.testing.assert_array_equal(data.y[:210], every.y[:210])
        assert np.bincount(data.y[210:]).tolist() == [30] * 7
        chosen = [(*row, label) for row, label in zip(data.X.tolist(), data.y.tolist(), strict=True)]
        test_rows = iter(items[210:])
        assert all(row in test_rows for row in chosen[210:])  # in the file's order, none twice
        seen.update(chosen[210:])
    # Of 30 draws a row is in none with probability 0.9**30 < 0.05.
    assert len(seen) > 0.93 * len(set(items[210:]))
    for again, first in (
        (fetch_uci("Image Segmentation", random_state=1), 1),
        (fetch_uci("Image Segmentation"), 0),
    ):
        np.testing.assert_array_equal(again.X, draws[first].X)


@pytest.fixture
def served(data_folder, monkeypatch, tmp_path):
    """``served(*missing)``: the cache folder, filled from a server that lacks files with these endings."""
    with contextlib.ExitStack() as stack:

        def serve(*missing):
            healthy = mirror.folder(data_folder)

            def answer(handler):
                handler.send_error(404) if handler.path.endswith(missing) else healthy(handler)

            server = stack.enter_context(mirror.serve(answer))
            monkeypatch.setenv("KNNCCV_DATA_URL", server.url)
            monkeypatch.setenv("KNNCCV_DATA_DIR", str(tmp_path / "cache"))
            return server

        yield serve


def test_several_files_of_which_one_is_damaged(served, tmp_path):
    server, folder = served(), tmp_path / "cache" / "uci31" / "vehicle"
    fetch_uci("Vehicle")
    (folder / "xad.dat").write_text("95 48 van\n")
    asked = len(server.requests)
    for _ in range(2):
        assert fetch_uci("Vehicle").X.shape == (846, 18)
    assert len(server.requests) == asked + 1
    assert len(list(folder.iterdir())) == 9


def test_a_file_that_cannot_be_fetched_or_stored(served, monkeypatch, tmp_path):
    server = served("xac.dat")
    for url in (f"{server.url}/a/xac.dat", f"{server.url}/uci31/vehicle/xaa.dat"):
        file = {"path": "one/xac.dat", "sha256": "0" * 64, "sources": [{"url": url}]}
        reason = "404" if "xac" in url else "its SHA-256 is not the recorded one"
        with pytest.raises(DatasetError, match=rf"^One could not be fetched.*{reason}"):
            _uci.fetch("One", file)
    with pytest.raises(DatasetError, match=r"Vehicle.* could not be fetched"):
        fetch_uci("Vehicle")
    found = sorted(path.name for path in (tmp_path / "cache").rglob("*.dat"))
    assert found == ["xaa.dat", "xab.dat"]
    (tmp_path / "file").touch()
    monkeypatch.setenv("KNNCCV_DATA_DIR", str(tmp_path / "file"))
    with pytest.raises(DatasetError, match=r"Iris.* cannot be stored at .*; set KNNCCV_DATA_DIR"):
        fetch_uci("Iris")


def test_a_member_of_an_archive(monkeypatch, tmp_path):
    monkeypatch.setenv("KNNCCV_DATA_DIR", str(tmp_path / "cache"))
    archive = mirror.pack_zip({"a.data": b"1,2", "b.data": b"3"})
    with mirror.serve(mirror.content(archive)) as server:
        file = {"path": "x/a.data", "sha256": hashlib.sha256(b"1,2").hexdigest()}
        file["sources"] = [{"url": server.url, "member": "a.data"}]
        assert _uci.fetch("X", file) == (tmp_path / "cache" / "x" / "a.data").read_bytes() == b"1,2"


def test_addresses_are_stable():
    files = [file for known in _uci.load_sets().values() for file in known.files]
    assert len(files) == 37  # one for each of the 28 sets, another one, and eight more of Vehicle
    for file in files:
        assert file["sources"]
        for source in file["sources"]:
            assert ("member" in source) == source["url"].endswith(".zip")
            assert re.match(
                r"https://archive\.ics\.uci\.edu/(ml/machine-learning-databases|static/public/\d+)/\S+$"
                r"|https://raw\.githubusercontent\.com/[^/]+/[^/]+/[0-9a-f]{40}/\S+$",
                source["url"],
            )
