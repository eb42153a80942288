"""The sets of Wilson and Martinez (1999): names, values, rows, typing, frames and pickles."""

from __future__ import annotations

import csv
import pickle
import re
import sys
from collections import Counter

import numpy as np
import pytest
from uci_counts import EXPECTED, HEARTS, LEDS, texts_of

from knnccv import datasets
from knnccv.datasets import fetch_uci, uci_names

pytestmark = pytest.mark.usefixtures("only_this_machine", "cache", "stored")

# "Missing Attribute Values" of the .names files; the others have none.
MISSING = {
    "Crx": {"A1": 12, "A2": 12, "A4": 6, "A5": 6, "A6": 9, "A7": 9, "A14": 13},
    "Hepatitis": {
        **{"steroid": 1, "fatigue": 1, "malaise": 1, "anorexia": 1, "liver_big": 10, "liver_firm": 11},
        **{"spleen_palpable": 5, "spiders": 5, "ascites": 5, "varices": 5, "bilirubin": 6},
        **{"alk_phosphate": 29, "sgot": 4, "albumin": 16, "protime": 67},
    },
    "Voting": {
        **{"handicapped-infants": 12, "water-project-cost-sharing": 48, "physician-fee-freeze": 11},
        **{"adoption-of-the-budget-resolution": 11, "el-salvador-aid": 15, "mx-missile": 22},
        **{"religious-groups-in-schools": 11, "anti-satellite-test-ban": 14, "immigration": 7},
        **{"aid-to-nicaraguan-contras": 15, "synfuels-corporation-cutback": 21, "crime": 17},
        **{"education-spending": 31, "superfund-right-to-sue": 25, "duty-free-exports": 28},
        **{"export-administration-act-south-africa": 104},
    },
    "Anneal": {
        "family": 687,  # which the description counts as 0
        **{"steel": 70, "temper_rolling": 675, "condition": 271, "formability": 283, "non-ageing": 703},
        **{"surface-finish": 790, "surface-quality": 217, "enamelability": 785, "bc": 797, "bf": 680},
        **{"bt": 736, "bw/me": 609, "bl": 662, "m": 798, "chrom": 775, "phos": 791, "cbond": 730},
        **{"marvi": 798, "exptl": 796, "ferro": 772, "corr": 798, "blue/bright/varn/clean": 793},
        **{"lustre": 753, "jurofm": 798, "s": 798, "p": 798, "oil": 740, "packing": 789},
    },
}


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
    if name in MISSING:
        unknown = np.isnan(data.X).sum(axis=0)
        found = {k: int(n) for k, n in zip(data.feature_names, unknown, strict=True) if n}
        assert found == MISSING[name]
    check_pickle(data)
    check_frame(data, pytest.importorskip("pandas"))


def test_frames_of_other_sets(monkeypatch):
    pandas = pytest.importorskip("pandas")
    others = datasets.load_wine(), datasets.load_diabetes(), datasets.fetch_orl(size=(30, 20))
    for data in (*others, *map(fetch_uci, LEDS)):
        check_frame(data, pandas)
    assert {(data.nominal, data.categories) for data in others} == {((), ())}
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"to_frame\(\) needs pandas: pip install 'knnccv\[pandas\]'"):
        datasets.load_wine().to_frame()


def test_first_rows_by_hand():
    glass = fetch_uci("Glass")
    assert glass.X[0].tolist() == [1.52101, 13.64, 4.49, 1.10, 71.78, 0.06, 8.75, 0, 0]
    assert (glass.nominal, glass.categories) == ((False,) * 9, (None,) * 9)
    promoters = fetch_uci("Promoters")
    first = "".join(texts_of(promoters, column)[0] for column in range(57))
    assert first == "tactagcaatacgcttgcgttcggtggttaagtatgtataatgcgcgggcttgtcgt"
    assert promoters.categories == (("a", "c", "g", "t"),) * 57
    assert promoters.feature_names[::50] == ("p-50", "p1")
    voting = fetch_uci("Voting")
    assert [texts_of(voting, column)[0] for column in range(16)] == [*"nynyyynnny", None, *"yyyny"]
    crx = fetch_uci("Crx")
    assert crx.categories[3] == ("l", "u", "y")
    assert crx.X[0, :4].tolist() == [1, 30.83, 0, 1]  # b, 30.83, 0, u


def test_the_stray_comma_of_echocardiogram_moves_no_field():
    data = fetch_uci("Echocardiogram")
    assert data.target_names == ("0", "1")
    at = data.feature_names.index("pericardial-effusion")
    assert data.categories[at] == ("0", "1")
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
