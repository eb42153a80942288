"""The sets of Wilson and Martinez: what their arrays hold, against readings of the files of their own."""

from __future__ import annotations

import csv
import itertools
import json
import pickle
import re
import sys
from collections import Counter
from fractions import Fraction
from math import sqrt

import mirror as local
import numpy as np
import pytest

from knnccv import datasets
from knnccv.datasets import _download, _manifest, _uci, fetch_uci, uci_names
from knnccv.datasets._manifest import Source

pytestmark = pytest.mark.usefixtures("only_this_machine", "cache")

# Samples, features, nominal ones, unknown values among them, and the classes: counted in the files, and
# as their descriptions (.names) have them.
HEARTS = ("Cleveland", "Hungarian", "Long Beach", "Swiss")
EXPECTED = {
    "Anneal": (798, 38, 32, 19692, {"1": 8, "2": 88, "3": 608, "5": 60, "U": 34}),
    "Australian": (690, 14, 8, 0, {"0": 383, "1": 307}),
    "Breast Cancer (WI)": (699, 9, 0, 16, {"2": 458, "4": 241}),
    "Bridges": (
        105,
        11,
        7,
        61,
        {"ARCH": 13, "CANTILEV": 11, "CONT-T": 10, "SIMPLE-T": 44, "SUSPEN": 11, "WOOD": 16},
    ),
    "Crx": (690, 15, 9, 67, {"+": 307, "-": 383}),
    "Echocardiogram": (74, 10, 2, 23, {"0": 50, "1": 24}),
    "Flag": (194, 28, 18, 0, {"0": 40, "1": 60, "2": 36, "3": 8, "4": 4, "5": 27, "6": 15, "7": 4}),
    "Glass": (214, 9, 0, 0, {"1": 70, "2": 76, "3": 17, "5": 13, "6": 9, "7": 29}),
    "Heart": (270, 13, 6, 0, {"1": 150, "2": 120}),
    "Heart (Cleveland)": (303, 13, 6, 6, {"0": 164, "1 to 4": 55 + 36 + 35 + 13}),
    "Heart (Hungarian)": (294, 13, 6, 782, {"0": 188, "1 to 4": 106}),
    "Heart (Long Beach)": (200, 13, 6, 698, {"0": 51, "1 to 4": 56 + 41 + 42 + 10}),
    "Heart (Swiss)": (123, 13, 6, 273, {"0": 8, "1 to 4": 48 + 32 + 30 + 5}),
    "Hepatitis": (155, 19, 13, 167, {"1": 32, "2": 123}),
    "Horse Colic": (299, 21, 14, 1602, {"1": 178, "2": 77, "3": 44}),
    "Image Segmentation": (
        420,
        19,
        0,
        0,
        dict.fromkeys(["BRICKFACE", "CEMENT", "FOLIAGE", "GRASS", "PATH", "SKY", "WINDOW"], 60),
    ),
    "Ionosphere": (351, 34, 0, 0, {"b": 126, "g": 225}),
    "Iris": (150, 4, 0, 0, dict.fromkeys(["Iris-setosa", "Iris-versicolor", "Iris-virginica"], 50)),
    "Liver (Bupa)": (345, 6, 0, 0, {"1": 145, "2": 200}),
    "Pima Diabetes": (768, 8, 0, 0, {"0": 500, "1": 268}),
    "Promoters": (106, 57, 57, 0, {"+": 53, "-": 53}),
    "Sonar": (208, 60, 0, 0, {"M": 111, "R": 97}),
    "Soybean (Large)": (
        307,
        35,
        35,
        712,
        {
            **dict.fromkeys(["2-4-d-injury"], 1),
            **dict.fromkeys(["alternarialeaf-spot", "brown-spot", "frog-eye-leaf-spot"], 40),
            **dict.fromkeys(["anthracnose", "brown-stem-rot"], 20),
            **dict.fromkeys(["bacterial-blight", "bacterial-pustule", "charcoal-rot", "downy-mildew"], 10),
            **dict.fromkeys(["diaporthe-stem-canker", "phyllosticta-leaf-spot", "powdery-mildew"], 10),
            **dict.fromkeys(["purple-seed-stain", "rhizoctonia-root-rot"], 10),
            **dict.fromkeys(["cyst-nematode", "diaporthe-pod-&-stem-blight"], 6),
            "herbicide-injury": 4,
            "phytophthora-rot": 40,
        },
    ),
    "Vehicle": (846, 18, 0, 0, {"bus": 218, "opel": 212, "saab": 217, "van": 199}),
    "Voting": (435, 16, 16, 392, {"democrat": 267, "republican": 168}),
    "Vowel": (528, 10, 0, 0, {str(k): 48 for k in range(11)}),
    "Wine": (178, 13, 0, 0, {"1": 59, "2": 71, "3": 48}),
    "Zoo": (101, 16, 15, 0, {"1": 41, "2": 20, "3": 5, "4": 13, "5": 4, "6": 8, "7": 10}),
}
LEDS = ("LED Creator", "LED Creator+17")

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


