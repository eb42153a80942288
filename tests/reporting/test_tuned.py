"""The section on the setting that is chosen within each training set, against `tuned_score`."""

import json

import numpy as np
import pytest
from some_study import clouds

from knnccv import Subsample, report, tuned_score
from knnccv.datasets import load_wine
from knnccv.hvdm import HEOM
from knnccv.reporting import _settings, _study
from knnccv.reporting._study import nested_runs

METRICS, SCALINGS = ["euclidean", "manhattan", "cosine"], ["raw", "standardized", "min-max"]
NOTE = "There is no score of a setting chosen within each training set: "


def check_tuned(tuned, direct):
    """Compare the section with a direct call."""
    json.dumps(tuned, allow_nan=False)
    for name in ("score", "std_error", "std", "inner_score", "optimism", "optimism_std_error", "n_runs"):
        assert tuned[name] == getattr(direct, name), name
    assert tuned["n_settings"] == len(direct.choices)
    shares = [one["share"] for one in tuned["choices"]]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1)
    for k, share in zip(tuned["n_neighbors"], tuned["shares"], strict=True):
        assert share == pytest.approx(
            sum(part for candidate, part in direct.choices.items() if candidate.n_neighbors == k)
        )
    assert f"{tuned['score']:.1%} of new samples" in tuned["conclusion"]


def test_the_numbers_are_those_of_the_tuned_score():
    wine = load_wine()
    found = report(wine.X, wine.y, n_neighbors=[1, 5, 9], train_size=0.7, random_state=3)
    tuned = found.to_dict()["tuned"]
    direct = tuned_score(
        wine.X, wine.y, [1, 5, 9], Subsample(0.7), metric=METRICS, scaling=SCALINGS, random_state=3
    )
    check_tuned(tuned, direct)
    top = direct.most_chosen
    assert [tuned["choices"][0][name] for name in ("n_neighbors", "metric", "scaling")] == list(top)
    assert "points too high" in tuned["conclusion"]
    assert tuned["conclusion"] in repr(found)
    page = found.to_html()
    assert 'id="chart-tuned"' in page
    assert f"<td>{tuned['score']:.4f} (standard error" in page


def test_mixed_tables_choose_the_number_of_neighbors():
    X, y = clouds(50, step=0.5)
    X[::7, 1] = np.nan
    tuned = report(X, y, n_neighbors=[1, 3, 5]).to_dict()["tuned"]
    near = HEOM().fit(X).neighbors()
    check_tuned(tuned, tuned_score(near, y, [1, 3, 5], Subsample(0.8)))
    assert {(one["scaling"], one["metric"]) for one in tuned["choices"]} == {("raw", "heom")}


def test_a_metric_that_misses_a_scaling_is_not_tried(monkeypatch):
    X, y = clouds(40)
    curve = _settings._curve

    def refusing(part, scaling, metric, *more):
        if (scaling, metric) == ("min-max", "cosine"):
            raise ValueError("no angle")
        return curve(part, scaling, metric, *more)

    monkeypatch.setattr(_settings, "_curve", refusing)
    found = report(X, y, n_neighbors=[1, 3]).to_dict()
    assert [one["reason"] for one in found["settings"]["omitted"]] == ["no angle"]
    direct = tuned_score(X, y, [1, 3], Subsample(0.8), metric=METRICS[:2], scaling=SCALINGS)
    check_tuned(found["tuned"], direct)


@pytest.mark.parametrize(
    ("y", "options", "reason"),
    [
        (np.arange(40) / 7, {}, "a regression has none"),
        (np.arange(40) < 8, {}, "the score of this page is the balanced accuracy"),
        (np.arange(40) % 2, {"train_size": 1}, "there is nothing to choose from"),
    ],
)
def test_what_is_not_served_says_why(y, options, reason):
    found = report(clouds(40)[0], y, n_neighbors=1, **options)
    answer = found.to_dict()
    assert answer["tuned"] is None
    (note,) = [note for note in answer["method"]["notes"] if note.startswith(NOTE)]
    assert reason in note
    assert 'id="tuned"' not in found.to_html()


def test_what_takes_too_long_is_left_out(monkeypatch):
    monkeypatch.setattr(_study, "NESTED_LIMIT", 0.0)
    answer = report(*clouds(40), n_neighbors=[1, 3]).to_dict()
    assert answer["tuned"] is None
    assert (
        f"{NOTE}trying 18 settings within each training set would take too long."
        in (answer["method"]["notes"])
    )


def test_runs_that_can_be_afforded():
    assert nested_runs(5_000, 2, 9, 15) == nested_runs(1_000, 50, 9, 31) == 1_000
    assert nested_runs(5_000, 50, 9, 31) == 512
    assert nested_runs(5_000, 50, 9, 300) == 0
