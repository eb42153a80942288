"""Means with control variates: no bias, honest errors, and the expectation of confusion tables."""

import numpy as np
import pytest
from plain_runs import neighbor_order, random_runs, tables_of_runs

from knnccv import StratifiedKFold, complete_cv
from knnccv.scorings import confusion_controls, controlled_mean, table_scorer


def made_of(rng, n_runs, n_controls, strength, collinear):
    """Scores of mean 1, and controls of mean 2 on which they depend, in part not linearly."""
    base = rng.exponential(size=(n_runs, n_controls))
    if collinear:
        base = (
            base
            @ np.random.default_rng(9).normal(size=(n_controls, n_controls))
            * np.logspace(0, -9, n_controls)
            + base[:, :1]
        )
        mean = (
            np.random.default_rng(9).normal(size=(n_controls, n_controls)).sum(axis=0)
            * np.logspace(0, -9, n_controls)
            + 1
        )
    else:
        mean = np.ones(n_controls)
    noise = rng.exponential(size=n_runs) - 1
    scores = 1 + strength * (base[:, :5] - mean[:5]).sum(axis=1) + noise
    return scores, base, mean


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_runs", "n_controls", "strength", "collinear"),
    [
        (200, 9, 1.0, False),
        (200, 144, 1.0, True),
        (200, 144, 0.1, False),
        (1000, 144, 1.0, False),
        (40, 30, 0.0, False),
    ],
)
def test_errors_are_honest(n_runs, n_controls, strength, collinear):
    found = np.array(
        [
            controlled_mean(*made_of(np.random.default_rng(seed), n_runs, n_controls, strength, collinear))
            for seed in range(200)
        ]
    )
    observed = found[:, 0].std(ddof=1)
    assert abs(found[:, 0].mean() - 1) < 4 * observed / np.sqrt(200)
    assert 0.8 < np.sqrt((found[:, 1] ** 2).mean()) / observed < 1.25


def test_good_controls_are_used_and_useless_ones_are_not():
    scores, controls, mean = made_of(np.random.default_rng(0), 2000, 9, 5.0, False)
    assert controlled_mean(scores, controls, mean).variance_ratio > 80
    scores, controls, mean = made_of(np.random.default_rng(0), 60, 50, 0.0, False)
    assert controlled_mean(scores, controls, mean).variance_ratio > 0.8


def test_constants():
    rng = np.random.default_rng(0)
    controls = np.column_stack([rng.random(50), np.full(50, 0.1), np.zeros(50)])
    assert controlled_mean(np.full(50, 0.1), controls, [0.5, 0.1, 0.0]) == (0.1, 0.0, 1.0)
    linear = controlled_mean(controls[:, 0] * 0.3, controls, [0.5, 0.1, 0.0])
    assert linear.mean == pytest.approx(0.15, abs=1e-12)
    assert 0 < linear.std_error < 1e-12
    plain = controlled_mean(scores := rng.random(50), controls[:, 1:], [0.1, 0.0])
    assert plain.mean == scores.mean()
    assert plain.variance_ratio == 1
    assert np.isnan(controlled_mean([0.1, np.nan, 0.3], np.zeros((3, 0)), [])).all()


def test_rounding_is_no_control():
    """A constant with rounding errors, of an expectation of nine digits, does not move the mean."""
    scores = np.random.default_rng(5).random(1000)
    jitter = 0.3 + 1e-16 * (scores > 0.5)
    assert jitter.std() > 0
    once = np.where(np.arange(1000) == 7, 0.4, jitter)  # varies in one half of the runs
    for control in (jitter, once):
        found = controlled_mean(scores, control[:, None], [0.3 + 1e-10])
        assert found.mean == pytest.approx(scores.mean(), abs=0.1 * found.std_error)
    for seed in range(20):  # of what none of these runs has seen, though it happens
        known = np.random.default_rng(seed).random((150, 3))
        scores = known.sum(axis=1) + 0.01 * np.random.default_rng(seed).random(150)
        known[:, 1] = 0.0
        found = controlled_mean(scores, known, [0.5, 8.856094473e-06, 0.5])
        assert found.mean == pytest.approx(1.505, abs=6 * found.std_error)


def test_the_error_holds_what_no_run_shows():
    """Controls that explain all runs do not tell the effect of an event that happens in none of them."""
    unseen = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        often, rare = rng.binomial(40, 0.3, 300) / 40, (rng.random(300) < 1 / 400) / 40
        controls = np.column_stack([often, rare, np.zeros(300)])
        found = controlled_mean(often + 3 * rare, controls, [0.3, 1 / 16_000, 0.0])
        assert abs(found.mean - 0.3 - 3 / 16_000) < 4 * found.std_error < 0.005
        unseen += not rare.any()
    assert 60 < unseen < 140
    known = controlled_mean(often, controls[:, [0, 2]], [0.3, 1e-20])  # a constant, but for rounding
    assert known.std_error < 1e-12


def test_groups_of_runs_are_kept_together():
    """Every run repeated four times is no more than one run."""
    scores, controls, mean = made_of(np.random.default_rng(1), 400, 5, 1.0, False)
    once = controlled_mean(scores, controls, mean)
    again = np.repeat(np.arange(400), 4)
    four = controlled_mean(scores[again], controls[again], mean, groups=again)
    np.testing.assert_allclose(four, once, rtol=1e-6)
    assert controlled_mean(scores[again], controls[again], mean).std_error < 0.7 * once.std_error


@pytest.mark.parametrize("seed", [0, 1])
def test_controls_of_confusion_tables_have_the_expected_mean(seed):
    rng = np.random.default_rng(seed)
    codes = np.repeat([0, 1, 2], [30, 20, 11])
    X = rng.normal(size=(61, 2)) + codes[:, None]
    runs = random_runs(codes, 400, 4, seed)
    tables = tables_of_runs(neighbor_order(X), codes, 3, runs)[0]
    result = complete_cv(X, codes, cv=StratifiedKFold(4), variant="knn", n_neighbors=3, average="pooled")
    n_tested = [len(tested) for _, tested in runs[0]]
    assert len(set(n_tested)) > 1
    shares = result.confusion(normalize="all")
    controls, expected = confusion_controls(tables, n_tested, shares)
    errors = controls.std(axis=0, ddof=1) / 20
    assert (np.abs(controls.mean(axis=0) - expected) < 4 * errors + 1e-8).all()
    np.testing.assert_allclose(confusion_controls(tables, tables.sum(axis=(2, 3)), shares)[0], controls)
    scores = table_scorer("f1_macro", [0, 1, 2])(tables).mean(axis=1)
    assert controlled_mean(scores, controls, expected).variance_ratio > 4


def test_many_classes_have_their_diagonal():
    tables = np.random.default_rng(0).integers(0, 3, (5, 2, 13, 13))
    sizes = tables.sum(axis=(2, 3))
    controls, expected = confusion_controls(tables, sizes, np.diag(np.arange(13.0)))
    assert controls.shape == (5, 13)
    np.testing.assert_allclose(controls[3, 7], sum(tables[3, f, 7, 7] / sizes[3, f] for f in range(2)) / 2)
    assert expected.tolist() == list(range(13))
