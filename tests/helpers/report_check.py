"""Every number of a report, by direct calls of the library and plain code that shares nothing with it."""

from __future__ import annotations

import contextlib
import io
import itertools
import math
import warnings

import numpy as np
import pytest
from report_numbers import Direct, few_alike
from scipy.spatial.distance import cdist

from knnccv import LeaveOut, complete_cv, loo_curve


def check_report(X, y, found, nominal=None, given=None):
    """Compare a report with the library.

    `X` holds numbers (codes and NaN in mixed tables), `y` labels or targets, both of all rows; `given` is
    what the report was made of, for its code.
    """
    cut = found["data"]["subsample"]
    n_given = len(y)
    rows = np.arange(n_given)
    if cut is not None:
        assert cut["of"] == n_given
        rows = np.sort(np.random.default_rng(0).choice(n_given, cut["n_items"], replace=False))
    check = Check(found, np.asarray(X, float)[rows], np.asarray(y)[rows], nominal)
    check.rows = rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for step in (
            check.check_data,
            check.check_scores,
            check.check_mean,
            check.check_curves,
            check.check_not_worse,
            check.check_learning,
            check.check_extrapolation,
            check.check_classes,
            check.check_items,
            check.check_ties,
            check.check_regression,
        ):
            step()
        check.check_code(*((X, y) if given is None else given))


def optional(value):
    return float(value) if math.isfinite(value) else None


