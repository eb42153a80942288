"""Every number of a report, by direct calls of the library and plain code that shares nothing with it."""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import math
import warnings
from fractions import Fraction
from functools import cached_property

import numpy as np
import pytest
from scipy.special import stdtrit

import knnccv
from knnccv import LeaveGroupsOut, Neighbors, Subsample, complete_cv, surface
from knnccv.neighbors.hvdm import HEOM, HVDM
from knnccv.reporting import scaled

SECTIONS = "data scores mean settings not_worse tuned learning extrapolation classes items ties regression"
WORDS = {
    "never_right": "never right",
    "suspicious": "suspicious label",
    "conflicting_duplicates": "duplicate with another label",
    "worst_residuals": "large expected error",
}


def check_report(X, y, found, nominal=None, given=None, only=SECTIONS, groups=None):
    """Compare a report with the library.

    `X` holds numbers (codes and NaN in mixed tables), `y` labels or targets, both of all rows; `given` is
    what the report was made of, for its code. `only` names the sections that are checked.
    """
    rows = np.arange(len(y))
    if found["data"]["subsample"] is not None:
        assert found["data"]["subsample"]["of"] == len(y)
        rows = np.sort(np.random.default_rng(0).choice(len(y), found["data"]["n_items"], replace=False))
    check = Check(found, np.asarray(X, float)[rows], np.asarray(y)[rows], nominal, rows)
    if groups is not None:
        check.groups = check.named = np.asarray(groups)[rows]
        check.design = LeaveGroupsOut(check.groups)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for section in only.split():
            getattr(check, f"check_{section}")()
        check_code(found, *((X, y) if given is None else given), groups)


def quick_report(*table, **options):
    """`report` with 6 random halves in place of 200, which take most of its time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("knnccv.reporting._study.MOST_HALVINGS", 6)
        return knnccv.report(*table, **options)


def check_code(found, X, y, groups=None):
    """The code of the page prints the score of the best setting."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(found["method"]["code"], "<report>", "exec"), {"X": X, "y": y, "groups": groups})
    assert float(out.getvalue().split()[0]) == found["scores"]["best"]["score"]


