"""The figures of Kanagawa (2024): their numbers, verdicts, text and files."""

from __future__ import annotations

import sys
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from knnccv.datasets import load_diabetes, load_wine
from knnccv.reproduce import REPRODUCTIONS, _kanagawa, _paper

DATA = {"Diabetes": (load_diabetes, 2, 10, 20), "Wine": (load_wine, 1, 100, 25)}


@pytest.fixture
def report(quick):
    return quick("kanagawa-figures")


def naive_errors(X, y, most):
    """Leave-one-out errors of k = 1 to `most` in rational numbers; ties in the order of the rows."""
    totals = [Fraction(0)] * most
    for tested, place in enumerate(X):
        gaps = [sum((a - b) ** 2 for a, b in zip(row, place, strict=True)) for row in X]
        order = sorted((gap, j) for j, gap in enumerate(gaps) if j != tested)
        total = Fraction(0)
        for k, (_, j) in enumerate(order[:most], 1):
            total += y[j]
            totals[k - 1] += (total / k - y[tested]) ** 2
    return [total / len(y) for total in totals]


def lines_of(comparison, word):
    return [line for line in comparison.lines if word in line.quantity]


def test_brute_force_by_rational_numbers():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (14, 2)), rng.integers(0, 9, 14)
    whole = [Fraction(int(value)) for value in y]
    expected = [float(error) for error in naive_errors(X.tolist(), whole, 13)]
    values = y.astype(float)
    np.testing.assert_allclose(_kanagawa.one_by_one(X, values, 13), expected, rtol=1e-12)
    apart = np.array([[0.0], [1.0], [3.0], [7.0], [15.0], [31.0]])
    expected = naive_errors(apart.astype(int).tolist(), whole[:6], 5)
    predict, _ = _kanagawa.regressor()
    for k in range(1, 6):
        for way in (predict, _kanagawa.predict_by_hand):
            found = _kanagawa.fitted_one_by_one(apart, values[:6], k, way)
            assert found == pytest.approx(float(expected[k - 1]), rel=1e-12)


def test_standardized_columns():
    Z = _kanagawa.standardized(load_wine().X)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-13)
    np.testing.assert_allclose((Z**2).mean(axis=0), 1, rtol=1e-12)


@pytest.mark.slow
def test_printed_errors_are_found(report):
    errors = [line for line in lines_of(report[0], "error at k = ") if line.paper is not None]
    assert len(errors) == 8
    assert {line.verdict for line in errors} == {"agrees"}
    for word in ("to the last digit", "as printed", "identity = brute", "loo_curve = brute"):
        assert [line.verdict for line in lines_of(report[0], word)] == ["holds", "holds"]


@pytest.mark.parametrize("name", DATA)
def test_best_k_of_one_feature_by_rational_numbers(report, name):
    load, column, unit, most = DATA[name]
    data = load()
    whole = [[round(value * unit)] for value in data.X[:, column]]
    assert np.array_equal(np.array(whole)[:, 0] / unit, data.X[:, column])
    curve = naive_errors(whole, [Fraction(int(value)) for value in data.y], most)
    best = curve.index(min(curve)) + 1
    lines = [line for line in lines_of(report[0], "order of the file") if name in line.part]
    assert [line.computed for line in lines] == [best, best]
    assert [line.verdict for line in lines] == [
        "agrees" if line.paper == best else "differs" for line in lines
    ]
    for word in ("overestimates", "in the same order", "by some order", "between all orders"):
        assert {line.verdict for line in lines_of(report[0], word)} == {"holds"}


@pytest.mark.slow
def test_printed_numbers_are_not_used_as_computed_ones(monkeypatch):
    """Changing a printed number does not change a computed one."""
    wine = _kanagawa.STUDIES[1]
    other = {**wine, "scores": [2 * x for x in wine["scores"]], "best": [3, 4], "first": [9.0, 9.0]}
    monkeypatch.setattr(_kanagawa, "STUDIES", (other,))
    found = _kanagawa.figures(quick=True)
    (first, *_) = found.lines
    assert first.paper == pytest.approx(2 * first.computed, rel=1e-4)
    assert first.verdict == "differs"
    for word in ("to the last digit", "3 is brute force's best", "between all orders"):
        assert [line.verdict for line in lines_of(found, word)] == ["does not hold"]
    best = lines_of(found, "order of the file")
    assert [(line.paper, line.computed, line.verdict) for line in best] == [
        (3, 17, "differs"),
        (4, 17, "differs"),
    ]


