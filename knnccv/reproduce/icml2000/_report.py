"""Tables 2 and 3 of Mullin & Sukthankar (ICML 2000) beside knnccv's: verdicts, claims and pictures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from .._comparison import Comparison, Line
from ._pictures import pictures
from ._protocol import (
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
QUICK = (10, 25)
"""Samples, and trials on each, of the quick answer."""

SIGMAS = 3
"""Standard errors, the paper's and ours combined, by which means may differ."""

CONFIDENCE = 0.99
"""Of the interval for the ratio of two variances."""

SIZES = (60, 80, 100, 120)
"""Numbers of synthetic samples that are tried."""

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
    """Accuracy of nearest neighbors: four blocks."""
    scale = Scale(quick)
    found = [
        run_block(block, number, *scale.of(block), progress=progress) for number, block in enumerate(BLOCKS)
    ]
    lines = [line for one in found for line in _lines(one, "accuracy")]
    lines += _synthetic_lines(BLOCKS[0], *scale.of(BLOCKS[0]))
    return Comparison(
        "Table 2 of Mullin & Sukthankar, ICML 2000: complete cross-validation against trials",
        SOURCE + ", table 2",
        tuple(lines),
        (*_notes(BLOCKS, scale), *_SYNTHETIC_NOTES),
        pictures(found, "Empirical accuracy"),
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
        pictures([found], "Expected loss"),
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
            None if printed is None else printed.mean,
            None if row is None else 1000 * row.mean,
            mean_bounds(printed, block.n_draws, row) if row and printed else None,
            digits=1,
        )
    for method in block.methods:
        row, printed = found.rows.get(method), block.printed.get(method)
        yield Line(
            f"{block.title}: variance × 10³",
            method,
            None if printed is None else printed.variance,
            None if row is None else 1000 * row.variance,
            variance_bounds(printed, block.n_draws, row) if row and printed else None,
        )
    for per in ("trial", "run"):
        for method, printed in block.printed.items():
            row = found.rows.get(method)
            paper = 1000 * (printed.per_trial if per == "trial" else printed.per_run)
            ours = None if row is None else 1000 * (row.per_trial if per == "trial" else row.per_run)
            yield Line(f"{block.title}: ms per {per}", method, paper, ours)
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
        printed = {method: block.printed[method + kind].variance for method in (CCV, CV, SUBSAMPLING)}
        left = [printed[method] - printed[CCV] for method in (CV, SUBSAMPLING)]
        yield Line(
            part,
            f"Var(CCV) <= Var(CV) <= Var(Subsampling){kind}",
            holds=whole.variance <= folds.variance <= single.variance,
            note=f"E[Var(CV|S)] is {1000 * folds.within:.2f}, E[Var(Subsampling|S)] "
            f"{1000 * single.within:.2f}; the printed variances less CCV's {left[0]:.2f} and "
            f"{left[1]:.2f} (× 10³).",
        )
        yield Line(
            part,
            f"CCV costs less than {block.n_trials} trials{kind}",
            holds=whole.per_run < min(folds.per_run, single.per_run),
            note=f"{block.n_trials} trials take {folds.per_run / whole.per_run:.1f} (CV) and "
            f"{single.per_run / whole.per_run:.1f} (subsampling) times as long as CCV.",
        )


def gap(trials: Row, whole: Row) -> tuple[float, float]:
    """Mean difference of trials to CCV on the same samples, and its standard error.

    Given the sample, the trials are independent, and CCV is certain.
    """
    return trials.mean - whole.mean, math.sqrt(trials.within / trials.scores.size)


def _synthetic_lines(block: Block, n_draws: int, n_trials: int) -> Iterator[Line]:
    """What the choices make of it that the paper does not tell."""
    part = "Synthetic data: where the four means stand"
    printed = block.printed[CCV]
    for name in GAUSSIANS:
        row = run_block(replace(block, data=name, printed={CCV: printed}), 0, n_draws, n_trials).rows[CCV]
        note = f"the spread is {calibrated(name):.4f} standard deviations."
        yield Line(part, f"{name}: mean × 10³ of CCV", printed.mean, 1000 * row.mean, digits=1, note=note)
    allowed = 1000 * (BAYES_ERROR - 0.005), 1000 * (BAYES_ERROR + 0.005)
    again = bayes_error(GEOMETRY, calibrated(GEOMETRY), [SEED, 1])
    # Fitted, and so no agreement to be counted; a claim that the fit has worked.
    yield Line(part, f"{GEOMETRY}: Bayes error × 10³", 1000 * BAYES_ERROR, 1000 * again, digits=1)
    yield Line(
        part,
        f"{GEOMETRY}: the spread gives that Bayes error",
        holds=allowed[0] <= 1000 * again <= allowed[1],
    )
    part = "Synthetic data: how many items"
    chosen = {method: block.printed[method] for method in (CCV, SUBSAMPLING)}
    for n_items in SIZES:
        one = replace(block, n_drawn=n_items, printed=chosen)
        rows = run_block(one, 0, n_draws, n_trials).rows
        for method, row in rows.items():
            quantity = f"{n_items} samples: variance × 10³ of {method}"
            yield Line(part, quantity, chosen[method].variance, 1000 * row.variance)


