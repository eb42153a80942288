"""The sets of Wilson and Martinez (1999): names, values, rows, typing, and their files; the LED digits."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import itertools
import re
import tomllib
from collections import Counter
from fractions import Fraction
from pathlib import Path

import mirror
import numpy as np
import pytest

from knnccv.datasets import DatasetError
from knnccv_papers import _uci, fetch_uci, uci_names

EXPECTED = tomllib.loads(Path(__file__).with_name("uci_counts.toml").read_text(encoding="utf-8"))
HEARTS = ("Cleveland", "Hungarian", "Long Beach", "Swiss")
LEDS = ("LED Creator", "LED Creator+17")
LIGHTS = (0x77, 0x12, 0x5D, 0x5B, 0x3A, 0x6B, 0x6F, 0x52, 0x7F, 0x7B)
"""Of 0 to 9, as bits: top, upper left, upper right, middle, lower left, lower right, bottom."""
SHOWN = np.array([[lights >> bit & 1 for bit in range(6, -1, -1)] for lights in LIGHTS])
pytestmark = pytest.mark.usefixtures("stored")


def texts_of(data, column):
    """The texts that the codes of a categorical column stand for."""
    codes, names = data.X[:, column], data.categories[column]
    return [None if np.isnan(code) else names[int(code)] for code in codes]


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


def check_form(data, name):
    """Counts of rows, columns, missing values and classes, and the codes of categorical columns."""
    (n_items, n_features, n_nominal, n_unknown), classes = EXPECTED[name].values()
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


@pytest.mark.parametrize("name", EXPECTED)
def test_values_rows_and_columns(name, data_folder, typing):
    data, every = fetch_uci(name), fetch_uci(name, rows="all", random_state=7)
    check_form(data, name)
    check_values(every, name, naive_rows(data_folder, name, typing[name]), typing[name])
    if name not in ("Vowel", "Image Segmentation"):  # of which the paper has fewer rows
        np.testing.assert_array_equal(data.X, every.X)
        np.testing.assert_array_equal(data.y, every.y)
        assert data.description == every.description


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


def test_rows_of_image_segmentation():
    every = fetch_uci("Image Segmentation", rows="all")
    assert every.X.shape == (2310, 19)
    assert np.bincount(every.y).tolist() == [330] * 7
    items = [(*row, label) for row, label in zip(every.X.tolist(), every.y.tolist(), strict=True)]
    seen = set()
    for seed in range(30):
        data = fetch_uci("Image Segmentation", random_state=seed)
        chosen = [(*row, label) for row, label in zip(data.X.tolist(), data.y.tolist(), strict=True)]
        assert chosen[:210] == items[:210]
        assert np.bincount(data.y[210:]).tolist() == [30] * 7
        test_rows = iter(items[210:])
        assert all(row in test_rows for row in chosen[210:])  # in the file's order, none twice
        seen.update(chosen[210:])
    # Of 30 draws a row is in none with probability 0.9**30 < 0.05.
    assert len(seen) > 0.93 * len(set(items[210:]))
    default = fetch_uci("Image Segmentation").X
    np.testing.assert_array_equal(default, fetch_uci("Image Segmentation", random_state=0).X)


def near(share, expected, n):
    """Check that a share of n draws is within five standard errors of its expectation."""
    return abs(share - expected) < 5 * np.sqrt(expected * (1 - expected) / n)


def bayes():
    """For each display the most probable digit, and the probability that this is right."""
    rule, right = {}, Fraction(0)
    for display in itertools.product((0, 1), repeat=7):
        n_wrong = (display != SHOWN).sum(axis=1).tolist()
        chances = [Fraction(1, 10) * Fraction(9, 10) ** 7 / 9**n for n in n_wrong]
        rule[display] = chances.index(max(chances))
        right += max(chances)
    return rule, right


@pytest.mark.parametrize("name", LEDS)
def test_digits_segments_their_bayes_rule_and_attributes_that_say_nothing(name):
    """Forty samples as one."""
    drawn, n_random = [fetch_uci(name, random_state=seed) for seed in range(40)], LEDS.index(name) * 17
    for data in drawn:
        assert data.X.shape == (1000, 7 + n_random)
        assert data.categories == (("0", "1"),) * (7 + n_random)
        assert data.target_names == tuple("0123456789")
    X, digits = np.concatenate([d.X for d in drawn]).astype(int), np.concatenate([d.y for d in drawn])
    displays, others = X[:, :7], X[:, 7:]
    wrong = displays != SHOWN[digits]
    for digit in range(10):
        rows = digits == digit
        assert near(rows.mean(), 0.1, len(digits))
        assert all(near(share, 0.1, rows.sum()) for share in wrong[rows].mean(axis=0))
        assert all(near(share, 0.5, rows.sum()) for share in others[rows].mean(axis=0))
    for one, other in itertools.combinations(range(7), 2):
        assert near((wrong[:, one] & wrong[:, other]).mean(), 0.01, len(wrong)), (one, other)
    for one, other in itertools.combinations(others.T, 2):
        assert near((one == other).mean(), 0.5, len(digits))
    rule, right = bayes()
    assert float(right) == pytest.approx(0.74, abs=0.005)  # the paper's number has two digits
    said = [rule[tuple(display)] for display in displays.tolist()]
    assert near(np.mean(said == digits), float(right), len(digits))


@pytest.mark.parametrize("name", LEDS)
def test_seeds(name):
    rng = np.random.default_rng(3)
    seeds = (3, 3, rng, 4, rng, None, None)
    first, *same, fourth, fifth, sixth, last = (fetch_uci(name, random_state=seed).X for seed in seeds)
    for again in same:
        np.testing.assert_array_equal(first, again)
    for one, other in itertools.combinations((first, fourth, fifth, sixth, last), 2):
        assert not np.array_equal(one, other)


def test_the_sample_of_the_repositories_has_the_same_structure(data_folder):
    sample = np.loadtxt(data_folder / "uci31" / "led-display" / "led-display.data", dtype=int)
    wrong = sample[:, :7] != SHOWN[sample[:, 7]]
    assert near(wrong.mean(), 0.1, wrong.size)


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
    stable = re.compile(
        r"https://archive\.ics\.uci\.edu/(ml/machine-learning-databases|static/public/\d+)/\S+$"
        r"|https://raw\.githubusercontent\.com/[^/]+/[^/]+/[0-9a-f]{40}/\S+$"
    )
    assert all(file["sources"] for file in files)
    for source in itertools.chain.from_iterable(file["sources"] for file in files):
        assert stable.match(source["url"])
        assert ("member" in source) == source["url"].endswith(".zip")