@pytest.fixture(scope="module")
def typing(data_folder):
    """The typing of columns that is kept beside the files: numbers, -1 for the last."""
    return json.loads((data_folder / "uci31" / "typing.json").read_text(encoding="utf-8"))["sets"]


@pytest.fixture
def stored(data_folder, cache, monkeypatch):
    """Use the original files as the cache, not the empty one."""
    assert not cache.exists()
    monkeypatch.setenv("KNNCCV_DATA_DIR", str(data_folder))
    return data_folder


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


def texts_of(data, column):
    """The texts that the codes of a nominal column stand for."""
    codes, names = data.X[:, column], data.categories[column]
    return [None if np.isnan(code) else names[int(code)] for code in codes]


def order(pair):
    """Numbers by size, then texts."""
    text = pair[0]
    return (0, float(text), "") if text.isdigit() else (1, 0.0, text)


class TestNames:
    def test_are_those_of_table_1_of_the_paper(self):
        assert uci_names() == sorted([*EXPECTED, *LEDS])
        assert len(uci_names()) == 30

    def test_are_those_of_the_typing(self, typing):
        assert uci_names() == sorted(typing)

    def test_a_list_of_ones_own(self):
        uci_names().clear()
        assert len(uci_names()) == 30

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("iris", "there is no UCI set 'iris'; there are: 'Anneal', .*'Zoo'; did you mean 'Iris'\\?"),
            ("heart (swiss)", "did you mean 'Heart \\(Swiss\\)'\\?"),
            ("LED Creator 17", "did you mean 'LED Creator\\+17'\\?"),
            ("Soybean", "did you mean 'Soybean \\(Large\\)'\\?"),
            ("liver", "did you mean 'Liver \\(Bupa\\)'\\?"),
            ("nonsense", "there is no UCI set 'nonsense'; there are: .*'Zoo'$"),
            ("Heart (More)", "there is no UCI set 'Heart \\(More\\)'"),
            ("Iris ", "there is no UCI set 'Iris '"),
            ("", "there is no UCI set ''; there are: .*'Zoo'$"),
        ],
    )
    def test_an_unknown_one(self, name, message):
        with pytest.raises(ValueError, match=message):
            fetch_uci(name)

    @pytest.mark.parametrize("name", [3, None, ["Iris"], b"Iris"])
    def test_no_text(self, name):
        with pytest.raises(TypeError, match=r"name must be a str, one of 'Anneal', .*; got "):
            fetch_uci(name)


