"""Tables 2 and 3 of Mullin & Sukthankar (ICML 2000): the protocol, the verdicts and the text."""

from __future__ import annotations

import csv
import io
import itertools
import math
from dataclasses import replace
from fractions import Fraction

import mirror as local
import numpy as np
import pytest

from knnccv.__main__ import main
from knnccv._labels import encode_labels
from knnccv.reproduce import _icml2000
from knnccv.reproduce._icml2000 import (
    CCV,
    CV,
    GAUSSIANS,
    HOLDOUT,
    IN_ORDER,
    N_TEST,
    QUICK,
    STRATIFIED,
    SUBSAMPLING,
    Printed,
    Row,
    bayes_error,
    blocks_of,
    calibrated,
    claims,
    compare,
    design_of,
    draw_sets,
    gaussians,
    largest_gap,
    mean_bounds,
    run_block,
    variance_bounds,
)

BLOCKS = blocks_of("table2")
(LOSS_BLOCK,) = blocks_of("table3")


@pytest.fixture
def reports(quick):
    """Both quick tables."""
    return {name: quick(name) for name in ("icml-table2", "icml-table3")}


def numbers(report, what):
    """Lines of the parts whose name ends so, by part and quantity."""
    return {(line.part, line.quantity): line for line in report.lines if line.part.endswith(what)}


@pytest.mark.parametrize("block", [*BLOCKS, LOSS_BLOCK], ids=lambda block: block.title)
def test_a_printed_run_takes_as_long_as_its_trials(block):
    """Were a time mistyped, it would not fit the other; both are rounded, and measured apart."""
    for method, printed in block.printed.items():
        once = method == HOLDOUT or method.startswith(CCV)
        trials = 1 if once else block.n_trials
        slack = 0.005 * trials + (0.1 if once else 0.051)
        assert abs(printed.per_run - trials * printed.per_trial) <= slack, method


def test_designs_are_four_fifths():
    labels = np.repeat([7, 8, 9], [31, 22, 27])
    coded = encode_labels(labels)
    for method in (CCV, SUBSAMPLING, IN_ORDER):
        (kind,) = design_of(method, labels).training_sets(coded)
        assert kind.n_train == (64,)
    for method in (CCV + STRATIFIED, SUBSAMPLING + STRATIFIED):
        (kind,) = design_of(method, labels).training_sets(coded)
        assert kind.n_train == (25, 18, 22)  # of 24.8, 17.6 and 21.6
    assert {kind.n_train for kind in design_of(CV, labels).training_sets(coded)} == {(64,)}
    for kind in design_of(CV + STRATIFIED, labels).training_sets(coded):
        assert kind.stratified
        assert sum(kind.n_train) == 64


@pytest.mark.parametrize(
    ("geometry", "right"),
    [
        ("square", lambda half: cdf(half) ** 2),
        ("line, equally spaced", lambda half: (6 * cdf(half) - 2) / 4),
    ],
)
def test_the_calibrated_spread_has_the_bayes_error(geometry, right):
    """Where the error is known in closed form; half is half the gap between neighboring means."""
    assert 1 - right(calibrated(geometry)) == pytest.approx(0.504, abs=4 * math.sqrt(0.25 / 60_000))


def cdf(x):
    return (1 + math.erf(x / math.sqrt(2))) / 2


@pytest.mark.parametrize("geometry", GAUSSIANS)
def test_the_bayes_error_is_that_of_the_nearest_mean(geometry):
    means = np.array(GAUSSIANS[geometry])
    gaps = np.linalg.norm(means[:, None] - means[None], axis=2)
    assert (gaps[~np.eye(4, dtype=bool)] >= 2).all()
    if geometry == "regular tetrahedron":
        assert np.ptp(gaps[~np.eye(4, dtype=bool)]) == 0
    X, y = gaussians(geometry, 0.5, 400, np.random.default_rng([3]))
    wrong = 0
    for point, own_class in zip(X, y, strict=True):
        wrong += min(range(4), key=lambda c: math.dist(point, 0.5 * means[c])) != own_class
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_icml2000, "BAYES_SAMPLES", 400)
        assert bayes_error(geometry, 0.5, [3]) == wrong / 400
    assert bayes_error(geometry, 0.0, [3]) == pytest.approx(0.75, abs=0.01)


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


