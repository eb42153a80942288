"""The command episodes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command_line import refused

from knnccv.episodes import Episodes, expected_episodes, sampled_episodes


@pytest.fixture
def saved(tmp_path):
    """A file of samples, and its arrays."""
    rng = np.random.default_rng(0)
    y = np.repeat(["ape", "bee", "cat", "dog", "eel", "fox"], 8)
    X = rng.normal(size=(6, 4))[np.arange(48) // 8] + rng.normal(size=(48, 4))
    np.savez(tmp_path / "animals.npz", X=X, y=y)
    return tmp_path / "animals.npz", X, y


def test_json_has_the_exact_score(run, saved):
    path, X, y = saved
    status, out, err = run("episodes", path, "--n-way", 5, "--n-shot", 1, "--json")
    assert (status, err) == (0, "")
    found = json.loads(out)
    exact = expected_episodes(X, y, Episodes(5, 1))
    assert found["score"] == exact.score
    assert found["per_class"]["fox"] == exact.per_class["fox"]
    assert found["ways"]["2"] == exact.ways[2]
    assert (found["n_way"], found["n_shot"], found["n_items"], found["n_classes"]) == ([5], [1], 48, 6)
    assert found["standard_error"] is None
    assert found["sampled"] is None


def test_ranges_jackknife_and_prototypes(run, saved):
    path, X, y = saved
    options = ("--n-way", "2-4", "--n-shot", "1,3", "--metric", "cosine", "--jackknife")
    options += ("--head", "prototype", "--repeats", "50", "--n-query", "3")
    found = json.loads(run("episodes", path, *options, "--json")[1])
    episodes = Episodes(range(2, 5), (1, 3))
    exact = expected_episodes(X, y, episodes, metric="cosine", jackknife="class")
    assert (found["score"], found["standard_error"]) == (exact.score, exact.standard_error)
    few = sampled_episodes(
        X,
        y,
        episodes,
        n_episodes=50,
        n_query=3,
        head="prototype",
        control_variate=True,
        metric="cosine",
        random_state=0,
    )
    assert found["sampled"]["score"] == few.score
    assert found["sampled"]["r2"] == few.r2
    out = run("episodes", path, *options)[1]
    for part in (
        "animals.npz: 48 samples, 6 classes of 8",
        "2..4-way 1,3-shot",
        f"{exact.score:.6f}",
        "R²",
    ):
        assert part in out
    assert max(map(len, out.splitlines())) <= 100


def test_votes(run, saved):
    path, X, y = saved
    found = json.loads(run("episodes", path, "--n-way", 3, "--n-shot", 2, "--n-neighbors", 3, "--json")[1])
    assert found["score"] == expected_episodes(X, y, Episodes(3, 2), 3).score
    assert found["n_neighbors"] == 3
    out = run("episodes", path, "--n-way", 3, "--n-shot", 2, "--n-neighbors", 3)[1]
    assert "vote of 3 nearest supports" in out


@pytest.mark.usefixtures("mirrored", "cache")
def test_faces_without_a_file(run):
    found = json.loads(run("episodes", "--n-way", "5", "--n-shot", "5", "--json")[1])
    assert (found["data"], found["n_items"], found["n_classes"]) == ("ORL faces", 400, 40)
    assert 0.9 < found["score"] < 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--n-way", "7"), "n_way must be between 2 and 6"),
        (("--n-shot", "8"), "n_shot must be at most 7"),
        (("--features", "Z"), "has no array 'Z'; its arrays: X, y"),
        (("--labels", "labels"), "has no array 'labels'"),
        (("--metric", "nearby"), "metric must be"),
        (("--head", "prototype", "--repeats", "0"), "--head prototype is sampled"),
        (
            ("--metric", "manhattan", "--repeats", "9"),
            "metric must be one of 'euclidean', 'cosine', got 'manhattan'",
        ),
        (
            ("--n-neighbors", "3", "--repeats", "9"),
            "random episodes serve the nearest support and prototypes",
        ),
        (("--n-neighbors", "6"), "n_neighbors must be between 1 and 5"),
        (("--n-way", "6", "--jackknife"), "needs more classes than ways"),
    ],
)
def test_errors_are_one_line(run, saved, options, message):
    assert message in refused(run, "episodes", saved[0], *options)


def test_files_that_are_none(run, tmp_path):
    assert "No such file" in refused(run, "episodes", tmp_path / "missing.npz")
    np.save(tmp_path / "one.npy", np.zeros((4, 2)))
    assert "holds one array" in refused(run, "episodes", tmp_path / "one.npy")
    (tmp_path / "text.npz").write_text("x,y\n")
    assert "text.npz" in refused(run, "episodes", tmp_path / "text.npz")


def test_numbers_that_are_none(run, saved, capsys):
    for text in ("five", "2-x", "1,,2", "1-1000000000"):
        with pytest.raises(SystemExit):
            run("episodes", saved[0], "--n-way", text)
        assert "such as 5, 2-10 or 1,3,5, and ranges of at most 10,000" in capsys.readouterr().err