class TestContent:
    @pytest.mark.parametrize("name", EXPECTED)
    @pytest.mark.usefixtures("mirrored")
    def test_counts(self, name):
        data = fetch_uci(name)
        n_items, n_features, n_nominal, n_unknown, classes = EXPECTED[name]
        assert data.X.shape == (n_items, n_features)
        assert data.X.dtype == np.float64
        assert data.X.flags.c_contiguous
        assert data.y.dtype == np.int64
        assert data.y.flags.c_contiguous
        assert sum(data.nominal) == n_nominal
        assert np.isnan(data.X).sum() == n_unknown
        assert dict(Counter(data.target_names[label] for label in data.y)) == classes
        assert list(data.target_names) == list(dict(sorted(classes.items(), key=order)))
        assert len(set(data.feature_names)) == len(data.nominal) == len(data.categories) == n_features
        for is_nominal, texts, column in zip(data.nominal, data.categories, data.X.T, strict=True):
            known = column[~np.isnan(column)]
            assert is_nominal == (texts is not None)
            assert texts is None or set(known) == set(range(len(texts)))
        assert data.citation
        assert re.search(r"\d+ attributes? (?:are|is) numeric and \d+ nominal\.", data.description)

    @pytest.mark.parametrize("name", EXPECTED)
    def test_every_value_is_that_of_the_file(self, stored, typing, name):
        rows = naive_rows(stored, name, typing[name])
        target, left, numeric = naive_columns(typing[name], len(rows[0]))
        rows = [row for row in rows if row[target] not in ("?", "", "NIL")]
        data = fetch_uci(name, rows="all")
        assert data.X.shape == (len(rows), len(left))
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
    def test_typing_of_every_column(self, typing, name):
        known = _uci.load_sets()[name]
        target, left, numeric = naive_columns(typing[name], len(known.fields))
        assert known.fields.index(known.target) == target
        assert [field for field in known.fields if field not in (known.target, *known.omit)] == [
            known.fields[column] for column in left
        ]
        assert sorted(known.numeric) == sorted(known.fields[column] for column in numeric)
        paths = ["uci31/" + path for path in typing[name]["files"]]
        assert [file.path for file in known.files] == [path.replace("uci31/../", "") for path in paths]

    @pytest.mark.parametrize("name", MISSING)
    @pytest.mark.usefixtures("stored")
    def test_unknown_values_are_as_many_as_the_description_counts(self, name):
        data = fetch_uci(name)
        counts = np.isnan(data.X).sum(axis=0)
        found = {k: int(n) for k, n in zip(data.feature_names, counts, strict=True) if n}
        assert found == MISSING[name]

    @pytest.mark.parametrize(
        ("name", "separator", "target", "dropped"),
        [("Crx", ",", 15, []), ("Horse Colic", r"\s+", 22, [2, 23, 24, 25, 26, 27]), ("Zoo", ",", 17, [0])],
    )
    def test_equals_what_pandas_reads(self, stored, name, separator, target, dropped):
        pd = pytest.importorskip("pandas")
        (manifest,) = _uci.load_sets()[name].files
        read = pd.read_csv(stored / manifest.path, sep=separator, header=None, na_values="?", dtype=str)
        read = read[read[target].notna()].reset_index(drop=True)
        data = fetch_uci(name)
        frame = data.to_frame()
        assert [data.target_names[label] for label in data.y] == list(read[target])
        left = read.drop(columns=[target, *dropped])
        for column, (label, ours) in zip(left, frame.items(), strict=True):
            theirs = left[column]
            if data.nominal[frame.columns.get_loc(label)]:
                assert ours.astype(object).where(ours.notna(), None).tolist() == [
                    None if pd.isna(text) else text for text in theirs
                ]
            else:
                np.testing.assert_array_equal(ours, theirs.astype(float))

    @pytest.mark.usefixtures("stored")
    def test_first_rows_by_hand(self):
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

    @pytest.mark.usefixtures("stored")
    def test_the_stray_comma_of_echocardiogram_moves_no_field(self):
        data = fetch_uci("Echocardiogram")
        assert data.target_names == ("0", "1")
        at = data.feature_names.index("pericardial-effusion")
        assert data.categories[at] == ("0", "1")
        ages = data.X[:, data.feature_names.index("age-at-heart-attack")]
        assert 30 < np.nanmin(ages) <= np.nanmax(ages) < 90

    @pytest.mark.usefixtures("stored")
    def test_codes_of_numbers_follow_the_numbers(self):
        assert fetch_uci("Vowel").target_names == tuple(map(str, range(11)))
        assert fetch_uci("Australian").categories[4] == tuple(str(k) for k in range(1, 15))
        assert fetch_uci("Anneal").categories[7] == ("1", "2", "3", "5")

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("Echocardiogram", "58 rows without a known alive-at-1 are left out."),
            ("Bridges", "3 rows without a known type are left out."),
            ("Horse Colic", "1 row without a known outcome is left out."),
            ("Vowel", "the 528 rows with train_or_test 0"),
            ("Image Segmentation", "210 of the 2100 of segmentation.test, 30 of each class, drawn"),
            ("Crx", "67 of the 10350 values are unknown"),
            ("Liver (Bupa)", "no diagnosis"),
        ],
    )
    @pytest.mark.usefixtures("stored")
    def test_what_was_done_is_told(self, name, said):
        assert said in fetch_uci(name).description