def _notes(blocks: Sequence[Block], scale: Scale) -> Iterator[str]:
    sizes = {scale.of(block): None for block in blocks}
    counted = " and ".join(f"{draws} samples with {trials} trials each" for draws, trials in sizes)
    yield (
        f"knnccv: {counted}; Euclidean distances of unscaled features; the mean over all orders of equally "
        "near samples (ties='random')."
    )
    yield (
        f"Means agree within {SIGMAS} standard errors, the paper's and ours combined, and half a printed "
        "digit. The paper's is the root of printed variance / number of samples; ours is that of the means "
        "of samples."
    )
    yield (
        "Variance is that of a single trial over samples and trials, Var(E[trial|S]) + E[Var(trial|S)], "
        "not that of the mean of a sample's trials, which is hardly more than CCV's. The printed ones "
        f"tell it: {_single_test_set(blocks[0])}. Variances agree within the {100 * CONFIDENCE:.0f} % "
        "interval of F for the numbers of samples less 1, and half a printed digit. It takes scores for "
        "normal, is wider than need be where trials vary most, and by chance one in a hundred is outside."
    )
    off, place = largest_gap(blocks)
    yield (
        "Were the printed means those of all trials on CCV's samples, they would be nearer to CCV's: one "
        f"is off by {off:.1f} of its standard errors then ({place}). They have fewer trials in them, or "
        "samples of their own; their standard errors here are those of one trial per sample. What the "
        "printed variances of CV have more than CCV's is as inaccurate."
    )
    yield (
        f"Equal bias: on the same samples CV and subsampling are within {CLAIM_SIGMAS} standard errors of "
        "CCV, those of trials around it. CCV and subsampling train on four fifths of S or, stratified, on "
        "the number nearest to four fifths of each class; stratified folds are dealt as by scikit-learn."
    )
    yield (
        f"Times: the paper's on a Pentium II in Matlab, knnccv's the shortest of {CALLS} calls with one "
        "thread on this machine. They hold the search for neighbors, which is done once per call: many "
        "trials cost less than one by one. Holdout looks for neighbors among all samples of the pool."
    )


def _single_test_set(block: Block) -> str:
    """Var(Subsampling) as it must be, about, for one test set."""
    printed = block.printed[SUBSAMPLING]
    n_test = block.n_drawn - 4 * block.n_drawn // 5
    told = f"{printed.variance} of subsampling is about that of one test set of {n_test} items"
    if "loss" in block.parameters:
        return told
    share = printed.mean / 1000
    return f"{told}, {1000 * share * (1 - share) / n_test:.2f} were they independent"


def largest_gap(blocks: Sequence[Block]) -> tuple[float, str]:
    """The printed mean least like CCV's, in the standard errors of all trials on CCV's samples, and where.

    Rounding is taken to be as favorable as it can be. Rows of which rounding leaves no variance are left
    out.
    """
    gaps = []
    for block in blocks:
        for name, trials in block.printed.items():
            if name.startswith((HOLDOUT, CCV)):
                continue
            whole = block.printed[CCV + STRATIFIED if name.endswith(STRATIFIED) else CCV]
            if trials.variance <= whole.variance:
                continue
            within = (trials.variance - whole.variance + 0.01) / 1000
            error = 1000 * math.sqrt(within / (block.n_draws * block.n_trials))
            gaps.append(((abs(trials.mean - whole.mean) - 0.1) / error, f"{block.title}, {name}"))
    return max(gaps)


_SYNTHETIC_NOTES = (
    "Synthetic data: four equally likely Gaussians with unit covariance in 3 dimensions, the class of "
    "every point drawn at random. Bisection finds the spread of their means with which "
    f"{BAYES_SAMPLES} points have a Bayes error of {BAYES_ERROR}; as many others must have it within "
    "0.005, 1.7 standard errors of the two. Where the means stand is not printed; the square lies between "
    "the others. The number of samples is illegible in the scan; 80 give about the printed variances, and "
    "so do somewhat more or fewer. As both were chosen with the printed numbers in sight, agreement in "
    "this block proves little.",
    "Abalone: the sex is coded 0, 1, 2; the paper does not tell how.",
)
_LOSS_NOTES = (
    "Neighbors are very often tied in these data, which are small integers; the paper allows any rule to "
    "break ties and does not say which one it used.",
)
