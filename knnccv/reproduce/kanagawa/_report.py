"""Figures 2 to 4 of Kanagawa (2024), computed again: leave-one-out of k-NN regression by an identity."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..._parallel import for_each
from ..._typing import Array
from ...curves import loo_curve, loo_identity
from .._comparison import Comparison, Line, Picture
from .._timing import median_seconds
from ._brute_force import Predict, fitted_one_by_one, one_by_one, regressor, standardized
from ._paper import DIGIT, KS, STUDIES, TIMED_K, Study
from ._pictures import draw_curves, draw_ties
from ._ties import EQUAL, one_feature

TITLE = "Kanagawa: leave-one-out of k-NN regression by an identity, figures 2 to 4"
SOURCE = (
    "M. Kanagawa, Fast Computation of Leave-One-Out Cross-Validation for k-NN Regression, 2024, sections 4 "
    "and 5; errors and seconds in the outputs of its programs, github.com/motonobuk/LOOCV-kNN"
)

FASTER = 0.1
"""The identity's time is called negligible below this share of brute force's."""

GROWTH = 0.05
"""Its growth is called hardly any below this share of brute force's."""

N_CALLS = {False: 5, True: 3}
SHOWN = (1, 5, 10, 20)


def kanagawa(quick: bool, progress: bool = False) -> Comparison:
    """Compute the figures again; `quick` times fewer sizes and draws fewer orders of the rows."""
    from ... import datasets

    predict, how = regressor()
    lines: dict[str, list[Line]] = {}
    pictures: dict[str, Picture] = {}
    ties: dict[str, Any] = {}

    def all_features(study: Study) -> None:
        data = getattr(datasets, study.load)()
        part = f"Figure {study.figure}: {study.name}, all features"
        X, y = standardized(data.X), data.y.astype(float)
        lines[part], found = _all_features(study, part, X, y, quick, predict)
        pictures[part] = Picture(
            f"figure-{study.figure}",
            f"{study.name}: leave-one-out error over k, and seconds over the number of items",
            partial(draw_curves, study.name, found),
        )

    def only_one(study: Study) -> None:
        data = getattr(datasets, study.load)()
        title = f"{study.name}, {study.feature} alone"
        part = f"Figure 4: {title}"
        X, y = data.X[:, [study.column]], data.y.astype(float)
        lines[part], ties[title] = one_feature(study, part, X, y, quick)

    tasks = [partial(ask, study) for ask in (all_features, only_one) for study in STUDIES]
    for_each(lambda task: task(), tasks, n_jobs=1, progress=progress, unit="figure")  # they are timed
    caption = "One feature, many equal values: leave-one-out error over k; the best k is marked"
    return Comparison(
        TITLE,
        SOURCE,
        tuple(line for part in lines.values() for line in part),
        _notes(how, quick),
        (*pictures.values(), Picture("figure-4", caption, partial(draw_ties, ties))),
    )


def _all_features(
    study: Study, part: str, X: Array, y: Array, quick: bool, predict: Predict
) -> tuple[list[Line], dict[str, Any]]:
    brute, identity, curve = one_by_one(X, y, KS[-1]), loo_identity(X, y, KS), loo_curve(X, y, KS)
    found = {"k": list(KS), "brute": brute, "identity": identity, "curve": curve}
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
    lines += [
        Line(
            part,
            f"all {len(study.scores)} printed errors, to the last digit",
            holds=bool(off <= DIGIT),
            note=f"the largest difference is {off:.1e}.",
        ),
        _same(part, "identity = brute force, k = 1 to 50", identity, brute),
        _same(part, "loo_curve = brute force, k = 1 to 50", curve, brute),
    ]
    timed, seconds = _seconds(study, part, X, y, quick, predict)
    return lines + timed, {**found, **seconds}


def _same(part: str, quantity: str, ours: Array, brute: Array) -> Line:
    off = float(np.abs(ours / brute - 1).max())
    return Line(part, quantity, holds=off <= EQUAL, note=f"relative differences up to {off:.1e}.")


