"""Every number of a report equals those of direct calls, on real and on awkward data."""

from __future__ import annotations

import json
from decimal import Decimal

import numba
import numpy as np
import pytest
from recorded_bars import bars
from report_check import check_report
from report_numbers import Direct

from knnccv import Neighbors, Report, Subsample, complete_cv, report, surface
from knnccv._parallel import for_each
from knnccv.datasets import fetch_abalone, fetch_breast_cancer, fetch_uci, load_diabetes, load_wine
from knnccv.reporting import scaled
from knnccv.reporting._report import run_stages
from knnccv.reporting._settings import _of_others


@pytest.fixture
def stored(data_folder, cache, monkeypatch, only_this_machine):  # noqa: ARG001
    """Use the original files as the cache."""
    monkeypatch.setenv("KNNCCV_DATA_DIR", str(data_folder))


@pytest.fixture(scope="module")
def stages():
    """The calls of the hook of progress in `wine_report`."""
    return []


@pytest.fixture(scope="module")
def wine_report(stages):
    wine = load_wine()
    return report(
        wine.X, wine.y, name="wine", n_neighbors=[1, 5], progress=lambda *stage: stages.append(stage)
    )


class TestOnWine:
    def test_sections(self, wine_report):
        found = wine_report.to_dict()
        keys = "knnccv task name data scores settings tuned learning classes items ties regression method"
        assert list(found) == keys.split()
        assert json.loads(json.dumps(found, allow_nan=False)) == found
        for name in ("data", "scores", "settings", "learning"):
            assert found[name]["conclusion"].endswith(".")

    def test_scores_are_those_of_the_library(self, wine_report):
        wine = load_wine()
        scores = wine_report.to_dict()["scores"]
        assert scores["train_size"] == 142
        expected = complete_cv(wine.X, wine.y, "knn", Subsample(0.8), n_neighbors=5)
        assert scores["default"]["score"] == expected.score
        low, high = expected.confidence_interval(0.95)
        assert scores["default"]["interval"] == {"low": low, "high": high, "level": 0.95}


@pytest.mark.slow
class TestNumbers:
    def test_wine(self, wine_report):
        wine = load_wine()
        direct = Direct(wine_report.to_dict(), wine.X, wine.y)
        direct.check()
        direct.check_not_worse()
        assert direct.found["data"]["classes"][1] == {"label": "2", "n_items": 71, "share": 71 / 178}

    def test_diabetes(self):
        data = load_diabetes()
        found = report(data.X, data.y, n_neighbors=[1, 15]).to_dict()
        assert found["task"] == "regression"
        assert found["data"]["target"]["variance"] == pytest.approx(np.var(data.y))
        direct = Direct(found, data.X, data.y)
        direct.check()
        direct.check_not_worse()

    @pytest.mark.usefixtures("stored")
    def test_breast_cancer(self):
        data = fetch_breast_cancer()
        found = report(data.X, data.y, n_neighbors=[1, 5], feature_names=data.feature_names).to_dict()
        assert found["data"]["feature_names"] == list(data.feature_names)
        Direct(found, data.X, data.y).check_scores()

    @pytest.mark.usefixtures("stored")
    def test_abalone(self):
        data = fetch_abalone(3)
        found = report(data.X, data.y, n_neighbors=[5, 15]).to_dict()
        Direct(found, data.X, data.y).check_curves()
        assert len(found["data"]["classes"]) == 3

    @pytest.mark.usefixtures("stored")
    @pytest.mark.parametrize("name", ["Hepatitis", "Bridges", "Echocardiogram"])
    def test_mixed_tables_with_gaps(self, name):
        data = fetch_uci(name)
        found = report(data.X, data.y, categorical=data.nominal, n_neighbors=[1, 5]).to_dict()
        assert found["data"]["n_missing"] == np.isnan(data.X).sum() > 0
        assert found["scores"]["default"]["metric"] == "heom"
        nominal = list(data.nominal)
        Direct(found, data.X, data.y, nominal).check()

    def test_two_classes_of_which_one_has_two_items(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(40, 3)), np.repeat(["many", "few"], [38, 2])
        found = report(X, y, n_neighbors=[1, 3]).to_dict()
        assert [each["n_items"] for each in found["data"]["classes"]] == [2, 38]
        Direct(found, X, y).check()

    def test_constant_column(self):
        rng = np.random.default_rng(1)
        X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
        X[:, 1] = 0.1
        found = report(X, y, n_neighbors=[3]).to_dict()
        assert found["data"]["constant"] == ["x1"]
        Direct(found, X, y).check()

    def test_300_columns(self):
        rng = np.random.default_rng(2)
        y = rng.integers(0, 2, 120)
        X = rng.normal(size=(120, 300)) + 0.2 * y[:, None]
        found = report(X, y, n_neighbors=[1, 5]).to_dict()
        assert found["data"]["n_features"] == 300
        Direct(found, X, y).check()

    def test_large_tables_state_their_subsamples(self):
        rng = np.random.default_rng(3)
        y = rng.integers(0, 3, 50_000)
        X = rng.normal(size=(50_000, 20)) + 0.5 * y[:, None]
        found = report(X, y, n_neighbors=[5], max_items=8_000).to_dict()
        assert found["data"]["subsample"]["n_items"] == found["data"]["n_items"] == 8_000
        assert found["data"]["subsample"]["of"] == 50_000
        assert found["settings"]["subsample"]["of"] == 8_000
        best = found["scores"]["best"]
        kept = np.sort(np.random.default_rng(0).choice(50_000, 8_000, replace=False))
        direct = Direct(found, X[kept], y[kept])
        assert best["score"] == direct.score(best).score


