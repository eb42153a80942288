"""Notes below tables 2 and 3 of Mullin & Sukthankar (ICML 2000)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ._paper import BAYES_ERROR, SUBSAMPLING, Block
from ._protocol import BAYES_SAMPLES, N_CALLS
from ._verdicts import CLAIM_SIGMAS, CONFIDENCE, SIGMAS, largest_gap


def notes(blocks: Sequence[Block], sizes: Sequence[tuple[int, int]]) -> Iterator[str]:
    """The notes of a table with these blocks; `sizes` are the numbers of sets and of trials in each."""
    counted = " and ".join(
        f"{draws} sets with {trials} trials each" for draws, trials in dict.fromkeys(sizes)
    )
    yield (
        f"knnccv: {counted}; Euclidean distances of unscaled features; the mean over all orders of tied "
        "samples (ties='random')."
    )
    yield (
        f"Means agree within {SIGMAS} standard errors, those of the paper and of knnccv combined, and "
        "half a printed digit. The paper's is the root of printed variance / number of sets; knnccv's is "
        "that of the means of sets."
    )
    yield (
        "Variance is that of a single trial over sets and trials, Var(E[trial|S]) + E[Var(trial|S)], not "
        "that of the mean of a set's trials, which is hardly larger than CCV's. The printed ones show "
        f"this: {_single_test_set(blocks[0])}. Variances agree within the {100 * CONFIDENCE:.0f} % "
        "interval of F for the numbers of sets minus 1, and half a printed digit. The interval assumes "
        "normal scores, is too wide where trials vary most, and misses one of a hundred at random."
    )
    off, place = largest_gap(blocks)
    yield (
        "If the printed means were those of all trials on CCV's sets, they would be nearer to CCV's: one "
        f"would be off by {off:.1f} of its standard errors ({place}). They are means of fewer trials, or "
        "of other sets; their standard errors here are those of one trial per set. The differences "
        "between the printed variances of CV and of CCV are as inaccurate."
    )
    yield (
        f"Equal bias: on the same sets CV and subsampling are within {CLAIM_SIGMAS} standard errors of "
        "CCV, those of trials around it. CCV and subsampling train on four fifths of S or, stratified, "
        "on the number nearest to four fifths of each class; stratified folds are dealt as by "
        "scikit-learn."
    )
    yield (
        f"Times: the paper's on a Pentium II in Matlab, knnccv's the shortest of {N_CALLS} calls with one "
        "thread on this machine. They include the search for neighbors, which is done once per call, so "
        "that many trials cost less than the same number of single ones. Holdout searches among all "
        "samples of the pool."
    )


def _single_test_set(block: Block) -> str:
    """The approximate Var(Subsampling) for a single test set."""
    printed = block.printed[SUBSAMPLING]
    n_test = block.n_drawn - 4 * block.n_drawn // 5
    text = f"{printed.variance} of subsampling is about that of one test set of {n_test} samples"
    if "loss" in block.parameters:
        return text
    share = printed.mean / 1000
    return f"{text}, {1000 * share * (1 - share) / n_test:.2f} if they were independent"


SYNTHETIC_NOTES = (
    "Synthetic data: four equally likely Gaussians with unit covariance in 3 dimensions, the class of "
    f"every point drawn at random. Bisection finds the spread of their means with which {BAYES_SAMPLES} "
    f"points have a Bayes error of {BAYES_ERROR}; the same number of other points must have it within "
    "0.005, 1.7 standard errors of the difference. The positions of the means are not printed; the "
    "square lies between the others. The number of samples is illegible in the scan; 80 give about the "
    "printed variances, and so do somewhat more or fewer. As both were chosen with knowledge of the "
    "printed numbers, agreement in this block proves little.",
    "Abalone: the sex is coded 0, 1, 2; the paper does not give its code.",
)
LOSS_NOTES = (
    "Samples are very often tied in these data, which are small integers; the paper allows any rule to "
    "break ties and does not say which one it used.",
)
