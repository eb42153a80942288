"""The section on learning: exact scores over training sizes, and a marked extrapolation."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from .._typing import Array
from ..designs import Subsample
from ..neighbors import Neighbors, SupervisedDistanceWarning
from ..results import complete_cv
from ._cost import smallest_training_size
from ._data import Cut, of_a_part
from ._lists import enough_depth, keep_lists
from ._settings import part_of
from ._study import Study
from ._wording import rounded, score_text

FEWEST_SIZES, MOST_SIZES = 7, 12
SIZES_PER_DOUBLING = 3
TOL = 1e-6
MODEL = "a - b * n**-c"
FEWEST_POINTS = 5
LARGEST_MISFIT = 0.25
"""Root mean squared residual of a sensible fit, as a share of the spread of the scores."""


def learning_section(study: Study) -> dict[str, Any]:
    """Return the section."""
    part, cut = part_of(study, study.effort.learning, "learning curves of")
    best = min(study.n_neighbors, part.train_size)
    numbers = sorted({1, best, min(5, part.train_size)})
    sizes = _sizes(part, max(numbers), study.ties)
    near = part.neighbors(study.best_setting.scaling, study.best_setting.metric)
    if part.table.is_mixed:
        _keep_deepest(near, part, sizes, max(numbers))
    curves: list[dict[str, Any]] = []
    for k in numbers:
        cells = [_cell(near, part, k, size) for size in sizes]
        curves.append(
            {
                "n_neighbors": k,
                "scores": [None if each is None else each[0] for each in cells],
                "error_bound": [None if each is None else each[1] for each in cells],
            }
        )
    scores: list[float | None] = next(each["scores"] for each in curves if each["n_neighbors"] == best)
    known = [(size, score) for size, score in zip(sizes, scores, strict=True) if score is not None]
    if sizes[0] > max(2, part.table.n_items // 40):
        study.notes.append(
            f"Learning curves start at {sizes[0]:,} training samples: smaller ones would take too long."
        )
    points = np.array(known)
    highest = 1.0 if study.task == "classification" else math.inf
    extrapolation, reason = extrapolated(points[:, 0], points[:, 1], 2 * part.table.n_items, highest)
    if extrapolation is None:
        study.notes.append(f"The learning curve is not extrapolated: {reason}.")
    return {
        "scaling": study.best_setting.scaling,
        "metric": study.best_setting.metric,
        "train_sizes": sizes,
        "curves": curves,
        "extrapolation": extrapolation,
        "subsample": cut,
        "conclusion": _conclusion(study, best, known, extrapolation, reason, cut),
    }


def _keep_deepest(near: Neighbors, part: Study, sizes: list[int], largest_k: int) -> None:
    """Search once for all training sizes, from the smallest whose lists fit into memory.

    Pairs of rows of a mixed table are slow to compare, so one search for each size would take longest.
    """
    for size in sizes:
        depth = enough_depth(part.table.n_items, size, min(largest_k, size), TOL)
        if near.room(min(depth, near.max_depth)) is not None:
            keep_lists(near, depth, part.n_jobs)
            return


def _sizes(part: Study, largest_k: int, ties: float) -> list[int]:
    """Seven to twelve training sizes, in equal ratios; fewer where they lie close together."""
    n_items = part.table.n_items
    first = smallest_training_size(n_items, largest_k, ties, part.n_classes)
    doublings = np.log2((n_items - 1) / first)
    n_sizes = min(max(1 + int(SIZES_PER_DOUBLING * doublings), FEWEST_SIZES), MOST_SIZES)
    return sorted({round(size) for size in np.geomspace(first, n_items - 1, n_sizes).tolist()})


def _cell(near: Neighbors, part: Study, k: int, size: int) -> tuple[float, float] | None:
    """Score and error bound; None if K samples do not fit into the training set."""
    if k > size:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SupervisedDistanceWarning)
        found = complete_cv(
            near,
            part.y,
            part.rule,
            Subsample(size),
            average=part.average,
            tol=TOL,
            n_jobs=part.n_jobs,
            n_neighbors=k,
        )
    return found.score, found.error_bound


def extrapolated(
    sizes: Array, scores: Array, at: int, highest: float = math.inf
) -> tuple[dict[str, Any] | None, str]:
    """A power law fitted to a learning curve, at a larger training size; or None and the reason.

    The curve must approach a limit a from one side: a - b n^-c with c in (0, 2]. Scores are from 0 to
    `highest`.
    """
    from scipy.optimize import curve_fit

    if len(sizes) < FEWEST_POINTS:
        return None, f"it has {len(sizes)} points, fewer than {FEWEST_POINTS}"
    spread = float(np.ptp(scores))
    if spread <= 1e-9 * float(np.abs(scores).max()):
        return None, "the score does not depend on the training size"
    # Large training sets say most about still larger ones.
    late = sizes >= sizes[-1] / 8
    late[-FEWEST_POINTS:] = True
    x, y = sizes[late] / sizes[-1], scores[late]

    def law(n: Array, a: float, b: float, c: float) -> Array:
        return np.asarray(a - b * n**-c)

    start = (float(y[-1]), float((y[-1] - y[0]) / (x[0] ** -0.5 - 1)), 0.5)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found, _ = curve_fit(law, x, y, start, bounds=((-np.inf, -np.inf, 0.01), (np.inf, np.inf, 2.0)))
    except (RuntimeError, ValueError) as error:
        return None, f"no power law fits ({error})"
    misfit = float(np.sqrt(np.square(law(x, *found) - y).mean()))
    if misfit > LARGEST_MISFIT * float(np.ptp(y)):
        return None, "a power law does not fit it"
    gain = float(law(np.array(at / sizes[-1]), *found) - law(np.array(1.0), *found))
    if abs(gain) > spread:
        return None, "the fitted power law still changes too fast"
    score = float(scores[-1]) + gain
    if not 0 <= score <= highest:
        where = "below 0" if score < 0 else "above 100%"
        return None, f"the fitted power law goes {where}"
    return {"train_size": at, "score": score, "gain": gain, "model": MODEL}, ""


def _conclusion(
    study: Study,
    best: int,
    known: list[tuple[int, float]],
    extrapolation: dict[str, Any] | None,
    reason: str,
    cut: Cut,
) -> str:
    classify = study.task == "classification"

    def said(value: float) -> str:
        return score_text(value, study.task)

    measure = study.best.measure
    (few, low), (many, high) = known[0], known[-1]
    text = (
        f"From {few:,} to {many:,} training samples the {measure} with K = {best} goes from {said(low)} to "
        f"{said(high)}"
    )
    text += of_a_part(cut)
    if extrapolation is None:
        return f"{text}; it is not extrapolated, since {reason}."
    gain = extrapolation["gain"]
    change = f"{100 * gain:+.1f} points" if classify else ("+" if gain > 0 else "") + rounded(gain)
    return (
        f"{text}; extrapolated to {extrapolation['train_size']:,}, which is a guess, it would be "
        f"{said(extrapolation['score'])} ({change})."
    )
