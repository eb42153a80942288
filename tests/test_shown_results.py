"""Results as programs and notebooks get them: `to_dict`, small tables in HTML, and long numbers."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from report_example import Page
from sklearn.neighbors import KNeighborsClassifier

from knnccv import Neighbors, compare, complete_cv, monte_carlo_cv, permutation_test, surface, tuned_score
from knnccv._base.formatting import bound_text, plain
from knnccv.designs import KFold, Subsample
from knnccv.episodes import Episodes, expected_episodes, sampled_episodes
from knnccv.retrieval import Gallery, expected_retrieval
from knnccv.sklearn import expected_score

HOSTILE = "<script>alert('x')</script>\"&\u202e"
FEW = np.array([[0.0], [1.0], [1.0], [2.5], [4.0], [4.5], [6.0], [7.5]])
LABELS = np.array([0, 0, 1, 0, 1, 1, 1, 0])
X, Y = np.random.default_rng(3).normal(size=(24, 2)), np.arange(24) % 2


def strict(found):
    """The dictionary as another program reads it; not a number is an error."""
    return json.loads(json.dumps(found.to_dict(), allow_nan=False))


def test_types_of_json():
    """`plain` is asked itself, as no result has all of these types."""
    given = {1: np.float64(0.5), "b": (np.int64(3), math.nan, math.inf), "c": np.array([[True]])}
    assert plain(given) == {"1": 0.5, "b": [3, None, None], "c": [[True]]}
    assert plain([2**53, 2**53 + 2, None]) == [2**53, "9007199254740994", None]
    assert plain(complex(1, 2)) == "(1+2j)"


@pytest.mark.filterwarnings("ignore")
def test_dictionaries_have_the_numbers_of_the_attributes():
    exact = complete_cv(X, Y, "knn", 4, n_neighbors=3, exact=True)
    sampled = complete_cv(X, Y, "knn", 4, method="sampled", n_draws=20)
    one, runs = (monte_carlo_cv(X, Y, "nn", 4, n_runs=n, random_state=0) for n in (1, 5))
    a, b = complete_cv(X, Y, "nn", 4), complete_cv(X, Y, "knn", 4)
    interval, spread, drawn_runs = a.confidence_interval(0.9), a.split_std(), a.runs(30)
    curves, drawn = surface(X, Y, [1, 3], [8, 16]), surface(X, Y, [1, 3], [8, 16], scoring="f1", n_runs=64)
    tuned = tuned_score(X, Y, [1, 3], n_runs=20)
    few = expected_episodes(X, Y, Episodes(2, 1))
    some = sampled_episodes(X, Y, Episodes(2, 1), n_episodes=10, n_query=2, random_state=0)
    test = permutation_test(X, Y, "nn", 4, n_permutations=9)
    expected = [
        (
            exact,
            {"score": exact.score, "fraction": f"{exact.fraction.numerator}/{exact.fraction.denominator}"},
        ),
        (exact, {"n_train_sets": exact.n_train_sets, "std_error": None, "parameters": exact.parameters}),
        (sampled, {"error_bound": None, "is_exact": False, "std_error": sampled.std_error}),
        (one, {"scores": one.scores.tolist(), "std": None}),
        (runs, {"scores": runs.scores.tolist(), "score": runs.score, "std": runs.std}),
        (interval, {"confidence_level": 0.9, "low": interval.low, "high": interval.high}),
        (spread, {"std": spread.std, "std_error": spread.std_error, "n_runs": 5000}),
        (compare(a, b), {"probability": None}),
        (curves, {"scores": curves.scores.tolist()}),
        (drawn, {"is_exact": False, "std_error": drawn.std_error.tolist()}),
        (tuned, {"score": tuned.score, "n_runs": 20}),
        (test, {"pvalue": test.pvalue}),
        (drawn_runs, {"scores": drawn_runs.scores.tolist(), "confusions": drawn_runs.confusions.tolist()}),
        (few, {"per_class": {str(k): v for k, v in few.per_class.items()}, "standard_error": None}),
        (some, {"accuracies": some.accuracies.tolist(), "std": some.std, "r2": None}),
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


def test_arrays_and_dictionaries_are_shown_in_short():
    found = surface(FEW, LABELS, [1, 2, 3], [3, 4, 6])
    assert "[3, 4, 6]" in read(found)
    assert read(pickle.loads(pickle.dumps(found))) == read(found)
    assert read(found)[-1] == bound_text(found.error_bound.max())
    many = surface(X, Y, range(1, 11), [12])
    assert "[ 1, 2, ..., 9, 10]" in read(many)
    ways = expected_episodes(np.arange(20.0)[:, None] ** 1.5, np.arange(20) // 2, Episodes(2, 1)).ways
    assert len(ways) == 9
    shown = repr(expected_episodes(np.arange(20.0)[:, None] ** 1.5, np.arange(20) // 2, Episodes(2, 1)))
    assert shown.endswith(f"7: {ways[7]:.6g}, …}}>")


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


def test_a_number_of_training_sets_of_thousands_of_digits():
    """`str` and `format` of an int refuse more than 4,300 digits."""
    result = complete_cv(np.arange(20_000.0)[:, None], np.arange(20_000) % 7 % 2, "nn", KFold(10))
    huge = result.n_train_sets
    assert huge == math.comb(20_000, 2_000)
    assert result.log10_n_train_sets == pytest.approx(math.log10(huge), rel=1e-13)
    digits = str(Decimal(huge // 10 ** (math.floor(math.log10(huge)) - 11)))
    short = f"{float(digits) / 1e11:.1f}e+{math.floor(math.log10(huge))}"
    assert f"n_train_sets={short}," in repr(result)
    assert plain(math.comb(20_000, 10_000)).endswith("e+6018")
    assert (plain(2**53), plain(2**54), plain(120)) == (2**53, str(2**54), 120)
