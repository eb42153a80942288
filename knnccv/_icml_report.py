"""Tables 2 and 3 of Mullin & Sukthankar (ICML 2000) beside knnccv's: verdicts, claims and pictures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ._comparison import Comparison, Line, Picture, new_figure
from ._icml_protocol import (
    BAYES_ERROR,
    BAYES_SAMPLES,
    CALLS,
    CCV,
    CV,
    GAUSSIANS,
    GEOMETRY,
    HOLDOUT,
    IN_ORDER,
    SEED,
    STRATIFIED,
    SUBSAMPLING,
    Block,
    Found,
    Printed,
    Row,
    bayes_error,
    calibrated,
    run_block,
)

SOURCE = (
    "M. Mullin & R. Sukthankar, Complete Cross-Validation for Nearest Neighbor Classifiers, ICML 2000, "
    "section 4"
)
QUICK = (8, 10)
"""Samples, and trials on each, of the quick answer."""

SIGMAS = 3
"""Standard errors, the paper's and ours combined, by which means may differ."""

CONFIDENCE = 0.99
"""Of the interval for the ratio of two variances."""

CLAIM_SIGMAS = 4
"""Standard errors within which differences on the same samples must be for equal bias."""


def _printed(*rows: tuple[float, float, float, float], stratified: bool = True) -> dict[str, Printed]:
    names = [HOLDOUT]
    for method in (CCV, CV, SUBSAMPLING):
        names += [method, method + STRATIFIED] if stratified else [method]
    return {name: Printed(*row) for name, row in zip(names, rows, strict=True)}


BLOCKS = (
    Block(
        "1-NN on synthetic data",
        GEOMETRY,
        80,
        100,
        100,
        _printed(
            (371.2, 0.89, 0.84, 0.8),
            (369.8, 3.68, 0.14, 0.1),
            (378.5, 3.77, 0.24, 0.2),
            (370.0, 4.46, 0.06, 6.4),
            (379.3, 4.53, 0.08, 7.5),
            (361.7, 12.25, 0.01, 1.2),
            (372.5, 12.23, 0.02, 1.6),
        ),
    ),
    Block(
        "1-NN on Abalone-3",
        "Abalone-3",
        600,
        50,
        50,
        _printed(
            (566.7, 0.12, 17.54, 17.5),
            (560.1, 0.59, 3.47, 3.5),
            (561.1, 0.59, 6.91, 6.9),
            (561.2, 0.62, 0.75, 37.5),
            (562.5, 0.59, 0.86, 43.0),
            (561.8, 2.08, 0.52, 26.3),
            (562.2, 2.05, 0.55, 27.6),
        ),
    ),
    Block(
        "5-NN on Abalone-2",
        "Abalone-2",
        600,
        50,
        50,
        _printed(
            (754.1, 0.09, 25.78, 25.8),
            (748.5, 0.35, 41.42, 41.4),
            (749.3, 0.35, 21.33, 21.3),
            (748.6, 0.44, 2.03, 101.7),
            (749.5, 0.43, 2.14, 106.8),
            (747.2, 1.54, 0.80, 40.0),
            (749.1, 1.62, 0.84, 41.7),
        ),
        "knn",
        {"n_neighbors": 5},
    ),
    Block(
        "One of the 10 nearest is right, Abalone-3",
        "Abalone-3",
        600,
        50,
        50,
        _printed(
            (970.7, 0.04, 26.16, 26.2),
            (973.6, 0.02, 20.95, 21.0),
            (973.5, 0.04, 2.02, 101.3),
            (973.5, 0.25, 0.82, 40.7),
            stratified=False,
        ),
        "rank",
        {"rank": 10},
    ),
)
"""Table 2."""

LOSS_BLOCK = Block(
    "1-NN on Breast Cancer, a missed malignancy costs 5",
    "Breast Cancer",
    140,
    50,
    50,
    _printed(
        (225.4, 4.87, 0.47, 0.5),
        (246.1, 6.89, 0.30, 0.3),
        (240.9, 12.66, 0.06, 2.8),
        (230.6, 41.46, 0.03, 1.4),
        stratified=False,
    ),
    "nn",
    {"loss": ((0, 1), (5, 0))},
    (IN_ORDER,),
)
"""Table 3."""


