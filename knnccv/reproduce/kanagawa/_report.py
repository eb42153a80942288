"""Figures 2 to 4 of Kanagawa (2024), recomputed: leave-one-out of k-NN regression by an identity."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..._parallel import for_each
from ..._typing import Array
from ...curves import loo_curve, loo_identity
from .._comparison import Comparison, Line
from .._picture import Picture
from .._timing import median_seconds
from ._brute_force import Predict, fitted_one_by_one, one_by_one, regressor, standardized
from ._paper import DIGIT, KS, STUDIES, TIMED_K, Study
from ._pictures import draw_curves, draw_ties
from ._ties import EQUAL, one_feature

TITLE = "Kanagawa: leave-one-out of k-NN regression by an identity, figures 2 to 4"
SOURCE = (
    "M. Kanagawa, Fast Computation of Leave-One-Out Cross-Validation for k-NN Regression, 2024, sections "
    "4 and 5; errors and seconds in the outputs of its programs, github.com/motonobuk/LOOCV-kNN"
)
MAX_SHARE = 0.1
"""The share of brute force's time below which the identity's is called negligible."""

MAX_GROWTH = 0.05
"""The share of brute force's growth below which the identity's time is called nearly constant."""

N_CALLS = {False: 5, True: 3}
SHOWN = (1, 5, 10, 20)


def kanagawa(quick: bool, progress: bool = False) -> Comparison:
    """Recompute the figures; `quick` times fewer sizes and draws fewer orders of the rows."""
    from ... import datasets

    predict, regressor_name = regressor()
    lines: list[Line] = []
    pictures: list[Picture] = []
    ties: dict[str, Any] = {}

    def all_features(study: Study) -> None:
        data = getattr(datasets, study.load)()
        part = f"Figure {study.figure}: {study.name}, all features"
        X, y = standardized(data.X), data.y.astype(float)
        found, curves = _all_features(study, part, X, y, quick, predict)
        lines.extend(found)
        caption = f"{study.name}: leave-one-out error over k, and seconds over the number of samples"
        pictures.append(
            Picture(f"figure-{study.figure}", caption, partial(draw_curves, study.name, curves))
        )

    def only_one(study: Study) -> None:
        data = getattr(datasets, study.load)()
        title = f"{study.name}, {study.feature} alone"
        X, y = data.X[:, [study.column]], data.y.astype(float)
        found, ties[title] = one_feature(study, f"Figure 4: {title}", X, y, quick)
        lines.extend(found)

    # One after the other, since they are timed.
    tasks = [partial(ask, study) for ask in (all_features, only_one) for study in STUDIES]
    for_each(lambda task: task(), tasks, n_jobs=1, progress=progress, unit="figure")
    caption = "One feature, many equal values: leave-one-out error over k; the best k is marked"
    pictures.append(Picture("figure-4", caption, partial(draw_ties, ties)))
    return Comparison(TITLE, SOURCE, tuple(lines), _notes(regressor_name, quick), tuple(pictures))


def _all_features(
    study: Study, part: str, X: Array, y: Array, quick: bool, predict: Predict
) -> tuple[list[Line], dict[str, Any]]:
    brute, identity, curve = one_by_one(X, y, KS[-1]), loo_identity(X, y, KS), loo_curve(X, y, KS)
    lines = [
        Line(
            part,
            f"error at k = {k}",
            study.scores[k - 1],
            float(identity[k - 1]),
            (study.scores[k - 1] - DIGIT, study.scores[k - 1] + DIGIT),
            digits=4 if study.scores[0] > 1 else 6,
        )
        for k in SHOWN
    ]
    off = np.abs(identity[: len(study.scores)] - study.scores).max()
    quantity = f"all {len(study.scores)} printed errors, to the last digit"
    lines.append(
        Line(part, quantity, holds=bool(off <= DIGIT), note=f"the largest difference is {off:.1e}.")
    )
    for name, errors in (("identity", identity), ("loo_curve", curve)):
        relative = float(np.abs(errors / brute - 1).max())
        note = f"relative differences up to {relative:.1e}."
        lines.append(Line(part, f"{name} = brute force, k = 1 to 50", holds=relative <= EQUAL, note=note))
    timed, seconds = _seconds(study, part, X, y, quick, predict)
    return lines + timed, {"k": list(KS), "brute": brute, "identity": identity, "curve": curve, **seconds}


def _seconds(
    study: Study, part: str, X: Array, y: Array, quick: bool, predict: Predict
) -> tuple[list[Line], dict[str, Any]]:
    sizes = list(study.runs)
    if quick:
        sizes = [sizes[0], sizes[len(sizes) // 2], sizes[-1]]
    seconds: dict[str, list[float]] = {"brute": [], "identity": [], "curve": []}
    off = []
    for n in sizes:
        A, b = X[:n], y[:n]
        brute = partial(fitted_one_by_one, A, b, TIMED_K, predict)
        identity = partial(loo_identity, A, b, TIMED_K)
        curve = partial(loo_curve, A, b, range(1, min(KS[-1], n - 1) + 1))
        asked: dict[str, Callable[[], Any]] = {"brute": brute, "identity": identity, "curve": curve}
        for name, ask in asked.items():
            seconds[name].append(median_seconds(ask, N_CALLS[quick]))
        off.append(max(abs(error - study.runs[n].score) for error in (brute(), float(identity()[0]))))
    lines = [
        Line(
            part,
            "errors of the first n samples, as printed",
            holds=max(off) <= DIGIT,
            note=f"k = {TIMED_K}, n = {', '.join(map(str, sizes))}, by brute force and by the "
            f"identity; the largest difference is {max(off):.1e}.",
        )
    ]
    for n, at in ((sizes[0], 0), (sizes[-1], -1)):
        for name, times, printed in zip(
            ("brute force", "identity", "loo_curve, up to 50 k"),
            seconds.values(),
            (study.runs[n].brute, study.runs[n].identity, None),
            strict=True,
        ):
            lines.append(Line(part, f"seconds, {name}, {n} samples", printed, times[at], digits=5))
    lines += _claims_on_seconds(part, sizes[-1] / sizes[0], seconds["brute"], seconds["identity"])
    return lines, {"n": sizes, "seconds": seconds}


def _claims_on_seconds(
    part: str, growth: float, brute: list[float], identity: list[float]
) -> tuple[Line, ...]:
    """The paper's claims; `growth` is the ratio of the largest and the smallest number of samples."""
    slower = brute[-1] / brute[0]
    rise = (identity[-1] - identity[0]) / (brute[-1] - brute[0])
    share = max(one / other for one, other in zip(identity, brute, strict=True))
    return (
        Line(
            part,
            "brute force's time grows with n",
            holds=slower > growth / 2,
            note=f"{slower:.1f} times for {growth:.0f} times the samples; at least half is required.",
        ),
        Line(
            part,
            "the identity's hardly grows beside it",
            holds=slower > 1 and rise < MAX_GROWTH,
            note=f"by {rise:.2%} of brute force's growth; less than {MAX_GROWTH:.0%} is required.",
        ),
        Line(
            part,
            "the identity's is negligible beside it",
            holds=share < MAX_SHARE,
            note=f"at most {share:.1%} of brute force's time; less than {MAX_SHARE:.0%} is required.",
        ),
    )