class TestRows:
    @pytest.mark.usefixtures("stored")
    def test_vowel(self):
        some, every = fetch_uci("Vowel"), fetch_uci("Vowel", rows="all")
        assert every.X.shape == (990, 10)
        assert np.bincount(every.y).tolist() == [90] * 11
        np.testing.assert_array_equal(some.X, every.X[:528])  # the file begins with them
        assert "990" not in every.description

    @pytest.mark.usefixtures("stored")
    def test_image_segmentation(self):
        every = fetch_uci("Image Segmentation", rows="all")
        assert every.X.shape == (2310, 19)
        assert np.bincount(every.y).tolist() == [330] * 7
        items = [(*row, label) for row, label in zip(every.X.tolist(), every.y.tolist(), strict=True)]
        drawn = {}
        for seed in (0, 1, 2):
            data = fetch_uci("Image Segmentation", random_state=seed)
            np.testing.assert_array_equal(data.X[:210], every.X[:210])
            np.testing.assert_array_equal(data.y[:210], every.y[:210])
            assert np.bincount(data.y[210:]).tolist() == [30] * 7
            chosen = [(*row, label) for row, label in zip(data.X.tolist(), data.y.tolist(), strict=True)]
            test_rows = iter(items[210:])
            assert all(row in test_rows for row in chosen[210:])  # in the file's order, none twice
            drawn[seed] = data.X[210:]
        assert not np.array_equal(drawn[0], drawn[1])
        again = fetch_uci("Image Segmentation", random_state=1)
        np.testing.assert_array_equal(again.X[210:], drawn[1])
        np.testing.assert_array_equal(fetch_uci("Image Segmentation").X[210:], drawn[0])

    @pytest.mark.usefixtures("stored")
    def test_every_row_may_be_drawn(self):
        every = fetch_uci("Image Segmentation", rows="all").X[210:]
        rng = np.random.default_rng(0)
        seen = set()
        for _ in range(60):
            seen.update(map(tuple, fetch_uci("Image Segmentation", random_state=rng).X[210:].tolist()))
        # 2086 different rows; a row is never drawn in 60 times with probability 0.9**60 < 0.002.
        assert len(seen) > 0.98 * len({tuple(row) for row in every.tolist()})

    @pytest.mark.parametrize("name", sorted(set(EXPECTED) - {"Vowel", "Image Segmentation"}))
    @pytest.mark.usefixtures("stored")
    def test_other_sets_are_the_same_either_way(self, name):
        one, other = fetch_uci(name), fetch_uci(name, rows="all", random_state=7)
        np.testing.assert_array_equal(one.X, other.X)
        np.testing.assert_array_equal(one.y, other.y)
        assert one.description == other.description

    @pytest.mark.parametrize("rows", ["some", None, 528, True])
    def test_a_bad_choice(self, rows):
        with pytest.raises(ValueError, match="rows must be one of 'paper', 'all', got "):
            fetch_uci("Vowel", rows=rows)

    @pytest.mark.parametrize(("seed", "error"), [(-1, ValueError), ("0", TypeError), (True, TypeError)])
    @pytest.mark.parametrize("name", ["LED Creator", "Iris"])
    def test_a_bad_seed(self, name, seed, error):
        with pytest.raises(error, match="random_state must be"):
            fetch_uci(name, random_state=seed)


