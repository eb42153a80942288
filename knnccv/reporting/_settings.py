"""The sections on settings: scalings, metrics and K by validation curves, and the choice by nested runs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .._typing import Array
from ..curves import HalfSurface, Surface, surface
from ..hvdm import IdentifierWarning, SupervisedDistanceWarning
from ..inference import degrees_of_freedom
from ..tuning import SCALINGS, TunedScore, tuned_score
from ._cost import SEARCH_LIMIT, affordable_neighbors, effort, nested_runs, search_units, tie_size
from ._study import TIMES_LARGER, Setting, Study, are_unequal, part_of
from ._table import Cut, TableInput, of_a_part
from ._text import percentage, score_text

METRICS = ("euclidean", "manhattan", "cosine")
OPTIMISTIC = "hvdm"
LEVEL = 0.95
HVDM_NOTE = (
    "HVDM compares categories by the classes that they occur with. It has seen the labels, so its curve "
    "can be optimistic, and it is never chosen as the best."
)
HEOM_NOTE = (
    "The table has categories or missing values, so distances are HEOM: the differences of numbers are "
    "divided by the range of their column, different categories are at distance 1, and so is a missing "
    "value. HEOM scales the columns itself; other scalings and metrics do not apply."
)
SCALING_NOTE = (
    "Scalings are fitted to all samples, without the labels; scaling each training set by itself is a "
    "slightly different experiment."
)
TUNED = ("score", "std_error", "std", "inner_score", "optimism", "optimism_std_error", "n_runs", "inner")
"""What is said of a `TunedScore`."""
Found = dict[tuple[str, str], Surface]


def offered(study: Study) -> list[tuple[str, str]]:
    """The pairs of scaling and metric; the first is the default."""
    if not study.table.is_mixed:
        return [(scaling, metric) for scaling in SCALINGS for metric in METRICS]
    return [("raw", "heom"), ("raw", OPTIMISTIC)]


def choose_setting(study: Study, wanted: list[int]) -> dict[str, Any]:
    """Compare the settings, keep the best in `study`, and return the section."""
    pairs = offered(study)
    study.ties = tie_size(study.X, study.random_state)
    affordable = affordable_neighbors(wanted, study.table.n_items, study.n_classes, len(pairs))
    if affordable != wanted:
        study.notes.append(
            f"The K above {affordable[-1]} were not compared: with {study.n_classes} classes they would "
            f"take too long. One alone is always computed (n_neighbors={wanted[-1]})."
        )
        wanted = affordable
    largest_k = max([k for k in wanted if k <= study.train_size] or [study.train_size])
    study.effort = effort(study.table.n_items, study.ties, study.n_classes, len(pairs), largest_k)
    part, cut = part_of(study, study.effort.n_settings, "comparing all settings on")
    numbers = [k for k in wanted if k <= part.train_size] or [part.train_size]
    if cut is not None:
        _note_losses(study, part, wanted)
    found: Found = {}
    omitted = []
    for scaling, metric in pairs:
        reason = _refused(study, metric, first=(scaling, metric) == pairs[0])
        if not reason:
            try:
                found[scaling, metric] = _curve(part, scaling, metric, numbers, part.average)
            except (ValueError, TypeError) as error:
                if (scaling, metric) == pairs[0]:
                    raise
                reason = str(error)
        if reason:
            omitted.append({"scaling": scaling, "metric": metric, "reason": reason})
    scaling, metric, row = _best(found)
    best = found[scaling, metric]
    k = int(best.n_neighbors[row])
    study.best_setting = Setting(scaling, metric, k)
    study.default_setting = Setting(*pairs[0], min(5, study.train_size))
    study.compared = {key: numbers for key in found if key[1] != OPTIMISTIC}
    _note(study, found)
    kept, compared = _not_worse(part, found, (scaling, metric), row)
    score = float(best.scores[row, 0])
    unequal = study.task == "classification" and are_unequal(study.y)
    other = _by_other_measure(part, found, (scaling, metric), row) if unequal else None
    return {
        "measure": best.measure,
        "other": other,
        "curves": [_as_dict(key, each, part.table.n_items) for key, each in found.items()],
        "best": {"scaling": scaling, "metric": metric, "n_neighbors": k, "score": score},
        "not_worse": kept,
        "omitted": omitted,
        "subsample": cut,
        "conclusion": _conclusion(study, part, found, score, kept, compared, cut) + _other(other),
    }


def _by_other_measure(part: Study, found: Found, best: tuple[str, str], row: int) -> dict[str, Any]:
    """What would be the best setting by accuracy, if balanced accuracy chose it, or the other way round.

    instead is the measure that chose, at that setting; of_best the other measure at the chosen setting.
    """
    average = "pooled" if part.average == "class" else "class"
    others = {key: _curve(part, *key, each.n_neighbors.tolist(), average) for key, each in found.items()}
    scaling, metric, at = _best(others)
    there = others[scaling, metric]
    return {
        "measure": there.measure,
        "scaling": scaling,
        "metric": metric,
        "n_neighbors": int(there.n_neighbors[at]),
        "score": float(there.scores[at, 0]),
        "instead": float(found[scaling, metric].scores[at, 0]),
        "of_best": float(others[best].scores[row, 0]),
        "chosen_by": found[best].measure,
        "is_best": (scaling, metric, at) == (*best, row),
        "curves": [_as_dict(key, each, part.table.n_items) for key, each in others.items()],
    }


def _refused(study: Study, metric: str, first: bool) -> str:
    """Why a metric is not offered; the first setting always is."""
    table = study.table
    if metric == OPTIMISTIC and study.task == "regression":
        return "HVDM compares categories by classes, and a regression has none"
    if metric == OPTIMISTIC and not table.categorical.any():
        return "without categories HVDM is another scaling of the numbers"
    units = search_units(table.n_items, len(table.names), metric)
    if not first and units > SEARCH_LIMIT:
        return (
            f"comparing all pairs of {table.n_items:,} samples by {metric} would take about "
            f"{units / SEARCH_LIMIT:.1f} times as long as a report allows"
        )
    return ""


def _curve(part: Study, scaling: str, metric: str, numbers: list[int], average: str) -> Surface:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SupervisedDistanceWarning)
        warnings.simplefilter("ignore", IdentifierWarning)
        near = part.neighbors(scaling, metric)
        sizes = [part.train_size]
        return surface(near, part.y, numbers, sizes, part.rule, average=average, n_jobs=part.n_jobs)


def _best(found: Found) -> tuple[str, str, int]:
    """The best setting, in case of a tie within the bounds the first with the smallest K."""
    eligible = {key: each for key, each in found.items() if key[1] != OPTIMISTIC}
    gains = {key: -each.scores if each.is_loss else each.scores for key, each in eligible.items()}
    lowest = max(float((gains[key] - eligible[key].error_bound).max()) for key in eligible)
    for key, each in eligible.items():
        good = gains[key][:, 0] + each.error_bound[:, 0] >= lowest
        if good.any():
            return *key, int(np.argmax(good))
    raise AssertionError


def _not_worse(
    part: Study, found: Found, best: tuple[str, str], row: int
) -> tuple[list[dict[str, Any]], bool]:
    """The settings that are not significantly worse than the best, and whether all could be compared.

    They are compared on the same random halves. Where halves say nothing, only a setting with the same
    score, within the bounds, is not worse.
    """
    eligible = {key: each for key, each in found.items() if key[1] != OPTIMISTIC}
    try:
        halves = {
            key: each.half_scores(part.effort.n_comparisons, random_state=part.random_state)
            for key, each in eligible.items()
        }
    except ValueError as reason:
        part.notes.append(f"Settings are not compared statistically: {reason}.")
        halves = {}
    out, n_unknown = [], 0
    for key, each in eligible.items():
        slack = _half_width(halves[key], halves[best], row) if halves else np.zeros(len(each.scores))
        gap = np.abs(each.scores[:, 0] - found[best].scores[row, 0])
        bound = each.error_bound[:, 0] + found[best].error_bound[row, 0]
        near: Array = gap <= slack + bound
        if key == best:
            near[row] = True
        n_unknown += int((~near & (slack == 0)).sum())
        if near.any():
            numbers = each.n_neighbors[near].tolist()
            out.append({"scaling": key[0], "metric": key[1], "n_neighbors": numbers})
    if n_unknown and halves:
        what = "1 setting has" if n_unknown == 1 else f"{n_unknown} settings have"
        part.notes.append(
            f"{what} another score than the best, but the random halves of the data say nothing about the "
            "difference: such settings count as worse."
        )
    return out, bool(halves) and not n_unknown


def _half_width(of_setting: HalfSurface, of_best: HalfSurface, row: int) -> Array:
    """Half the interval of the difference to the best, for each K; 0 where the halves say nothing."""
    from scipy.special import stdtrit

    differences = of_setting.scores[..., 0] - of_best.scores[:, :, row, :1]
    error = np.sqrt(np.square(differences[:, 0] - differences[:, 1]).mean(axis=0) / 4)
    known = error > of_setting.resolution + of_best.resolution
    freedom = degrees_of_freedom(of_best.n_units, len(differences))
    width: Array = np.where(known, stdtrit(freedom, (1 + LEVEL) / 2) * error, 0.0)
    return width


def _as_dict(key: tuple[str, str], found: Surface, n_items: int) -> dict[str, Any]:
    return {
        "scaling": key[0],
        "metric": key[1],
        "n_neighbors": found.n_neighbors.tolist(),
        "scores": found.scores[:, 0].tolist(),
        "error_bound": found.error_bound[:, 0].tolist(),
        "n_items": n_items,
    }


def _note_losses(study: Study, part: Study, wanted: list[int]) -> None:
    """State what the comparison of settings on some of the rows cannot see."""
    large = [k for k in wanted if k > part.train_size]
    if large:
        study.notes.append(
            f"The K above {part.train_size:,} were not compared: settings are compared on "
            f"{part.table.n_items:,} samples with {part.train_size:,} training samples."
        )
    if study.task == "classification":
        n_classes, n_left = len(np.unique(study.y)), len(np.unique(part.y))
        if n_left < n_classes:
            study.notes.append(
                f"The {part.table.n_items:,} samples on which settings are compared hold {n_left} of the "
                f"{n_classes} classes."
            )


def identifier_notes(table: TableInput) -> list[str]:
    """Of columns whose categories all differ."""
    out = []
    for j in np.flatnonzero(table.categorical).tolist():
        codes = table.X[~np.isnan(table.X[:, j]), j]
        if len(codes) > 1 and len(np.unique(codes)) == len(codes):
            name = table.names[j]
            out.append(
                f"All values of the column {name} differ; if it identifies the samples, leave it out."
            )
    return out


def _note(study: Study, found: Found) -> None:
    study.notes += [HEOM_NOTE] * study.table.is_mixed + identifier_notes(study.table)
    study.notes += [HVDM_NOTE] * any(metric == OPTIMISTIC for _, metric in found)
    study.notes += [SCALING_NOTE] * any(scaling != "raw" for scaling, _ in found)
    if study.average == "class" and are_unequal(study.y):
        study.notes.append(
            f"The largest class has more than {TIMES_LARGER} times as many samples as the others on "
            "average, so that the accuracy hardly sees the others: the score is the balanced accuracy, in "
            "which all classes have equal weight (average='pooled', on the command line --average pooled, "
            "takes the accuracy)."
        )
    study.notes.append(
        "The best of many settings is chosen by the same data, so its score can be optimistic."
    )


def _conclusion(
    study: Study,
    part: Study,
    found: Found,
    score: float,
    kept: list[dict[str, Any]],
    compared: bool,
    cut: Cut,
) -> str:
    n_settings = sum(len(each.n_neighbors) for (_, metric), each in found.items() if metric != OPTIMISTIC)
    n_kept = sum(len(each["n_neighbors"]) for each in kept)
    amount = score_text(score, study.task)
    if study.task == "regression" or study.average == "class":
        amount = f"a {next(iter(found.values())).measure} of {amount}"
    if n_settings == 1:
        text = f"The only setting is {study.best_setting}, with {amount}"
    else:
        text = f"Of {n_settings} settings the best is {study.best_setting}, with {amount}"
        text += f"; {_of_others(n_kept - 1, compared)}"
    text += of_a_part(cut)
    largest = max(int(each.n_neighbors[-1]) for each in found.values())
    return f"{text}{at_the_edge(study.n_neighbors, largest, part.train_size)}."


def _other(other: dict[str, Any] | None) -> str:
    """What is said of the measure that did not choose."""
    if other is None:
        return ""
    measure, score = other["measure"], percentage(other["score"])
    if other["is_best"]:
        return f" It was chosen by {other['chosen_by']}, and is also the best by {measure} ({score})."
    setting = Setting(other["scaling"], other["metric"], other["n_neighbors"])
    return (
        f" It was chosen by {other['chosen_by']}. By {measure} it has {percentage(other['of_best'])}, and "
        f"the best would be {setting}, with {score} ({other['chosen_by']} {percentage(other['instead'])})."
    )


def _of_others(n_kept: int, compared: bool) -> str:
    """What is said of the settings that are not worse than the best, which need not all be comparable."""
    if not n_kept:
        return (
            "all others are significantly worse"
            if compared
            else "all others count as worse (see the notes)"
        )
    return f"{'one other is' if n_kept == 1 else f'{n_kept} others are'} not significantly worse"


def at_the_edge(best: int, largest: int, most: int) -> str:
    """A remark if the best K is the largest that was compared, and larger ones are possible."""
    if best < largest or largest >= most or largest == 1:
        return ""
    return (
        f"; {best} is the largest K that was compared, and a larger one may be better (n_neighbors, on the "
        "command line --n-neighbors, compares others)"
    )


def tuned_section(study: Study) -> dict[str, Any] | None:
    """Return the score of the choice among the compared settings; None, with a note, where there is none.

    Parameters
    ----------
    study : Study
        The data and the compared settings.

    Returns
    -------
    dict or None
        score, std_error, std (of one run), inner_score, optimism, optimism_std_error, n_runs, inner and
        n_settings as in `knnccv.TunedScore`; metrics, scalings and n_neighbors, the settings to choose
        from; shares, how often each of these numbers is chosen; choices, the settings that are ever
        chosen, the most frequent first; subsample, the part of the samples it was computed on, or None;
        conclusion.
    """
    part, cut = part_of(study, study.effort.n_settings, "choosing within training sets of")
    scalings = list(dict.fromkeys(scaling for scaling, _ in study.compared))
    metrics = [
        metric
        for metric in dict.fromkeys(metric for _, metric in study.compared)
        if all((scaling, metric) in study.compared for scaling in scalings)
    ]
    ks = [k for k in next(iter(study.compared.values())) if k < part.train_size]
    n_curves = len(scalings) * len(metrics)
    n_settings = n_curves * len(ks)
    n_runs = nested_runs(part.table.n_items, part.n_classes, n_curves, max(ks, default=1))
    reason = ""
    if study.task == "regression":
        reason = "it counts right answers, and a regression has none"
    elif study.average == "class":
        reason = "it chooses by accuracy, and the score of this page is the balanced accuracy"
    elif n_settings < 2:
        reason = "there is nothing to choose from"
    elif not n_runs:
        reason = f"trying {n_settings} settings within each training set would take too long"
    if reason:
        study.notes.append(f"There is no score of a setting chosen within each training set: {reason}.")
        return None
    mixed = part.table.is_mixed
    found = tuned_score(
        part.neighbors(scalings[0], metrics[0]) if mixed else part.X,
        part.y,
        ks,
        part.design,
        metric="euclidean" if mixed else metrics,
        scaling=scalings,
        n_runs=n_runs,
        random_state=study.random_state,
        n_jobs=study.n_jobs,
    )
    names = ("n_neighbors", "metric", "scaling")
    ordered = sorted(found.choices.items(), key=lambda one: -one[1])
    choices: list[dict[str, Any]] = [
        dict(zip(names, each, strict=True)) | {"share": share} for each, share in ordered if share
    ]
    for choice in choices if mixed else ():
        choice["metric"] = metrics[0]
    shares = [sum(one["share"] for one in choices if one["n_neighbors"] == k) for k in ks]
    return {name: getattr(found, name) for name in TUNED} | {
        "n_settings": n_settings,
        "metrics": metrics,
        "scalings": scalings,
        "n_neighbors": ks,
        "shares": shares,
        "choices": choices,
        "subsample": cut,
        "conclusion": _of_choice(found, ks[int(np.argmax(shares))], max(shares)),
    }


def _of_choice(found: TunedScore, k: int, share: float) -> str:
    points = 100 * found.optimism
    error = f"{found.inner_score:.1%}, the best score inside a training set, "
    if abs(found.optimism) <= 2 * found.optimism_std_error:
        error += "is about as good"
    else:
        error += f"is {abs(points):.1f} points too {'high' if points > 0 else 'low'}"
    return (
        "Whoever chooses the setting anew within each training set classifies "
        f"{percentage(found.score)} of new samples correctly (standard error {100 * found.std_error:.1g} "
        f"points); {error}, and K = {k} is chosen most often, in {share:.0%} of the training sets."
    )
