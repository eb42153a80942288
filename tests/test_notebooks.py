"""The small tables of results in notebooks: every number is the result's, and all text is escaped."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from knnccv import KFold, Neighbors, Subsample, complete_cv, surface
from knnccv.retrieval import Gallery, expected_retrieval

HOSTILE = "<script>alert('x')</script>\"&\u202e"
X = np.array([[0.0], [1.0], [1.0], [2.5], [4.0], [4.5], [6.0], [7.5]])
Y = np.array([0, 0, 1, 0, 1, 1, 1, 0])


class Reader(HTMLParser):
    """The tags, the attributes and the text of a document; tags that stay open are an error."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.scopes, self.texts = [], set(), set(), []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.tags.add(tag)
        self.scopes |= set(attributes)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if data.strip():
            self.texts.append(data)


def read(found):
    seen = Reader(found._repr_html_())
    assert seen.tags <= {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert seen.scopes <= {("scope", "row"), ("scope", "col")}
    assert ("scope", "row") in seen.scopes
    return seen.texts


@pytest.fixture(scope="module")
def scored():
    return complete_cv(X, Y, "nn", Subsample(4))


def test_a_score_shows_its_numbers(scored):
    texts = read(scored)
    for part in ("accuracy", f"{scored.score:.6g}", "70", scored.design):
        assert part in texts
    assert f"8, {scored.tied} tied (ties='random')" in texts
    again = pickle.loads(pickle.dumps(scored))
    assert read(again) == texts


def test_an_exact_score(scored):
    assert "error at most 0.0e+00" in read(replace(scored, error_bound=0.0))
    assert read(replace(scored, score=math.nan, per_item=np.full(8, math.nan)))[2] == "nan"


def test_a_drawn_score_shows_the_luck_of_the_draws():
    found = complete_cv(X, Y, "nn", KFold(2), method="sampled", n_draws=20)
    texts = read(found)
    assert texts[0] == "SampledCV"
    assert f"standard error {found.std_error:.2g} (luck of the draws)" in texts
    assert any("20 drawn for each sample" in text for text in texts)


def test_regression_with_several_outputs():
    found = complete_cv(X, np.column_stack([Y, X[:, 0]]), "regression", KFold(2), n_neighbors=1)
    assert f"{found.score:.6g}" in read(found)
    assert read(pickle.loads(pickle.dumps(found))) == read(found)


def test_ties_show_their_range(scored):
    report = scored.tie_report()
    texts = read(report)
    assert f"{report.n_tied} of 8" in texts
    assert f"{report.lowest:.6g} to {report.highest:.6g} (no order is outside)" in texts


def test_a_surface_shows_the_best_of_every_size():
    found = surface(X, Y, [1, 2, 3], [3, 4, 6])
    best = found.best()
    texts = read(found)
    rows = zip(found.train_sizes.tolist(), best.n_neighbors.tolist(), best.score.tolist(), strict=True)
    expected = [cell for n, k, score in rows for cell in (str(n), str(k), f"{score:.6g}")]
    assert texts[-len(expected) :] == expected
    assert read(pickle.loads(pickle.dumps(found))) == texts
    nothing = np.full((3, 3), np.nan)
    assert "nan" in read(replace(found, scores=nothing))
    assert read(replace(found, certified=False, error_bound=nothing + np.inf))
    assert read(replace(found, truncation_bound=np.full((3, 3), np.inf)))
    wide = [np.tile(values, 10) for values in (found.scores, found.error_bound, found.truncation_bound)]
    many = replace(found, **dict(zip(("scores", "error_bound", "truncation_bound"), wide, strict=True)))
    assert "12 of 30 sizes" in read(replace(many, train_sizes=np.arange(30)))[0]


def test_approximate_neighbors():
    lists = Neighbors.from_data(X)
    indices = np.array([[j for j in range(8) if j != i] for i in range(8)])
    near = Neighbors.from_lists(indices, np.abs(X[indices, 0] - X), approximate=True)
    assert any("neighbors approximate" in text for text in read(complete_cv(near, Y, "nn", Subsample(4))))
    assert any("neighbors approximate" in text for text in read(surface(near, Y, [1], [4])))
    assert read(complete_cv(lists, Y, "nn", Subsample(4)))


def test_text_is_escaped(scored):
    hostile = replace(scored, measure=HOSTILE, design=HOSTILE, variant=HOSTILE, parameters={"a": HOSTILE})
    assert "<script" not in hostile._repr_html_()
    assert HOSTILE in read(hostile)
    assert HOSTILE in read(replace(scored.tie_report(), measure=HOSTILE))[0]
    found = surface(X, Y, [1], [4])
    assert HOSTILE in read(replace(found, measure=HOSTILE))
    assert read(replace(found, variant=HOSTILE))


@pytest.mark.slow
def test_retrieval_shows_all_scores():
    ids = np.array([0, 0, 1, 1, 2, 2])
    found = expected_retrieval(
        np.abs(np.subtract.outer([0.0, 1.5, 4.0], [0, 1, 2, 3, 4, 5])),
        [0, 1, 2],
        ids,
        Gallery(per_identity=1),
    )
    texts = read(found)
    assert f"{100 * found['ap'].score:.2f} %" in texts
    assert f"{100 * found['cmc'].score[0]:.2f} %" in texts
    assert read(pickle.loads(pickle.dumps(found))) == texts
    assert read(replace(found, mask=HOSTILE, protocol=HOSTILE))
    assert "<script" not in replace(found, mask=HOSTILE, protocol=HOSTILE)._repr_html_()
