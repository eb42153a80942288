"""Tables 2 and 3 of Mullin & Sukthankar (ICML 2000) beside knnccv's numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from .._comparison import Comparison, Line, missing_data
from ._notes import LOSS_NOTES, SYNTHETIC_NOTES, notes
from ._paper import (
    BAYES_ERROR,
    BLOCKS,
    CCV,
    CV,
    GAUSSIANS,
    GEOMETRY,
    LOSS_BLOCK,
    SOURCE,
    STRATIFIED,
    SUBSAMPLING,
    Block,
)
from ._pictures import pictures
from ._protocol import SEED, Found, bayes_error, calibrated, run_block
from ._verdicts import CLAIM_SIGMAS, gap, mean_bounds, variance_bounds

QUICK = (20, 25)
"""Number of sets S, and of trials on each, for quick tables."""

SIZES = (60, 80, 100, 120)
"""Numbers of synthetic samples that are compared."""


def table2(quick: bool, progress: bool = False) -> Comparison:
    """Accuracy of nearest neighbors: four blocks."""
    n_draws, n_trials = _size(BLOCKS[0], quick)
    return _compare(
        "Table 2 of Mullin & Sukthankar, ICML 2000: complete cross-validation against trials",
        SOURCE + ", table 2",
        [run_block(block, at, *_size(block, quick), progress=progress) for at, block in enumerate(BLOCKS)],
        ("accuracy", "Empirical accuracy"),
        quick,
        tuple(_synthetic_lines(BLOCKS[0], n_draws, n_trials)),
        SYNTHETIC_NOTES,
    )


def table3(quick: bool, progress: bool = False) -> Comparison:
    """Expected loss with unequal costs."""
    return _compare(
        "Table 3 of Mullin & Sukthankar, ICML 2000: complete cross-validation with unequal costs",
        SOURCE + ", table 3",
        [run_block(LOSS_BLOCK, len(BLOCKS), *_size(LOSS_BLOCK, quick), progress=progress)],
        ("loss", "Expected loss"),
        quick,
        further_notes=LOSS_NOTES,
    )


def _size(block: Block, quick: bool) -> tuple[int, int]:
    """Number of sets S, and of trials on each, quickly or as in the paper."""
    return QUICK if quick else (block.n_draws, block.n_trials)


def _compare(
    title: str,
    source: str,
    found: Sequence[Found],
    names: tuple[str, str],
    quick: bool,
    further_lines: tuple[Line, ...] = (),
    further_notes: tuple[str, ...] = (),
) -> Comparison:
    """The blocks beside the printed ones; `names` are those of the means in lines and pictures."""
    blocks = [one.block for one in found]
    return Comparison(
        title,
        source,
        (*(line for one in found for line in _lines(one, names[0])), *further_lines),
        (*notes(blocks, [_size(block, quick) for block in blocks]), *further_notes),
        pictures(found, names[1]),
        missing_data((one.block.title, one.failure) for one in found),
    )


def _lines(found: Found, name: str) -> Iterator[Line]:
    block = found.block
    pairs = [(method, block.printed.get(method), found.rows.get(method)) for method in block.methods]
    for title, measure, digits, bounds in (
        (name, "mean", 1, mean_bounds),
        ("variance", "variance", 2, variance_bounds),
    ):
        for method, printed, row in pairs:
            paper = None if printed is None else getattr(printed, measure)
            computed = None if row is None else 1000 * getattr(row, measure)
            allowed = bounds(printed, block.n_draws, row) if row and printed else None
            yield Line(f"{block.title}: {title} × 10³", method, paper, computed, allowed, digits=digits)
    for per in ("trial", "run"):
        for method, printed, row in pairs:
            if printed:
                paper = 1000 * getattr(printed, f"per_{per}")
                computed = None if row is None else 1000 * getattr(row, f"per_{per}")
                yield Line(f"{block.title}: ms per {per}", method, paper, computed)
    if found.rows:
        yield from _claims(found)


def _claims(found: Found) -> Iterator[Line]:
    rows, block = found.rows, found.block
    part = f"{block.title}: claims"
    for kind in ("", STRATIFIED):
        if CCV + kind not in rows:
            continue
        whole, folds, single = (rows[method + kind] for method in (CCV, CV, SUBSAMPLING))
        gaps = {CV: gap(folds, whole), SUBSAMPLING: gap(single, whole)}
        shown = [
            f"{name} - CCV = {1000 * off:+.2f} ± {1000 * error:.2f}" for name, (off, error) in gaps.items()
        ]
        yield Line(
            part,
            f"Equal bias{kind}",
            holds=all(abs(off) <= CLAIM_SIGMAS * error for off, error in gaps.values()),
            note=f"{', '.join(shown)} (× 10³, one standard error).",
        )
        printed = {method: block.printed[method + kind].variance for method in (CCV, CV, SUBSAMPLING)}
        excess = [printed[method] - printed[CCV] for method in (CV, SUBSAMPLING)]
        yield Line(
            part,
            f"Var: CCV <= CV <= Subsampling{kind}",
            holds=whole.variance <= folds.variance <= single.variance,
            note=f"E[Var(CV|S)] is {1000 * folds.within:.2f}, E[Var(Subsampling|S)] "
            f"{1000 * single.within:.2f}; the printed variances minus CCV's {excess[0]:.2f} and "
            f"{excess[1]:.2f} (× 10³).",
        )
        yield Line(
            part,
            f"CCV costs less than {block.n_trials} trials{kind}",
            holds=whole.per_run < min(folds.per_run, single.per_run),
            note=f"{block.n_trials} trials take {folds.per_run / whole.per_run:.1f} (CV) and "
            f"{single.per_run / whole.per_run:.1f} (subsampling) times as long as CCV.",
        )


def _synthetic_lines(block: Block, n_draws: int, n_trials: int) -> Iterator[Line]:
    """The effect of the choices that the paper does not describe."""
    part = "Synthetic data: where the four means stand"
    printed = block.printed[CCV]
    for name in GAUSSIANS:
        row = run_block(replace(block, data=name, printed={CCV: printed}), 0, n_draws, n_trials).rows[CCV]
        note = f"the spread is {calibrated(name):.4f} standard deviations."
        yield Line(part, f"{name}: mean × 10³ of CCV", printed.mean, 1000 * row.mean, digits=1, note=note)
    allowed = 1000 * (BAYES_ERROR - 0.005), 1000 * (BAYES_ERROR + 0.005)
    again = bayes_error(GEOMETRY, calibrated(GEOMETRY), [SEED, 1])
    # The spread is fitted to this number, so agreement only shows that the fit has worked.
    yield Line(part, f"{GEOMETRY}: Bayes error × 10³", 1000 * BAYES_ERROR, 1000 * again, digits=1)
    holds = allowed[0] <= 1000 * again <= allowed[1]
    yield Line(part, f"{GEOMETRY}: the spread gives that Bayes error", holds=holds)
    part = "Synthetic data: number of samples"
    chosen = {method: block.printed[method] for method in (CCV, SUBSAMPLING)}
    for n_samples in SIZES:
        rows = run_block(replace(block, n_drawn=n_samples, printed=chosen), 0, n_draws, n_trials).rows
        for method, row in rows.items():
            quantity = f"{n_samples} samples: variance × 10³ of {method}"
            yield Line(part, quantity, chosen[method].variance, 1000 * row.variance)
