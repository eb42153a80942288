"""The coverage study: its populations, summaries and blocks, and the report."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from knnccv import LeaveOut, Neighbors
from knnccv.reproduce.coverage import __main__, _blocks, _report
from knnccv.reproduce.coverage._blocks import Block, pvalues, run_all, run_block
from knnccv.reproduce.coverage._populations import POPULATIONS, SCENES, cells_of, design_of, gaussians
from knnccv.rivals import Votes

SMALL = Block("intervals", "gaussians", 40, 0, 6, 10, ("1-NN | train 50 %", "1-NN | leave-one-out"))


@pytest.mark.parametrize("name", POPULATIONS)
def test_populations_draw_what_they_say(name):
    population = POPULATIONS[name]
    X, y = population.draw(np.random.default_rng(1), 3000)
    again = population.draw(np.random.default_rng(1), 3000)
    assert np.array_equal(X, again[0])
    assert np.array_equal(y, again[1])
    assert len(X) == len(y) == 3000
    classes = np.unique(y).size
    assert {"many": 3, "regression": 3000, "errors": 3000}.get(population.kind, 2) == classes
    if name in ("imbalance", "costs"):
        assert np.mean(y) == pytest.approx(0.1, abs=0.03)


def test_gaussians_have_the_distance_and_the_bayes_rule():
    X, y = gaussians(np.random.default_rng(0), 40_000, 10, 2.0)
    gap = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    assert np.linalg.norm(gap) == pytest.approx(2, abs=0.05)
    bayes = np.mean((X.sum(axis=1) > 0) == y)
    assert bayes == pytest.approx(0.5 * math.erfc(-1 / math.sqrt(2)), abs=0.01)


def test_cells_are_named_once_and_fit_their_halves():
    for name in POPULATIONS:
        for n in (20, 50, 100):
            keys = [cell.key for cell in cells_of(name, n)]
            assert len(keys) == len(set(keys)) > 0
            assert n > 20 or not any(key.startswith("15-NN") for key in keys)
    assert isinstance(design_of("leave-one-out", 9), LeaveOut)
    assert design_of("train 90 %", 50).train_size == 45


def test_rivals_ask_for_the_answers_of_the_rule():
    """Against all distances of one feature: 1-NN by looking."""
    x = np.array([0.0, 1.0, 3.0, 3.5, 9.0, 9.25, 20.0, 22.0])
    y = np.array([0, 1, 1, 1, 0, 0, 1, 0])
    folds = np.array([0, 1, 0, 1, 0, 1, 0, 1])
    votes = Votes(Neighbors.from_data(x[:, None]), y, 1)
    expected = []
    for at in range(8):
        training = [j for j in range(8) if folds[j] != folds[at]]
        nearest = min(training, key=lambda j: (abs(x[j] - x[at]), j))
        expected.append(y[nearest] == y[at])
    assert _blocks.answers_of_folds(votes, folds).tolist() == expected
    rng = np.random.default_rng(0)
    splits = [split for _ in range(27) for split in _blocks.random_splits(8, 7, rng)]
    assert all(training.sum() == 7 and not training[tested] for training, (tested,) in splits)
    scores = np.array([votes.correct(*split).mean() for split in splits])
    assert set(np.unique(scores)) <= {0.0, 1.0}
    gaps = np.abs(x[:, None] - x) + np.diag(np.full(8, np.inf))
    assert scores.mean() == pytest.approx(np.mean(y[gaps.argmin(axis=1)] == y), abs=0.1)


def test_coverage_by_counting():
    rows = [
        [0.5, 0.4, 0.6, 0.01, False, {"binomial": [0.45, 0.55]}],
        [0.7, 0.65, 0.8, 0.03, True, {"binomial": [0.6, 0.8]}],
    ]
    found = {SMALL: {"1-NN | train 50 %": rows}, replace(SMALL, kind="scores"): {}}
    found[replace(SMALL, kind="scores", first=7)] = {"1-NN | train 50 %": [0.4, 0.6]}
    (cell,) = _report.cell_summaries(found)
    scores = np.array([0.5, 0.7, 0.4, 0.6])
    assert cell.truth == pytest.approx(0.55)
    assert (cell.n_data_sets, cell.coverage, cell.warned) == (2, 0.5, 0.5)
    assert cell.width == pytest.approx(0.175 / (2 * 1.959964 * scores.std(ddof=1)), rel=1e-6)
    assert cell.variance == pytest.approx(0.02 / scores.var(ddof=1))
    assert cell.rivals == {"binomial": 0.5}
    assert not cell.usually_calm
    tests = {Block("tests", "noise", 20, 0, 4): {"halves": [0.01, 0.05, 0.2, 1.0]}}
    (line,), (claim,) = _report.test_lines(tests, False)
    assert line.quantity == "1-NN and 5-NN, labels noise: halves, % rejected"
    assert line.computed == claim.computed == 50


def test_an_interrupted_study_goes_on(tmp_path, monkeypatch):
    first = run_block(SMALL, tmp_path)
    assert {key: len(rows) for key, rows in first.items()} == dict.fromkeys(SMALL.cells, 6)
    calls = []
    run = Block.run
    monkeypatch.setattr(Block, "run", lambda block: calls.append(block) or run(block))
    assert run_block(SMALL, tmp_path) == first
    assert calls == []
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:50])
    assert run_block(SMALL, tmp_path) == first
    assert run_block(replace(SMALL, n_halvings=11), tmp_path) != first
    assert len(calls) == len(list(tmp_path.iterdir())) == 2


def test_blocks_do_not_depend_on_how_they_are_cut():
    parts = [replace(SMALL, size=2), replace(SMALL, first=2, size=4)]
    one, *others = (block.run() for block in (SMALL, *parts))
    for key in SMALL.cells:
        assert [row for other in others for row in other[key]] == one[key]


def test_true_means_are_those_of_other_data_sets():
    block = Block("scores", "gaussians", 40, 0, 20, cells=("1-NN | train 50 %",))
    (stored,) = block.run().values()
    scores = []
    for at in range(20):
        X, y = POPULATIONS["gaussians"].draw(block.rng(at), 40)
        (cell,) = (cell for cell in cells_of("gaussians", 40) if cell.key in block.cells)
        scores.append(cell.score(Neighbors.from_data(X), y).score)
    assert stored == scores
    assert block.rng(0).random() != SMALL.rng(0).random()


@pytest.mark.parametrize("scene", SCENES)
def test_scenes_have_a_p_value_by_every_method(scene):
    found = pvalues(scene, np.random.default_rng(0), 40, 10)
    assert set(found) == {"halves", "McNemar, 10 folds", "corrected t", "5x2 cv t"}
    assert all(0 <= value <= 1 for value in found.values())


def test_the_report_of_some_blocks():
    blocks = [
        SMALL,
        Block("scores", "gaussians", 40, 0, 10, cells=SMALL.cells),
        Block("intervals", "errors-t3", 40, 0, 3, 10),
        Block("intervals", "groups", 50, 0, 3, 10, ("1-NN | groups left out",)),
        Block("tests", "noise", 40, 0, 3, 10),
        Block("tests", "power", 40, 0, 3, 10),
    ]
    for quick in (False, True):
        found = _report.report(run_all(blocks, None), quick)
        text = found.to_text()
        assert max(map(len, text.splitlines())) <= 100
        for words in (
            "groups of 5; 50 samples",
            "lowest coverage, %",
            "sine, t(3) errors; 40 samples, %",
            "level, 1-NN and 5-NN, labels noise",
        ):
            assert words in text
    (picture,) = found.pictures
    assert picture.png().startswith(b"\x89PNG")
    header = found.to_csv().splitlines()[0]
    assert header == "part,quantity,knnccv,verdict,width,variance,warned," + (
        'binomial,"one run, CLT",corrected t,nested,Wald,note'
    )
    assert _report.report({}).pictures == ()


def test_verdicts_of_made_up_cells():
    cell = _report.CellSummary("noise", 50, "1-NN | 5 folds", 500, 0.5, 0.955, 1.1, 1.1, 0.0, {})
    low = replace(cell, coverage=0.91)
    verdicts = {line.quantity: line.verdict for line in _report.coverage_claims([cell], False)}
    assert [verdicts[f"{which} coverage, %"] for which in ("mean", "lowest", "highest")] == ["holds"] * 3
    verdicts = {line.quantity: line.verdict for line in _report.coverage_claims([cell, low], False)}
    assert verdicts["lowest coverage, %"] == "does not hold"
    verdicts = {
        line.quantity: line.verdict
        for line in _report.coverage_claims([cell, replace(low, warned=0.6)], False)
    }
    assert verdicts["lowest coverage, %"] == "holds"
    for scene, n_rejected, verdict in (("noise", 81, "does not hold"), ("power", 360, "holds")):
        values = [0.01] * n_rejected + [0.9] * (1000 - n_rejected)
        tests = {Block("tests", scene, 200, 0, 1000): {"halves": values}}
        assert [line.verdict for line in _report.test_lines(tests, False)[1]] == [verdict]


def test_the_blocks_of_the_whole_study():
    blocks = list(_report.full_blocks())
    assert len({block.file for block in blocks}) == len(blocks)
    numbers = Counter()
    for block in blocks:
        if block.kind == "intervals":
            numbers[block.name, block.n] += block.size
    expected = {(name, n) for name in POPULATIONS for n in (50, 100, 200) if name != "groups"}
    assert set(numbers) == {*expected, ("groups", 150)}
    assert set(numbers.values()) == {500}
    assert {block.n for block in blocks if block.nested} == {100}


def test_the_driver_writes_a_report_and_goes_on(tmp_path, capsys, monkeypatch):
    arguments = ["--out", str(tmp_path), "--sizes", "40", "--samples", "2", "--more", "2", "--tests", "1"]
    arguments += ["--halvings", "4", "--populations", "noise", "--jobs", "1"]
    assert __main__.main(arguments) == 0
    out = capsys.readouterr().out
    assert "pure noise; 40 samples" in out
    assert {"coverage.md", "coverage.csv", "coverage-coverage.png"} <= {p.name for p in tmp_path.iterdir()}
    monkeypatch.setattr(Block, "run", lambda _: pytest.fail("computed again"))
    assert __main__.main(arguments) == 0
    assert capsys.readouterr().out == out


def test_the_whole_study_keeps_its_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(_report, "full_blocks", lambda: [replace(SMALL, size=2)])
    first = _report.coverage(False)
    (path,) = (tmp_path / "kept").glob("coverage-*/*.pickle")
    assert path.name.startswith("intervals-gaussians-40")
    monkeypatch.setattr(Block, "run", lambda _: pytest.fail("computed again"))
    assert _report.coverage(False).lines == first.lines


@pytest.mark.slow
def test_processes_give_the_same(tmp_path):
    blocks = [replace(SMALL, size=2), replace(SMALL, first=2, size=2)]
    assert run_all(blocks, tmp_path, n_jobs=2) == run_all(blocks, None)