@dataclass(frozen=True)
class Scale:
    """How many samples and trials there are, quickly or as the paper has them."""

    quick: bool

    def of(self, block: Block) -> tuple[int, int]:
        """Samples, and trials on each."""
        return QUICK if self.quick else (block.n_draws, block.n_trials)


def table2(quick: bool, progress: bool = False) -> Comparison:
    """Accuracy of nearest neighbours: four blocks."""
    scale = Scale(quick)
    found = [
        run_block(block, number, *scale.of(block), progress=progress) for number, block in enumerate(BLOCKS)
    ]
    lines = [line for one in found for line in _lines(one, "accuracy")]
    lines += _geometry_lines(BLOCKS[0], *scale.of(BLOCKS[0]))
    return Comparison(
        "Table 2 of Mullin & Sukthankar, ICML 2000: complete cross-validation against trials",
        SOURCE + ", table 2",
        tuple(lines),
        (*_notes(BLOCKS, scale), *_SYNTHETIC_NOTES),
        _pictures(found, "Empirical accuracy"),
        _failures(found),
    )


def table3(quick: bool, progress: bool = False) -> Comparison:
    """Expected loss where costs are unequal."""
    scale = Scale(quick)
    found = run_block(LOSS_BLOCK, len(BLOCKS), *scale.of(LOSS_BLOCK), progress=progress)
    return Comparison(
        "Table 3 of Mullin & Sukthankar, ICML 2000: complete cross-validation with unequal costs",
        SOURCE + ", table 3",
        tuple(_lines(found, "loss")),
        (*_notes((LOSS_BLOCK,), scale), *_LOSS_NOTES),
        _pictures([found], "Expected loss"),
        _failures([found]),
    )


def _failures(found: Sequence[Found]) -> tuple[str, ...]:
    reasons: dict[str, list[str]] = {}
    for one in found:
        if one.failure is not None:
            reasons.setdefault(one.failure, []).append(one.block.title)
    return tuple(f"no data for {'; '.join(titles)}: {reason}" for reason, titles in reasons.items())


def _lines(found: Found, what: str) -> Iterator[Line]:
    block = found.block
    for method in block.methods:
        row, printed = found.rows.get(method), block.printed.get(method)
        yield Line(
            f"{block.title}: {what} × 10³",
            method,
            printed and printed.mean,
            row and 1000 * row.mean,
            mean_bounds(printed, block.n_draws, row) if row and printed else None,
            digits=1,
        )
    for method in block.methods:
        row, printed = found.rows.get(method), block.printed.get(method)
        yield Line(
            f"{block.title}: variance × 10³",
            method,
            printed and printed.variance,
            row and 1000 * row.variance,
            variance_bounds(printed, block.n_draws, row) if row and printed else None,
        )
    for per in ("trial", "run"):
        for method, printed in block.printed.items():
            row = found.rows.get(method)
            seconds = (printed.per_trial, printed.per_run)[per == "run"]
            ours = row and 1000 * (row.per_trial, row.per_run)[per == "run"]
            yield Line(f"{block.title}: ms per {per}", method, 1000 * seconds, ours)
    if found.rows:
        yield from _claims(found)


def mean_bounds(printed: Printed, n_draws: int, row: Row) -> tuple[float, float]:
    """Between what 1000 times our mean agrees; the last printed digit may be rounded."""
    squared = printed.variance / 1000 / n_draws + row.standard_error**2
    off = 1000 * SIGMAS * math.sqrt(squared) + 0.05
    return printed.mean - off, printed.mean + off


