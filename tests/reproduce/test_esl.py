"""The simulations of The Elements of Statistical Learning, their verdicts and their report."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from knnccv import KFold, complete_cv, monte_carlo_cv
from knnccv.__main__ import main
from knnccv.reproduce import _esl
from knnccv.reproduce._paper import Paper

pytest.importorskip("matplotlib")


@pytest.fixture
def written(quick):
    return quick("esl-cv")


@pytest.fixture(scope="module")
def plane():
    return _esl.planar(0, 2000)


def lines_of(found, part):
    return {line.quantity: line for line in found.lines if line.part.startswith(part)}


def test_correlations_and_choices():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 300)), rng.integers(0, 2, 20)
    each = [float(np.corrcoef(column, y)[0, 1]) for column in X.T]
    np.testing.assert_allclose(_esl.correlations(X, y), each, rtol=1e-9)
    up = sorted(range(300), key=lambda c: -each[c])[:100]
    assert _esl.highest(X, y).tolist() == up
    assert _esl.strongest(X, y).tolist() == sorted(range(300), key=lambda c: -abs(each[c]))[:100]
    assert np.isnan(_esl.correlations(X, np.ones(20))).all()


@pytest.mark.parametrize("select", [_esl.highest, _esl.strongest])
def test_a_simulation_by_hand(select, monkeypatch):
    """All but the split of the right way, which is tested elsewhere: here its folds are counted."""
    monkeypatch.setattr(_esl, "N_SIMULATIONS", {True: 2})
    seen = []
    sampled = _esl.screened_cv

    def noted(X, y, *arguments, **settings):
        seen.append((X, y))
        answer = sampled(X, y, *arguments, **settings)
        assert answer.n_train_sets == 5 * _esl.N_REPEATS[True]
        assert answer.selection_counts.sum() == 100 * answer.n_train_sets
        return answer

    monkeypatch.setattr(_esl, "screened_cv", noted)
    monkeypatch.setattr(_esl, "for_each", lambda work, pieces, **_: [work(piece) for piece in pieces])
    found = _esl.screening(select, True)
    assert len(seen) == 4
    for number, (X, y) in enumerate(seen[::2]):
        assert X.shape == (50, 5000)
        assert Counter(y.tolist()) == {0: 25, 1: 25}
        kept = X[:, select(X, y)]
        wrong = 100 * (1 - complete_cv(kept, y, "nn", KFold(5)).score)
        assert found.wrong[number] == pytest.approx(wrong)
        assert 5 * found.one_wrong[number] / 10 == pytest.approx(round(5 * found.one_wrong[number] / 10))
    assert (np.abs(found.wrong_correlations) <= 1).all()
    # Chosen on all samples, and turned to be positive there: what is left of it shows in ten of them.
    assert found.wrong_correlations.mean() > 0.2 > abs(found.right_correlations.mean())
    assert found.right.min() > 20 > found.wrong.max()
    again = _esl.screening(select, True)
    np.testing.assert_array_equal(again.right, found.right)
    np.testing.assert_array_equal(again.right_correlations, found.right_correlations)


def test_the_larger_class_is_the_nearest_too_often():
    """Why plain folds say more than 50 %: of noise screened on 18 samples against 22."""
    shares = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(40, 5000)), np.repeat([0, 1], [18, 22])
        kept = X[:, _esl.strongest(X, y)]
        new = rng.normal(size=(200, 100))
        squares = ((new[:, None] - kept) ** 2).sum(axis=2)
        shares.append(y[squares.argmin(axis=1)].mean())
    assert np.mean(shares) - 22 / 40 > 4 * np.std(shares, ddof=1) / math.sqrt(30)


def test_the_recipe_of_the_mixture():
    distribution, X, y = _esl.mixture(0)
    assert distribution.means.shape == (2, 10, 2)
    assert X.shape == (200, 2)
    assert y.tolist() == [0] * 100 + [1] * 100
    means = np.array([_esl.mixture(number)[0].means for number in range(400)]).reshape(400, 2, 10, 2)
    np.testing.assert_allclose(means.mean(axis=(0, 2)), [[1, 0], [0, 1]], atol=4 / math.sqrt(4000))
    np.testing.assert_allclose(means.var(axis=(0, 2)), 1, atol=4 * math.sqrt(2 / 4000))
    points, labels = distribution.draw(np.random.default_rng(1), 40_000)
    for c in (0, 1):
        mine = points[labels == c]
        spread = distribution.means[c].var(axis=0) + 1 / 5
        np.testing.assert_allclose(
            mine.mean(axis=0), distribution.means[c].mean(axis=0), atol=4 * np.sqrt(2 / 4e4)
        )
        np.testing.assert_allclose(mine.var(axis=0), spread, rtol=0.05)
    # Where the distribution has it that a share of the samples is of class 1, such a share is.
    share = distribution.second_share(points)
    for low in np.arange(0, 1, 0.1):
        some = (low <= share) & (share < low + 0.1)
        assert abs(labels[some].mean() - share[some].mean()) < 4 * 0.5 / math.sqrt(some.sum())


def test_the_probabilities_by_the_formula():
    distribution, X, _ = _esl.mixture(3)
    for x, found in zip(X[:20], distribution.second_share(X[:20]), strict=True):
        densities = [
            sum(
                math.exp(-((x[0] - m[0]) ** 2 + (x[1] - m[1]) ** 2) / (2 / 5))
                for m in distribution.means[c]
            )
            for c in (0, 1)
        ]
        assert found == pytest.approx(densities[1] / sum(densities))


def test_predictions_by_votes(plane):
    new = np.random.default_rng(0).normal(size=(40, 2))
    found = _esl.predictions(plane.X, plane.y, new)
    assert found.shape == (30, 40)
    for j, x in enumerate(new):
        order = sorted(range(200), key=lambda i: math.dist(plane.X[i], x))
        for i, k in enumerate(_esl.NUMBERS):
            votes = Counter(plane.y[order[:k]].tolist())
            assert found[i, j] == min(votes, key=lambda c: (-votes[c], c))


def test_the_curves(plane):
    for i in (0, 5, 14):
        k = int(_esl.NUMBERS[i])
        exact = complete_cv(plane.X, plane.y, "knn", KFold(5), n_neighbors=k)
        assert plane.expected[i] == pytest.approx(100 * (1 - exact.score), abs=1e-4)
        few = monte_carlo_cv(
            plane.X, plane.y, "knn", KFold(5), n_neighbors=k, n_repeats=5, random_state=_esl.SEED
        )
        np.testing.assert_allclose(plane.curves[:, i], 100 * (1 - few.scores))
    points, labels = plane.distribution.draw(np.random.default_rng(5), 20_000)
    counted = 100 * (_esl.predictions(plane.X, plane.y, points) != labels).mean(axis=1)
    assert np.abs(counted - plane.new).max() < 4 * 50 * math.sqrt(1 / 2000 + 1 / 40_000)
    bayes = 100 * ((plane.distribution.second_share(points) > 0.5) != labels).mean()
    assert abs(bayes - plane.bayes) < 4 * (plane.bayes_error_bar + 50 / math.sqrt(40_000))
    assert plane.bayes < plane.new.min()
    assert plane.training[0] == 0 < plane.training[14]


@pytest.mark.slow
def test_the_wrong_and_the_right_way(written):
    for name in ("correlation", "absolute correlation"):
        part = lines_of(written[0], f"The 100 of 5000 predictors with the highest {name}")
        wrong, right, stratified, inside, outside = part.values()
        assert [line.paper for line in part.values()] == [3, 50, None, 0.28, 0]
        assert wrong.computed < 10 < 35 < min(right.computed, stratified.computed)
        assert inside.computed > 0.2 > abs(outside.computed)
        assert (stratified.verdict, outside.verdict) == ("holds", "agrees")


def test_claims_hold(written):
    claims = {line.quantity: line.verdict for line in written[0].lines if line.holds is not None}
    assert claims == dict.fromkeys(claims, "holds")
    assert set(claims) == {
        "the CV curve estimates the test error curve",
        "1-NN classifies every training sample right",
        "15-NN does not",
        "15-NN is nearer to the Bayes error on new samples",
        "the same, stratified folds, %: half",
    }


def test_verdicts_can_fail(plane, monkeypatch):
    """With data that contradict the claims; the paper's numbers are not used as computed ones."""
    few = np.linspace(0, 0.1, 100).reshape(10, 10)
    found = _esl.Screening(*(30 + few[:4]), few - 0.9, few + 0.4)
    lines = _esl.screening_lines("correlation", found)
    assert [line.verdict for line in lines] == [*["differs"] * 2, "does not hold", *["differs"] * 2]
    lines_told = {**_esl.PAPER["lines"], "wrong": {**_esl.PAPER["lines"]["wrong"], "paper": 30.0}}
    monkeypatch.setattr(_esl, "PAPER", Paper({**_esl.PAPER.table, "lines": lines_told}))
    (other, *_) = _esl.screening_lines("correlation", found)
    assert (other.computed, other.verdict) == (lines[0].computed, "agrees")
    far = replace(plane, new=plane.new + 40)
    assert list(_esl.curve_lines(plane))[-1].verdict == "holds"
    assert list(_esl.curve_lines(far))[-1].verdict == "does not hold"
    fifteen = _esl.NUMBERS == 15
    odd = replace(plane, training=np.where(fifteen, 0.0, 5.0), new=np.where(fifteen, 30.0, 20.0))
    claims = [line for line in _esl.map_lines([odd, odd]) if line.holds is not None]
    assert [line.verdict for line in claims] == ["does not hold"] * 3


