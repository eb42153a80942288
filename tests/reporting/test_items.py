"""The section on items, against direct calls and double loops."""

import json

import numpy as np
import pytest
from report_numbers import few_alike
from some_study import clouds, some_study

import knnccv
from knnccv.hvdm import HEOM
from knnccv.reporting import _errors
from knnccv.reporting._errors import choose, conflicting, items_section, mark_labels, row_groups


def equal_rows(X):
    """The pairs of equal rows, by a double loop; NaN equals NaN."""
    return [
        (i, j)
        for i in range(len(X))
        for j in range(len(X))
        if i != j and all(a == b or (np.isnan(a) and np.isnan(b)) for a, b in zip(X[i], X[j], strict=True))
    ]


@pytest.mark.parametrize("seed", range(5))
def test_duplicates_are_those_of_a_double_loop(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (30, 4)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    X[rng.random(X.shape) < 0.2] *= -1.0  # -0.0 as well
    y = rng.integers(0, 3, 30)
    expected = sorted({i for i, j in equal_rows(X) if y[i] != y[j]})
    X.setflags(write=False)
    assert conflicting(row_groups(X), y).tolist() == expected


def test_missing_values_of_other_bits_are_equal():
    other = np.array([0x7FF8000000000001], np.uint64).view(np.float64)[0]
    assert len(set(row_groups(np.array([[np.nan], [other]])).tolist())) == 1


def everywhere(items):
    """All items are out of place."""
    return np.ones(len(items), bool)


def check_items(study):
    """Compare a section of a classification with direct calls."""
    found = items_section(study)
    json.dumps(found, allow_nan=False)
    n_classes = len(set(study.y.tolist()))
    influence = study.best.influence(n_jobs=1)
    scores = study.best.per_item
    marks = {
        "never_right": np.flatnonzero(scores <= max(study.best.error_bound, 1e-12)).tolist(),
        "suspicious": np.flatnonzero(
            (scores < 1 / n_classes)
            & (influence.total < -influence.error_bound)
            & few_alike(study.near, study.y)
        ).tolist(),
        "conflicting_duplicates": sorted(
            {i for i, j in equal_rows(study.table.X) if study.y[i] != study.y[j]}
        ),
    }
    assert found["indices"] == marks
    assert found["counts"] == {key: len(items) for key, items in marks.items()} | {"worst_residuals": None}
    listed = set().union(*marks.values())
    assert found["of"] == len(listed)
    assert found["shown"] == len(found["items"]) == min(500, len(listed))
    items, distances = study.near.kneighbors(min(3, len(study.y) - 1), n_jobs=1)
    words = {
        "never_right": "never right",
        "suspicious": "suspicious label",
        "conflicting_duplicates": "duplicate with another label",
    }
    for row in found["items"]:
        at = row["index"]
        assert row["score"] == scores[at]
        assert row["influence"] == influence.total[at]
        assert row["label"] == str(study.y[at])
        assert row["row"] == study.table.rows(at)
        assert row["reasons"] == [words[key] for key in words if at in marks[key]]
        assert [each["index"] for each in row["neighbors"]] == items[at].tolist()
        assert [each["distance"] for each in row["neighbors"]] == distances[at].tolist()
        for each in row["neighbors"]:
            assert each["label"] == str(study.y[each["index"]])
            assert each["row"] == study.table.rows(each["index"])
    order = [(row["score"], row["influence"], row["index"]) for row in found["items"]]
    assert order == sorted(order)
    return found


@pytest.mark.parametrize("step", [0.0, 1.5])
def test_items_are_those_of_direct_calls(step):
    X, y = clouds(80, step=step)
    X += y[:, None]
    y[[3, 8]] = 1 - y[[3, 8]]
    found = check_items(some_study(X, y, 3))
    assert found["counts"]["suspicious"] > 0
    assert (found["counts"]["conflicting_duplicates"] > 0) == (step > 0)
    assert found["note"] is None


def test_labels_are_text():
    X, y = clouds(20)
    labels = np.array(["<script>alert(1)</script>", '"b" & \u05d0'])[y]
    labels.setflags(write=False)
    found = check_items(some_study(X, labels))
    assert {row["label"] for row in found["items"]} <= set(labels.tolist())


@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([[0], [1], [1], [2]], [0, 0, 1, 1]),
        ([[0.0, 1], [0, 1], [0, 1], [0, 1], [0, 1]], [0, 1, 0, 1, 1]),
        ([[0], [1], [2], [3], [4], [5], [6]], [0, 0, 0, 1, 1, 0, 0]),
    ],
    ids=["four items", "constant columns", "a class of two"],
)
def test_small_tables(X, y):
    check_items(some_study(X, y, train_size=len(y) // 2))


def test_all_other_items_train():
    study = some_study([[0], [1], [1], [2]], [0, 0, 1, 1], train_size=3)
    found = items_section(study)
    assert found["indices"]["suspicious"] == []  # a class of two says nothing about chance
    assert found["note"].startswith("There is no influence (influence needs the score without each sample")


def test_no_item_stands_out():
    found = items_section(some_study([[0], [1], [2], [10], [11], [12]], [0, 0, 0, 1, 1, 1], train_size=4))
    assert found["items"] == []
    assert found["conclusion"].startswith("No sample stands out")


def test_indices_are_those_of_the_given_table():
    X, y = clouds(20)
    y[3] = 1 - y[3]
    study = some_study(X, y)
    plain = items_section(study)
    study.table.indices = 100 + np.arange(20)
    moved = items_section(study)
    assert moved["indices"] == {key: [100 + i for i in items] for key, items in plain["indices"].items()}
    for one, other in zip(plain["items"], moved["items"], strict=True):
        assert other["index"] == one["index"] + 100
        assert [each["index"] - 100 for each in other["neighbors"]] == [
            each["index"] for each in one["neighbors"]
        ]


def test_without_influence_scores_alone_decide(monkeypatch):
    monkeypatch.setattr(_errors, "INFLUENCE_LIMIT", 0.0)
    X, y = clouds(30)
    study = some_study(X, y)
    found = items_section(study)
    expected = np.flatnonzero((study.best.per_item < 0.5) & few_alike(study.near, study.y))
    assert found["indices"]["suspicious"] == expected.tolist()
    assert all(row["influence"] is None for row in found["items"])
    assert "was left out" in found["note"]


def test_long_lists_are_cut_and_counted(monkeypatch):
    monkeypatch.setattr(_errors, "MOST_LISTED", 6)
    monkeypatch.setattr(_errors, "MOST_INDICES", 3)
    X, y = clouds(40, step=1.5)
    found = items_section(some_study(X, y))
    assert (found["shown"], len(found["items"])) == (6, 6)
    assert found["of"] > 6
    assert found["indices_cut"] == [
        key for key, count in found["counts"].items() if count is not None and count > 3
    ]
    assert found["indices_cut"]
    for key, items in found["indices"].items():
        assert len(items) == min(3, found["counts"][key])


def test_every_reason_is_listed():
    scores = np.linspace(0, 1, 100)
    marked = mark_labels(scores, 0.0, 2, None, np.arange(90, 100), everywhere)
    chosen = choose(marked, 12)
    assert len(chosen) == 12
    assert set(chosen) >= {0, 1, 2, 90, 91, 92}
    assert (np.diff(scores[chosen]) > 0).all()


def test_items_never_tested_are_not_marked():
    marked = mark_labels(np.array([np.nan, 0.0]), 0.0, 2, None, np.array([], int), everywhere)
    assert marked.by_reason["never_right"].tolist() == marked.by_reason["suspicious"].tolist() == [1]


@pytest.mark.slow
def test_missing_values_and_categories():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (24, 3)).astype(float)
    X[[1, 5], 0] = np.nan
    y = rng.integers(0, 2, 24)
    near = HEOM(nominal=[True, False, False]).fit(X).neighbors()
    check_items(some_study(X, y, near=near))


@pytest.mark.slow
def test_many_classes():
    X, y = clouds(400, 200, 4)
    check_items(some_study(X, y))


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [3, 5])
def test_several_classes(n_classes):
    X, y = clouds(60, n_classes, step=0.5)
    check_items(some_study(X, y, 5))


