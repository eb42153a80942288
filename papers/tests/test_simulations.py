"""Simulations: those of The Elements of Statistical Learning, and knnccv's own study of coverage.

Their parts have no other public way than whole reproductions.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from knnccv import KFold, LeaveOut, Neighbors, complete_cv, monte_carlo_cv
from knnccv_papers import _esl, _paper
from knnccv_papers.__main__ import main
from knnccv_papers.coverage import _blocks, _populations, _report
from knnccv_papers.rivals import Votes

Block = _blocks.Block


@pytest.fixture(scope="module")
def plane():
    return _esl.planar(0, 2000)


class TestElementsOfStatisticalLearning:
    def test_correlations_and_choices(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(20, 300)), rng.integers(0, 2, 20)
        each = np.array([np.corrcoef(column, y)[0, 1] for column in X.T])
        np.testing.assert_allclose(_esl.correlations(X, y), each, rtol=1e-9)
        assert (_esl.strongest(_esl.correlations, X, y) == np.argsort(-each)[:100]).all()
        assert (_esl.strongest(_esl.strengths, X, y) == np.argsort(-np.abs(each))[:100]).all()
        assert np.isnan(_esl.correlations(X, np.ones(20))).all()

    def test_a_simulation_by_hand(self, monkeypatch):
        """All but the split of the right way, which is tested elsewhere."""
        monkeypatch.setattr(_esl, "N_SIMULATIONS", {True: 2})
        found, y = _esl.screening(_esl.strengths, True), np.repeat([0, 1], 25)
        for number in range(2):
            X = np.random.default_rng([_esl.SEED + 1, number]).normal(size=(50, 5000))
            wrong = 1 - complete_cv(X[:, _esl.strongest(_esl.strengths, X, y)], y, "nn", KFold(5)).score
            assert found.wrong[number] == pytest.approx(100 * wrong)
            assert found.one_wrong[number] / 2 == pytest.approx(round(found.one_wrong[number] / 2))
        assert (np.abs(found.wrong_correlations) <= 1).all()
        # Chosen on all samples, and turned to be positive there: what is left of it shows in ten of them.
        assert found.wrong_correlations.mean() > 0.2 > abs(found.right_correlations.mean())
        assert found.right.min() > 20 > found.wrong.max()

    def test_the_recipe_of_the_mixture(self):
        distribution, X, y = _esl.mixture(0)
        assert X.shape == (200, 2)
        assert y.tolist() == [0] * 100 + [1] * 100
        means = np.array([_esl.mixture(number)[0].means for number in range(400)]).reshape(400, 2, 10, 2)
        np.testing.assert_allclose(means.mean(axis=(0, 2)), [[1, 0], [0, 1]], atol=4 / math.sqrt(4000))
        np.testing.assert_allclose(means.var(axis=(0, 2)), 1, atol=4 * math.sqrt(2 / 4000))
        points, labels = distribution.draw(np.random.default_rng(1), 40_000)
        for c in (0, 1):
            mine, centers = points[labels == c], distribution.means[c]
            np.testing.assert_allclose(mine.mean(axis=0), centers.mean(axis=0), atol=4 * np.sqrt(2 / 4e4))
            np.testing.assert_allclose(mine.var(axis=0), centers.var(axis=0) + 1 / 5, rtol=0.05)
        # Where the distribution has it that a share of the samples is of class 1, such a share is.
        share = distribution.second_share(points)
        for low in np.arange(0, 1, 0.1):
            some = (low <= share) & (share < low + 0.1)
            assert abs(labels[some].mean() - share[some].mean()) < 4 * 0.5 / math.sqrt(some.sum())
        for x, found in zip(points[:5], share[:5], strict=True):
            squares = ((distribution.means - x) ** 2).sum(axis=2)
            densities = np.exp(-squares / (2 / 5)).sum(axis=1)
            assert found == pytest.approx(densities[1] / sum(densities))

    def test_predictions_by_votes(self, plane):
        new = np.random.default_rng(0).normal(size=(40, 2))
        found = _esl.predictions(plane.X, plane.y, new)
        for j, x in enumerate(new):
            order = sorted(range(200), key=lambda i: math.dist(plane.X[i], x))
            for i, k in enumerate(_esl.NUMBERS):
                votes = Counter(plane.y[order[:k]].tolist())
                assert found[i, j] == min(votes, key=lambda c: (-votes[c], c))

    def test_the_curves(self, plane):
        for i in (0, 5, 14):
            how = {"n_neighbors": int(_esl.NUMBERS[i])}
            exact = complete_cv(plane.X, plane.y, "knn", KFold(5), **how)
            assert plane.expected[i] == pytest.approx(100 * (1 - exact.score), abs=1e-4)
            how |= {"n_runs": 5, "random_state": _esl.SEED}
            few = monte_carlo_cv(plane.X, plane.y, "knn", KFold(5), **how)
            np.testing.assert_allclose(plane.curves[:, i], 100 * (1 - few.scores))
        points, labels = plane.distribution.draw(np.random.default_rng(5), 20_000)
        counted = 100 * (_esl.predictions(plane.X, plane.y, points) != labels).mean(axis=1)
        assert np.abs(counted - plane.new).max() < 4 * 50 * math.sqrt(1 / 2000 + 1 / 40_000)
        bayes = 100 * ((plane.distribution.second_share(points) > 0.5) != labels).mean()
        assert abs(bayes - plane.bayes) < 4 * (plane.bayes_error_bar + 50 / math.sqrt(40_000))
        assert plane.bayes < plane.new.min()
        assert plane.training[0] == 0 < plane.training[14]

    def test_verdicts_can_fail(self, plane, monkeypatch):
        """With data that contradict the claims; the paper's numbers are not used as computed ones."""
        few = np.linspace(0, 0.1, 100).reshape(10, 10)
        found = _esl.Screening(*(30 + few[:4]), few - 0.9, few + 0.4)
        lines = _esl.screening_lines("correlation", found)
        assert [line.verdict for line in lines] == [*["differs"] * 2, "does not hold", *["differs"] * 2]
        told = _esl.PAPER["lines"]
        told = {**_esl.PAPER.table, "lines": {**told, "wrong": {**told["wrong"], "paper": 30.0}}}
        monkeypatch.setattr(_esl, "PAPER", _paper.Paper(told))
        (other, *_) = _esl.screening_lines("correlation", found)
        assert (other.computed, other.verdict) == (lines[0].computed, "agrees")
        assert list(_esl.curve_lines(plane))[-1].verdict == "holds"
        far = replace(plane, new=plane.new + 40)
        assert list(_esl.curve_lines(far))[-1].verdict == "does not hold"
        fifteen = _esl.NUMBERS == 15
        odd = replace(plane, training=np.where(fifteen, 0.0, 5.0), new=np.where(fifteen, 30.0, 20.0))
        claims = [line for line in _esl.map_lines([odd, odd]) if line.holds is not None]
        assert [line.verdict for line in claims] == ["does not hold"] * 3


