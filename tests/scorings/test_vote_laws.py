"""Laws of votes against the enumeration of all training sets, and the controls that follow from them."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from plain_runs import neighbor_order, random_runs, tables_of_runs

from knnccv import KFold, Neighbors, StratifiedKFold, StratifiedSubsample, Subsample
from knnccv._labels import encode_labels
from knnccv.scorings import (
    controlled_mean,
    mixed_ties,
    table_scorer,
    vote_controls,
    vote_laws,
)

CODES = np.array([0, 1, 1, 0, 0, 1, 0])
POINTS = np.random.default_rng(1).normal(size=(7, 2))


def lists_of(X, depth=None):
    neighbors = Neighbors.from_data(X)
    return neighbors.search(np.arange(len(X)), depth or neighbors.max_depth)


def training_sets(codes, n_train):
    """All training sets with n_train samples, or with so many of each class."""
    if len(n_train) == 1:
        return list(combinations(range(len(codes)), n_train[0]))
    classes = [np.flatnonzero(codes == c).tolist() for c in (0, 1)]
    parts = [combinations(members, n) for members, n in zip(classes, n_train, strict=True)]
    return [a + b for a, b in product(*parts)]


DESIGNS = [Subsample(4), Subsample(2), StratifiedSubsample(0.6), StratifiedSubsample(per_class=1)]


@pytest.mark.parametrize("design", DESIGNS, ids=repr)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_laws_are_those_of_all_training_sets(design, k):
    (kind,) = design.training_sets(encode_labels(CODES))
    if k > kind.least_train:
        pytest.skip("more neighbors than training samples")
    laws = vote_laws(lists_of(POINTS), CODES, kind, k)
    order, sets = neighbor_order(POINTS), training_sets(CODES, kind.n_train)
    for i in range(len(CODES)):
        law, number = [Fraction(0)] * (k + 1), 0
        for train in sets:
            if i not in train:
                number += 1
                law[sum(CODES[[j for j in order[i] if j in train][:k]])] += 1
        np.testing.assert_allclose(laws.laws[i], [float(p / number) for p in law], rtol=1e-13, atol=1e-15)
    np.testing.assert_array_equal(laws.tails, 0)
    members = [np.flatnonzero(c == CODES) for c in (0, 1)]
    tested = [sum(len(np.setdiff1d(each, train)) for train in sets) for each in members]
    np.testing.assert_allclose(laws.n_tested, np.array(tested) / len(sets))


def test_short_lists_say_what_they_leave_open():
    (kind,) = Subsample(4).training_sets(encode_labels(CODES))
    whole, short = (vote_laws(lists_of(POINTS, depth), CODES, kind, 2) for depth in (6, 3))
    assert (short.tails > 0).all()
    np.testing.assert_allclose(short.tails, 1 - short.laws.sum(axis=1))
    assert (short.laws <= whole.laws + 1e-15).all()


def check_means(tables, laws, kinds):
    """Over all runs the controls have their expectation."""
    controls, expected = vote_controls(tables, laws, kinds)
    assert controls.std(axis=0).max() > 0.01
    np.testing.assert_allclose(controls.mean(axis=0), expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("design", DESIGNS[::2], ids=repr)
def test_the_controls_are_exact(design):
    """Over all splits the controls average to their expectation."""
    (kind,) = design.training_sets(encode_labels(CODES))
    k, order, kinds = 2, neighbor_order(POINTS), np.zeros(1, np.int64)
    sets = training_sets(CODES, kind.n_train)
    splits = [[(list(train), np.setdiff1d(np.arange(7), train))] for train in sets]
    tables = tables_of_runs(order, CODES, k, splits)[1]
    laws = [vote_laws(lists_of(POINTS), CODES, kind, k)]
    check_means(tables, laws, kinds)


def test_controls_of_folds_of_several_kinds_are_exact():
    """All runs of five samples in folds of three and two."""
    codes = np.array([0, 0, 1, 1, 1])
    X = np.random.default_rng(3).normal(size=(5, 2))
    labels = encode_labels(codes)
    design = KFold(2)
    kinds = design.training_sets(labels)
    runs = []
    for tested in combinations(range(5), 3):
        rest = np.setdiff1d(np.arange(5), tested)
        runs.append([(rest, np.array(tested)), (np.array(tested), rest)])
    tables = tables_of_runs(neighbor_order(X), codes, 2, runs)[1]
    laws = [vote_laws(lists_of(X), codes, kind, 2) for kind in kinds]
    kind_of = design.allotment(labels).kinds
    assert sorted(kind_of) == [0, 1]
    check_means(tables, laws, kind_of)


def test_the_area_has_a_smaller_error_with_its_control():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], 100)
    X = rng.normal(size=(200, 4)) + codes[:, None] * 0.5
    labels, k = encode_labels(codes), 5
    design = StratifiedKFold(5)
    runs = random_runs(codes, 300, 5, 0)
    scores = table_scorer("roc_auc", [0, 1])(tables := tables_of_runs(neighbor_order(X), codes, k, runs)[1])
    laws = [vote_laws(lists_of(X), codes, kind, k) for kind in design.training_sets(labels)]
    kinds = design.allotment(labels).kinds
    found = vote_controls(tables, laws, kinds)
    assert controlled_mean(scores.mean(axis=1), *found).variance_ratio > 5
    one = vote_controls(tables[:, :1], laws, kinds[:1])  # single splits
    assert controlled_mean(scores[:, 0], *one).variance_ratio > 15


def test_ties_of_different_classes_are_told():
    lists = lists_of(np.array([[0.0], [1.0], [-1.0], [5.0]]))
    assert mixed_ties(lists, np.array([0, 0, 1, 1])).tolist() == [True, False, False, False]
    assert not mixed_ties(lists, np.array([0, 1, 1, 1])).any()
    assert mixed_ties(lists_of(np.array([[0.0], [1.0], [-1.0], [5.0]]), 1), np.array([0, 1, 1, 1]))[0]


def test_threads_change_nothing():
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 2, 700)
    (kind,) = Subsample(500).training_sets(encode_labels(codes))
    lists = lists_of(rng.normal(size=(700, 3)), 40)
    one, two = (vote_laws(lists, codes, kind, 7, n_jobs) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.laws, two.laws)
    np.testing.assert_allclose(one.laws.sum(axis=1) + one.tails, 1, rtol=1e-12)


def test_other_training_sets_are_refused():
    (kind,) = Subsample(4).training_sets(encode_labels(CODES))
    with pytest.raises(ValueError, match="between 1 and 4, the size of the training sets, got 5"):
        vote_laws(lists_of(POINTS), CODES, kind, 5)
    three = encode_labels([0, 0, 1, 1, 2, 2])
    (kind,) = StratifiedSubsample(0.5).training_sets(three)
    with pytest.raises(ValueError, match="two classes"):
        vote_laws(lists_of(POINTS[:6]), three.codes, kind, 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["roc_auc", "average_precision", "f1"])
def test_errors_with_controls_of_votes_are_honest(name):
    """200 estimates from 60 runs each, against the mean of all runs."""
    rng = np.random.default_rng(2)
    codes = rng.permutation(np.repeat([0, 1], [50, 25]))
    X = rng.normal(size=(75, 3)) + codes[:, None] * 0.7
    labels, k, number = encode_labels(codes), 3, 60
    design = StratifiedKFold(3)
    scorer = table_scorer(name, [0, 1])
    confusion, votes = tables_of_runs(neighbor_order(X), codes, k, random_runs(codes, 200 * number, 3, 7))
    scores = scorer(confusion if scorer.needs == "confusion" else votes).mean(axis=1)
    laws = [vote_laws(lists_of(X), codes, kind, k) for kind in design.training_sets(labels)]
    kinds = design.allotment(labels).kinds
    controls, expected = vote_controls(votes, laws, kinds)
    found = np.array(
        [
            controlled_mean(scores[rows], controls[rows], expected)
            for rows in np.arange(200 * number).reshape(200, number)
        ]
    )
    observed = found[:, 0].std(ddof=1)
    assert abs(found[:, 0].mean() - scores.mean()) < 4 * scores.std() / np.sqrt(len(scores))
    assert 0.8 < np.sqrt((found[:, 1] ** 2).mean()) / observed < 1.25
    assert observed < scores.std() / np.sqrt(number)
