"""Tables of single papers, whose numbers are found by hand, and what is judged of them.

TR1999 and ICML are by Mullin and Sukthankar (`test_icml2000` has the latter), the others by Kanagawa (2024)
and by Wilson and Martinez; `what-ccv-buys` is knnccv's own. The protocols have no other public way than
whole reproductions.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from knnccv import Subsample, monte_carlo_cv
from knnccv.datasets import fetch_liver_disorders, load_diabetes, load_wine
from knnccv_papers import _kanagawa, _paper, _tr1999, _what_ccv_buys, _wilson_martinez, fetch_uci

slow = pytest.mark.slow


def lines_of(report, word):
    return [line for line in report.lines if word in line.quantity]


def verdicts(report, word):
    return {line.verdict for line in lines_of(report, word)}


class TestTechnicalReport:
    def test_verdicts_follow_from_the_numbers(self):
        judged = [
            _tr1999._judge(off, sigma)
            for off, sigma in ((0.05, None), (-0.06, None), (0.3, 0.4), (0.5, 0.4))
        ]
        assert judged == ["agrees", "differs", "within 2 sigma", "outside 2 sigma"]

    @slow
    def test_what_is_written(self, quick):
        said = " ".join(quick("tr-table1")[0].to_text().split())
        assert "Experiment 4, Exact: knnccv 94.12 differs from the printed 94.0 by +0.12" in said
        assert "in the order of the file, the exact accuracy is 60.6109" in said

    @slow
    def test_the_spread_of_a_mean_of_trials(self, quick):
        data = fetch_liver_disorders()
        how = {"ties": "index", "n_runs": 250, "random_state": _tr1999.SEED, "rank": 5}
        scores = monte_carlo_cv(data.X, data.y, "rank", Subsample(172), **how).scores
        lines = {(line.part, line.quantity): line for line in quick("tr-table1")[0].lines}
        ones, tens = (lines["Experiment 2", f"S-{n}"] for n in (1, 10))
        assert ones.computed == pytest.approx(100 * scores.mean())
        assert ones.more["knnccv_2sigma"] == pytest.approx(200 * scores.std(ddof=1))
        means = scores.reshape(25, 10).mean(axis=1)
        assert tens.more["knnccv_2sigma"] == pytest.approx(200 * means.std(ddof=1))

    def test_printed_numbers_are_not_used_as_computed_ones(self):
        experiment = {**_tr1999.EXPERIMENTS[0], "paper": {"Exact": {"value": 12.3}}}
        (line,) = _tr1999.lines_of(experiment, {"Exact": {"value": 60.0}})
        assert "differs from the printed 12.3 by +47.70" in line.note
        assert line.computed == 60


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


def naive_identity(x, y, k):
    """The formula to the letter: the k + 1 nearest of all samples, the sample among them or not."""
    total = Fraction(0)
    for own, place in enumerate(x):
        order = sorted(range(len(x)), key=lambda j, place=place: (abs(x[j] - place), j))
        mean = Fraction(sum(int(y[j]) for j in order[: k + 1]), k + 1)
        total += (mean - int(y[own])) ** 2
    return float(Fraction(k + 1, k) ** 2 * total / len(x))


class TestKanagawa:
    def test_brute_force_by_rational_numbers(self):
        rng = np.random.default_rng(0)
        X, y = rng.integers(0, 4, (14, 2)), rng.integers(0, 9, 14)
        whole = [Fraction(int(value)) for value in y]
        expected = [float(error) for error in naive_errors(X.tolist(), whole, 13)]
        np.testing.assert_allclose(_kanagawa.one_by_one(X, y.astype(float), 13), expected, rtol=1e-12)
        apart = np.array([[0.0], [1.0], [3.0], [7.0], [15.0], [31.0]])
        expected = naive_errors(apart.astype(int).tolist(), whole[:6], 5)
        for k in range(1, 6):
            found = _kanagawa.fitted_one_by_one(apart, y[:6].astype(float), k)
            assert found == pytest.approx(float(expected[k - 1]), rel=1e-12)
        for x in (np.arange(12) ** 2, rng.integers(0, 4, 12), np.full(12, 5)):  # coinciding samples, too
            found = _kanagawa.loo_identity(x[:, None].astype(float), y[:12].astype(float), [7, 1])
            assert found == pytest.approx([naive_identity(x.tolist(), y, k) for k in (7, 1)], rel=1e-12)
        Z = _kanagawa.standardized(load_wine().X)
        np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-13)
        np.testing.assert_allclose((Z**2).mean(axis=0), 1, rtol=1e-12)

    @slow
    def test_best_k_of_one_feature_by_rational_numbers(self, quick):
        report, *_ = quick("kanagawa-figures")
        for load, column, unit, most in ((load_diabetes, 2, 10, 20), (load_wine, 1, 100, 25)):
            data = load()
            whole = [[round(value * unit)] for value in data.X[:, column]]
            assert np.array_equal(np.array(whole)[:, 0] / unit, data.X[:, column])
            curve = naive_errors(whole, [Fraction(int(value)) for value in data.y], most)
            best = curve.index(min(curve)) + 1
            name = {load_wine: "Wine", load_diabetes: "Diabetes"}[load]
            lines = [line for line in lines_of(report, "order of the file") if name in line.part]
            assert [line.computed for line in lines] == [best, best]
            for line in lines:
                assert line.verdict == ("agrees" if line.paper == best else "differs")

    @slow
    def test_verdicts_can_fail(self, monkeypatch):
        """With other printed numbers, which change no computed one, and with a wrong identity."""
        wine = _kanagawa.STUDIES[1]
        other = {**wine, "scores": [2 * x for x in wine["scores"]], "best": [3, 4], "first": [9.0, 9.0]}
        monkeypatch.setattr(_kanagawa, "STUDIES", (other,))
        right = _kanagawa.loo_identity
        monkeypatch.setattr(_kanagawa, "loo_identity", lambda *a, **b: right(*a, **b) * (1 + 1e-8))
        found = _kanagawa.figures(quick=True)
        assert found.lines[0].paper == pytest.approx(2 * found.lines[0].computed, rel=1e-4)
        assert found.lines[0].verdict == "differs"
        failing = ("to the last digit", "3 is brute force's best", "between all orders")
        for word in (*failing, "identity = brute", "in the same order"):
            assert verdicts(found, word) == {"does not hold"}
        assert verdicts(found, "loo_curve = brute") == {"holds"}
        best = lines_of(found, "order of the file")
        assert [(line.paper, line.computed) for line in best] == [(3, 17), (4, 17)]

    def test_what_is_said_of_seconds(self, monkeypatch):
        """By made-up seconds: brute force takes n, the identity hardly anything, or as long."""
        X, y = np.arange(300.0).reshape(150, 2), np.zeros(150)
        for slowly, expected in ((False, ["holds"] * 3), (True, ["holds"] + ["does not hold"] * 2)):

            def seconds(ask, n_calls, slowly=slowly):
                assert n_calls == 3
                return len(ask.args[0]) * (
                    1 if slowly or ask.func.__name__ == "fitted_one_by_one" else 1e-3
                )

            monkeypatch.setattr(_kanagawa, "median_seconds", seconds)
            asked = _kanagawa.STUDIES[1], "", X, y, True, (curves := {})
            assert [line.verdict for line in _kanagawa._seconds(*asked)][-3:] == expected
            assert curves["n"] == curves["seconds"]["brute"] == [25, 100, 150]

    def test_the_median_of_seconds(self, monkeypatch):
        ticks = iter([0, 5, 10, 11, 20, 22])
        monkeypatch.setattr(_paper, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
        called = []
        assert _paper.median_seconds(lambda: called.append(1), 3) == 2
        assert len(called) == 4

    @slow
    def test_the_authors_steps_on_data_without_ties(self):
        """Without tied samples, their best k is that of the library."""
        rng = np.random.default_rng(3)
        X, y = rng.normal(size=(40, 1)), rng.normal(size=40)
        study = {**_kanagawa.STUDIES[0], "scores": [0.0] * 12, "best": [1, 1]}
        best = int(np.argmin(_kanagawa.loo_curve(X, y, range(1, 13)))) + 1
        assert [line.computed for line in _kanagawa.by_program(study, "", X, y)] == [best, best]


class TestWhatItBuys:
    def test_runs_needed_by_counting(self):
        for spread, error in ((0.01, 0.001), (0.0132, 0.001), (0.3, 0.1), (0.0, 0.1)):
            n_runs = 1
            while spread / np.sqrt(n_runs) > error * (1 + 1e-12):
                n_runs += 1
            assert _what_ccv_buys.runs_needed(spread, error) == n_runs
            assert 10 ** _what_ccv_buys.log_runs_needed(spread, error) <= n_runs * (1 + 1e-9)
        for error, log in ((1e-13, 22), (1e-300, 596), (0.0, np.inf)):
            assert _what_ccv_buys.log_runs_needed(0.01, error) == pytest.approx(log)

    def test_verdicts_follow_from_the_numbers(self):
        made = _what_ccv_buys.Found((10, 2), 0.5, 1e-13, 0.5, 0.01, 30, seconds_exact=1.0, seconds_run=0.1)
        assert made.needed == 100
        assert made.seconds_needed == pytest.approx(10)
        *_, near, cheaper = _what_ccv_buys.lines_of("", made)
        assert (near.verdict, cheaper.verdict) == ("holds", "holds")
        made = _what_ccv_buys.Found((10, 2), 0.5, 1e-13, 0.6, 0.01, 30, seconds_exact=10.1, seconds_run=0.1)
        lines = list(_what_ccv_buys.lines_of("", made))
        assert [line.verdict for line in lines[-2:]] == ["does not hold"] * 2
        assert "1.0e+22 runs for the standard error 1.0e-13" in lines[-3].note
        ends = _what_ccv_buys.interval(0.01, 30)
        low, high = (_what_ccv_buys.runs_needed(spread, 0.001) for spread in ends)
        assert lines[4].note.startswith(f"{low} to {high}, ")


def hvdm_by_columns(X, others, labels, nominal):
    """Squared HVDM of all rows of X to all of `others`, whose labels are given, a column at a time."""
    total = np.zeros((len(X), len(others)))
    classes = np.unique(labels)
    for a, is_nominal in enumerate(nominal):
        known = ~np.isnan(others[:, a])
        if is_nominal:
            shares = {
                value: np.array([(labels[others[:, a] == value] == c).mean() for c in classes])
                for value in np.unique(others[known, a])
            }
            one, other = (
                np.array([shares.get(value, np.zeros(len(classes))) for value in table[:, a]])
                for table in (X, others)
            )
            part = ((one[:, None] - other[None]) ** 2).sum(axis=2)
        else:
            width = 4 * np.std(others[known, a], ddof=1)
            part = ((X[:, None, a] - others[None, :, a]) / width) ** 2
        part[np.isnan(X[:, a])] = 1
        part[:, ~known] = 1
        total += part
    return total


class TestWilsonMartinez:
    def test_the_printed_table_is_the_papers(self):
        """Its own means, counts and tests; against LCV 99 is printed, and 98.8 is what the columns give."""
        printed = np.array(list(_wilson_martinez.ACCURACIES.values()))
        assert len(printed) == 31
        assert printed.mean(axis=0).round(2).tolist() == [82.11, 82.59, 83.17]
        assert (printed == printed.max(axis=1, keepdims=True)).sum(axis=0).tolist() == [7, 10, 18]
        static, lcv, cvc = printed.T
        ranks = _wilson_martinez.signed_ranks
        assert ranks(cvc - static) == "+1.06 points, 22 up, 9 down, Wilcoxon 99.5 % one-sided"
        assert ranks(cvc - lcv) == "+0.58 points, 18 up, 7 down, Wilcoxon 98.8 % one-sided"
        assert ranks(np.zeros(3)) == "+0.00 points, 0 up, 0 down"

    @slow
    @pytest.mark.parametrize("name", ["Iris", "Zoo", "Hepatitis", "Bridges"])
    def test_the_static_column_by_hand(self, name, quick):
        """Sums of squares written out, three neighbors by an argsort, votes counted by a Counter."""
        data = fetch_uci(name)
        shares = []
        for train, test in _wilson_martinez.folds(data.y, 0):
            labels = data.y[train]
            squares = hvdm_by_columns(data.X[test], data.X[train], labels, data.nominal).round(9)
            right = 0
            for own_class, gaps in zip(data.y[test], squares, strict=True):
                nearest = np.argsort(gaps, kind="stable")[:3]
                votes = Counter(labels[nearest])
                first = {label: gaps[nearest[labels[nearest] == label][0]] for label in votes}
                right += min(votes, key=lambda c: (-votes[c], first[c], c)) == own_class
            shares.append(100 * right / len(test))
        lines = quick("wm-table1")[0].lines
        (line,) = [one for one in lines if (one.part, one.quantity) == (name, "static")]
        assert line.computed == pytest.approx(np.mean(shares))

    @slow
    def test_means_and_verdicts(self, quick):
        _, _, lines = quick("wm-table1")
        table = [[float(line[side] or "nan") for side in ("knnccv", "paper")] for line in lines]
        sides = np.mean(np.reshape(table[:120], (30, 4, 2)), axis=0)[:3]
        static, lcv, cvc = sides[:, 0]
        gains = cvc - static, cvc - lcv
        np.testing.assert_allclose([found for found, _ in table[120:]], [static, lcv, cvc, *gains])
        expected = ["agrees" if abs(found - paper) <= 0.5 else "differs" for found, paper in sides]
        expected += ["holds" if gain > 0 else "does not hold" for gain in gains]
        assert [line["verdict"] for line in lines[120:]] == expected

    def test_folds_are_those_of_scikit_learn_in_size(self):
        y = np.repeat([2, 0, 1], [11, 25, 4])
        splits = StratifiedKFold(10).split(y, y)
        with pytest.warns(UserWarning, match="least populated class"):
            expected = [np.bincount(y[test], minlength=3).tolist() for _, test in splits]
        folds = _wilson_martinez.folds(y, 0)
        assert [np.bincount(y[test], minlength=3).tolist() for _, test in folds] == expected
        assert all(sorted([*train, *test]) == list(range(40)) for train, test in folds)
