"""Comparison of the numbers of a report with direct calls of the library."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import stdtrit

from knnccv import Neighbors, Subsample, compare, complete_cv, monte_carlo_cv, surface
from knnccv.hvdm import HEOM, HVDM
from knnccv.reporting import scaled


def direct_neighbors(X, y, scaling, metric, nominal):
    if metric in ("heom", "hvdm"):
        kind = {"heom": HEOM, "hvdm": HVDM}[metric]
        return kind(nominal=nominal).fit(X, y).neighbors()
    return Neighbors.from_data(scaled(X, scaling), metric)


def few_alike(near, y):
    """Whether fewer than half of the neighbors of a class are near that chance puts there, by a loop.

    Near are as many neighbors as hold five by chance; those tied with the last one count by their share.
    """
    n_items = len(y)
    items, distances = near.kneighbors(n_items - 1, n_jobs=1)
    found = []
    for i in range(n_items):
        same = [y[j] == y[i] for j in items[i]]
        if sum(same) <= 5:
            found.append(False)
            continue
        size = 5 * (n_items - 1) // sum(same)
        edge = distances[i][size - 1]
        nearer = [s for s, d in zip(same, distances[i], strict=True) if d < edge]
        tied = [s for s, d in zip(same, distances[i], strict=True) if d == edge]
        held = sum(nearer) + Fraction((size - len(nearer)) * sum(tied), len(tied))
        found.append(held < Fraction(size * sum(same), 2 * (n_items - 1)))
    return np.array(found)


class Direct:
    """The numbers of a report without subsamples, by direct calls."""

    def __init__(self, found, X, y, nominal=None):
        self.found, self.X, self.y, self.nominal = found, X, y, nominal
        self.rule = "regression" if found["task"] == "regression" else "knn"
        self.size = found["scores"]["train_size"]
        self.average = found["scores"]["average"]

    def near(self, scaling, metric):
        return direct_neighbors(self.X, self.y, scaling, metric, self.nominal)

    def score(self, entry, n_neighbors=None, size=None, **options):
        k = entry["n_neighbors"] if n_neighbors is None else n_neighbors
        near = self.near(entry["scaling"], entry["metric"])
        design = Subsample(size or self.size)
        return complete_cv(near, self.y, self.rule, design, average=self.average, n_neighbors=k, **options)

    def check(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            self.check_scores()
            self.check_curves()
            self.check_learning()

    def check_scores(self):
        scores = self.found["scores"]
        results = {}
        for name in ("best", "default"):
            entry = scores[name]
            result = results[name] = self.score(entry)
            assert entry["score"] == result.score
            assert entry["error_bound"] == result.error_bound
            assert entry["log10_n_train_sets"] == result.log10_n_train_sets
            n_runs = self.noted("The scatter of one split comes from ")
            if n_runs is None:
                assert entry["split_std"] == float(result.split_std())
            else:
                near = self.near(entry["scaling"], entry["metric"])
                k, design = entry["n_neighbors"], Subsample(self.size)
                how = {"average": self.average, "n_repeats": n_runs, "random_state": 0}
                runs = monte_carlo_cv(near, self.y, self.rule, design, n_neighbors=k, **how)
                assert entry["split_std"] == runs.std
            if entry["no_interval"] is None:
                low, high = result.confidence_interval(n_halvings=self.n_halvings)
                assert entry["interval"] == {"low": low, "high": high, "level": 0.95}
                assert entry["standard_error"] == float(result.standard_error(self.n_halvings))
            else:
                assert entry["interval"] is None
        if scores["difference"] is not None:
            found = compare(results["best"], results["default"], n_halvings=self.n_halvings)
            low, high = found.confidence_interval()
            expected = {"score": found.difference, "low": low, "high": high, "pvalue": found.pvalue}
            expected = {name: value if math.isfinite(value) else None for name, value in expected.items()}
            assert scores["difference"] == expected
        simple, nearest = scores["baselines"]
        if self.rule == "knn":
            counts = Counter(np.asarray(self.y).tolist())
            assert simple["accuracy"] == max(counts.values()) / len(self.y)
            assert simple["balanced_accuracy"] == 1 / len(counts)
            measure = "balanced_accuracy" if self.average == "class" else "accuracy"
            for entry in (scores["best"], scores["default"], *scores["baselines"]):
                assert entry["score"] == pytest.approx(entry[measure], rel=1e-12)
            for name, average in (("accuracy", "pooled"), ("balanced_accuracy", "class")):
                near = self.near(scores["best"]["scaling"], scores["best"]["metric"])
                k, design = scores["best"]["n_neighbors"], Subsample(self.size)
                direct = complete_cv(near, self.y, "knn", design, average=average, n_neighbors=k)
                assert scores["best"][name] == pytest.approx(direct.score, rel=1e-12)
        else:
            assert simple["score"] == pytest.approx(np.var(self.y, ddof=1) * (1 + 1 / self.size))
        assert nearest["score"] == self.score(scores["best"], n_neighbors=1).score

    @property
    def n_halvings(self):
        return self.noted("Intervals come from ") or 200

    @property
    def n_comparisons(self):
        return self.noted("Settings are compared on ") or 200

    def noted(self, beginning):
        """The number that follows the beginning of a note."""
        for note in self.found["method"]["notes"]:
            if note.startswith(beginning):
                return int(note.removeprefix(beginning).split()[0])
        return None

    def check_curves(self):
        settings = self.found["settings"]
        assert settings["subsample"] is None
        best = None
        for curve in settings["curves"]:
            near = self.near(curve["scaling"], curve["metric"])
            direct = surface(
                near, self.y, curve["n_neighbors"], [self.size], self.rule, average=self.average
            )
            assert curve["scores"] == direct.scores[:, 0].tolist()
            assert curve["error_bound"] == direct.error_bound[:, 0].tolist()
            assert curve["n_items"] == len(self.y)
            if curve["metric"] != "hvdm":
                extreme = (min if self.rule == "regression" else max)(curve["scores"])
                best = (
                    extreme if best is None else (min if self.rule == "regression" else max)(best, extreme)
                )
        assert settings["best"]["score"] == pytest.approx(best, rel=1e-5)
        assert settings["best"]["metric"] != "hvdm"
        for name in ("scaling", "metric", "n_neighbors"):
            assert self.found["scores"]["best"][name] == settings["best"][name]

    def check_learning(self):
        learning = self.found["learning"]
        assert learning["subsample"] is None
        for curve in learning["curves"]:
            k = curve["n_neighbors"]
            for size, score in list(zip(learning["train_sizes"], curve["scores"], strict=True))[::4]:
                if score is None:
                    assert k > size
                else:
                    assert score == self.score(learning, k, size, tol=1e-6).score

    def check_not_worse(self):
        """By pairs: the gap is within the half width of the interval of the difference."""
        settings = self.found["settings"]
        best = self.score(settings["best"])
        kept = {(e["scaling"], e["metric"]): e["n_neighbors"] for e in settings["not_worse"]}
        top = tuple(settings["best"][name] for name in ("scaling", "metric", "n_neighbors"))
        n_kept = 0
        for curve in settings["curves"]:
            key = curve["scaling"], curve["metric"]
            for k in curve["n_neighbors"]:
                if key[1] == "hvdm":
                    expected = False
                elif (*key, k) == top:
                    expected = True
                else:
                    expected = self.is_near(best, self.score(curve, k))
                assert expected == (k in kept.get(key, [])), (key, k)
                n_kept += expected
        assert sum(map(len, kept.values())) == n_kept

    def is_near(self, best, other):
        gap, slack = abs(best.score - other.score), best.error_bound + other.error_bound
        if gap <= slack:
            return True
        try:
            found = compare(best, other, n_halvings=self.n_comparisons)
        except ValueError:
            return False
        return bool(gap <= stdtrit(found.degrees_of_freedom, 0.975) * found.standard_error + slack)