def test_worst_residuals_are_those_of_direct_calls():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (70, 2)).astype(float)
    y = X[:, 0] + np.round(rng.normal(size=70), 1)
    study = some_study(X, y, 3, task="regression")
    found = items_section(study)
    json.dumps(found, allow_nan=False)
    errors = study.best.per_item
    worst = sorted(range(70), key=lambda i: (-errors[i], i))[:50]
    same = {i for i, j in equal_rows(X) if y[i] != y[j]}
    assert found["indices"] == {"conflicting_duplicates": sorted(same), "worst_residuals": sorted(worst)}
    assert [row["index"] for row in found["items"]] == sorted(
        same | set(worst), key=lambda i: (-errors[i], i)
    )
    assert found["counts"]["never_right"] is None
    for row in found["items"]:
        at = row["index"]
        assert (row["score"], row["target"]) == (errors[at], y[at])
        assert row["prediction"] == study.best.prediction[at]
        assert row["bias"] == pytest.approx(study.best.prediction[at] - y[at], abs=0)
        assert row["bias"] ** 2 == pytest.approx(study.best.bias2[at], rel=1e-9, abs=1e-12)
        assert row["influence"] is None


def test_suspicious_samples_are_described_as_they_are_chosen():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 3
    study = some_study(X, y, 3)
    found = items_section(study)
    harmful = study.best.influence(n_jobs=1).total < 0
    number = int(((study.best.per_item < 1 / 3) & harmful & few_alike(study.near, y)).sum())
    assert number > 1
    words = (
        "are classified correctly less often than by guessing one of the 3 classes, with less than "
        "half as many samples of their class nearby as by chance, and lower the score"
    )
    assert f"{number} {words}" in found["conclusion"]