def _notes(regressor_name: str, quick: bool) -> tuple[str, ...]:
    return (
        "Features are standardized as by scikit-learn's StandardScaler. The targets of Wine are its "
        "classes as real numbers, as in the author's programs; there they start from 0, here from 1, "
        "which does not change squared errors.",
        "Printed errors may differ by half a unit of their last digit; the best k must be equal.",
        f"Brute force fits {regressor_name} once per left-out sample, at k = {TIMED_K}, to the first n "
        f"rows, as the author did. Seconds are medians of {N_CALLS[quick]} calls on this machine, after "
        "one that compiles.",
        "Figure 4: equal values of the one feature make tied samples, and the paper does not give their "
        "order; the programs take the order in which scikit-learn's k-d tree finds them. Here the feature "
        "is given in units of its last digit, so that equal distances are equal numbers and neighbors do "
        "not change, and ties are broken by the order of the file; 'standardized' is the paper's "
        "preparation, whose rounding breaks some ties at random. These are different orders of the same "
        "tied samples, with different best k: a difference from the paper is due to the order.",
        "With the same order for both methods, the identity is exact from the k on at which the k + 1 "
        "nearest samples contain all that coincide with the left-out one. Both methods have the same best "
        "k here. For Wine those of the paper differ, since the tree of all samples and the trees without "
        "one sample give two orders; their printed errors also differ beyond that k.",
        "The best k of figure 4 is the best of those that the author's programs tried, 1 to 20 for "
        "Diabetes and 1 to 25 for Wine.",
    )