def _seconds(
    study: Study, part: str, X: Array, y: Array, quick: bool, predict: Predict
) -> tuple[list[Line], dict[str, Any]]:
    sizes = list(study.runs)
    if quick:
        sizes = [sizes[0], sizes[len(sizes) // 2], sizes[-1]]
    brute, identity, curve, off = [], [], [], []
    for n in sizes:
        A, b = X[:n], y[:n]
        most = min(KS[-1], n - 1)
        timed = partial(median_seconds, n_calls=N_CALLS[quick])
        brute.append(timed(partial(fitted_one_by_one, A, b, TIMED_K, predict)))
        identity.append(timed(partial(loo_identity, A, b, TIMED_K)))
        curve.append(timed(partial(loo_curve, A, b, range(1, most + 1))))
        score = fitted_one_by_one(A, b, TIMED_K, predict)
        errors = (score, float(loo_identity(A, b, TIMED_K)[0]))
        off.append(max(abs(error - study.runs[n].score) for error in errors))
    lines = [
        Line(
            part,
            "errors of the first n samples, as printed",
            holds=max(off) <= DIGIT,
            note=f"k = {TIMED_K}, n = {', '.join(map(str, sizes))}, by brute force and by the "
            f"identity; the largest difference is {max(off):.1e}.",
        )
    ]
    for n, i in ((sizes[0], 0), (sizes[-1], -1)):
        run = study.runs[n]
        lines += [
            Line(part, f"seconds, brute force, {n} items", run.brute, brute[i], digits=5),
            Line(part, f"seconds, identity, {n} items", run.identity, identity[i], digits=5),
            Line(part, f"seconds, loo_curve, up to 50 k, {n} items", None, curve[i], digits=5),
        ]
    slower = brute[-1] / brute[0]
    rise = (identity[-1] - identity[0]) / (brute[-1] - brute[0])
    share = max(one / other for one, other in zip(identity, brute, strict=True))
    growth = sizes[-1] / sizes[0]
    lines += [
        Line(
            part,
            "brute force's time grows with n",
            holds=slower > growth / 2,
            note=f"{slower:.1f} times for {growth:.0f} times the samples; to hold, at least half of that.",
        ),
        Line(
            part,
            "the identity's hardly grows beside it",
            holds=slower > 1 and rise < GROWTH,
            note=f"by {rise:.2%} of the seconds by which brute force's does; to hold, less than "
            f"{GROWTH:.0%}.",
        ),
        Line(
            part,
            "the identity's is negligible beside it",
            holds=share < FASTER,
            note=f"at most {share:.1%} of brute force's at any size; to hold, less than {FASTER:.0%}.",
        ),
    ]
    return lines, {"n": sizes, "seconds": {"brute": brute, "identity": identity, "curve": curve}}


def _notes(how: str, quick: bool) -> tuple[str, ...]:
    return (
        "Features are standardized as by scikit-learn's StandardScaler. The targets of Wine are its "
        "classes as real numbers, as in the author's programs; they count from 0 there and from 1 here, "
        "which changes no squared error.",
        "Printed errors are allowed half a unit of their last digit; the best k must be equal.",
        f"Brute force fits {how} once per left-out sample, at k = {TIMED_K}, to the first n rows, as the "
        f"author did. Seconds are medians of {N_CALLS[quick]} calls on this machine, after one that "
        "compiles.",
        "Figure 4: equal values of the one feature make equally near samples, and the paper does not say in "
        "which order they are taken; the programs take the order in which scikit-learn's k-d tree finds "
        "them. Here the feature is counted in units of its last digit, which makes equal distances equal "
        "numbers and changes no neighbor, and ties go by the order of the file; 'standardized' is the "
        "paper's preparation, whose rounding breaks some ties by chance. Each of these is an order of the "
        "same equally near samples, and they have different best k: where one differs, the order is why.",
        "In one and the same order, the identity errs only below the k at which the k + 1 nearest are sure "
        "to hold all samples that coincide with the left-out one, so that both methods have the same best k "
        "here. That the paper's differ for Wine is due to two orders, of the tree that holds all samples and "
        "of those that lack one; their printed errors differ beyond that k too.",
        "The best k of figure 4 is the best of those that the author's programs tried, 1 to 20 for "
        "Diabetes and 1 to 25 for Wine.",
    )