class TestDownloads:
    def test_every_file_has_the_recorded_hash(self, data_folder):
        lines = (data_folder / "SHA256SUMS").read_text(encoding="ascii").splitlines()
        recorded = {path.removeprefix("./"): sha256 for sha256, path in map(str.split, lines)}
        files = [file for known in _uci.load_sets().values() for file in known.files]
        assert len(files) == 37  # one for each of the 28 sets, another one, and eight more of Vehicle
        for file in files:
            assert file.sha256 == recorded[file.path], file.path

    @pytest.mark.parametrize("name", EXPECTED)
    def test_addresses_are_stable_ones(self, name):
        for file in _uci.load_sets()[name].files:
            assert file.sources
            for source in file.sources:
                assert re.match(
                    r"https://archive\.ics\.uci\.edu/(ml/machine-learning-databases|static/public/\d+)/\S+$"
                    r"|https://raw\.githubusercontent\.com/[^/]+/[^/]+/[0-9a-f]{40}/\S+$",
                    source.url,
                )
                assert (source.member is not None) == source.url.endswith(".zip")
                last = source.url.rpartition("/")[2] if source.member is None else source.member
                assert last == file.path.rpartition("/")[2] or file.path == "liver-disorders/bupa.data"

    def test_pima_is_not_asked_of_uci(self):
        (file,) = _uci.load_sets()["Pima Diabetes"].files
        assert not any("uci.edu" in source.url for source in file.sources)

    @pytest.mark.parametrize("name", LEDS)
    def test_nothing_is_downloaded_for_led(self, name, cache):
        assert _uci.load_sets()[name].files == ()
        fetch_uci(name)
        assert not cache.exists()

    @pytest.mark.parametrize("name", EXPECTED)
    def test_addresses_are_listed_when_all_fail(self, name, monkeypatch, cache):
        with local.serve(local.status(404)) as broken:
            public = {
                file.path: [
                    Source(f"{broken.url}/public/{i}", source.member)
                    for i, source in enumerate(file.sources)
                ]
                for file in _uci.load_sets()[name].files
            }
            monkeypatch.setattr(_download, "public_sources", lambda manifest: public[manifest.path])
            monkeypatch.setenv("KNNCCV_DATA_URL", f"{broken.url}/mirror")
            with pytest.raises(datasets.DatasetError, match="could not be fetched") as caught:
                fetch_uci(name)
        first = _uci.load_sets()[name].files[0]
        for address in (f"{broken.url}/mirror/{first.path}", *(s.url for s in public[first.path])):
            assert f"{address}\n    HTTP 404" in str(caught.value)
        assert str(cache / first.path) in str(caught.value)
        assert first.sha256 in str(caught.value)
        assert not cache.exists()

    def test_one_of_several_files_fails(self, data_folder, monkeypatch, cache):
        whole = local.folder(data_folder)

        def answer(handler):
            handler.send_error(404) if handler.path.endswith("xac.dat") else whole(handler)

        with local.serve(answer) as server:
            monkeypatch.setenv("KNNCCV_DATA_URL", server.url)
            with pytest.raises(datasets.DatasetError, match=r"Vehicle could not .*\s.*vehicle/xac\.dat"):
                fetch_uci("Vehicle")
        assert sorted(path.name for path in cache.rglob("*.dat")) == ["xaa.dat", "xab.dat"]

    def test_a_damaged_file_is_fetched_again(self, mirrored, cache):
        fetch_uci("Zoo")
        (cache / "uci31" / "zoo" / "zoo.data").write_text("aardvark\n")
        asked = len(mirrored.requests)
        assert fetch_uci("Zoo").X.shape == (101, 16)
        assert fetch_uci("Zoo").X.shape == (101, 16)
        assert len(mirrored.requests) == asked + 1

    def test_a_file_is_shared_with_the_other_fetch_functions(self, mirrored):
        mirrored.requests.clear()
        data, known = fetch_uci("Breast Cancer (WI)"), datasets.fetch_breast_cancer(bare_nuclei="nan")
        assert len(mirrored.requests) == 1
        np.testing.assert_array_equal(data.X, known.X)
        np.testing.assert_array_equal(np.array([2, 4])[data.y], known.y)
        assert data.feature_names == known.feature_names
        liver = datasets.fetch_liver_disorders()
        np.testing.assert_array_equal(fetch_uci("Liver (Bupa)").X, liver.X)
        np.testing.assert_array_equal(fetch_uci("Wine").X, datasets.load_wine().X)
        assert fetch_uci("Wine").feature_names == datasets.load_wine().feature_names

    def test_a_line_of_another_length_is_named(self, data_folder):
        known = _uci.load_sets()["Iris"]
        blob = (data_folder / known.files[0].path).read_bytes().replace(b"4.9,3.0,", b"4.9,3.0,,")
        with pytest.raises(datasets.DatasetError, match=r"iris\.data, line 2: 5 fields expected, got 6"):
            list(_uci._read_rows(known, known.files[0], blob))

    def test_the_list_of_data_sets_is_as_it_was(self):
        assert [info.name for info in datasets.list_datasets()] == _manifest.manifest_names()
        assert "sets" not in _manifest.manifest_names()


