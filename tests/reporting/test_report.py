"""Every number of a report equals those of direct calls, on small, on real and on awkward data."""

from __future__ import annotations

import json
from decimal import Decimal

import numba
import numpy as np
import pandas as pd
import pytest
from parallel_work import bars
from report_check import SECTIONS, check_code, check_report, clouds, quick_report, unequal_classes
from sklearn.preprocessing import RobustScaler

from knnccv import Report, Subsample, complete_cv, report
from knnccv.datasets import fetch_abalone, fetch_breast_cancer, load_wine
from knnccv.neighbors import Neighbors


def numbers(X, y, only=SECTIONS, nominal=None, given=None, make=quick_report, groups=None, **options):
    """The numbers of a report, which were checked."""
    found = make(*((X, y) if given is None else given), groups=groups, **options).to_dict()
    check_report(X, y, found, nominal, given, only, groups)
    return found


def gaps_and_categories():
    """A table with missing values and equal rows, of which the first column holds categories."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, (40, 3)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    X[np.isnan(X[:, 1:]).all(axis=1), 2] = 0
    X[0] = 1, np.nan, np.array([0x7FF8000000000001], np.uint64).view(np.float64)[0]
    X[[1, 4, 5]] = (1, np.nan, np.nan), (1, 0.0, 7), (1, -0.0, 7)  # equal to the rows 0 and 5
    return X


def test_two_classes_with_ties_equal_rows_and_wrong_labels():
    X, y = clouds(60, step=1.5)
    X += y[:, None]
    y[[3, 8]] = 1 - y[[3, 8]]
    found = numbers(X, y, n_neighbors=[3], scaling=["standard"], make=report)
    counts = found["items"]["counts"]
    assert counts["suspicious"] > 0 < counts["conflicting_duplicates"]
    keys = "knnccv task name data tuned scores settings learning classes items ties regression method"
    assert list(found) == keys.split()
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_four_classes_of_which_some_are_tied():
    """With a sample that is rarely right and has few of its class nearby, but does no harm."""
    X, y = clouds(72, 4, seed=5, step=1.0)
    numbers(X, np.array(["<b>", '"c" & \u05d0', "d", "e"])[y], n_neighbors=[5], scaling=["standard"])


def test_targets():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (36, 2)).astype(float)
    y = X[:, 0] + np.round(rng.normal(size=36), 1)
    y.setflags(write=False)
    assert numbers(X, y, n_neighbors=[1, 3])["items"]["counts"]["conflicting_duplicates"] > 0


@pytest.mark.slow
def test_gaps_and_categories():
    X, y = gaps_and_categories(), np.arange(40) % 2
    found = numbers(X, y, nominal=[0], n_neighbors=[1, 3], categorical=[0])
    assert found["scores"]["default"]["metric"] == "heom"
    assert {0, 1, 4, 5} <= set(found["items"]["indices"]["conflicting_duplicates"])
    numbers(X, np.nan_to_num(X[:, 1]) + 0.25, nominal=[0], n_neighbors=[1], categorical=[0])


def test_whole_groups_are_left_out():
    """With samples that differ little within a group, whose labels would be found by their own group."""
    rng = np.random.default_rng(1)
    groups = rng.integers(0, 20, 90)
    y = np.where(rng.random(90) < 0.1, 1, 0) ^ rng.integers(0, 2, 20)[groups]
    X = np.round(rng.normal(size=(20, 3))[groups] + 0.6 * rng.normal(size=(90, 3)) + y[:, None] / 2, 1)
    only = "data scores scorings settings not_worse tuned classes items ties"
    more = {"groups": groups, "max_items": 80, "scoring": ["f1", "roc_auc"], "scaling": [None, "robust"]}
    found = numbers(X, np.array(["no", "yes"])[y], only, n_neighbors=[1, 3], **more)
    assert found["items"]["counts"]["suspicious"] > 0
    assert complete_cv(X, y, n_neighbors=1).score > 0.05 + found["scores"]["best"]["score"]
    named = np.char.mod("p%d", groups)
    only = only.replace("not_worse ", "")
    numbers(X, X[:, 0] + y, only, n_neighbors=[3], groups=named, scaling=["standard"])


def table_of_groups():
    """Ten wards, five of each class mostly, and numbers that tell nothing."""
    rng = np.random.default_rng(3)
    groups = rng.permutation(np.arange(60) % 20)
    y = groups % 2
    wards = rng.integers(0, 5, 60) + 5.0 * np.where(rng.random(60) < 0.9, y, 1 - y)
    return np.column_stack([wards, rng.normal(size=(60, 3))]), y, groups


def test_a_distance_that_is_fitted_without_each_group_can_be_the_best():
    X, y, groups = table_of_groups()
    asked = {"categorical": [0], "nominal": [0], "groups": groups, "n_neighbors": [1, 5]}
    only = "data scores settings not_worse tuned classes items ties"
    found = numbers(X, y, only, **asked)
    assert found["scores"]["best"]["metric"] == "hvdm"
    check_code(found, X, y, groups)
    assert found["tuned"]["metrics"] == ["heom", "hvdm"]
    assert (found["tuned"]["n_runs"], found["tuned"]["std_error"]) == (20, 0)
    found = numbers(X, y, "tuned", average="class", **asked)
    assert found["tuned"]["conclusion"].startswith("On average over the classes, ")
    assert not any("seen the labels, so" in note for note in found["method"]["notes"])


def test_groups_for_which_it_takes_too_long_have_no_such_distance(monkeypatch):
    X, y, groups = table_of_groups()
    monkeypatch.setattr("knnccv.reporting._study.refit_units", lambda *_: 1.0)
    found = quick_report(X, y, categorical=[0], groups=groups, n_neighbors=[1, 5]).to_dict()
    assert [one["metric"] for one in found["settings"]["omitted"]] == ["hvdm"]
    assert found["tuned"]["metrics"] == ["heom"]
    two = quick_report(X, y, categorical=[0], groups=groups // 10, n_neighbors=[1, 5]).to_dict()
    assert two["tuned"] is None
    assert any("no training set can spare another group" in note for note in two["method"]["notes"])


def test_groups_of_equal_rows():
    """Tied samples count by their share, also where the groups are longer than the first lists."""
    X = np.repeat(np.arange(3.0), 40)[:, None]
    y = np.isin(np.arange(120), [0, *range(40, 56)]).astype(int)
    asked = {"n_neighbors": [3], "scaling": ["minmax"], "scoring": []}
    found = numbers(X, y, "items ties", average="pooled", **asked)
    assert found["items"]["counts"]["suspicious"] > 0
    # Four samples have exactly half as many of their class nearby as by chance, which are not few.
    y = np.concatenate([np.arange(13) < n for n in (4, 8, 8)]).astype(int)
    found = numbers(np.repeat(np.arange(3.0), 13)[:, None], y, "items", **asked)
    assert found["items"]["counts"]["suspicious"] == 0


def test_other_scalings_and_levels():
    wine = load_wine()
    found = report(wine.X, wine.y, n_neighbors=[1, 5], scaling=["robust"], confidence_level=0.8).to_dict()
    best, k = found["scores"]["best"], found["scores"]["best"]["n_neighbors"]
    near = Neighbors.from_data(RobustScaler().fit_transform(wine.X), best["metric"])
    exact = complete_cv(near, wine.y, "knn", Subsample(142), n_neighbors=k)
    assert best["score"] == pytest.approx(exact.score, abs=1e-12)
    assert (best["interval"]["low"], best["interval"]["high"]) == pytest.approx(
        exact.confidence_interval(0.8)
    )
    assert {one["scaling"] for one in found["settings"]["curves"]} == {"robust"}


@pytest.mark.parametrize("average", [None, "pooled"])
def test_unequal_classes_are_chosen_by_balanced_accuracy(average):
    only = "settings" if average else SECTIONS
    asked = {"average": average, "scaling": ["standard"] if average else "all"}
    found = numbers(*unequal_classes(), only + " scorings", n_neighbors=[1, 5], **asked)
    (f1,) = found["scores"]["scorings"]
    assert f1["name"] == "f1"
    if average:
        asked |= {"n_neighbors": [5], "precision": 0.9 * f1["std_error"]}
        more = numbers(*unequal_classes(), "", **asked)["scores"]["scorings"][0]
        assert more["n_runs"] > f1["n_runs"]
    reasons = {one["name"]: one["reason"] for one in found["scores"]["undefined"]}
    assert "undefined in 1" in reasons["roc_auc"]  # in so many percent of the splits, without a positive
    assert found["scores"]["average"] == (average or "class")


def test_few_rows():
    X = np.round(np.random.default_rng(5).normal(size=(5, 2)), 1)
    numbers(X, np.arange(5) % 2, train_size=4, n_neighbors=1)  # without influence
    numbers(X, X[:, 0] + 0.25, train_size=1)


def test_a_subsample():
    X, y = clouds(30)
    found = numbers(X, y, "data scores items", max_items=20, n_neighbors=[1])
    assert (found["scores"]["average"], found["settings"]["other"]) == ("pooled", None)


@pytest.fixture
def stored(data_folder, cache, monkeypatch, only_this_machine):  # noqa: ARG001
    """Use the original files as the cache."""
    monkeypatch.setenv("KNNCCV_DATA_DIR", str(data_folder))


@pytest.mark.slow
class TestRealData:
    @pytest.mark.usefixtures("stored")
    def test_many_rows(self):
        data = fetch_breast_cancer()
        numbers(data.X, data.y, "data scores", n_neighbors=[1, 5], feature_names=data.feature_names)
        data = fetch_abalone(3)
        numbers(data.X[::3], data.y[::3], "settings", n_neighbors=[5, 15])


@pytest.mark.slow
class TestOddTables:
    def test_unexplained_gaps_count_as_worse(self):
        """All halves of 6 rows score alike for K that differ on all rows."""
        X = np.random.default_rng(14).normal(size=(6, 6))
        for seed in range(2):
            y = np.random.default_rng(seed).integers(0, 4, 6).astype(float)
            numbers(X, y, task="regression", train_size=3, n_neighbors=[1, 2])

    def test_classes_of_one_sample_and_of_two(self):
        X = np.round(np.random.default_rng(0).normal(size=(20, 2)))
        numbers(X, np.repeat(["few", "many"], [1, 19]))
        numbers(X, np.repeat(["few", "many"], [2, 18]), n_neighbors=[1, 3])

    def test_many_classes(self):
        X, y = clouds(120, 60, 4)
        numbers(X, y.astype(str), "classes items ties", n_neighbors=[1])
        X, y = clouds(40, 5, step=0.5)
        numbers(X, y, n_neighbors=[4])

    def test_constant_columns(self):
        X = np.full((12, 2), 0.1)
        for y in (np.arange(12) % 3, np.arange(12) / 7, np.full(12, 2.5)):
            numbers(X, y)

    def test_a_column_without_values(self):
        rng = np.random.default_rng(3)
        X = rng.normal(size=(30, 3))
        X[:, 0] = np.arange(30) % 3
        X[rng.random((30, 3)) < 0.2] = np.nan
        X[:, 2] = np.nan
        X[:3, 0] = [0, 1, 2]
        for y in (np.arange(30) // 10, rng.normal(size=30)):
            numbers(X, y, categorical=[0], nominal=[0])

    def test_a_target_in_a_column(self):
        X, y = np.random.default_rng(1).normal(size=(20, 2)), np.arange(20)[:, None] % 2
        numbers(X, y[:, 0], given=(X, y))


@pytest.mark.slow
class TestCode:
    @pytest.mark.parametrize("mixed", [False, True])
    def test_decimals(self, mixed):
        rng = np.random.default_rng(8)
        frame = pd.DataFrame({"size": [Decimal(f"{v:.2f}") for v in rng.normal(size=40)]}, dtype=object)
        frame["age"] = rng.integers(0, 9, 40)
        if mixed:
            frame.loc[::7, "size"] = None
            frame["color"] = rng.choice(["red", "blue"], 40)
        y = rng.choice(list("ab"), 40)
        kinds = [frame, frame.to_numpy(), frame.to_numpy().tolist()]
        if not mixed:
            kinds.append(np.array(frame.to_numpy(), dtype=float))
        for max_items in (40, 30):
            scores = []
            for X in kinds:
                found = quick_report(X, y, n_neighbors=[3], max_items=max_items).to_dict()
                check_code(found, X, y)
                scores.append(found["scores"])
            assert all(each == scores[0] for each in scores)

    def test_labels_that_are_numbers_of_other_columns_and_large_numbers(self):
        rng = np.random.default_rng(8)
        X = pd.DataFrame({1: rng.choice(["red", "blue"], 40), 0: rng.normal(size=40)})
        X[7] = rng.normal(size=40)
        y = rng.choice(list("ab"), 40)
        for max_items in (40, 30):
            check_code(quick_report(X, y, n_neighbors=[3], max_items=max_items).to_dict(), X, y)
        X, y = rng.integers(2**60, 2**62, (30, 2)), rng.integers(0, 2, 30)
        check_code(quick_report(X, y, n_neighbors=[3]).to_dict(), X, y)


class TestProgress:
    stages = (
        *("data", "settings", "scores", "tuned", "learning"),
        *("classes", "items", "ties", "regression", "method"),
    )

    def test_a_hook_sees_all_stages(self):
        seen = []
        quick_report(*clouds(12), n_neighbors=[1], progress=lambda *stage: seen.append(stage))
        assert seen == [(name, at, 10) for at, name in enumerate([*self.stages, ""])]

    def test_a_bar_counts_tasks_and_compiled_functions(self, monkeypatch):
        def compiling(_):
            if not numba.config.DISABLE_JIT:
                numba.njit(lambda x: x + 1)(1)

        monkeypatch.setattr("knnccv.reporting._report.ties_section", compiling)
        shown = bars(monkeypatch)
        quick_report(*clouds(12), n_neighbors=[1], progress=True)
        (bar,) = shown
        assert (bar.n, bar.unit) == (bar.total, "task")
        text = bar.paper.getvalue()
        assert all(f"{name} ({at}/10)" in text for at, name in enumerate(self.stages, 1))
        assert "10/10" in text.replace("(10/10)", "")
        assert numba.config.DISABLE_JIT or "ties (8/10), compiling" in text
        assert "method (10/10), compiling" not in text


def test_a_file_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")
    result = Report({"name": "é \ud800"})
    result.to_html = lambda: 1 / 0
    with pytest.raises(ZeroDivisionError):
        result.save(path)
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["page.html"]
    result.to_html = lambda: "new"
    result.save(path)
    assert path.read_text() == "new"
    result.save(tmp_path / "numbers.json")
    text = (tmp_path / "numbers.json").read_text(encoding="utf-8")
    assert "é" in text
    assert json.loads(text) == {"name": "é \ud800"}