def test_bounds_of_the_screening_lines():
    """Written out once more: rounding, and four standard errors of both means."""
    rng = np.random.default_rng(0)
    n = 8
    found = _esl.Screening(*(rng.random((4, n)) * 10), *rng.normal(size=(2, n, 100)))
    wrong, right, stratified, inside, outside = _esl.screening_lines("correlation", found)
    printed, computed = np.var(found.one_wrong, ddof=1) / 50, np.var(found.wrong, ddof=1) / n
    means = found.wrong_correlations.mean(axis=1), found.right_correlations.mean(axis=1)
    for line, center, off in (
        (wrong, 3, 0.5 + 4 * math.sqrt(printed + computed)),
        (right, 50, 4 * math.sqrt(np.var(found.right, ddof=1) / n)),
        (stratified, 50, 4 * math.sqrt(np.var(found.stratified, ddof=1) / n)),
        (inside, 0.28, 0.005 + 4 * math.sqrt(np.var(means[0], ddof=1) * (1 + 1 / n))),
        (outside, 0, 4 * math.sqrt(np.var(means[1], ddof=1) / n)),
    ):
        assert line.allowed == pytest.approx((center - off, center + off))


def test_what_is_written(written):
    found, folder = written
    assert not found.failures
    assert max(map(len, found.to_text().splitlines())) <= 100
    said = " ".join(found.to_text().split())
    assert "the label of a random one of the 49 others errs in 51.02 %" in said
    assert "two classes in the plane is not available" in said
    assert (folder / "esl-cv.csv").read_text(encoding="utf-8") == found.to_csv()
    names = sorted(path.name for path in folder.iterdir() if path.suffix == ".png")
    assert names == ["esl-cv-curves.png", "esl-cv-maps.png", "esl-cv-screening.png"]
    for name in names:
        assert (folder / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_command_prints_it_and_says_the_same_again(written, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("KNNCCV_CACHE_DIR", str(tmp_path))
    assert main(["reproduce", "esl-cv", "--quick", "--fresh"]) == 0
    assert capsys.readouterr().out.strip() == written[0].to_text().strip()