class TestManifest:
    @pytest.mark.parametrize("name", EXPECTED)
    def test_names_of_fields_agree(self, name):
        known = _uci.load_sets()[name]
        assert len(set(known.fields)) == len(known.fields)
        for field in (known.target, *known.omit, *known.numeric, *(known.keep or ())):
            assert field in known.fields
        assert known.target not in (*known.omit, *known.numeric)
        assert not set(known.omit) & set(known.numeric)
        assert known.notes
        assert all(note.endswith(".") for note in known.notes)

    def test_two_readings_do_not_share_their_state(self):
        first = _uci.load_sets()
        _uci.load_sets.cache_clear()
        assert _uci.load_sets() == first


class TestFrame:
    @pytest.fixture(autouse=True)
    def pandas(self):
        return pytest.importorskip("pandas")

    @pytest.mark.parametrize("name", [*EXPECTED, *LEDS])
    @pytest.mark.usefixtures("stored")
    def test_columns(self, name, pandas):
        data = fetch_uci(name)
        frame = data.to_frame()
        assert tuple(frame.columns) == data.feature_names
        assert len(frame) == len(data.X)
        for at, column in enumerate(frame):
            series = frame[column]
            np.testing.assert_array_equal(series.isna(), np.isnan(data.X[:, at]))
            if data.nominal[at]:
                assert isinstance(series.dtype, pandas.CategoricalDtype)
                assert not series.cat.ordered
                assert tuple(series.cat.categories) == data.categories[at]
                assert [None if pandas.isna(text) else text for text in series] == texts_of(data, at)
            else:
                assert series.dtype == np.float64
                np.testing.assert_array_equal(series, data.X[:, at])

    def test_of_numeric_data(self):
        for data in (datasets.load_wine(), datasets.load_diabetes()):
            frame = data.to_frame()
            assert tuple(frame.columns) == data.feature_names
            np.testing.assert_array_equal(frame.to_numpy(), data.X)
            assert (data.nominal, data.categories) == ((), ())

    @pytest.mark.usefixtures("stored")
    def test_of_many_columns(self):
        data = datasets.fetch_orl(size=(30, 20))
        np.testing.assert_array_equal(data.to_frame().to_numpy(), data.X)

    @pytest.mark.usefixtures("stored")
    def test_is_a_copy(self):
        for data, column in ((datasets.load_wine(), "hue"), (fetch_uci("Zoo"), "legs")):
            before = data.X.copy()
            frame = data.to_frame()
            frame.loc[:, column] = -1.0
            np.testing.assert_array_equal(data.X, before)

    def test_without_pandas(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "pandas", None)
        with pytest.raises(ImportError, match=r"to_frame\(\) needs pandas: pip install 'knnccv\[pandas\]'"):
            datasets.load_wine().to_frame()


@pytest.mark.parametrize("name", ["Bridges", "Image Segmentation", "LED Creator+17"])
@pytest.mark.usefixtures("stored")
def test_survives_pickling(name):
    data = fetch_uci(name)
    again = pickle.loads(pickle.dumps(data))
    np.testing.assert_array_equal(again.X, data.X)
    np.testing.assert_array_equal(again.y, data.y)
    for field in ("feature_names", "target_names", "nominal", "categories", "description", "citation"):
        assert getattr(again, field) == getattr(data, field)


# top, upper left, upper right, middle, lower left, lower right, bottom
SHOWN = {
    0: (1, 1, 1, 0, 1, 1, 1),
    1: (0, 0, 1, 0, 0, 1, 0),
    2: (1, 0, 1, 1, 1, 0, 1),
    3: (1, 0, 1, 1, 0, 1, 1),
    4: (0, 1, 1, 1, 0, 1, 0),
    5: (1, 1, 0, 1, 0, 1, 1),
    6: (1, 1, 0, 1, 1, 1, 1),
    7: (1, 0, 1, 0, 0, 1, 0),
    8: (1, 1, 1, 1, 1, 1, 1),
    9: (1, 1, 1, 1, 0, 1, 1),
}


def bayes():
    """For each display the most probable digit, and the probability that this is right."""
    rule, right = {}, Fraction(0)
    for display in itertools.product((0, 1), repeat=7):
        joint = {}
        for digit, segments in SHOWN.items():
            n_wrong = sum(a != b for a, b in zip(display, segments, strict=True))
            joint[digit] = Fraction(1, 10) * Fraction(1, 10) ** n_wrong * Fraction(9, 10) ** (7 - n_wrong)
        rule[display] = max(joint, key=joint.get)
        right += joint[rule[display]]
    return rule, right


