"""Cross-validation in "The Elements of Statistical Learning": its numbers beside knnccv's."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..._typing import Array
from .._comparison import Comparison, Line, Picture
from . import _protocol as data
from ._protocol import Planar, Screening

WRONG, RIGHT, WRONG_CORRELATION, RIGHT_CORRELATION = 3.0, 50.0, 0.28, 0.0
"""What §7.10.2 tells: errors in %, and mean correlations with the labels in ten samples."""

STRATIFIED = "the same, stratified folds, %: half"

N_PRINTED = 50
"""Over how many simulations the 3 % are an average."""

READINGS = {"correlation": data.highest, "absolute correlation": data.strongest}


def esl_cv(quick: bool, progress: bool = False) -> Comparison:
    """Compute it all again; `quick` with fewer simulations and new samples."""
    found = {name: data.screening(select, quick, progress) for name, select in READINGS.items()}
    planes = data.planes(quick, progress)
    plane = planes[0]
    lines = [line for name, one in found.items() for line in _screening_lines(name, one)]
    return Comparison(
        "Cross-validation in The Elements of Statistical Learning: screening, K, decision maps",
        "T. Hastie, R. Tibshirani & J. Friedman, The Elements of Statistical Learning, 2nd edition, "
        "§7.10.1, §7.10.2 and §2.3",
        (*lines, *_curve_lines(plane), *_map_lines(planes)),
        _notes(quick, plane.bayes_luck),
        _pictures(found, plane),
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
    return [
        _number(part, "error, screened beforehand (wrong), %", WRONG, found.wrong, wrong),
        _number(part, "error, screened in every fold (right), %", RIGHT, found.right, right),
        Line(
            part,
            STRATIFIED,
            ours=found.stratified.mean().item(),
            allowed=(RIGHT - stratified, RIGHT + stratified),
            holds=bool(abs(found.stratified.mean() - RIGHT) <= stratified),
        ),
        _number(part, "correlation in 10 samples, wrong", WRONG_CORRELATION, inside, one_of_them, 3),
        _number(part, "correlation in 10 samples, right", RIGHT_CORRELATION, outside, none, 3),
    ]


def _number(part: str, quantity: str, paper: float, ours: Array, off: float, digits: int = 2) -> Line:
    return Line(part, quantity, paper, float(ours.mean()), (paper - off, paper + off), digits=digits)


def _sd(values: Array) -> float:
    return float(values.std(ddof=1))


def _curve_lines(plane: Planar) -> list[Line]:
    part = "K by 5-fold cross-validation, two classes in the plane"
    best, truly = int(plane.expected.argmin()), int(plane.new.argmin())
    single = data.NUMBERS[plane.curves.argmin(axis=1)]
    # As of an error that is counted on so many independent samples.
    deviation = np.sqrt(plane.expected * (100 - plane.expected) / len(plane.y))
    off = np.abs(plane.expected - plane.new) / deviation
    return [
        _found(part, "K of the least expected CV error", data.NUMBERS[best], 0),
        _found(part, "expected CV error there, %", plane.expected[best]),
        _found(part, "error on new samples there, %", plane.new[best]),
        _found(part, "K of the least error on new items", data.NUMBERS[truly], 0),
        _found(part, "least error on new samples, %", plane.new[truly]),
        _found(part, f"least K chosen by one of {data.N_CURVES} single runs", single.min(), 0),
        _found(part, f"largest K chosen by one of {data.N_CURVES} single runs", single.max(), 0),
        _found(part, "standard deviation of single runs at the first K", plane.curves[:, best].std(ddof=1)),
        Line(
            part,
            "the CV curve estimates the test error curve",
            holds=bool((off <= 4).all()),
            note=f"for no K are they farther apart than {off.max():.1f} standard deviations of an error "
            f"that is counted on {len(plane.y)} independent samples; up to 4 count as agreement",
        ),
    ]


def _map_lines(planes: list[Planar]) -> list[Line]:
    first, n = planes[0], len(planes)
    one, averaged = "Nearest-neighbor maps, one mixture of Gaussians", f"The same, mean of {n} mixtures"
    few, many = (int(np.searchsorted(data.NUMBERS, number)) for number in data.SHOWN)
    lines = [_found(one, "Bayes error, %", first.bayes)]
    means = [_found(averaged, "Bayes error, %", sum(plane.bayes for plane in planes) / n)]
    for number, at in zip(data.SHOWN, (few, many), strict=True):
        lines.append(_found(one, f"{number}-NN, error on new samples, %", first.new[at]))
        lines.append(_found(one, f"{number}-NN, error on training samples, %", first.training[at]))
        new, cv = (np.array([curve[at] for curve in curves]) for curves in _both_curves(planes))
        means.append(_found(averaged, f"{number}-NN, error on new samples, %", new.mean()))
        means.append(_found(averaged, f"{number}-NN, expected CV error, %", cv.mean()))
    gains = np.array([plane.new[few] - plane.new[many] for plane in planes])
    luck = 4 * _sd(gains) / np.sqrt(n)
    return [
        *lines,
        Line(one, "1-NN classifies every training sample right", holds=bool(first.training[few] == 0)),
        Line(
            one,
            "15-NN does not",
            holds=bool(first.training[many] > 0),
            note=f"it misclassifies {first.training[many] * len(first.y) / 100:.0f} of {len(first.y)}",
        ),
        *means,
        Line(
            averaged,
            "15-NN is nearer to the Bayes error on new items",
            holds=bool(gains.mean() > luck),
            note=f"by {gains.mean():.2f} points; 4 standard errors are {luck:.2f}. It is nearer in "
            f"{int((gains > 0).sum())} of {n}, by {gains[0]:.2f} points in the one that is drawn",
        ),
    ]


def _both_curves(planes: list[Planar]) -> tuple[list[Array], list[Array]]:
    return [plane.new for plane in planes], [plane.expected for plane in planes]


def _found(part: str, quantity: str, ours: float, digits: int = 2) -> Line:
    return Line(part, quantity, ours=float(ours), digits=digits)


def _notes(quick: bool, bayes_luck: float) -> tuple[str, ...]:
    n, repeats = data.N_SIMULATIONS[quick], data.N_REPEATS[quick]
    others = data.N_SAMPLES - 1
    plain = 100 * (data.N_SAMPLES / 2) / others
    return (
        f"Screening: {n} simulations of {data.N_SAMPLES} samples in two classes of equal size with "
        f"{data.N_PREDICTORS} independent Gaussian predictors, one nearest neighbor, five folds. Wrong: "
        "predictors chosen once, on all samples; the error is the exact mean over all partitions. Right: "
        f"chosen in every fold (knnccv.screened_cv), {repeats} partitions a simulation.",
        "The book's 50 % are the true error of whatever classifier. Its folds are drawn at random, and so "
        "are these, which makes the right way's error a little larger: a sample left out leaves its class "
        f"the rarer one, so that guessing the label of any of the {others} others errs in "
        f"{plain:.2f} %; and of unequal classes the larger lies nearer to the middle in the chosen "
        "predictors, and is the nearest neighbor still more often. In stratified folds, where half of "
        "every training set is of either class, 50 % are expected exactly. An error of plain folds above "
        "what is allowed comes of the folds, not of the screening.",
        "The text says highest correlation; both readings are shown, of its value and of its size. "
        "Correlations of predictors that were chosen for a negative one are counted with the sign turned.",
        "Allowed, wrong: rounding (0.5) and 4 standard errors of both means, the book's being of one "
        f"partition in each of {N_PRINTED} simulations. Allowed, right: 4 standard errors of ours. "
        "Correlations: the book's 0.28 are of one simulation, so that 4 standard deviations of one, and "
        "rounding, are allowed; those of the right way should be 0, within 4 standard errors.",
        "The book's own two classes in the plane are not at hand; these are drawn by its recipe: ten means "
        "of each class from N((1, 0), I) and N((0, 1), I), a hundred samples of each around them with "
        f"variance 1/5. Errors on new samples: {data.N_NEW[quick]} of them, a tenth in the further mixtures, "
        "weighted by the known probabilities of the classes; the Bayes error's standard error is "
        f"{bayes_luck:.2f}.",
        "Expected CV errors are exact means over all partitions; they judge training on four fifths of the "
        "items, errors on new samples training on all. Single runs share their partitions over all K.",
    )


def _pictures(found: dict[str, Screening], plane: Planar) -> tuple[Picture, ...]:
    from . import _pictures as pictures

    return (
        Picture(
            "screening",
            "Screening noise beforehand and in every fold: errors of all simulations, and correlations of "
            "the chosen predictors with the labels of ten samples",
            partial(pictures.screening, found["correlation"]),
        ),
        Picture(
            "curves",
            "Error by number of neighbors: mean over all partitions, of five single ones, on new items",
            partial(pictures.curves, plane),
        ),
        Picture(
            "maps",
            "Where 1 and 15 nearest neighbors decide for which class",
            partial(pictures.maps, plane),
        ),
    )
