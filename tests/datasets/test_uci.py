"""The sets of Wilson and Martinez (1999): names, values, rows and their typing."""

from __future__ import annotations

import csv
import re
from collections import Counter

import numpy as np
import pytest
from uci_counts import EXPECTED, HEARTS, LEDS, texts_of

from knnccv.datasets import _uci, fetch_uci, uci_names

pytestmark = pytest.mark.usefixtures("only_this_machine", "cache")

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
            ("iris", "there is no UCI set 'iris'; choose from: 'Anneal', .*'Zoo'; did you mean 'Iris'\\?"),
            ("heart (swiss)", "did you mean 'Heart \\(Swiss\\)'\\?"),
            ("LED Creator 17", "did you mean 'LED Creator\\+17'\\?"),
            ("Soybean", "did you mean 'Soybean \\(Large\\)'\\?"),
            ("liver", "did you mean 'Liver \\(Bupa\\)'\\?"),
            ("nonsense", "there is no UCI set 'nonsense'; choose from: .*'Zoo'$"),
            ("Heart (More)", "there is no UCI set 'Heart \\(More\\)'"),
            ("Iris ", "there is no UCI set 'Iris '"),
            ("", "there is no UCI set ''; choose from: .*'Zoo'$"),
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
        assert re.search(r"\d+ attributes? (?:are|is) numeric and \d+ categorical\.", data.description)

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
    def test_missing_values_are_as_many_as_the_description_counts(self, name):
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
            ("Crx", "67 of the 10350 values are missing"),
            ("Liver (Bupa)", "and no diagnosis"),
        ],
    )
    @pytest.mark.usefixtures("stored")
    def test_the_description_says_what_was_done(self, name, said):
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
