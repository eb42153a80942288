"""Figure 4 of Kanagawa (2024): one feature, of which many samples have the same value."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from ..._typing import Array
from ...curves import loo_curve, loo_identity
from ...designs import LeaveOut
from ...results import complete_cv
from .._comparison import Line
from ._brute_force import fitted_one_by_one, predict_by_hand, regressor, standardized
from ._paper import DIGIT, KS, Study

EQUAL = 1e-10
"""Relative difference below which errors are called equal."""

N_ORDERS = {False: 1000, True: 100}


def one_feature(
    study: Study, part: str, X: Array, y: Array, quick: bool
) -> tuple[list[Line], dict[str, Any]]:
    """The lines, and the curves of the figure."""
    whole = np.rint(X * study.unit)  # so that equal distances are equal numbers
    brute = loo_curve(whole, y, KS, ties="index")
    mean = loo_curve(whole, y, KS, ties="random")
    identity = loo_identity(whole, y, KS, check=False)
    max_equal = int(np.unique(whole, return_counts=True)[1].max())
    Z = standardized(X)
    rounded = loo_curve(Z, y, KS, ties="index"), loo_identity(Z, y, KS, check=False)
    lines = [
        *_best_lines(study, part, "order of the file", brute, identity),
        *_best_lines(study, part, "standardized", *rounded),
        *([] if quick else _by_program(study, part, Z, y)),
        Line(part, "best k, mean over all orders", None, _best_k(study, mean), digits=0),
        _orders(study, part, whole, y, N_ORDERS[quick]),
        *_claims(study, part, whole, y, brute, identity, max_equal),
    ]
    tried = study.tried[-1]
    return lines, {"k": list(KS), "brute": brute, "identity": identity, "mean": mean, "tried": tried}


def _best_k(study: Study, curve: Array) -> int:
    """The k of the least error among those that the paper tried."""
    return int(np.argmin(curve[: study.tried[-1]])) + 1


def _best_lines(
    study: Study, part: str, order: str, brute: Array, identity: Array, note: str = ""
) -> list[Line]:
    methods = (("brute force", brute), ("identity", identity))
    return [
        Line(
            part, f"best k, {name}, {order}", best, _best_k(study, curve), (best, best), digits=0, note=note
        )
        for (name, curve), best in zip(methods, study.best, strict=True)
    ]


def _by_program(study: Study, part: str, Z: Array, y: Array) -> list[Line]:
    """The results of the author's steps, if scikit-learn is installed."""
    predict, regressor_name = regressor()
    if predict is predict_by_hand:
        return []
    brute, identity = [], []
    for k in study.tried:
        brute.append(fitted_one_by_one(Z, y, k, predict))
        fitted = [predict(Z, y, sample, k + 1) for sample in Z]
        identity.append(((k + 1) / k) ** 2 * float(np.mean((np.array(fitted) - y) ** 2)))
    note = f"standardized, {regressor_name} as in the author's program."
    return _best_lines(study, part, "by scikit-learn", np.array(brute), np.array(identity), note)


def _orders(study: Study, part: str, X: Array, y: Array, n_orders: int) -> Line:
    """The claim that the printed best k is the best for some order of the rows."""
    rng = np.random.default_rng(0)
    counts: Counter[int] = Counter()
    for _ in range(n_orders):
        rows = rng.permutation(len(y))
        counts[_best_k(study, loo_curve(X[rows], y[rows], study.tried, ties="index"))] += 1
    listed = ", ".join(f"{k} ({count})" for k, count in sorted(counts.items()))
    return Line(
        part,
        f"{study.best[0]} is brute force's best by some order",
        holds=counts[study.best[0]] > 0,
        note=f"k, and the number of {n_orders} random orders of the rows for which it is best: {listed}.",
    )


def _claims(
    study: Study, part: str, X: Array, y: Array, brute: Array, identity: Array, max_equal: int
) -> tuple[Line, ...]:
    report = complete_cv(X, y, "regression", LeaveOut(1), n_neighbors=1).tie_report()
    ratio, printed = identity[0] / brute[0], study.first[1] / study.first[0]
    off = float(np.abs(identity / brute - 1)[max_equal - 2 :].max())
    return (
        Line(
            part,
            "the identity overestimates at k = 1",
            holds=bool(ratio > 1 + EQUAL),
            note=f"{ratio:.2f} times brute force; in the author's program {printed:.2f} times.",
        ),
        Line(
            part,
            f"from k = {max_equal - 1} on it is exact, in the same order",
            holds=off <= EQUAL,
            note=f"at most {max_equal} samples coincide, so that the k + 1 nearest contain the sample "
            f"itself; relative differences up to {off:.1e}.",
        ),
        Line(
            part,
            "printed error at k = 1: between all orders'",
            holds=report.lowest - DIGIT <= study.first[0] <= report.highest + DIGIT,
            note=f"{study.first[0]} by brute force; over all orders {report.lowest:.6f} to "
            f"{report.highest:.6f}.",
        ),
    )
