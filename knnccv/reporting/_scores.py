"""The section on scores: the best and the default setting, baselines, and the luck of split and data."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from .._labels import majority_class
from .._training_set_count import magnitude, magnitude_of_log10
from ..inference import InferenceWarning, compare
from ..montecarlo import monte_carlo_cv
from ..results import CompleteCV
from ._lists import depth_of_halves, enough_depth, keep_lists
from ._regression import curve_numbers
from ._settings import LEVEL
from ._study import Setting, Study
from ._text import quoted
from ._wording import finite, interval_text, percentage, score_text

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
    if study.task == "classification":
        label, share = majority_class(study.y)
        balanced = 1 / len(np.unique(study.y))
        simple = {
            "name": "majority class",
            "score": balanced if study.average == "class" else share,
            "accuracy": share,
            "balanced_accuracy": balanced,
            "explanation": f"always answers {quoted(label)}, the largest class",
        }
    else:
        simple = {
            "name": "mean of the training targets",
            "score": error_of_mean(study.y, study.train_size),
            "accuracy": None,
            "balanced_accuracy": None,
            "explanation": "always answers the mean target of the training samples",
        }
    return [
        simple,
        {
            "name": "one nearest neighbor",
            "score": nearest.score,
            **measures(study, nearest),
            "explanation": f"copies the nearest training sample ({setting.columns})",
        },
    ]


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
