"""Cross-validation in "The Elements of Statistical Learning": its numbers beside knnccv's."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ..._typing import Array
from .._comparison import Comparison, Line
from .._picture import Picture
from . import _pictures as pictures
from . import _protocol as data
from ._protocol import Planar, Screening

WRONG, RIGHT, WRONG_CORRELATION, RIGHT_CORRELATION = 3.0, 50.0, 0.28, 0.0
"""The numbers of §7.10.2: errors in %, and mean correlations with the labels in ten samples."""

STRATIFIED = "the same, stratified folds, %: half"

N_PRINTED = 50
"""The number of simulations of which the 3 % are the mean."""

READINGS = {"correlation": data.highest, "absolute correlation": data.strongest}


def esl_cv(quick: bool, progress: bool = False) -> Comparison:
    """Recompute all numbers; `quick` with fewer simulations and new samples."""
    found = {name: data.screening(select, quick, progress) for name, select in READINGS.items()}
    planes = data.planes(quick, progress)
    plane = planes[0]
    lines = [line for name, one in found.items() for line in _screening_lines(name, one)]
    return Comparison(
        "Cross-validation in The Elements of Statistical Learning: screening, K, decision maps",
        "T. Hastie, R. Tibshirani & J. Friedman, The Elements of Statistical Learning, 2nd edition, "
        "§7.10.1, §7.10.2 and §2.3",
        (*lines, *_curve_lines(plane), *_map_lines(planes)),
        _notes(quick, plane.bayes_error_bar),
        (
            Picture(
                "screening",
                "Screening noise beforehand and in every fold: errors of all simulations, and "
                "correlations of the chosen predictors with the labels of ten samples",
                partial(pictures.screening, found["correlation"]),
            ),
            Picture(
                "curves",
                "Error by number of neighbors: the mean over all partitions, five single ones, and new "
                "samples",
                partial(pictures.curves, plane),
            ),
            Picture("maps", "Decision maps of 1 and 15 nearest neighbors", partial(pictures.maps, plane)),
        ),
    )


def _screening_lines(name: str, found: Screening) -> list[Line]:
    part = f"The {data.N_KEPT} of {data.N_PREDICTORS} predictors with the highest {name}"
    n = len(found.wrong)
    printed_error = _sd(found.one_wrong) / np.sqrt(N_PRINTED)
    wrong = 0.5 + 4 * np.hypot(printed_error, _sd(found.wrong) / np.sqrt(n))
    right, stratified = (4 * _sd(errors) / np.sqrt(n) for errors in (found.right, found.stratified))
    inside, outside = found.wrong_correlations.mean(axis=1), found.right_correlations.mean(axis=1)
    one_of_them = 0.005 + 4 * _sd(inside) * np.sqrt(1 + 1 / n)
    none = 4 * _sd(outside) / np.sqrt(n)

    def number(quantity: str, paper: float, values: Array, off: float, digits: int = 2) -> Line:
        return Line(part, quantity, paper, float(values.mean()), (paper - off, paper + off), digits=digits)

    return [
        number("error, screened beforehand (wrong), %", WRONG, found.wrong, wrong),
        number("error, screened in every fold (right), %", RIGHT, found.right, right),
        Line(
            part,
            STRATIFIED,
            computed=found.stratified.mean().item(),
            allowed=(RIGHT - stratified, RIGHT + stratified),
            holds=bool(abs(found.stratified.mean() - RIGHT) <= stratified),
        ),
        number("correlation in 10 samples, wrong", WRONG_CORRELATION, inside, one_of_them, 3),
        number("correlation in 10 samples, right", RIGHT_CORRELATION, outside, none, 3),
    ]


def _sd(values: Array) -> float:
    return float(values.std(ddof=1))


def _curve_lines(plane: Planar) -> Iterator[Line]:
    part = "K by 5-fold cross-validation, two classes in the plane"
    best, truly = int(plane.expected.argmin()), int(plane.new.argmin())
    single = data.NUMBERS[plane.curves.argmin(axis=1)]
    one_run = f"K chosen by one of {data.N_CURVES} single runs"
    for quantity, number, digits in (
        ("K of the least expected CV error", data.NUMBERS[best], 0),
        ("expected CV error there, %", plane.expected[best], 2),
        ("error on new samples there, %", plane.new[best], 2),
        ("K of the least error on new samples", data.NUMBERS[truly], 0),
        ("least error on new samples, %", plane.new[truly], 2),
        (f"least {one_run}", single.min(), 0),
        (f"largest {one_run}", single.max(), 0),
        ("standard deviation of single runs at the first K", plane.curves[:, best].std(ddof=1), 2),
    ):
        yield Line(part, quantity, computed=float(number), digits=digits)
    # The standard deviation of an error that is counted on the same number of independent samples.
    deviation = np.sqrt(plane.expected * (100 - plane.expected) / len(plane.y))
    off = np.abs(plane.expected - plane.new) / deviation
    yield Line(
        part,
        "the CV curve estimates the test error curve",
        holds=bool((off <= 4).all()),
        note=f"they differ by at most {off.max():.1f} standard deviations of an error that is counted on "
        f"{len(plane.y)} independent samples; up to 4 count as agreement",
    )


def _map_lines(planes: list[Planar]) -> list[Line]:
    first, n = planes[0], len(planes)
    one = partial(Line, "Nearest-neighbor maps, one mixture of Gaussians")
    mean = partial(Line, f"The same, mean of {n} mixtures")
    few, many = (int(np.searchsorted(data.NUMBERS, number)) for number in data.SHOWN)
    lines = [one("Bayes error, %", computed=first.bayes)]
    means = [mean("Bayes error, %", computed=sum(plane.bayes for plane in planes) / n)]
    for number, at in zip(data.SHOWN, (few, many), strict=True):
        new, cv = np.array([(plane.new[at], plane.expected[at]) for plane in planes]).T
        lines += [
            one(f"{number}-NN, error on new samples, %", computed=float(first.new[at])),
            one(f"{number}-NN, error on training samples, %", computed=float(first.training[at])),
        ]
        means += [
            mean(f"{number}-NN, error on new samples, %", computed=float(new.mean())),
            mean(f"{number}-NN, expected CV error, %", computed=float(cv.mean())),
        ]
    gains = np.array([plane.new[few] - plane.new[many] for plane in planes])
    required = 4 * _sd(gains) / np.sqrt(n)
    return [
        *lines,
        one("1-NN classifies every training sample right", holds=bool(first.training[few] == 0)),
        one(
            "15-NN does not",
            holds=bool(first.training[many] > 0),
            note=f"it misclassifies {first.training[many] * len(first.y) / 100:.0f} of {len(first.y)}",
        ),
        *means,
        mean(
            "15-NN is nearer to the Bayes error on new samples",
            holds=bool(gains.mean() > required),
            note=f"by {gains.mean():.2f} points; 4 standard errors are {required:.2f}. It is nearer in "
            f"{int((gains > 0).sum())} of {n}, by {gains[0]:.2f} points in the one that is drawn",
        ),
    ]


def _notes(quick: bool, bayes_error_bar: float) -> tuple[str, ...]:
    n, repeats = data.N_SIMULATIONS[quick], data.N_REPEATS[quick]
    others = data.N_SAMPLES - 1
    plain = 100 * (data.N_SAMPLES / 2) / others
    return (
        f"Screening: {n} simulations of {data.N_SAMPLES} samples in two classes of equal size with "
        f"{data.N_PREDICTORS} independent Gaussian predictors, one nearest neighbor, five folds. Wrong: "
        "predictors chosen once, on all samples; the error is the exact mean over all partitions. Right: "
        f"chosen in every fold (knnccv.screened_cv), {repeats} partitions a simulation.",
        "The true error of any classifier is 50 %, as in the book. Folds are drawn at random, in the book "
        "as well. This increases the error of the right way slightly, for two reasons. Without a tested "
        f"sample its class is the rarer one: the label of a random one of the {others} others errs in "
        f"{plain:.2f} %. And the larger class is nearer to the center in the chosen predictors, so that it "
        "has the nearest neighbor even more often. In stratified folds half of every training set is of "
        "either class, and 50 % are expected exactly. An error of plain folds above the allowed range is "
        "due to the folds, not to the screening.",
        "The book chooses by the highest correlation; both readings are shown, its value and its absolute "
        "value. Predictors chosen for a negative correlation are counted with the opposite sign.",
        "Allowed, wrong: rounding (0.5) and 4 standard errors of both means; the book's is that of one "
        f"partition in each of {N_PRINTED} simulations. Allowed, right: 4 standard errors of knnccv's "
        "mean. Correlations: the book's 0.28 are of one simulation, so that 4 standard deviations of "
        "one, and rounding, are allowed; those of the right way should be 0, within 4 standard errors.",
        "The book's sample of two classes in the plane is not available; these are drawn by its recipe: "
        "ten means of each class from N((1, 0), I) and N((0, 1), I), a hundred samples of each around them "
        f"with variance 1/5. Errors on new samples: {data.N_NEW[quick]} of them, a tenth in the further "
        "mixtures, weighted by the known probabilities of the classes; the Bayes error's standard error "
        f"is {bayes_error_bar:.2f}.",
        "Expected CV errors are exact means over all partitions, trained on four fifths of the samples; "
        "errors on new samples are trained on all. Single runs share their partitions over all K.",
    )