@pytest.mark.slow
def test_a_wrong_identity_does_not_hold(monkeypatch):
    right = _kanagawa.loo_identity
    monkeypatch.setattr(_kanagawa, "loo_identity", lambda *a, **b: right(*a, **b) * (1 + 1e-8))
    monkeypatch.setattr(_kanagawa, "STUDIES", _kanagawa.STUDIES[1:])
    found = _kanagawa.figures(quick=True)
    for word in ("identity = brute", "in the same order"):
        assert [line.verdict for line in lines_of(found, word)] == ["does not hold"]


def test_what_is_said_of_seconds(monkeypatch):
    """By made-up seconds: brute force takes n, the identity hardly anything, or as long."""
    study = _kanagawa.STUDIES[1]
    X, y = np.arange(300.0).reshape(150, 2), np.zeros(150)
    for slow, expected in ((False, ["holds"] * 3), (True, ["holds"] + ["does not hold"] * 2)):

        def seconds(ask, n_calls, slow=slow):
            assert n_calls == 3
            return len(ask.args[0]) * (1 if slow or ask.func.__name__ == "fitted_one_by_one" else 1e-3)

        monkeypatch.setattr(_kanagawa, "median_seconds", seconds)
        curves = {}
        lines = list(_kanagawa._seconds(study, "", X, y, True, _kanagawa.predict_by_hand, curves))
        assert [line.verdict for line in lines[-3:]] == expected
        assert curves["n"] == [25, 100, 150]
        assert curves["seconds"]["brute"] == [25, 100, 150]


def test_the_median_of_seconds(monkeypatch):
    ticks = iter([0, 5, 10, 11, 20, 22])
    monkeypatch.setattr(_paper, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
    called = []
    assert _paper.median_seconds(lambda: called.append(1), 3) == 2
    assert len(called) == 4


def test_text_files_and_pictures(report):
    found, folder = report
    assert not found.failures
    text = found.to_text()
    assert max(map(len, text.splitlines())) <= 100
    said = " ".join(text.split())
    assert "The targets of Wine are its classes as real numbers" in said
    assert "KNeighborsRegressor" in said
    names = {path.name for path in folder.iterdir()}
    pictures = {f"kanagawa-figures-figure-{i}.png" for i in (2, 3, 4)}
    assert names == {"kanagawa-figures.md", "kanagawa-figures.csv", *pictures}
    for name in pictures:
        assert (folder / name).read_bytes().startswith(b"\x89PNG")
    figure = found.pictures[0].draw()
    left, right = figure.axes
    assert left.get_xlabel() == "number of neighbors k"
    assert [len(line.get_xdata()) for line in left.lines] == [50, 50]
    assert len(right.lines) == 3


def test_without_scikit_learn(monkeypatch):
    for name in ("sklearn", "sklearn.neighbors"):
        monkeypatch.setitem(sys.modules, name, None)
    predict, how = _kanagawa.regressor()
    assert predict is _kanagawa.predict_by_hand
    assert "scikit-learn is not installed" in how
    study = _kanagawa.STUDIES[1]
    assert list(_kanagawa.by_program(study, "", np.zeros((3, 1)), np.zeros(3))) == []


@pytest.mark.slow
def test_the_authors_steps_on_data_without_ties():
    """Without tied samples, their best k is that of the library."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 1)), rng.normal(size=40)
    study = {**_kanagawa.STUDIES[0], "scores": [0.0] * 12, "best": [1, 1]}
    best = int(np.argmin(_kanagawa.loo_curve(X, y, range(1, 13)))) + 1
    found = _kanagawa.by_program(study, "", X, y)
    assert [line.computed for line in found] == [best, best]


def test_it_is_offered():
    assert "Kanagawa" in REPRODUCTIONS["kanagawa-figures"].title