def test_rare_labels_are_not_suspicious_and_wrong_ones_are():
    """2 % of the samples are positive; the plurality of 15 hardly ever says so."""
    rng = np.random.default_rng(1)
    right = np.arange(2000) < 40
    X = rng.normal(size=(2000, 5))
    X[right] += [2.5, 1.25, 0, 0, 0]
    y = right.astype(int)
    wrong = rng.choice(np.arange(40, 2000), 4, replace=False)
    y[wrong] = 1
    study = some_study(X, y, 15)
    listed = set(check_items(study)["indices"]["suspicious"])
    positives = {i for i in listed if y[i]}
    assert (study.best.per_item[y == 1] < 0.5).mean() > 0.75
    assert len(positives & set(wrong.tolist())) == 3
    assert len(positives) == 4


def test_suspects_that_are_too_many_to_judge_are_named(monkeypatch):
    X, y = clouds(80)
    X += y[:, None]
    y[[3, 8]] = 1 - y[[3, 8]]
    study = some_study(X, y, 3)
    everything = items_section(study)["indices"]["suspicious"]
    assert study.notes == []
    monkeypatch.setattr(_errors, "JUDGING_LIMIT", 9)  # a class of half the samples has 10 nearby
    assert len(everything) > len(items_section(study)["indices"]["suspicious"]) == 0
    assert "only the 0 lowest were compared" in study.notes[0]


@pytest.mark.parametrize("size", [3, 40])
def test_tied_samples_count_by_their_share(size):
    """The order of the rows decides nothing, also where tied groups are longer than the first lists."""
    X = np.repeat(np.arange(120 // size), size).astype(float)[:, None]
    y = np.isin(np.arange(120), [0, *range(40, 56)]).astype(int)
    assert check_items(some_study(X, y, 3))["counts"]["suspicious"] > 0
    order = np.argsort(y, kind="stable")
    ahead = items_section(some_study(X[order], y[order], 3))["indices"]["suspicious"]
    assert sorted(order[ahead].tolist()) == items_section(some_study(X, y, 3))["indices"]["suspicious"]


def test_no_residual_without_error():
    found = items_section(some_study(np.arange(6)[:, None], np.ones(6), task="regression"))
    assert found["of"] == 0


def test_all_indices_of_a_report(monkeypatch):
    """More samples than the page lists."""
    monkeypatch.setattr(_errors, "MOST_LISTED", 4)
    X, y = clouds(40, step=1.0)
    found = knnccv.report(X, y, n_neighbors=[3])
    items = found.to_dict()["items"]
    assert items["shown"] == 4 < items["of"]
    assert found.indices() == sorted({index for each in items["indices"].values() for index in each})
    assert len(found.indices()) == items["of"]
    assert found.indices("suspicious label") == items["indices"]["suspicious"]
    with pytest.raises(ValueError, match=r"reason must be one of '.*', got 'ugly'"):
        found.indices("ugly")


def test_all_indices_of_a_report_on_targets():
    X = np.repeat(np.arange(10.0), 2)[:, None]
    found = knnccv.report(X, np.arange(20) + 0.5, n_neighbors=[1])
    assert found.indices("duplicate with another target") == list(range(20))
    with pytest.raises(ValueError, match="'duplicate with another target', 'large expected error'"):
        found.indices("never right")
