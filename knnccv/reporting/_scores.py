"""The sections on scores: the best and the default setting, both kinds of luck, and learning curves."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from .._formatting import magnitude, magnitude_of_log10
from .._labels import majority_class
from .._typing import Array
from ..inference import InferenceWarning, compare
from ..montecarlo import monte_carlo_cv
from ..neighbors import Neighbors
from ..results import CompleteCV
from ._cost import smallest_training_size
from ._errors import curve_numbers
from ._settings import LEVEL
from ._study import Setting, Study, depth_of_halves, enough_depth, keep_lists, part_of
from ._table import Cut, of_a_part
from ._text import finite, interval_text, percentage, quoted, rounded, score_text

MAX_EXACT_LOG = 1000
"""Decimal digits up to which the number of training sets is computed."""


def scores_section(study: Study) -> dict[str, Any]:
    """Score the best and the default setting, keep them in `study`, and return the section."""
    depth = enough_depth(len(study.y), study.train_size, study.n_neighbors)
    if study.task == "regression":
        depth = max(depth, curve_numbers(study.n_neighbors, study.near.max_depth)[-1] + 1)
    keep_lists(study.near, max(depth, _depth_of_halves(study, study.best_setting)), study.n_jobs)
    study.best = study.score(study.best_setting)
    same = study.best_setting == study.default_setting
    if not same:
        near = study.neighbors(study.default_setting.scaling, study.default_setting.metric)
        keep_lists(near, _depth_of_halves(study, study.default_setting), study.n_jobs)
    study.default = study.best if same else study.score(study.default_setting)
    best = _score(study, study.best_setting, study.best)
    default = best if same else _score(study, study.default_setting, study.default)
    difference = None if same else _difference(study)
    baselines = _baselines(study)
    return {
        "measure": study.best.measure,
        "is_loss": study.task == "regression",
        "average": study.average,
        "train_size": study.train_size,
        "best": best,
        "default": dict(default),
        "baselines": baselines,
        "difference": difference,
        "conclusion": _conclusion(study, best, baselines),
    }


def _depth_of_halves(study: Study, setting: Setting) -> int:
    near = study.neighbors(setting.scaling, setting.metric)
    return depth_of_halves(near, study.train_size, setting.n_neighbors)


def _score(study: Study, setting: Setting, found: CompleteCV) -> dict[str, Any]:
    error, interval, reason = _luck_of_the_data(study, found)
    return {
        "scaling": setting.scaling,
        "metric": setting.metric,
        "n_neighbors": setting.n_neighbors,
        "score": found.score,
        **measures(study, found),
        "error_bound": finite(found.error_bound),
        "standard_error": error,
        "interval": interval,
        "no_interval": reason,
        "split_std": _luck_of_the_split(study, setting, found),
        "n_train_sets": number_of_training_sets(found),
        "log10_n_train_sets": found.log10_n_train_sets,
    }


def measures(study: Study, found: CompleteCV) -> dict[str, float | None]:
    """The accuracy and the balanced accuracy of a classification, whichever of them the score is."""
    if study.task == "regression":
        return {"accuracy": None, "balanced_accuracy": None}
    pooled = float(found.per_item.mean()) if study.average == "class" else found.score
    return {"accuracy": pooled, "balanced_accuracy": found.balanced_accuracy}


def number_of_training_sets(found: CompleteCV) -> str:
    """The number in words; one of too many digits is not computed."""
    log = found.log10_n_train_sets
    return magnitude(found.n_train_sets) if log < MAX_EXACT_LOG else magnitude_of_log10(log)


def _luck_of_the_data(study: Study, found: CompleteCV) -> tuple[float | None, Any, str | None]:
    """Standard error, interval, and the reason why there is none."""
    how = {"n_halvings": study.effort.n_halvings, "random_state": study.random_state}
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", InferenceWarning)
            low, high = found.confidence_interval(LEVEL, **how)
            error = float(found.standard_error(**how))
    except ValueError as reason:
        return None, None, str(reason)
    for each in caught:
        text = f"Intervals: {each.message}."
        if text not in study.notes:
            study.notes.append(text)
    if not (math.isfinite(low) and math.isfinite(high)):
        return finite(error), None, "the halves of the data give no interval"
    return finite(error), {"low": float(low), "high": float(high), "level": LEVEL}, None


def _luck_of_the_split(study: Study, setting: Setting, found: CompleteCV) -> float | None:
    """Standard deviation of the score of one random split; of large data from fewer random splits."""
    if not study.effort.n_runs:
        return finite(float(found.split_std(random_state=study.random_state)))
    runs = monte_carlo_cv(
        study.neighbors(setting.scaling, setting.metric),
        study.y,
        study.rule,
        study.design,
        n_repeats=study.effort.n_runs,
        random_state=study.random_state,
        n_jobs=study.n_jobs,
        average=study.average,
        n_neighbors=setting.n_neighbors,
    )
    note = f"The scatter of one split comes from {study.effort.n_runs} random splits."
    if note not in study.notes:
        study.notes.append(note)
    return finite(runs.std)


def _difference(study: Study) -> dict[str, Any] | None:
    """The best against the default setting."""
    how = {"n_halvings": study.effort.n_halvings, "random_state": study.random_state}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InferenceWarning)
            found = compare(study.best, study.default, **how)
            low, high = found.confidence_interval(LEVEL)
    except ValueError:
        return None
    return {
        "score": found.difference,
        "low": finite(low),
        "high": finite(high),
        "pvalue": finite(found.pvalue),
    }


def _baselines(study: Study) -> list[dict[str, Any]]:
    setting = Setting(study.best_setting.scaling, study.best_setting.metric, 1)
    nearest = study.best if setting == study.best_setting else study.score(setting)
    simple: dict[str, Any] = (
        {
            "name": "mean of the training targets",
            "score": error_of_mean(study.y, study.train_size),
            "accuracy": None,
            "balanced_accuracy": None,
            "explanation": "always answers the mean target of the training samples",
        }
        if study.task == "regression"
        else _majority(study)
    )
    return [
        simple,
        {
            "name": "one nearest neighbor",
            "score": nearest.score,
            **measures(study, nearest),
            "explanation": f"copies the nearest training sample ({setting.columns})",
        },
    ]


def _majority(study: Study) -> dict[str, Any]:
    label, share = majority_class(study.y)
    scores = {"accuracy": share, "balanced_accuracy": 1 / study.n_classes}
    score = scores["balanced_accuracy" if study.average == "class" else "accuracy"]
    explanation = f"always answers {quoted(label)}, the largest class"
    return {"name": "majority class", "score": score, "explanation": explanation} | scores


def error_of_mean(y: Any, train_size: int) -> float:
    """Expected squared error of the mean of a random training set, over all tested samples.

    It is s^2 (1 + 1 / m), with the unbiased variance s^2 of all targets and m training samples. The bias of
    a sample is its distance to the mean of the others, the variance that of a mean of m draws without
    replacement from the others. The finite corrections of both cancel in the mean over the samples.
    """
    return float(np.var(y, ddof=1)) * (1 + 1 / train_size)


def _conclusion(study: Study, best: dict[str, Any], baselines: list[dict[str, Any]]) -> str:
    classify = study.task == "classification"

    def said(value: float) -> str:
        return score_text(value, study.task)

    amount = said(best["score"])
    start = f"The {study.best.measure} is {amount}"
    if classify and study.average != "class":
        start = f"{amount} of new samples are classified correctly"
    interval = ""
    if best["interval"]:
        low, high = best["interval"]["low"], best["interval"]["high"]
        ends = interval_text(low, high, study.task)
        interval = f"; {LEVEL:.0%} interval for the population {ends}"
    return (
        f"{start} with the best setting ({study.best_setting}{interval}), against "
        f"{said(study.default.score)} with the default setting and {said(baselines[0]['score'])} by "
        f"{'always answering ' if classify else ''}the {baselines[0]['name']}"
        f"{_accuracies(best, baselines[0]) if study.average == 'class' else ''}."
    )


def _accuracies(best: dict[str, Any], simple: dict[str, Any]) -> str:
    """The accuracies behind the balanced ones."""
    of_best, of_simple = percentage(best["accuracy"]), percentage(simple["accuracy"])
    return f"; the accuracy of the best is {of_best}, and that of the {simple['name']} {of_simple}"


FEWEST_SIZES, MOST_SIZES = 7, 12
SIZES_PER_DOUBLING = 3
LEARNING_TOL = 1e-6
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
    scaling, metric = study.best_setting.scaling, study.best_setting.metric
    curves: list[dict[str, Any]] = []
    for k in numbers:
        found = [
            part.score(Setting(scaling, metric, k), size, LEARNING_TOL) if k <= size else None
            for size in sizes
        ]
        scores = [None if each is None else each.score for each in found]
        bounds = [None if each is None else each.error_bound for each in found]
        curves.append({"n_neighbors": k, "scores": scores, "error_bound": bounds})
    scores = next(each["scores"] for each in curves if each["n_neighbors"] == best)
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
        "scaling": scaling,
        "metric": metric,
        "train_sizes": sizes,
        "curves": curves,
        "extrapolation": extrapolation,
        "subsample": cut,
        "conclusion": _of_learning(study, best, known, extrapolation, reason, cut),
    }


def _keep_deepest(near: Neighbors, part: Study, sizes: list[int], largest_k: int) -> None:
    """Search once for all training sizes, from the smallest whose lists fit into memory.

    Pairs of rows of a mixed table are slow to compare, so one search for each size would take longest.
    """
    for size in sizes:
        depth = enough_depth(part.table.n_items, size, min(largest_k, size), LEARNING_TOL)
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


def _of_learning(
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