def near(share, expected, n):
    """Whether a share of n draws is within five standard errors of what it should be."""
    return abs(share - expected) < 5 * sqrt(expected * (1 - expected) / n)


@pytest.fixture(scope="module", params=LEDS)
def samples(request):
    """Forty samples as one: displays, further attributes, digits."""
    drawn = [fetch_uci(request.param, random_state=seed) for seed in range(40)]
    X, y = np.concatenate([d.X for d in drawn]), np.concatenate([d.y for d in drawn])
    return X[:, :7].astype(int), X[:, 7:].astype(int), y


class TestLed:
    @pytest.mark.parametrize(("name", "n_random"), [(LEDS[0], 0), (LEDS[1], 17)])
    def test_form(self, name, n_random):
        data = fetch_uci(name)
        assert data.X.shape == (1000, 7 + n_random)
        assert data.X.flags.c_contiguous
        assert (data.X.dtype, data.y.dtype) == (np.float64, np.int64)
        assert data.nominal == (True,) * (7 + n_random)
        assert data.categories == (("0", "1"),) * (7 + n_random)
        assert set(np.unique(data.X)) == {0, 1}
        assert data.target_names == tuple("0123456789")
        assert data.feature_names[:2] == ("top", "upper_left")
        assert data.feature_names[7:] == tuple(f"random_{i}" for i in range(1, n_random + 1))
        assert "random_state" in data.description

    def test_digits_are_equally_frequent(self, samples):
        _, _, digits = samples
        assert all(near((digits == k).mean(), 0.1, len(digits)) for k in range(10))

    def test_a_tenth_of_every_segment_is_wrong(self, samples):
        displays, _, digits = samples
        wrong = displays != np.array([SHOWN[k] for k in digits])
        for digit, segment in itertools.product(range(10), range(7)):
            found = wrong[digits == digit, segment]
            assert near(found.mean(), 0.1, len(found)), (digit, segment)
        for one, other in itertools.combinations(range(7), 2):
            assert near((wrong[:, one] & wrong[:, other]).mean(), 0.01, len(wrong)), (one, other)

    def test_the_bayes_rule_is_right_as_often_as_it_can_be(self, samples):
        displays, _, digits = samples
        rule, right = bayes()
        assert float(right) == pytest.approx(0.74, abs=0.005)
        said = [rule[tuple(display)] for display in displays.tolist()]
        assert near(np.mean(said == digits), float(right), len(digits))

    def test_the_further_attributes_say_nothing(self, samples):
        displays, others, digits = samples
        for column in others.T:
            assert near(column.mean(), 0.5, len(digits))
            for digit in range(10):
                found = column[digits == digit]
                assert near(found.mean(), 0.5, len(found))
            for segment in displays.T:
                assert near(column[segment == 1].mean(), 0.5, segment.sum())
        for one, other in itertools.combinations(others.T, 2):
            assert near((one == other).mean(), 0.5, len(digits))

    @pytest.mark.parametrize("name", LEDS)
    def test_seeds(self, name):
        first, again, other = (fetch_uci(name, random_state=seed) for seed in (3, 3, 4))
        np.testing.assert_array_equal(first.X, again.X)
        np.testing.assert_array_equal(first.y, again.y)
        assert not np.array_equal(first.X, other.X)
        rng = np.random.default_rng(3)
        np.testing.assert_array_equal(fetch_uci(name, random_state=rng).X, first.X)
        assert not np.array_equal(fetch_uci(name, random_state=rng).X, first.X)
        one, two = fetch_uci(name, random_state=None), fetch_uci(name, random_state=None)
        assert not np.array_equal(one.X, two.X)
        np.testing.assert_array_equal(fetch_uci(name, rows="all").X, fetch_uci(name).X)

    def test_the_sample_of_the_repositories_has_the_same_structure(self, data_folder):
        path = data_folder / "uci31" / "led-display" / "led-display.data"
        sample = np.loadtxt(path, dtype=int)
        wrong = sample[:, :7] != np.array([SHOWN[k] for k in sample[:, 7]])
        assert near(wrong.mean(), 0.1, wrong.size)
