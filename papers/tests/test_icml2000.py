"""Tables 2 and 3 of Mullin & Sukthankar (ICML 2000): the protocol, the verdicts and the text."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from knnccv import KFold, StratifiedKFold, StratifiedSubsample
from knnccv_papers import _icml2000

CCV, CV, SUBSAMPLING, HOLDOUT = _icml2000.CCV, _icml2000.CV, _icml2000.SUBSAMPLING, _icml2000.HOLDOUT
STRATIFIED, Printed, Row = _icml2000.STRATIFIED, _icml2000.Printed, _icml2000.Row
BLOCKS = _icml2000.blocks_of("table2")
(LOSS_BLOCK,) = _icml2000.blocks_of("table3")


def numbers(report, what):
    """Lines of the parts whose name ends so, by part and quantity."""
    return {(line.part, line.quantity): line for line in report.lines if line.part.endswith(what)}


def test_a_printed_run_takes_as_long_as_its_trials():
    """Were a time mistyped, it would not fit the other; both are rounded, and measured apart."""
    for block, (method, printed) in (
        (one, row) for one in [*BLOCKS, LOSS_BLOCK] for row in one.printed.items()
    ):
        once = method == HOLDOUT or method.startswith(CCV)
        trials = 1 if once else block.n_trials
        slack = 0.005 * trials + (0.1 if once else 0.051)
        assert abs(printed.per_run - trials * printed.per_trial) <= slack, method


def test_designs_are_four_fifths():
    labels = np.repeat([7, 8, 9], [31, 22, 27])
    for method in (CCV, SUBSAMPLING, _icml2000.IN_ORDER):
        assert str(_icml2000.design_of(method, labels)) == "Subsample(train_size=64)"
    nearest = StratifiedSubsample(per_class={7: 25, 8: 18, 9: 22})  # of 24.8, 17.6 and 21.6
    for method in (CCV + STRATIFIED, SUBSAMPLING + STRATIFIED):
        assert str(_icml2000.design_of(method, labels)) == str(nearest)
    assert str(_icml2000.design_of(CV, labels)) == str(KFold(5))
    assert str(_icml2000.design_of(CV + STRATIFIED, labels)) == str(StratifiedKFold(5))


@pytest.mark.slow
def test_the_calibrated_spread_has_the_bayes_error():
    """Where the error is known in closed form; the spread is half the gap between neighboring means."""
    right = (1 + math.erf(_icml2000.calibrated("square") / math.sqrt(2))) / 2
    assert 1 - right**2 == pytest.approx(0.504, abs=4 * math.sqrt(0.25 / 60_000))


@pytest.mark.parametrize("geometry", _icml2000.GAUSSIANS)
def test_the_bayes_error_is_that_of_the_nearest_mean(geometry):
    means = np.array(_icml2000.GAUSSIANS[geometry])
    gaps = np.linalg.norm(means[:, None] - means[None], axis=2)
    assert (gaps[~np.eye(4, dtype=bool)] >= 2).all()
    if geometry == "regular tetrahedron":
        assert np.ptp(gaps[~np.eye(4, dtype=bool)]) == 0
    X, y = _icml2000.gaussians(geometry, 0.5, 400, np.random.default_rng([3]))
    wrong = 0
    for point, own_class in zip(X, y, strict=True):
        wrong += min(range(4), key=lambda c: math.dist(point, 0.5 * means[c])) != own_class
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_icml2000, "BAYES_SAMPLES", 400)
        assert _icml2000.bayes_error(geometry, 0.5, [3]) == wrong / 400
    assert _icml2000.bayes_error(geometry, 0.0, [3]) == pytest.approx(0.75, abs=0.01)


def test_the_variance_of_a_trial_is_without_bias():
    """Over all outcomes of two samples and two trials, where S moves the score by 3 and the trial by 1."""
    outcomes = []
    for samples in itertools.product((-3, 3), repeat=2):
        for noise in itertools.product((-1, 1), repeat=4):
            scores = np.array(samples, float)[:, None] + np.array(noise, float).reshape(2, 2)
            outcomes.append(Row(scores, 0.0, 0.0))
    assert np.mean([row.variance for row in outcomes]) == pytest.approx(3**2 + 1**2)
    assert np.mean([row.within for row in outcomes]) == pytest.approx(1)
    assert np.mean([row.standard_error**2 for row in outcomes]) == pytest.approx((3**2 + 1 / 2) / 2)
    row = Row(np.array([[1.0], [2.0], [6.0]]), 0.0, 0.0)
    assert row.within == 0
    assert row.variance == pytest.approx(7)
    assert row.standard_error == pytest.approx(math.sqrt(7 / 3))


def test_bounds():
    """Of a variance: the 99.5 % points of F(60, 60) and F(120, 120) in tables; and of a mean."""
    for n_draws, quantile in ((61, 1.9622), (121, 1.6055)):
        row = Row(np.zeros((n_draws, 1)), 0.0, 0.0)
        bounds = _icml2000.variance_bounds(Printed(0, 100, 0, 0), n_draws, row)
        assert bounds == pytest.approx((100 / quantile, 100 * quantile), rel=2e-4)
    row = Row(np.array([[0.3], [0.5]]), 0.0, 0.0)  # standard error 0.1
    low, high = _icml2000.mean_bounds(Printed(400, 40, 0, 0), 100, row)  # standard error 0.02
    off = 3 * math.hypot(100, 20) + 0.05
    assert (low, high) == pytest.approx((400 - off, 400 + off))


@pytest.mark.slow
@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("draw", [0, 1])
def test_the_losses_of_a_sample_by_hand(draw):
    """Holdout and CCV: Fractions, distances of whole numbers, tied samples with equal weight."""
    rows = _icml2000.run_block(LOSS_BLOCK, 4, 2, 3)
    sample = _icml2000.draw_sets(LOSS_BLOCK, 4, 2)[draw]
    assert sample.X.shape == (140, 8)
    assert sample.pool_X.shape == (699, 8)
    pool = [tuple(map(int, row)) for row in np.column_stack([sample.pool_X, sample.pool_y])]
    rest = list(pool)
    for row in np.column_stack([sample.X, sample.y]):
        rest.remove(tuple(map(int, row)))
    assert len(rest) == 559
    train = np.column_stack([sample.X, sample.y]).astype(int)
    held = [expected(tested, train, [Fraction(1)]) for tested in np.array(rest)]
    assert rows[HOLDOUT].scores[draw, 0] == pytest.approx(float(sum(held) / 559), rel=1e-12)
    law = [Fraction(math.comb(139 - i, 111), math.comb(139, 112)) for i in range(1, 29)]
    assert sum(law) == 1
    parts = [expected(train[i], np.delete(train, i, axis=0), law) for i in range(140)]
    assert rows[CCV].scores[draw, 0] == pytest.approx(float(sum(parts) / 140), rel=1e-10)


def expected(tested, train, law):
    """Expected cost, where law[i] is how likely the i-th nearest decides, over all orders of ties."""
    squares = ((train[:, :-1] - tested[:-1]) ** 2).sum(axis=1)
    order = np.argsort(squares, kind="stable")
    total = Fraction(0)
    position = 0
    for _, group in itertools.groupby(order, key=lambda i: squares[i]):
        costs = [cost(tested[-1], train[i][-1]) for i in group]
        total += sum(law[position : position + len(costs)]) * Fraction(sum(costs), len(costs))
        position += len(costs)
    return total


def cost(true, said):
    return 0 if true == said else 5 if true == 4 else 1


def test_a_claim_can_fail():
    """CV that is off, varies less than CCV, and takes no time."""
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.1, (50, 50))
    rows = {
        CCV: Row(rng.normal(0.5, 0.2, (50, 1)), 1.0, 1.0),
        CV: Row(0.6 + noise / 10, 1e-3, 0.05),
        SUBSAMPLING: Row(0.5 + noise, 1e-3, 0.05),
    }
    assert [line.holds for line in _icml2000.claims(BLOCKS[3], rows)] == [False, False, False]


def test_the_printed_means_are_no_means_of_all_trials():
    off, place = _icml2000.largest_gap(BLOCKS)
    within = (12.25 - 3.68 + 0.01) / 1000
    assert off == pytest.approx((369.8 - 361.7 - 0.1) / (1000 * math.sqrt(within / 100**2)))
    assert place == "1-NN on synthetic data, Subsampling"


@pytest.mark.slow
def test_the_quick_tables_agree(quick):
    """Numbers and claims; times are shown, but depend on the machine."""
    table2, table3 = (quick(name)[0] for name in ("icml-table2", "icml-table3"))
    assert len(numbers(table2, "accuracy × 10³")) == 3 * 7 + 4
    for line in [*table2.lines, *table3.lines]:
        if "costs less" in line.quantity:
            assert line.holds is not None
        else:
            assert line.verdict in ("agrees", "holds", "-"), line
        if line.part.endswith(("ms per trial", "ms per run")):
            assert line.computed > 0
            assert line.verdict == "-"
    assert len([line for line in table2.lines if line.allowed]) == 2 * (3 * 7 + 4)