def clouds(n_items=40, n_classes=2, n_features=3, seed=0, step=0.0):
    """Overlapping clouds of points and their classes; coordinates in multiples of `step` tie."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_items) % n_classes
    X = rng.normal(size=(n_items, n_features)) + y[:, None]
    return (np.round(X / step) * step if step else X), y


def unequal_classes(n_items=60, n_rare=8):
    """Few positives, which the plurality of many neighbors never finds."""
    rng = np.random.default_rng(4)
    y = (np.arange(n_items) < n_rare).astype(int)
    X = rng.normal(size=(n_items, 3))
    X[y == 1] += [1.2, 0.8, 0]
    return X, y


def few_alike(near, y, groups):
    """Whether fewer than half of the neighbors of a class are near that chance puts there, by a loop.

    Near are as many neighbors as hold five by chance; those tied with the last one count by their share.
    """
    n_items = len(y)
    items, distances = near.kneighbors(n_items - 1, n_jobs=1)
    found = []
    for i in range(n_items):
        others = groups[items[i]] != groups[i]
        same = [y[j] == y[i] for j in items[i][others]]
        if sum(same) <= 5:
            found.append(False)
            continue
        size, apart = 5 * len(same) // sum(same), distances[i][others]
        edge = apart[size - 1]
        nearer = [s for s, d in zip(same, apart, strict=True) if d < edge]
        tied = [s for s, d in zip(same, apart, strict=True) if d == edge]
        held = sum(nearer) + Fraction((size - len(nearer)) * sum(tied), len(tied))
        found.append(held < Fraction(size * sum(same), 2 * len(same)))
    return np.array(found)


class Check:
    """The numbers of a report, section by section, by direct calls."""

    def __init__(self, found, X, y, nominal, rows):
        self.found, self.X, self.y, self.nominal, self.rows = found, X, y, nominal, rows
        self.scores, self.best = found["scores"], found["scores"]["best"]
        self.is_regression = found["task"] == "regression"
        self.what = "target" if self.is_regression else "label"
        self.rule = "regression" if self.is_regression else "knn"
        self.size, self.average = self.scores["train_size"], self.scores["average"]
        self.k = self.best["n_neighbors"]
        self.groups, self.design = np.arange(len(y)), Subsample(self.size)
        self.named = None
        self.n_halvings = self.noted("Intervals come from ")
        self._near = {}

    def near(self, entry):
        """The neighbors of a setting."""
        scaling, metric = entry["scaling"], entry["metric"]
        if (scaling, metric) not in self._near:
            if metric in ("heom", "hvdm"):
                kind = {"heom": HEOM, "hvdm": HVDM}[metric](nominal=self.nominal)
                how = {"groups": self.groups} if self.named is not None and metric == "hvdm" else {}
                self._near[scaling, metric] = kind.fit(self.X, self.y).neighbors(**how)
            else:
                self._near[scaling, metric] = Neighbors.from_data(scaled(self.X, scaling), metric)
        return self._near[scaling, metric]

    def score(self, entry, k=None, size=None, **options):
        """The exact score of a setting."""
        options = {"average": self.average, "n_neighbors": k or entry["n_neighbors"], **options}
        return complete_cv(
            self.near(entry), self.y, self.rule, Subsample(size) if size else self.design, **options
        )

    def surface(self, curve, average):
        """The scores of a curve, which has the same."""
        asked = curve["n_neighbors"], [self.size], self.rule
        direct = surface(self.near(curve), self.y, *asked, average=average)
        # Lists that are kept are summed up in another order.
        assert curve["scores"] == pytest.approx(direct.scores[:, 0].tolist(), rel=1e-13)
        return direct

    @cached_property
    def result(self):
        return self.score(self.best)

    def noted(self, beginning, otherwise=200):
        """The number that follows the beginning of a note."""
        for note in self.found["method"]["notes"]:
            if note.startswith(beginning):
                return int(note.removeprefix(beginning).split()[0])
        return otherwise

    def said(self, section, *scores):
        """The conclusion of a section names these scores."""
        for score in scores:
            text = f"{score:.4g}" if self.is_regression else f"{score:.1%}"
            if not (text in ("0.0%", "100.0%") or abs(score) >= 1e4):  # these are written otherwise
                assert text in self.found[section]["conclusion"], (section, text)

    def check_data(self):
        data, X, y = self.found["data"], self.X, self.y
        assert (data["n_items"], data["n_features"]) == X.shape
        assert data["n_missing"] == np.isnan(X).sum()
        varies = [len({v for v in column.tolist() if v == v}) > 1 for column in X.T]
        assert data["constant"] == [
            name for name, moves in zip(data["feature_names"], varies, strict=True) if not moves
        ]
        if self.is_regression:
            expected = {"min": y.min(), "max": y.max(), "mean": y.mean(), "variance": y.var()}
            assert data["target"] == pytest.approx(expected, rel=1e-12)
            return
        for each, label in zip(data["classes"], np.unique(y), strict=True):
            n = int((y == label).sum())
            assert each == {"label": str(label), "n_items": n, "share": n / len(y)}

    def check_scores(self):
        scores, halves = self.scores, {"n_halvings": self.n_halvings}
        results = {name: self.score(scores[name]) for name in ("best", "default")}
        n_runs = self.noted("The scatter of one split comes from ", 5000)
        for name, result in results.items():
            entry = scores[name]
            for field in ("score", "error_bound", "log10_n_train_sets"):
                assert entry[field] == getattr(result, field), (name, field)
            assert entry["split_std"] == (float(result.split_std(n_runs)) if self.named is None else None)
            assert (entry["interval"] is None) == (entry["no_interval"] is not None)
            if entry["interval"] is not None:
                low, high = result.confidence_interval(**halves)
                expected = {"low": low, "high": high, "confidence_level": 0.95}
                # Lists that are kept are summed up in another order.
                assert entry["interval"] == pytest.approx(expected, rel=1e-12)
                error = float(result.standard_error(**halves))
                assert entry["standard_error"] == pytest.approx(error, rel=1e-12, nan_ok=True)
        if scores["difference"] is not None:
            found = knnccv.compare(*results.values(), **halves)
            low, high = found.confidence_interval()
            expected = {"score": found.difference, "low": low, "high": high, "pvalue": found.pvalue}
            expected = {name: value if math.isfinite(value) else None for name, value in expected.items()}
            assert scores["difference"] == pytest.approx(expected, rel=1e-9)
        simple, nearest = scores["baselines"]
        assert nearest["score"] == self.score(self.best, 1).score
        named = np.array([self.best["score"], scores["default"]["score"], simple["score"]])
        self.said("scores", *(np.sqrt(named) if self.is_regression else named))
        if self.is_regression:
            means = [self.y[self.groups != group].mean() for group in self.groups]
            of_groups, of_draws = (
                np.square(self.y - means).mean(),
                np.var(self.y, ddof=1) * (1 + 1 / self.size),
            )
            assert simple["score"] == pytest.approx(of_draws if self.named is None else of_groups)
            return
        _, counts = np.unique(self.y, return_counts=True)
        assert simple["accuracy"] == counts.max() / len(self.y)
        assert simple["balanced_accuracy"] == 1 / len(counts)
        measure = "balanced_accuracy" if self.average == "class" else "accuracy"
        for entry in (self.best, scores["default"], simple, nearest):
            assert entry["score"] == pytest.approx(entry[measure], rel=1e-12)
        for name, average in (("accuracy", "pooled"), ("balanced_accuracy", "class")):
            direct = self.score(self.best, average=average).score
            assert self.best[name] == pytest.approx(direct, rel=1e-12)

    def check_scorings(self):
        """Of 100 random splits by scikit-learn, or of all its predictions if groups are left out."""
        from sklearn import metrics, model_selection, neighbors

        for entry in self.scores["scorings"]:
            name, _, positive = entry["name"].partition(" of ")
            X, y = scaled(self.X, self.best["scaling"]), self.y
            algorithm = "auto" if self.best["metric"] == "cosine" else "kd_tree"  # which starts no threads
            rule = neighbors.KNeighborsClassifier(self.k, metric=self.best["metric"], algorithm=algorithm)
            of_labels = functools.partial(metrics.f1_score, pos_label=type(y[0])(positive or 1))
            if name == "roc_auc":
                score, how, answers_of = metrics.roc_auc_score, "predict_proba", lambda shares: shares[:, 1]
            else:
                score, how, answers_of = of_labels, "predict", lambda answers: answers
            if self.named is not None:
                asked = {"groups": self.groups, "cv": model_selection.LeaveOneGroupOut(), "method": how}
                answers = answers_of(model_selection.cross_val_predict(rule, X, y, **asked))
                assert entry["score"] == pytest.approx(score(y, answers), rel=1e-12)
                continue
            splits = model_selection.ShuffleSplit(100, train_size=self.size, random_state=0)
            found = [
                score(y[test], answers_of(getattr(rule.fit(X[train], y[train]), how)(X[test])))
                for train, test in splits.split(X)
                if len(set(y[test].tolist())) == 2
            ]
            error = math.hypot(np.std(found) / len(found) ** 0.5, entry["std_error"])
            assert abs(entry["score"] - np.mean(found)) < 4 * error

    def check_mean(self):
        """The error of the training mean, over all training sets."""
        if not self.is_regression or math.comb(len(self.y), self.size) > 3000:
            return
        trains = itertools.combinations(range(len(self.y)), self.size)
        parts = [(np.delete(self.y, train), self.y[list(train)].mean()) for train in trains]
        expected = np.mean([np.square(tested - mean).mean() for tested, mean in parts])
        assert self.scores["baselines"][0]["score"] == pytest.approx(expected, rel=1e-9, abs=1e-12)

    def check_settings(self):
        settings = self.found["settings"]
        assert settings["subsample"] is None
        for curve in settings["curves"]:
            if self.named is not None:
                assert curve["scores"] == [self.score(curve, k).score for k in curve["n_neighbors"]]
                continue
            direct = self.surface(curve, self.average)
            assert curve["error_bound"] == pytest.approx(direct.error_bound[:, 0].tolist(), rel=1e-9)
            assert curve["n_items"] == len(self.y)
        best = (min if self.is_regression else max)(self.scores_to_choose_from(settings))
        assert settings["best"]["score"] == pytest.approx(best, rel=1e-5)  # the first within their bounds
        assert settings["best"]["metric"] != "hvdm" or self.named is not None
        assert settings["best"].items() - {("score", settings["best"]["score"])} <= self.best.items()
        self.said("settings", settings["best"]["score"])
        counts = np.sort(np.unique(self.y, return_counts=True)[1])
        unequal = not self.is_regression and counts[-1] > 2 * counts[:-1].mean()
        assert (settings["other"] is not None) == unequal
        if unequal:
            self.check_other(settings["other"])

    def eligible(self, settings):
        """The curves from which the best setting is chosen."""
        return [each for each in settings["curves"] if each["metric"] != "hvdm" or self.named is not None]

    def scores_to_choose_from(self, settings):
        return [score for curve in self.eligible(settings) for score in curve["scores"]]

    def check_other(self, other):
        """Accuracy if balanced accuracy chose the best, or the other way round."""
        average = "pooled" if self.average == "class" else "class"
        for curve, chosen_by in zip(other["curves"], self.found["settings"]["curves"], strict=True):
            self.surface(curve, average)
            at = curve["n_neighbors"].index(other["n_neighbors"])
            if (curve["scaling"], curve["metric"]) == (other["scaling"], other["metric"]):
                assert (other["score"], other["instead"]) == (curve["scores"][at], chosen_by["scores"][at])
        assert other["score"] == pytest.approx(max(self.scores_to_choose_from(other)), rel=1e-12)
        # Curves are exact to 1e-6, and as one number to 1e-12.
        assert other["of_best"] == pytest.approx(self.score(self.best, average=average).score, abs=1e-6)
        measures = [self.scores["measure"], other["measure"]]
        assert sorted(measures) == ["accuracy", "balanced accuracy"]
        assert measures[0] == other["chosen_by"] == self.found["settings"]["measure"]
        self.said("settings", other["score"], other["of_best"])

    def check_not_worse(self):
        """By pairs: the gap is within the half width of the interval of the difference."""
        settings = self.found["settings"]
        kept = {
            (each["scaling"], each["metric"], k)
            for each in settings["not_worse"]
            for k in each["n_neighbors"]
        }
        best = self.best["scaling"], self.best["metric"], self.k
        assert kept == {
            (curve["scaling"], curve["metric"], k)
            for curve in self.eligible(settings)
            for k in curve["n_neighbors"]
            if (curve["scaling"], curve["metric"], k) == best or self.is_near(self.score(curve, k))
        }

    def is_near(self, other):
        gap, slack = abs(self.result.score - other.score), self.result.error_bound + other.error_bound
        if gap <= slack:
            return True
        try:
            found = knnccv.compare(self.result, other, n_halvings=self.noted("Settings are compared on "))
        except ValueError:
            return False
        return bool(gap <= stdtrit(found.degrees_of_freedom, 0.975) * found.standard_error() + slack)

    def check_tuned(self):
        tuned = self.found["tuned"]
        notes = [
            note for note in self.found["method"]["notes"] if "chosen within each training set" in note
        ]
        assert len(notes) == (tuned is None)
        if tuned is None:
            return
        how = {"n_runs": tuned["n_runs"], "random_state": 0}
        how["average"] = "class" if self.average == "class" else "pooled"
        omitted = [(one["scaling"], one["metric"]) for one in self.found["settings"]["omitted"]]
        if omitted or tuned["metrics"][0] == "heom":
            pairs = [(scaling, metric) for metric in tuned["metrics"] for scaling in tuned["scalings"]]
            tried = [pair for pair in pairs if pair not in omitted]
            X = [self.near({"scaling": scaling, "metric": metric}) for scaling, metric in tried]
        else:
            X, how = self.X, how | {"metric": tuned["metrics"], "scaling": tuned["scalings"]}
            how["transductive"] = True
        direct = knnccv.tuned_score(X, self.y, tuned["n_neighbors"], self.design, **how)
        for name in ("score", "std_error", "std", "inner_score", "optimism", "optimism_std_error"):
            assert tuned[name] == getattr(direct, name), name
        assert tuned["n_settings"] == len(direct.choices)
        assert (tuned["choices"][0]["share"], sum(tuned["shares"])) == pytest.approx(
            (max(direct.choices.values()), 1)
        )
        shares = [one["share"] for one in tuned["choices"]]
        assert shares == sorted(shares, reverse=True)
        for k, share in zip(tuned["n_neighbors"], tuned["shares"], strict=True):
            parts = [part for candidate, part in direct.choices.items() if candidate.n_neighbors == k]
            assert share == pytest.approx(sum(parts))
        self.said("tuned", tuned["score"], tuned["inner_score"])

    def check_learning(self):
        learning = self.found["learning"]
        sizes = learning["train_sizes"]
        assert learning["subsample"] is None
        assert sizes == sorted(set(sizes))
        assert 1 <= sizes[0] <= sizes[-1] == len(self.y) - 1
        assert [each["n_neighbors"] for each in learning["curves"]] == sorted(
            {1, self.k, min(5, self.size)}
        )
        for curve in learning["curves"]:
            k = curve["n_neighbors"]
            for size, *found in zip(sizes, curve["scores"], curve["error_bound"], strict=True):
                if k > size:
                    assert found == [None, None]
                else:
                    direct, (score, bound) = self.score(learning, k, size, tol=1e-9), found
                    assert abs(score - direct.score) <= bound + direct.error_bound

    def check_extrapolation(self):
        """By least squares in a and b for every c of a grid."""
        learning = self.found["learning"]
        guess = learning["extrapolation"]
        if guess is None:
            return
        scores = next(each["scores"] for each in learning["curves"] if each["n_neighbors"] == self.k)
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
        # Two minimizers of a flat sum of squares: the gain is known to some percent.
        assert guess["gain"] == pytest.approx(gain, rel=0.05, abs=max(1e-5, 0.05 * np.ptp(s))), error

    def check_classes(self):
        classes = self.found["classes"]
        if self.is_regression:
            assert classes is None
            return
        labels, counts = np.unique(self.y, return_counts=True)
        scores = [self.result.per_item[self.y == label].mean() for label in labels]
        assert (
            classes["labels"] == [each["label"] for each in classes["per_class"]] == list(map(str, labels))
        )
        assert [each["score"] for each in classes["per_class"]] == pytest.approx(scores, abs=1e-12)
        assert [each["n_items"] for each in classes["per_class"]] == counts.tolist()
        assert classes["balanced_accuracy"] == pytest.approx(np.mean(scores), abs=1e-12)
        if classes["confusion"] is None:
            return
        matrix = self.result.confusion(normalize="true")
        assert classes["confusion"] == matrix.tolist()
        assert np.diag(matrix) == pytest.approx(scores, abs=1e-8)
        pairs = [(-share, i, j) for (i, j), share in np.ndenumerate(matrix) if i != j and share > 1e-9]
        assert [(each["label"], each["predicted"], each["share"]) for each in classes["confused"]] == [
            (str(labels[i]), str(labels[j]), -share) for share, i, j in sorted(pairs)[:10]
        ]

    def check_items(self):
        items, y, result = self.found["items"], self.y, self.result
        scores, total = result.per_item, None
        rows = [tuple("nan" if v != v else v + 0.0 for v in row) for row in self.X.tolist()]
        of_row = {}
        for row, label in zip(rows, y.tolist(), strict=True):
            of_row.setdefault(row, set()).add(label)
        sets = {"conflicting_duplicates": {i for i, row in enumerate(rows) if len(of_row[row]) > 1}}
        if self.is_regression:
            order = sorted((i for i in range(len(y)) if scores[i] > 0), key=lambda i: (-scores[i], i))
            sets["worst_residuals"] = set(order[:50])
        else:
            never = max(result.error_bound, 1e-12)
            if isinstance(self.design, Subsample):
                sets["never_right"] = {i for i, score in enumerate(scores) if score <= never}
            suspects = (scores < 1 / len(set(y.tolist()))) & few_alike(self.near(self.best), y, self.groups)
            if items["note"] is None:
                influence = result.influence()
                total = influence.per_item
                suspects &= total < -influence.error_bound
            sets["suspicious"] = set(np.flatnonzero(suspects).tolist())
        for reason in WORDS:
            assert items["counts"][reason] == (len(sets[reason]) if reason in sets else None), reason
        assert items["indices"] == {each: self.rows[sorted(found)].tolist() for each, found in sets.items()}
        everything = set().union(*sets.values())
        assert items["of"] == len(everything)
        assert items["shown"] == len(items["items"]) == min(500, len(everything))
        place = {int(row): at for at, row in enumerate(self.rows)}
        # The worst first: by score, then by influence, then by number.
        sign = -1 if self.is_regression else 1
        order = [(sign * each["score"], each["influence"] or 0, each["index"]) for each in items["items"]]
        assert order == sorted(order)
        neighbors, distances = self.near(self.best).kneighbors(len(y) - 1)
        for item in items["items"]:
            at = place[item["index"]]
            words = [words for reason, words in WORDS.items() if at in sets.get(reason, ())]
            assert item["reasons"] == [each.replace("label", self.what) for each in words]
            assert (item["label"], item["score"]) == (str(y[at]), scores[at])
            assert item["influence"] == (None if total is None else total[at])
            if self.is_regression:
                assert (item["target"], item["prediction"]) == (y[at], result.prediction[at])
                assert item["bias"] == item["prediction"] - item["target"]
            others = [place[each["index"]] for each in item["neighbors"]]
            outside = self.groups[neighbors[at]] != self.groups[at]
            assert others == neighbors[at][outside][:3].tolist()
            for each in (item, *item["neighbors"]):
                name = None if self.named is None else str(self.named[place[each["index"]]])
                assert each.get("group") == name
            assert [each["label"] for each in item["neighbors"]] == [str(y[other]) for other in others]
            assert [each["distance"] for each in item["neighbors"]] == distances[at][outside][:3].tolist()

    def check_ties(self):
        if not isinstance(self.design, Subsample):
            assert not any(self.found[name] for name in ("ties", "learning", "regression"))
            return
        ties, direct = self.found["ties"], self.result.tie_report()
        widths = direct.per_item_highest - direct.per_item_lowest
        largest = max(float(np.abs(direct.per_item_highest).max()), 1e-9)
        expected = {
            "n_items": len(self.y),
            "n_tied": direct.n_tied,
            "n_dependent": int((widths > 1e-9 * largest).sum()),
            "score": direct.score,
            "low": direct.lowest,
            "high": direct.highest,
            "width": direct.highest - direct.lowest,
            "is_exact": direct.is_exact,
            "measure": self.scores["measure"],
        }
        assert {name: ties[name] for name in expected} == expected
        assert ties["score"] == self.best["score"]
        # A program that breaks ties by the order of the rows is within the range.
        by_row = self.score(self.best, ties="index").score
        slack = 1e-9 * max(1, abs(ties["high"]))
        assert ties["low"] - slack <= min(by_row, ties["score"])
        assert max(by_row, ties["score"]) <= ties["high"] + slack

    def check_regression(self):
        parts, y, result = self.found["regression"], self.y, self.result
        if not self.is_regression:
            assert parts is None
            return
        spread, scale = float(np.square(y - y.mean()).mean()), float(np.square(y).max()) or 1.0
        assert (parts["mse"], parts["rmse"]) == (result.score, math.sqrt(result.score))
        assert parts["bias2"] == pytest.approx(result.bias2.mean(), rel=1e-12)
        assert parts["variance"] == pytest.approx(result.variance.mean(), rel=1e-12)
        total = parts["bias2"] + parts["variance"]
        assert total == pytest.approx(parts["mse"], rel=1e-9, abs=1e-12 * scale)
        assert parts["target_variance"] == pytest.approx(spread, rel=1e-9)
        if parts["r2"] is None:
            assert len(set(y.tolist())) == 1
        else:
            assert parts["r2"] == pytest.approx(1 - result.score / spread, rel=1e-6, abs=1e-9)
        numbers = parts["loo"]["n_neighbors"]
        asked = {1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, self.k}
        assert numbers == sorted(k for k in asked if k < len(y))
        curve = knnccv.surface(self.near(self.best), y, numbers, len(y) - 1, "regression")
        assert parts["loo"]["mse"] == curve.scores[:, 0].tolist()
        for k in numbers[:2]:
            direct = complete_cv(
                self.near(self.best), y, "regression", knnccv.LeaveOut(1), n_neighbors=k
            ).score
            found = parts["loo"]["mse"][numbers.index(k)]
            assert found == pytest.approx(direct, rel=1e-9, abs=1e-10 * scale)
