"""Figure 4 of Kanagawa (2024): one feature, of which many samples have the same value."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from ..._typing import Array
from ...curves import loo_curve, loo_identity
from .._comparison import Line
from ._brute_force import fitted_one_by_one, predict_by_hand, regressor, standardized
from ._paper import DIGIT, KS, Study

EQUAL = 1e-10
N_ORDERS = {False: 1000, True: 100}


def one_feature(
    study: Study, part: str, X: Array, y: Array, quick: bool
) -> tuple[list[Line], dict[str, Any]]:
    """The lines, and the curves of the figure."""
    whole = np.rint(X * study.unit)  # so that equal distances are equal numbers
    brute = loo_curve(whole, y, KS, ties="index")
    mean = loo_curve(whole, y, KS, ties="random")
    identity = loo_identity(whole, y, KS, check=False)
    largest = int(np.unique(whole, return_counts=True)[1].max())
    last = study.tried[-1]

    def best(curve: Array) -> int:
        return int(np.argmin(curve[:last])) + 1

    def lines_of(how: str, found: tuple[int, int]) -> list[Line]:
        return [
            Line(part, f"best k, {method}, {how}", paper, ours, (paper, paper), digits=0)
            for method, paper, ours in zip(("brute force", "identity"), study.best, found, strict=True)
        ]

    Z = standardized(X)
    lines = lines_of("order of the file", (best(brute), best(identity)))
    rounded = best(loo_curve(Z, y, KS, ties="index")), best(loo_identity(Z, y, KS, check=False))
    lines += lines_of("standardized", rounded)
    if not quick:
        lines += _by_program(study, part, Z, y)
    lines.append(Line(part, "best k, mean over all orders", None, best(mean), digits=0))
    lines.append(_orders(study, part, whole, y, N_ORDERS[quick]))
    lines += _claims(study, part, whole, y, brute, identity, largest)
    return lines, {"k": list(KS), "brute": brute, "identity": identity, "mean": mean, "tried": last}


def _by_program(study: Study, part: str, Z: Array, y: Array) -> list[Line]:
    """What the author's steps give here, where scikit-learn is installed."""
    predict, how = regressor()
    if predict is predict_by_hand:
        return []
    brute, identity = [], []
    for k in study.tried:
        brute.append(fitted_one_by_one(Z, y, k, predict))
        fitted = [predict(Z, y, item, k + 1) for item in Z]
        identity.append(((k + 1) / k) ** 2 * float(np.mean((np.array(fitted) - y) ** 2)))
    return [
        Line(
            part,
            f"best k, {method}, by scikit-learn",
            paper,
            int(np.argmin(curve)) + 1,
            (paper, paper),
            digits=0,
            note=f"standardized, {how} as in the author's program.",
        )
        for method, paper, curve in zip(
            ("brute force", "identity"), study.best, (brute, identity), strict=True
        )
    ]


def _orders(study: Study, part: str, X: Array, y: Array, number: int) -> Line:
    """Whether the printed best k is the best for some order of the rows."""
    rng = np.random.default_rng(0)
    counts: Counter[int] = Counter()
    for _ in range(number):
        rows = rng.permutation(len(y))
        counts[int(np.argmin(loo_curve(X[rows], y[rows], study.tried, ties="index"))) + 1] += 1
    told = ", ".join(f"{k} ({count})" for k, count in sorted(counts.items()))
    return Line(
        part,
        f"{study.best[0]} is brute force's best by some order",
        holds=counts[study.best[0]] > 0,
        note=f"k, and by how many of {number} random orders of the rows it is best: {told}.",
    )


def _claims(
    study: Study, part: str, X: Array, y: Array, brute: Array, identity: Array, largest: int
) -> list[Line]:
    from ...designs import LeaveOut
    from ...driver import complete_cv

    report = complete_cv(X, y, "regression", LeaveOut(1), n_neighbors=1).tie_report()
    within = report.lowest - DIGIT <= study.first[0] <= report.highest + DIGIT
    ratio, printed = identity[0] / brute[0], study.first[1] / study.first[0]
    off = float(np.abs(identity / brute - 1)[largest - 2 :].max())
    return [
        Line(
            part,
            "the identity overestimates at k = 1",
            holds=bool(ratio > 1 + EQUAL),
            note=f"{ratio:.2f} times brute force; in the author's program {printed:.2f} times.",
        ),
        Line(
            part,
            f"from k = {largest - 1} on it is exact, in the same order",
            holds=off <= EQUAL,
            note=f"at most {largest} samples coincide, so that the k + 1 nearest hold the sample itself; "
            f"relative differences up to {off:.1e}.",
        ),
        Line(
            part,
            "printed error at k = 1: between all orders'",
            holds=within,
            note=f"{study.first[0]} by brute force; over all orders {report.lowest:.6f} to "
            f"{report.highest:.6f}.",
        ),
    ]