def test_one_trial_has_no_variance_within():
    row = Row(np.array([[1.0], [2.0], [6.0]]), 0.0, 0.0)
    assert row.within == 0
    assert row.variance == pytest.approx(7)
    assert row.standard_error == pytest.approx(math.sqrt(7 / 3))


@pytest.mark.parametrize(("n_draws", "quantile"), [(61, 1.9622), (121, 1.6055)])
def test_bounds_of_a_variance_are_those_of_tables_of_f(n_draws, quantile):
    """The 99.5 % points of F(60, 60) and F(120, 120)."""
    row = Row(np.zeros((n_draws, 1)), 0.0, 0.0)
    low, high = variance_bounds(Printed(0, 100, 0, 0), n_draws, row)
    assert high == pytest.approx(100 * quantile, rel=2e-4)
    assert low == pytest.approx(100 / quantile, rel=2e-4)


def test_bounds_of_a_mean():
    row = Row(np.array([[0.3], [0.5]]), 0.0, 0.0)  # standard error 0.1
    low, high = mean_bounds(Printed(400, 40, 0, 0), 100, row)  # standard error 0.02
    off = 3 * math.hypot(100, 20) + 0.05
    assert (low, high) == pytest.approx((400 - off, 400 + off))


@pytest.mark.usefixtures("mirrored")
@pytest.mark.parametrize("draw", [0, 1])
def test_the_losses_of_a_sample_by_hand(draw):
    """Holdout and CCV: Fractions, distances of whole numbers, tied samples with equal weight."""
    rows = run_block(LOSS_BLOCK, 4, 2, 3)
    sample = draw_sets(LOSS_BLOCK, 4, 2)[draw]
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


def test_synthetic_samples_have_new_points_to_test_on():
    samples = draw_sets(BLOCKS[0], 0, 3)
    assert [len(sample.X) for sample in samples] == [80] * 3
    for one, other in itertools.combinations(samples, 2):
        assert not np.isin(one.pool_X, other.pool_X).any()
    sample = samples[0]
    assert len(sample.pool_X) == 80 + N_TEST
    known = (sample.pool_X[:, None] == sample.X[None]).all(axis=2).any(axis=1)
    assert known.sum() == 80
    right = 0
    for point, own_class in zip(sample.pool_X[~known], sample.pool_y[~known], strict=True):
        right += sample.y[np.linalg.norm(sample.X - point, axis=1).argmin()] == own_class
    assert sample.holdout == pytest.approx(right / N_TEST)


@pytest.mark.slow
@pytest.mark.usefixtures("mirrored", "cache")
def test_answers_are_the_same_again_and_no_printed_number(reports):
    """Changing a printed number does not change a computed one."""
    other = {
        method: Printed(300 + printed.mean, 2 * printed.variance, 3.0, 4.0)
        for method, printed in LOSS_BLOCK.printed.items()
    }
    again = compare("table3", [replace(LOSS_BLOCK, printed=other)], 4, quick=True, progress=False)
    before = reports["icml-table3"][0]
    for what in ("loss × 10³", "variance × 10³"):
        first, second = numbers(before, what), numbers(again, what)
        assert len(first) == 5
        assert {key: line.computed for key, line in first.items()} == {
            key: line.computed for key, line in second.items()
        }
    assert {line.verdict for line in numbers(again, "loss × 10³").values()} == {"differs", "-"}


def test_the_quick_tables_agree(reports):
    """Numbers and claims; times are shown, but depend on the machine."""
    table2, table3 = (reports[name][0] for name in ("icml-table2", "icml-table3"))
    assert len(numbers(table2, "accuracy × 10³")) == 3 * 7 + 4
    assert len(numbers(table3, "loss × 10³")) == 5
    for report in (table2, table3):
        assert not report.failures
        for line in report.lines:
            if "costs less" in line.quantity:
                assert line.holds is not None
            else:
                assert line.verdict in ("agrees", "holds", "-"), line
        for part in ("ms per trial", "ms per run"):
            assert all(line.computed > 0 and line.verdict == "-" for line in numbers(report, part).values())
    judged = [line for line in table2.lines if line.allowed]
    assert len(judged) == 2 * (3 * 7 + 4)