def variance_bounds(printed: Printed, n_draws: int, row: Row) -> tuple[float, float]:
    """Between what 1000 times our variance agrees: its ratio to the printed one is as F."""
    from scipy.stats import f

    law = f(len(row.scores) - 1, n_draws - 1)
    low, high = law.ppf([(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float((printed.variance - 0.005) * low), float((printed.variance + 0.005) * high)


def _claims(found: Found) -> Iterator[Line]:
    rows, block = found.rows, found.block
    part = f"{block.title}: claims"
    for kind in ("", STRATIFIED):
        if CCV + kind not in rows:
            continue
        whole, folds, single = (rows[method + kind] for method in (CCV, CV, SUBSAMPLING))
        gaps = {CV: gap(folds, whole), SUBSAMPLING: gap(single, whole)}
        told = [
            f"{name} - CCV = {1000 * off:+.2f} ± {1000 * error:.2f}" for name, (off, error) in gaps.items()
        ]
        yield Line(
            part,
            f"Equal bias{kind}",
            holds=all(abs(off) <= CLAIM_SIGMAS * error for off, error in gaps.values()),
            note=f"{', '.join(told)} (× 10³, one standard error).",
        )
        yield Line(
            part,
            f"Var(CCV) <= Var(CV) <= Var(Subsampling){kind}",
            holds=whole.variance <= folds.variance <= single.variance,
        )
        yield Line(
            part,
            f"CCV costs less than {block.n_trials} trials{kind}",
            holds=whole.per_run < min(folds.per_run, single.per_run),
            note=f"{folds.per_run / whole.per_run:.1f} times as long take {block.n_trials} trials of CV, "
            f"{single.per_run / whole.per_run:.1f} times as long those of subsampling.",
        )


def gap(trials: Row, whole: Row) -> tuple[float, float]:
    """Mean difference of trials to CCV on the same samples, and its standard error.

    Given the sample, the trials are independent, and CCV is certain.
    """
    return trials.mean - whole.mean, math.sqrt(trials.within / trials.scores.size)


def _geometry_lines(block: Block, n_draws: int, n_trials: int) -> Iterator[Line]:
    part = "Synthetic data: where the four means stand"
    printed = block.printed[CCV]
    for name in GAUSSIANS:
        one = replace(block, data=name, printed={CCV: printed})
        row = run_block(one, 0, n_draws, n_trials).rows[CCV]
        note = f"spread {calibrated(name):.4f} standard deviations."
        yield Line(part, f"{name}: mean × 10³ of CCV", printed.mean, 1000 * row.mean, digits=1, note=note)
        yield Line(part, f"{name}: variance × 10³ of CCV", printed.variance, 1000 * row.variance)
    allowed = 1000 * (BAYES_ERROR - 0.005), 1000 * (BAYES_ERROR + 0.005)
    again = bayes_error(GEOMETRY, calibrated(GEOMETRY), [SEED, 1])
    yield Line(part, f"{GEOMETRY}: Bayes error × 10³", 1000 * BAYES_ERROR, 1000 * again, allowed, digits=1)


def _notes(blocks: Sequence[Block], scale: Scale) -> Iterator[str]:
    sizes = {scale.of(block): None for block in blocks}
    counted = " and ".join(f"{draws} samples with {trials} trials" for draws, trials in sizes)
    yield (
        f"knnccv: {counted} each, Euclidean distances of unscaled features, equally near items in all their "
        "orders alike (ties='random')."
    )
    yield (
        f"Means agree within {SIGMAS} standard errors, combined of the paper's, (printed variance / number "
        "of samples)^1/2, and ours, of the means of samples; half a printed digit comes on top."
    )
    yield (
        "Variance is that of a single trial over samples and trials, Var(E[trial|S]) + E[Var(trial|S)]: "
        "only so is the printed one of subsampling as large as that of a test set of a fifth of S must be, "
        "and that of CV larger than CCV's; means of 50 or 100 trials vary hardly more than CCV. Variances "
        f"agree within the {100 * CONFIDENCE:.0f} % interval of F for the numbers of samples less 1, and "
        "half a printed digit; it takes scores for normal, and one in a hundred lies outside by chance."
    )
    off, place = _largest_gap(blocks)
    yield (
        "The paper's means scatter more than means of all its trials on the same samples could: its "
        f"difference to CCV is up to {off:.1f} standard errors of such ({place}). How many of the trials "
        "are in them is unknown, so the standard error is taken that one trial per sample would have."
    )
    yield (
        "Equal bias: on the same samples CV and subsampling differ from CCV by at most "
        f"{CLAIM_SIGMAS} standard errors, of the trials around CCV. Four fifths of a class are rounded to "
        "the nearest number in CCV and subsampling; stratified folds are dealt as scikit-learn does."
    )
    yield (
        f"Times: the paper's on a Pentium II in Matlab, knnccv's medians of {CALLS} calls of one thread on "
        "this machine, with the search for neighbours, which trials of one call share: so a run costs less "
        "than its trials one by one. Holdout is one training set of all items of the pool, among whose "
        "pairs neighbours are sought."
    )


def _largest_gap(blocks: Sequence[Block]) -> tuple[float, str]:
    """The printed difference of trials to CCV that is hardest to explain, in standard errors, and where."""
    gaps = []
    for block in blocks:
        for kind in ("", STRATIFIED):
            for method in (CV, SUBSAMPLING):
                if (trials := block.printed.get(method + kind)) is None:
                    continue
                whole = block.printed[CCV + kind]
                if (within := (trials.variance - whole.variance) / 1000) > 0:
                    error = 1000 * math.sqrt(within / (block.n_draws * block.n_trials))
                    gaps.append((abs(trials.mean - whole.mean) / error, f"{block.title}, {method}{kind}"))
    return max(gaps)


_SYNTHETIC_NOTES = (
    f"Synthetic data: four equally likely Gaussians with unit covariance in 3 dimensions. The factor of "
    f"their means is found by bisection so that the Bayes error of {BAYES_SAMPLES} points is "
    f"{BAYES_ERROR}; a second sample of as many must be within 0.005, 2.5 standard errors. The number of "
    "items is illegible in the scan, and where the means stand is not printed: 80 items are taken since "
    "they have about the printed variance of CCV, and the square, which lies between the others. So the "
    "variances of this block are no independent test, and its means hardly one.",
    "Abalone: sex is coded 0, 1, 2, which the paper does not tell.",
)
_LOSS_NOTES = (
    "Nearest neighbours are very often tied in these data, which are small integers; the paper allows any "
    "rule to break ties and does not say which it used.",
)


def _pictures(found: Sequence[Found], what: str) -> tuple[Picture, ...]:
    caption = (
        f"{what} and variance, times 1000: printed (open diamonds) and found (dots). Bars: two standard "
        "errors of a mean, and the 95 % interval of a variance."
    )
    there = [one for one in found if one.rows]
    return (Picture("means-and-variances", caption, lambda: _draw(there, what)),) if there else ()


def _draw(found: Sequence[Found], what: str) -> Any:
    from scipy.stats import chi2

    heights = [len(one.block.printed) for one in found]
    figure, grid = new_figure(10, 1.2 + 0.36 * sum(heights) + 0.55 * len(found), len(found), 2)
    for (means, variances), one in zip(grid, found, strict=True):
        block = one.block
        at = np.arange(len(block.printed))
        paper, ours = list(block.printed.values()), [one.rows[method] for method in block.printed]
        sides = (
            (
                "paper",
                [row.mean for row in paper],
                [1000 * math.sqrt(row.variance / 1000 / block.n_draws) for row in paper],
                [row.variance for row in paper],
                block.n_draws,
                {"marker": "D", "mfc": "white", "color": "#d55e00"},
            ),
            (
                "knnccv",
                [1000 * row.mean for row in ours],
                [1000 * row.standard_error for row in ours],
                [1000 * row.variance for row in ours],
                len(ours[0].scores),
                {"marker": "o", "color": "#0072b2"},
            ),
        )
        for shift, (label, centres, errors, spread, n_draws, style) in zip(
            (-0.15, 0.15), sides, strict=True
        ):
            means.errorbar(
                centres, at + shift, xerr=2 * np.array(errors), ls="", capsize=2, label=label, **style
            )
            values = np.array(spread)
            ends = (n_draws - 1) / chi2.ppf([[0.975], [0.025]], n_draws - 1)
            bars = np.abs(values * ends - values)
            variances.errorbar(values, at + shift, xerr=bars, ls="", capsize=2, label=label, **style)
        means.set_title(block.title, loc="left", fontsize=10)
        means.set_yticks(at, list(block.printed))
        variances.set_yticks(at, [""] * len(at))
        variances.set_xscale("log")
        for axes in (means, variances):
            axes.set_ylim(len(at) - 0.5, -0.5)
            axes.grid(axis="x", alpha=0.3)
    grid[-1][0].set_xlabel(f"{what} × 10³")
    grid[-1][1].set_xlabel("Variance of a trial × 10³")
    grid[0][1].legend(loc="upper right", fontsize=9)
    return figure