class Check(Direct):
    """The checks of `Direct`, and those of all other numbers."""

    def check_data(self):
        data, X, y = self.found["data"], self.X, self.y
        assert (data["n_items"], data["n_features"]) == X.shape
        assert data["n_missing"] == np.isnan(X).sum()
        names = data["feature_names"]
        varies = [len({v for v in column.tolist() if v == v}) > 1 for column in X.T]
        assert data["constant"] == [name for name, moves in zip(names, varies, strict=True) if not moves]
        if self.rule == "knn":
            counts = {str(label): int((y == label).sum()) for label in np.unique(y)}
            assert {each["label"]: each["n_items"] for each in data["classes"]} == counts
            assert all(each["share"] == each["n_items"] / len(y) for each in data["classes"])
        else:
            expected = {"min": y.min(), "max": y.max(), "mean": y.mean(), "variance": y.var()}
            assert data["target"] == pytest.approx(expected, rel=1e-12)

    def check_mean(self):
        """The error of the training mean, over all training sets."""
        y, size = self.y, self.size
        if self.rule == "knn" or math.comb(len(y), size) > 3000:
            return
        errors = []
        for train in itertools.combinations(range(len(y)), size):
            tested = np.delete(y, train)
            errors.append(np.square(tested - y[list(train)].mean()).mean())
        expected = np.mean(errors)
        assert self.found["scores"]["baselines"][0]["score"] == pytest.approx(expected, rel=1e-9, abs=1e-12)

    def check_learning(self):
        learning = self.found["learning"]
        sizes = learning["train_sizes"]
        assert sizes == sorted(set(sizes))
        assert 1 <= sizes[0] <= sizes[-1] == len(self.y) - 1
        best = self.found["scores"]["best"]["n_neighbors"]
        assert [each["n_neighbors"] for each in learning["curves"]] == sorted({1, best, min(5, self.size)})
        near = self.near(learning["scaling"], learning["metric"])
        for curve in learning["curves"]:
            k = curve["n_neighbors"]
            cells = zip(sizes, curve["scores"], curve["error_bound"], strict=True)
            for size, score, bound in cells:
                if k > size:
                    assert score is None
                    assert bound is None
                    continue
                direct = self.of(near, k, size, tol=1e-6)
                assert (score, bound) == (direct.score, direct.error_bound)

    def of(self, near, k, size, y=None, **options):
        from knnccv import Subsample

        target = self.y if y is None else y
        how = {"average": self.average, "n_neighbors": k}
        return complete_cv(near, target, self.rule, Subsample(size), **how, **options)

    def check_extrapolation(self):
        """By least squares in a and b for every c of a grid."""
        learning = self.found["learning"]
        guess = learning["extrapolation"]
        if guess is None:
            return
        k = self.found["scores"]["best"]["n_neighbors"]
        scores = next(each["scores"] for each in learning["curves"] if each["n_neighbors"] == k)
        pairs = [each for each in zip(learning["train_sizes"], scores, strict=True) if each[1] is not None]
        n, s = np.array(pairs).T
        assert guess["train_size"] == 2 * len(self.y)
        assert guess["score"] == pytest.approx(s[-1] + guess["gain"], rel=1e-12, abs=1e-12)
        kept = n >= n[-1] / 8
        kept[-5:] = True
        n, s = n[kept] / n[-1], s[kept]
        fits = []
        for c in np.linspace(0.01, 2, 2000):
            table = np.column_stack([np.ones(len(n)), -(n**-c)])
            (a, b), *_ = np.linalg.lstsq(table, s, rcond=None)
            ahead = a - b * (guess["train_size"] / (len(self.y) - 1)) ** -c
            fits.append((np.square(table @ [a, b] - s).sum(), ahead - (a - b)))
        error, gain = min(fits)
        assert guess["gain"] == pytest.approx(gain, rel=0.05, abs=max(1e-5, 0.05 * np.ptp(s))), error

    @property
    def k(self):
        return self.found["scores"]["best"]["n_neighbors"]

    @property
    def best_near(self):
        best = self.found["scores"]["best"]
        return self.near(best["scaling"], best["metric"])

    def check_classes(self):
        classes = self.found["classes"]
        if self.rule == "regression":
            assert classes is None
            return
        result = self.of(self.best_near, self.k, self.size)
        labels = np.unique(self.y)
        assert classes["labels"] == [str(label) for label in labels]
        scores = [result.per_item[self.y == label].mean() for label in labels]
        assert [each["score"] for each in classes["per_class"]] == pytest.approx(scores, abs=1e-12)
        assert [each["n_items"] for each in classes["per_class"]] == [
            int((self.y == v).sum()) for v in labels
        ]
        assert classes["balanced_accuracy"] == pytest.approx(np.mean(scores), abs=1e-12)
        if classes["confusion"] is not None:
            matrix = np.array(classes["confusion"])
            assert matrix.sum(axis=1) == pytest.approx(1, abs=1e-8)
            assert np.diag(matrix) == pytest.approx(scores, abs=1e-8)
            assert classes["confusion"] == result.confusion(normalize="true").tolist()
            off = np.where(np.eye(len(labels), dtype=bool), 0, matrix)
            largest = np.sort(off[off > 1e-9])[::-1][:10]
            assert [each["share"] for each in classes["confused"]] == largest.tolist()
            for each in classes["confused"]:
                at = [classes["labels"].index(each[name]) for name in ("label", "predicted")]
                assert off[tuple(at)] == each["share"]

    def check_items(self):
        items, y = self.found["items"], self.y
        result = self.of(self.best_near, self.k, self.size)
        scores = result.per_item
        rows = [tuple("nan" if v != v else v + 0.0 for v in row) for row in self.X.tolist()]
        of_row = {}
        for row, label in zip(rows, y.tolist(), strict=True):
            of_row.setdefault(row, set()).add(label)
        sets = {"conflicting_duplicates": {i for i, row in enumerate(rows) if len(of_row[row]) > 1}}
        total = None
        if self.rule == "knn":
            chance = 1 / len(set(y.tolist()))
            never = max(result.error_bound, 1e-12)
            sets["never_right"] = {i for i, score in enumerate(scores) if score <= never}
            harmful = np.ones(len(y), bool)
            if items["note"] is None:
                influence = result.influence()
                total = influence.total
                harmful = total < -influence.error_bound
            harmful &= few_alike(self.best_near, y)
            sets["suspicious"] = {i for i in range(len(y)) if scores[i] < chance and harmful[i]}
        else:
            order = sorted((i for i in range(len(y)) if scores[i] > 0), key=lambda i: (-scores[i], i))
            sets["worst_residuals"] = set(order[:50])
        for reason, count in items["counts"].items():
            assert count == (len(sets[reason]) if reason in sets else None), reason
            if reason in sets:
                assert items["indices"][reason] == self.rows[sorted(sets[reason])].tolist()
        everything = set().union(*sets.values())
        assert items["of"] == len(everything)
        assert items["shown"] == len(items["items"]) == min(500, len(everything))
        words = {
            "never_right": "never right",
            "suspicious": "suspicious label",
            "conflicting_duplicates": "duplicate with another "
            + ("label" if self.rule == "knn" else "target"),
            "worst_residuals": "large expected error",
        }
        place = {int(row): at for at, row in enumerate(self.rows)}
        best = self.found["scores"]["best"]
        distances = self.distances(best["scaling"], best["metric"])
        for item in items["items"]:
            at = place[item["index"]]
            assert sorted(item["reasons"]) == sorted(words[r] for r, found in sets.items() if at in found)
            assert item["label"] == str(y[at])
            assert item["score"] == optional(scores[at])
            assert item["influence"] == (None if total is None else optional(total[at]))
            if self.rule == "regression":
                assert item["target"] == y[at]
                assert item["prediction"] == result.prediction[at]
                assert item["bias"] == item["prediction"] - item["target"]
            others = [place[each["index"]] for each in item["neighbors"]]
            assert at not in others
            assert len(set(others)) == len(others) == min(3, len(y) - 1)
            assert [each["label"] for each in item["neighbors"]] == [str(y[other]) for other in others]
            if distances is not None:
                shown = np.array([each["distance"] for each in item["neighbors"]])
                scale = max(float(distances[at].max()), 1e-300)
                nearest = np.sort(np.delete(distances[at], at))[: len(others)]
                np.testing.assert_allclose(shown / scale, nearest / scale, atol=3e-8)
                np.testing.assert_allclose(shown / scale, distances[at, others] / scale, atol=3e-8)

    def distances(self, scaling, metric):
        """The distances of all pairs, in plain code; None for a metric of mixed tables."""
        if metric not in ("euclidean", "manhattan", "cosine") or len(self.X) > 2000:
            return None
        X = self.X
        if not 1e-100 < np.abs(X).max(initial=1e-300) < 1e100:
            return None
        width = np.ptp(X, axis=0)
        moves = width > 0
        if scaling == "standardized":
            X = np.where(moves, (X - X.mean(axis=0)) / np.where(moves, X.std(axis=0), 1), 0)
        if scaling == "min-max":
            X = np.where(moves, (X - X.min(axis=0)) / np.where(moves, width, 1), 0)
        if metric == "cosine":
            if not np.all((X != 0).any(axis=1)):
                return None
            unit = X / np.linalg.norm(X, axis=1, keepdims=True)
            return np.clip(1 - unit @ unit.T, 0, 2)
        return cdist(X, X, "cityblock" if metric == "manhattan" else metric)

    def check_ties(self):
        ties = self.found["ties"]
        direct = self.of(self.best_near, self.k, self.size).tie_report()
        for name, expected in {
            "n_items": len(self.y),
            "n_tied": direct.n_tied,
            "score": direct.score,
            "low": direct.lowest,
            "high": direct.highest,
            "width": direct.highest - direct.lowest,
        }.items():
            assert ties[name] == expected, name
        assert ties["score"] == self.found["scores"]["best"]["score"]
        slack = 1e-9 * max(1, abs(ties["high"]))
        assert ties["low"] - slack <= ties["score"] <= ties["high"] + slack
        assert 0 <= ties["n_dependent"] <= ties["n_tied"]

    def check_regression(self):
        parts, y = self.found["regression"], self.y
        if self.rule == "knn":
            assert parts is None
            return
        near = self.best_near
        result = self.of(near, self.k, self.size)
        assert parts["mse"] == result.score
        assert parts["bias2"] == pytest.approx(result.bias2.mean(), rel=1e-12)
        assert parts["variance"] == pytest.approx(result.variance.mean(), rel=1e-12)
        total = parts["bias2"] + parts["variance"]
        assert total == pytest.approx(parts["mse"], rel=1e-9, abs=1e-12 * float(np.square(y).max() or 1))
        spread = float(np.square(y - y.mean()).mean())
        assert parts["target_variance"] == pytest.approx(spread, rel=1e-9)
        if parts["r2"] is not None:
            assert parts["r2"] == pytest.approx(1 - result.score / spread, rel=1e-6, abs=1e-9)
        numbers = parts["loo"]["n_neighbors"]
        assert self.k in numbers
        assert numbers[-1] < len(y)
        assert parts["loo"]["mse"] == loo_curve(near, y, numbers).tolist()
        for k in numbers[:2]:
            direct = complete_cv(near, y, "regression", LeaveOut(1), n_neighbors=k).score
            scale = float(np.square(y).max()) or 1.0
            assert parts["loo"]["mse"][numbers.index(k)] == pytest.approx(
                direct, rel=1e-9, abs=1e-10 * scale
            )

    def check_code(self, X, y):
        text = self.found["method"]["code"]
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(text, "<report>", "exec"), {"X": X, "y": y})
        assert float(out.getvalue().split()[0]) == self.found["scores"]["best"]["score"]
