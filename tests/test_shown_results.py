"""Results as programs and notebooks get them: `to_dict`, small tables in HTML, and long numbers."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from report_example import Page
from sklearn.neighbors import KNeighborsClassifier

from knnccv import Neighbors, compare, complete_cv, monte_carlo_cv, surface, tuned_score
from knnccv.designs import KFold, Subsample
from knnccv.episodes import Episodes, expected_episodes
from knnccv.retrieval import Gallery, expected_retrieval
from knnccv.sklearn import expected_score

HOSTILE = "<script>alert('x')</script>\"&\u202e"
FEW = np.array([[0.0], [1.0], [1.0], [2.5], [4.0], [4.5], [6.0], [7.5]])
LABELS = np.array([0, 0, 1, 0, 1, 1, 1, 0])
X, Y = np.random.default_rng(3).normal(size=(24, 2)), np.arange(24) % 2


def strict(found):
    """The dictionary as another program reads it; not a number is an error."""
    return json.loads(json.dumps(found.to_dict(), allow_nan=False))


@pytest.mark.filterwarnings("ignore")
def test_dictionaries_have_the_numbers_of_the_attributes():
    exact = complete_cv(X, Y, "knn", 4, n_neighbors=3, exact=True)
    sampled = complete_cv(X, Y, "knn", 4, method="sampled", n_draws=20)
    one = monte_carlo_cv(X, Y, "nn", 4, n_runs=1, random_state=0)
    a, b = complete_cv(X, Y, "nn", 4), complete_cv(X, Y, "knn", 4)
    curves, drawn = surface(X, Y, [1, 3], [8, 16]), surface(X, Y, [1, 3], [8, 16], scoring="f1", n_runs=64)
    tuned = tuned_score(X, Y, [1, 3], n_runs=20)
    few = expected_episodes(X, Y, Episodes(2, 1))
    expected = [
        (
            exact,
            {"score": exact.score, "fraction": f"{exact.fraction.numerator}/{exact.fraction.denominator}"},
        ),
        (exact, {"n_train_sets": exact.n_train_sets, "std_error": None, "parameters": exact.parameters}),
        (sampled, {"error_bound": None, "is_exact": False, "std_error": sampled.std_error}),
        (one, {"scores": one.scores.tolist(), "std": None}),
        (compare(a, b), {"probability": None}),
        (curves, {"scores": curves.scores.tolist()}),
        (drawn, {"is_exact": False, "std_error": drawn.std_error.tolist()}),
        (tuned, {"score": tuned.score, "n_runs": 20}),
        (few, {"per_class": {str(k): v for k, v in few.per_class.items()}, "standard_error": None}),
    ]
    for scoring in ("accuracy", "f1"):
        found = expected_score(KNeighborsClassifier(3), X, Y, scoring=scoring, random_state=0)
        expected.append(
            (found, {"std_error": found.std_error, "is_exact": found.is_exact, "score": found.score})
        )
    for found, fields in expected:
        shown = strict(found)
        assert {name: shown[name] for name in fields} == fields, found
    shown = compare(a, b).to_dict(0.9, 0.02)
    assert shown["interval"] == compare(a, b).confidence_interval(0.9).to_dict()
    assert shown["probability"]["worse"] == compare(a, b).probability(0.02).second
    assert [one["n_neighbors"] for one in strict(curves)["best"]] == curves.best().n_neighbors.tolist()
    assert [one["share"] for one in strict(tuned)["choices"]] == list(tuned.choices.values())


def read(found, **changed):
    """The texts of a result's table in a notebook, with some attributes changed."""
    shown = replace(found, **changed)._repr_html_()
    assert "<script" not in shown
    page = Page(shown)
    scopes = {attribute for _, attributes in page.elements for attribute in attributes.items()}
    assert {tag for tag, _ in page.elements} <= {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert {("scope", "row")} <= scopes <= {("scope", "row"), ("scope", "col")}
    return [text for text in page.texts if text.strip()]


def test_notebooks_show_the_numbers_of_a_score():
    found = complete_cv(FEW, LABELS, "nn", Subsample(4))
    texts = read(found)
    assert texts[0] == "CompleteCV"
    for part in ("accuracy", f"{found.score:.6g}", "70", found.design, str(found.n_tied), "random"):
        assert part in texts
    assert "0.0e+00" in read(found, error_bound=0.0)
    assert read(found, score=math.nan, per_item=np.full(8, math.nan))[2] == "nan"
    changed = read(found, measure=HOSTILE, design=HOSTILE, variant=HOSTILE, parameters={"a": HOSTILE})
    assert changed.count(HOSTILE) == 2
    assert f"{HOSTILE}(a={HOSTILE})" in changed
    report = found.tie_report()
    shown = read(report)
    for part in (str(report.n_tied), f"{report.lowest:.6g}", f"{report.highest:.6g}", "is_exact"):
        assert part in shown
    assert HOSTILE in read(report, measure=HOSTILE)
    drawn = complete_cv(FEW, LABELS, "nn", KFold(2), method="sampled", n_draws=20)
    shown = read(drawn)
    assert shown[0] == "SampledCV"
    assert f"{drawn.std_error:.6g}" in shown
    assert shown[shown.index("n_draws") + 1] == "20"
    assert "error_bound" not in shown
    outputs = np.column_stack([LABELS, FEW[:, 0]])
    several = complete_cv(FEW, outputs, "regression", KFold(2), n_neighbors=1)
    assert f"{several.score:.6g}" in read(several)
    for one in (found, several):
        assert read(pickle.loads(pickle.dumps(one))) == read(one)


def test_a_text_is_the_table_of_notebooks_in_one_line():
    found = tuned_score(X, Y, [1, 3], n_runs=20)
    caption, *cells = read(found)
    pairs = zip(cells[::2], cells[1::2], strict=True)
    assert repr(found) == f"<{caption} {', '.join(f'{name}={text}' for name, text in pairs)}>"
    assert (float(found), f"{found:.3f}", f"{found}") == (found.score, f"{found.score:.3f}", str(found))


def test_notebooks_say_that_neighbors_are_approximate():
    indices = np.array([[j for j in range(8) if j != i] for i in range(8)])
    near = Neighbors.from_lists(indices, np.abs(FEW[indices, 0] - FEW), approximate=True)
    for found in (complete_cv(near, LABELS, "nn", Subsample(4)), surface(near, LABELS, [1], [4])):
        assert any("unknown (neighbors approximate" in text for text in read(found))


def test_notebooks_show_all_scores_of_a_retrieval():
    apart = np.abs(np.subtract.outer([0.0, 1.5, 4.0], [0, 1, 2, 3, 4, 5]))
    found = expected_retrieval(apart, [0, 1, 2], [0, 0, 1, 1, 2, 2], Gallery(per_identity=1))
    texts = read(found)
    for score in (found["ap"].score, found["cmc"].score[0]):
        assert f"{score:.4g}" in texts[-1]
    assert read(pickle.loads(pickle.dumps(found))) == texts
    assert read(found, mask=HOSTILE, protocol=HOSTILE)