@pytest.mark.slow
def test_error_of_the_training_mean_by_enumeration():
    from itertools import combinations

    from knnccv.reporting._scores import error_of_mean

    y = np.array([0.5, 3.0, -1.0, 7.5, 2.0, 2.25])
    for size in (1, 2, 4, 5):
        errors = [
            (y[test] - y[list(train)].mean()) ** 2
            for train in combinations(range(6), size)
            for test in range(6)
            if test not in train
        ]
        assert error_of_mean(y, size) == pytest.approx(np.mean(errors), rel=1e-13)


@pytest.mark.slow
class TestCode:
    def run(self, text, capsys, **names):
        exec(compile(text, "<report>", "exec"), names)
        return float(capsys.readouterr().out.split()[0])

    def test_gives_the_headline_number(self, wine_report, capsys):
        wine = load_wine()
        found = wine_report.to_dict()
        assert (
            self.run(found["method"]["code"], capsys, X=wine.X, y=wine.y)
            == found["scores"]["best"]["score"]
        )

    def test_of_a_subsample(self, capsys):
        wine = load_wine()
        found = report(wine.X, wine.y, n_neighbors=[5], max_items=100).to_dict()
        assert (
            self.run(found["method"]["code"], capsys, X=wine.X, y=wine.y)
            == found["scores"]["best"]["score"]
        )

    def test_a_file_is_not_read(self, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        wine = load_wine()
        (tmp_path / "wine.csv").write_text("x,y\n1,2\n")
        found = report(wine.X, wine.y, n_neighbors=[5], name="wine.csv").to_dict()
        assert found["name"] == "wine.csv"
        assert (
            self.run(found["method"]["code"], capsys, X=wine.X, y=wine.y)
            == found["scores"]["best"]["score"]
        )

    @pytest.mark.parametrize("kind", ["frame", "array", "list"])
    @pytest.mark.parametrize("mixed", [False, True])
    @pytest.mark.parametrize("max_items", [40, 30])
    def test_decimals(self, kind, mixed, max_items, capsys):
        pd = pytest.importorskip("pandas")
        rng = np.random.default_rng(8)
        frame = pd.DataFrame({"size": [Decimal(f"{v:.2f}") for v in rng.normal(size=40)]}, dtype=object)
        frame["age"] = rng.integers(0, 9, 40)
        if mixed:
            frame.loc[::7, "size"] = None
            frame["color"] = rng.choice(["red", "blue"], 40)
        y = rng.choice(list("ab"), 40)
        X = {"frame": frame, "array": frame.to_numpy(), "list": frame.to_numpy().tolist()}[kind]
        found = report(X, y, n_neighbors=[3], max_items=max_items).to_dict()
        assert found["data"]["n_missing"] == (len(range(0, 40, 7)) if mixed else 0) or max_items == 30
        assert self.run(found["method"]["code"], capsys, X=X, y=y) == found["scores"]["best"]["score"]
        if not mixed:
            plain = np.array(frame.to_numpy(), dtype=float)
            assert (
                report(plain, y, n_neighbors=[3], max_items=max_items).to_dict()["scores"]
                == found["scores"]
            )

    @pytest.mark.parametrize("max_items", [40, 30])
    def test_labels_that_are_numbers_of_other_columns(self, max_items, capsys):
        pd = pytest.importorskip("pandas")
        rng = np.random.default_rng(8)
        X = pd.DataFrame({1: rng.choice(["red", "blue"], 40), 0: rng.normal(size=40)})
        X[7] = rng.normal(size=40)
        y = rng.choice(list("ab"), 40)
        found = report(X, y, n_neighbors=[3], max_items=max_items).to_dict()
        assert self.run(found["method"]["code"], capsys, X=X, y=y) == found["scores"]["best"]["score"]

    def test_large_whole_numbers(self, capsys):
        rng = np.random.default_rng(9)
        X, y = rng.integers(2**60, 2**62, (30, 2)), rng.integers(0, 2, 30)
        found = report(X, y, n_neighbors=[3]).to_dict()
        assert self.run(found["method"]["code"], capsys, X=X, y=y) == found["scores"]["best"]["score"]


class TestProgress:
    def test_hook_sees_all_stages(self, wine_report, stages):
        assert isinstance(wine_report, Report)
        order = "data, settings, scores, tuned, learning, classes, items, ties, regression, method, "
        assert stages == [(name, at, 10) for at, name in enumerate(order.split(", "))]

    def test_a_bar_counts_the_tasks_within_stages(self, monkeypatch):
        shown = bars(monkeypatch)
        done = []

        def within():
            for_each(done.append, range(5), 1)

        run_stages({"a": within, "b": lambda: done.append("b"), "c": within}, True)
        assert done == [*range(5), "b", *range(5)]
        (bar,) = shown
        assert (bar.n, bar.total, bar.unit) == (10, 10, "task")
        text = bar.paper.getvalue()
        assert all(stage in text for stage in ("a (1/3)", "b (2/3)", "c (3/3)", "3/3"))

    @pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
    def test_compiled_functions_are_tasks_with_a_name(self, monkeypatch):
        shown = bars(monkeypatch)

        def compiling():
            numba.njit(lambda x: x + 1)(1)

        run_stages({"a": lambda: None, "b": compiling, "c": lambda: None}, True)
        (bar,) = shown
        assert bar.n == bar.total >= 1
        assert "b (2/3), compiling" in bar.paper.getvalue()
        assert "c (3/3), compiling" not in bar.paper.getvalue()


class TestSaving:
    def test_replaces_a_file_as_a_whole(self, tmp_path):
        path = tmp_path / "page.html"
        path.write_text("old")
        result = Report({"name": "x"})
        result.to_html = lambda: 1 / 0
        with pytest.raises(ZeroDivisionError):
            result.save(path)
        assert path.read_text() == "old"
        assert [each.name for each in tmp_path.iterdir()] == ["page.html"]
        result.to_html = lambda: "new"
        result.save(path)
        assert path.read_text() == "new"

    def test_json(self, tmp_path):
        Report({"name": "é \ud800"}).save(tmp_path / "numbers.json")
        text = (tmp_path / "numbers.json").read_text(encoding="utf-8")
        assert "é" in text
        assert json.loads(text) == {"name": "é \ud800"}


def test_what_is_said_of_the_other_settings():
    X = np.array([[0.0, 5], [1, 5], [2, 5], [10, 5], [11, 5], [12, 5]] * 4)
    y = np.array([0, 0, 0, 1, 1, 1] * 4)
    settings = report(X, y, n_neighbors=[1, 3]).to_dict()["settings"]
    n_kept = sum(len(each["n_neighbors"]) for each in settings["not_worse"])
    assert n_kept > 2
    assert f"; {n_kept - 1} others are not significantly worse" in settings["conclusion"]


@pytest.mark.parametrize(
    ("n_kept", "compared", "text"),
    [
        (0, True, "all others are significantly worse"),
        (0, False, "all others count as worse (see the notes)"),
        (1, True, "one other is not significantly worse"),
        (2, False, "2 others are not significantly worse"),
    ],
)
def test_words_for_the_other_settings(n_kept, compared, text):
    assert _of_others(n_kept, compared) == text


def test_settings_that_are_never_chosen_are_not_counted():
    """Nothing is said about HVDM in comparison with the best, and a single setting is the best of none."""
    X = np.array([["a", 1], ["b", 2], ["a", 3], ["b", 4], ["c", 5], ["c", 6]] * 3, dtype=object)
    settings = report(X, [0, 1, 0, 1, 1, 0] * 3, n_neighbors=[1, 3]).to_dict()["settings"]
    assert [each["metric"] for each in settings["curves"]] == ["heom", "hvdm"]
    assert settings["conclusion"].startswith("Of 2 settings the best is HEOM distance, K = ")
    for options in ({}, {"task": "regression"}):
        settings = report(X, [0, 1, 0, 1, 1, 0] * 3, n_neighbors=1, **options).to_dict()["settings"]
        assert settings["conclusion"].startswith("The only setting is HEOM distance, K = 1, with ")
        assert "other" not in settings["conclusion"]


@pytest.mark.parametrize("name", ["page.pdf", "page", "page.html.gz"])
def test_files_with_other_endings_are_refused(tmp_path, name):
    with pytest.raises(ValueError, match=r"path must end in \.html, \.htm or \.json, got '.*page"):
        Report({"name": "x"}).save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def unequal_classes():
    """Few positives, which the plurality of many neighbors never finds."""
    rng = np.random.default_rng(4)
    y = (np.arange(120) < 16).astype(int)
    X = rng.normal(size=(120, 3))
    X[y == 1] += [1.2, 0.8, 0]
    return X, y


@pytest.mark.parametrize("average", [None, "pooled", "class"])
def test_unequal_classes_are_chosen_by_balanced_accuracy(average):
    X, y = unequal_classes()
    found = report(X, y, n_neighbors=[1, 5, 15], average=average).to_dict()
    by_classes = average != "pooled"
    assert found["scores"]["average"] == ("class" if by_classes else "pooled")
    measures = ["balanced accuracy", "accuracy"] if by_classes else ["accuracy", "balanced accuracy"]
    other = found["settings"]["other"]
    assert [found["scores"]["measure"], other["measure"]] == measures
    assert [found["settings"]["measure"], other["chosen_by"]] == [measures[0]] * 2
    assert f"It was chosen by {measures[0]}" in found["settings"]["conclusion"]
    best, simple = found["scores"]["best"], found["scores"]["baselines"][0]
    if by_classes:
        assert best["score"] > simple["score"] == 0.5
        assert best["accuracy"] < simple["accuracy"] == 104 / 120
    else:
        assert best["n_neighbors"] == 15
    how = {"average": "pooled" if by_classes else "class"}
    for curve in other["curves"]:
        near = Neighbors.from_data(scaled(X, curve["scaling"]), curve["metric"])
        direct = surface(near, y, [1, 5, 15], [96], "knn", **how)
        assert curve["scores"] == direct.scores[:, 0].tolist()
    assert other["score"] == max(max(curve["scores"]) for curve in other["curves"])
    at = [1, 5, 15].index(other["n_neighbors"])
    (chosen,) = [
        curve
        for curve in found["settings"]["curves"]
        if (curve["scaling"], curve["metric"]) == (other["scaling"], other["metric"])
    ]
    assert other["instead"] == chosen["scores"][at]
    check_report(X, y, found)


def test_equal_classes_are_chosen_by_accuracy():
    X, y = unequal_classes()
    y = np.arange(len(X)) % 3  # no class has more than twice as many samples as the others
    found = report(X, y, n_neighbors=[1]).to_dict()
    assert (found["scores"]["average"], found["settings"]["other"]) == ("pooled", None)
    with pytest.raises(ValueError, match="leave out average='class'"):
        report(X, X[:, 0], average="class")
    with pytest.raises(ValueError, match="average must be one of"):
        report(X, y, average="weighted")