SMALL = Block("intervals", "gaussians", 40, 0, 6, 10, ("1-NN | train 50 %", "1-NN | leave-one-out"))


class TestCoverage:
    def test_populations_draw_what_they_say(self):
        kinds = {"many": 3, "regression": 3000, "errors": 3000}
        for name, population in _populations.POPULATIONS.items():
            X, y = population.draw(np.random.default_rng(1), 3000)
            again = population.draw(np.random.default_rng(1), 3000)
            assert np.array_equal(X, again[0])
            assert np.array_equal(y, again[1])
            assert len(X) == len(y) == 3000
            assert np.unique(y).size == kinds.get(population.kind, 2)
            if name in ("imbalance", "costs"):
                assert np.mean(y) == pytest.approx(0.1, abs=0.03)  # 4 standard errors are 0.022
            for n in (20, 50, 100):
                keys = [cell.key for cell in _populations.cells_of(name, n)]
                assert len(keys) == len(set(keys)) > 0
                assert n > 20 or not any(key.startswith("15-NN") for key in keys)
        assert isinstance(_populations.design_of("leave-one-out", 9), LeaveOut)
        assert _populations.design_of("train 90 %", 50).train_size == 45

    def test_gaussians_have_the_distance_and_the_bayes_rule(self):
        X, y = _populations.gaussians(np.random.default_rng(0), 40_000, 10, 2.0)
        gap = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
        assert np.linalg.norm(gap) == pytest.approx(2, abs=0.05)
        bayes = np.mean((X.sum(axis=1) > 0) == y)
        assert bayes == pytest.approx(0.5 * math.erfc(-1 / math.sqrt(2)), abs=0.01)

    def test_rivals_ask_for_the_answers_of_the_rule(self):
        """Against all distances of one feature: 1-NN by looking."""
        x, y = np.array([0.0, 1, 3, 3.5, 9, 9.25, 20, 22]), np.array([0, 1, 1, 1, 0, 0, 1, 0])
        folds = np.arange(8) % 2
        votes = Votes(Neighbors.from_data(x[:, None]), y, 1)
        expected = []
        for at in range(8):
            training = [j for j in range(8) if folds[j] != folds[at]]
            expected.append(y[min(training, key=lambda j: (abs(x[j] - x[at]), j))] == y[at])
        assert _blocks.answers_of_folds(votes, folds).tolist() == expected
        gaps = np.abs(x[:, None] - x) + np.diag(np.full(8, np.inf))
        rng = np.random.default_rng(0)
        for training, (tested,) in (split for _ in range(27) for split in _blocks.random_splits(8, 7, rng)):
            assert training.tolist() == [j != tested for j in range(8)]
            assert votes.correct(training, np.array([tested])).item() == (
                y[gaps[tested].argmin()] == y[tested]
            )

    def test_coverage_by_counting(self):
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

    def test_an_interrupted_study_goes_on(self, tmp_path, monkeypatch):
        first = _blocks.run_block(SMALL, tmp_path)
        assert {key: len(rows) for key, rows in first.items()} == dict.fromkeys(SMALL.cells, 6)
        calls, run = [], Block.run
        monkeypatch.setattr(Block, "run", lambda block: calls.append(block) or run(block))
        assert _blocks.run_all([SMALL], tmp_path) == {SMALL: first}
        assert calls == []
        (path,) = tmp_path.iterdir()
        path.write_bytes(path.read_bytes()[:50])
        assert _blocks.run_block(SMALL, tmp_path) == first
        assert _blocks.run_block(replace(SMALL, n_halvings=11), tmp_path) != first
        assert len(calls) == len(list(tmp_path.iterdir())) == 2
        parts = [replace(SMALL, size=2), replace(SMALL, first=2, size=4)]
        one, other = (_blocks.run_block(part, None) for part in parts)
        assert all(one[key] + other[key] == first[key] for key in SMALL.cells)

    def test_true_means_are_those_of_other_data_sets(self):
        block = Block("scores", "gaussians", 40, 0, 5, cells=("1-NN | train 50 %",))
        (stored,) = block.run().values()
        (cell,) = (one for one in _populations.cells_of("gaussians", 40) if one.key in block.cells)
        for at, score in enumerate(stored):
            X, y = _populations.POPULATIONS["gaussians"].draw(block.rng(at), 40)
            assert score == cell.score(Neighbors.from_data(X), y).score
        assert block.rng(0).random() != SMALL.rng(0).random()

    def test_scenes_have_a_p_value_by_every_method(self):
        for scene in _populations.SCENES:
            found = _blocks.pvalues(scene, np.random.default_rng(0), 40, 10)
            assert set(found) == {"halves", "McNemar, 10 folds", "corrected t", "5x2 cv t"}
            assert all(0 <= value <= 1 for value in found.values())

    def test_verdicts_of_made_up_cells(self):
        cell = _report.CellSummary("noise", 50, "1-NN | 5 folds", 500, 0.5, 0.955, 1.1, 1.1, 0.0, {})
        low = replace(cell, coverage=0.91)
        for cells, expected in (
            ([cell], "holds"),
            ([cell, low], "does not hold"),
            ([cell, replace(low, warned=0.6)], "holds"),
        ):
            verdicts = {line.quantity: line.verdict for line in _report.coverage_claims(cells, False)}
            assert verdicts["lowest coverage, %"] == expected
            assert verdicts["highest coverage, %"] == "holds"
        for scene, n_rejected, verdict in (("noise", 81, "does not hold"), ("power", 360, "holds")):
            values = [0.01] * n_rejected + [0.9] * (1000 - n_rejected)
            tests = {Block("tests", scene, 200, 0, 1000): {"halves": values}}
            assert [line.verdict for line in _report.test_lines(tests, False)[1]] == [verdict]

    def test_the_blocks_of_the_whole_study(self, tmp_path, monkeypatch):
        blocks = list(_report.full_blocks())
        assert len({block.file for block in blocks}) == len(blocks)
        numbers = Counter()
        for block in blocks:
            if block.kind == "intervals":
                numbers.update({(block.name, block.n, cell): block.size for cell in block.cells})
        places = [
            (name, n) for name in _populations.POPULATIONS for n in (50, 100, 200) if name != "groups"
        ]
        cells = [(*at, one.key) for at in [*places, ("groups", 150)] for one in _populations.cells_of(*at)]
        assert numbers == dict.fromkeys(cells, 500)
        assert {block.n for block in blocks if block.nested} == {100}
        monkeypatch.setattr(_report, "full_blocks", lambda: [replace(SMALL, size=2)])
        first = _report.coverage(False)
        (path,) = (tmp_path / "kept").glob("coverage-*/*.pickle")
        assert path.name.startswith("intervals-gaussians-40")
        monkeypatch.setattr(Block, "run", lambda _: pytest.fail("computed again"))
        assert _report.coverage(False).lines == first.lines

    @pytest.mark.slow
    def test_the_driver_writes_a_report_and_goes_on(self, tmp_path, capsys, monkeypatch):
        words = "--sizes 40 --samples 2 --more 2 --tests 1 --halvings 4 --populations noise"
        arguments = ["coverage", "--out", str(tmp_path), *words.split()]
        assert main(arguments) == 0
        out = capsys.readouterr().out
        assert "pure noise; 40 samples" in out
        files = {path.name for path in tmp_path.iterdir()}
        assert {"coverage.md", "coverage.csv", "coverage-coverage.png"} <= files
        monkeypatch.setattr(Block, "run", lambda _: pytest.fail("computed again"))
        assert main([*arguments, "--stored", "--jobs", "1"]) == 0
        assert capsys.readouterr().out == out


def test_coverage_of_scorings(tmp_path):
    asked = ["--scorings", "four classes", "Friedman", "votes", "--samples", "3", "--more", "4"]
    assert main(["coverage", "--out", str(tmp_path), *asked]) == 0
    lines = (tmp_path / "scorings.csv").read_text().splitlines()
    assert [line.split(",")[:4] for line in lines[1:3]] == [
        ["four classes", "250", "f1_macro", "3.0"],
        ["four classes", "250", "f1_weighted", "3.0"],
    ]
    assert len(lines) == 1 + 5 + 3
    header, row = (tmp_path / "levels.csv").read_text().splitlines()
    assert header.startswith("pair,samples,accuracy,f1,")
    assert row.startswith("votes,100,")