def test_more_samples_narrow_the_bounds(reports):
    """The quick verdict is wider than that of as many samples as in the paper."""
    block = BLOCKS[1]
    (line,) = [
        line
        for line in reports["icml-table2"][0].lines
        if (line.part, line.quantity) == (f"{block.title}: variance × 10³", CCV)
    ]
    row = Row(np.zeros((block.n_draws, 1)), 0.0, 0.0)
    low, high = variance_bounds(block.printed[CCV], block.n_draws, row)
    assert QUICK[0] < block.n_draws
    assert line.allowed[0] < low < block.printed[CCV].variance < high < line.allowed[1]


def test_a_claim_can_fail():
    """CV that is off, varies less than CCV, and takes no time."""
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.1, (50, 50))
    rows = {
        CCV: Row(rng.normal(0.5, 0.2, (50, 1)), 1.0, 1.0),
        CV: Row(0.6 + noise / 10, 1e-3, 0.05),
        SUBSAMPLING: Row(0.5 + noise, 1e-3, 0.05),
    }
    assert [line.holds for line in claims(BLOCKS[3], rows)] == [False, False, False]


def test_the_printed_means_are_no_means_of_all_trials():
    off, place = largest_gap(BLOCKS)
    within = (12.25 - 3.68 + 0.01) / 1000
    assert off == pytest.approx((369.8 - 361.7 - 0.1) / (1000 * math.sqrt(within / 100**2)))
    assert place == "1-NN on synthetic data, Subsampling"


def test_text_fits_and_files_hold_the_same(reports):
    for name, (report, folder) in reports.items():
        text = report.to_text()
        assert max(map(len, text.splitlines())) <= 100
        assert "ties='random'" in text
        assert "Pentium II" in text
        written = (folder / f"{name}.md").read_text(encoding="utf-8")
        assert written.startswith(report.to_markdown())
        lines = list(csv.DictReader(io.StringIO((folder / f"{name}.csv").read_text(encoding="utf-8"))))
        assert len(lines) == len(report.lines)
        assert (folder / f"{name}-means-and-variances.png").read_bytes().startswith(b"\x89PNG")


def test_the_picture_shows_both_sides_of_every_block(reports):
    (picture,) = reports["icml-table2"][0].pictures
    axes = picture.draw().axes
    assert len(axes) == 8
    for means, variances in zip(axes[::2], axes[1::2], strict=True):
        assert {side.get_label() for side in means.containers} == {"printed", "computed"}
        assert variances.get_xscale() == "log"
        assert means.get_title(loc="left")
    shown = axes[0].containers[0].lines[0].get_xdata()
    assert shown.tolist() == [row.mean for row in BLOCKS[0].printed.values()]


@pytest.mark.slow
@pytest.mark.usefixtures("cache")
def test_missing_data_leave_the_synthetic_block(data_folder, only_this_machine, capsys):
    healthy = local.folder(data_folder)

    def no_abalone(handler):
        return handler.send_error(404) if "abalone" in handler.path else healthy(handler)

    with local.serve(no_abalone) as server:
        only_this_machine.setenv("KNNCCV_DATA_URL", server.url)
        status = main(["reproduce", "icml-table2", "--quick"])
    out, err = capsys.readouterr()
    assert status == 1
    complaints = [line for line in err.splitlines() if "error" in line]
    assert len(complaints) == 1
    assert "no data for 1-NN on Abalone-3; 5-NN on Abalone-2; One of the 10" in complaints[0]
    assert "404" in complaints[0]
    assert "square: Bayes error" in out
    assert out.count("not computed") == (2 * 7 + 4) * 4
    assert "1-NN on Abalone-3: claims" not in out
