"""The sections on settings: scalings, metrics and K by validation curves, and the choice by nested runs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._base.typing import Array
from .._base.validation import check
from .._core.luck.inference import HalfScores, degrees_of_freedom
from .._core.scores.tuning import tuned_score
from . import _study
from ._study import Setting, Study
from ._table import TIMES_LARGER, Table, shown
from ._text import of_a_part, percentage, section

METRICS = ("euclidean", "manhattan", "cosine")
OPTIMISTIC = "hvdm"
FEWEST_HALVINGS, RUNS_A_HALVING = 25, 20
"""For the interval of the choice: as long as its score."""
HVDM_NOTE = (
    "HVDM compares categories by the classes that they occur with. It has seen the labels, so its curve "
    "can be optimistic, and it is never chosen as the best."
)
HVDM_OF_GROUPS = (
    "HVDM compares categories by the classes that they occur with. It is fitted without each group that is "
    "left out, so it has not seen the labels that it predicts."
)
HEOM_NOTE = (
    "The table has categories or missing values, so the distance is HEOM. Differences of numbers are "
    "divided by the range of their column; different categories are at distance 1, as is a missing value. "
    "Other scalings and distances do not apply."
)
SCALING_NOTE = (
    "The columns are scaled over all samples, without the labels. Scaling within each training set would "
    "give slightly other scores."
)
OPTIMISTIC_NOTE = "The score of the best setting can be optimistic, since the same data chose it."
Pair = tuple[str | None, str]


def offered(study: Study) -> list[Pair]:
    """The pairs of scaling and metric; the first is the default."""
    if not study.table.is_mixed:
        return [(scaling, metric) for scaling in study.scalings for metric in METRICS]
    return [(None, "heom"), (None, OPTIMISTIC)]


def choose_setting(study: Study, wanted: list[int]) -> dict[str, Any]:
    """Compare the settings, keep the best in `study`, and return the section."""
    pairs = offered(study)
    affordable = study.plan(wanted, len(pairs))
    part, cut = study.part(study.effort.n_settings, "comparing all settings on")
    numbers = [k for k in affordable if k <= part.train_size] or [part.train_size]
    if cut is not None:
        _note_losses(study, part, affordable)
    found: Found = {}
    omitted = []
    for pair in pairs:
        try:
            if pair != pairs[0]:
                _check_use(study, part, pair[1])
            found[pair] = _curve(part, *pair, numbers, part.average)
        except (ValueError, TypeError) as error:
            if pair == pairs[0]:
                raise
            omitted.append({"scaling": pair[0], "metric": pair[1], "reason": str(error)})
    eligible = _eligible(part, found)
    best, row = _best(eligible, study.task == "regression")
    study.best_setting = best
    study.default_setting = Setting(*pairs[0], min(5, study.train_size))
    study.compared = dict.fromkeys(eligible, numbers)
    _note(study, found)
    kept, compared = _not_worse(part, eligible, best.pair, row)
    return section(
        partial(_conclusion, study, part, compared),
        measure=found[best.pair].measure,
        other=_by_other_measure(part, found, best, row) if study.table.is_unequal else None,
        curves=[each.to_dict(pair, part.table.n_items) for pair, each in found.items()],
        best=best._asdict() | {"score": found[best.pair].scores[row]},
        not_worse=kept,
        omitted=omitted,
        subsample=cut,
    )


def _eligible(part: Study, found: Found) -> Found:
    """The curves from which the best setting is chosen."""
    return {pair: each for pair, each in found.items() if pair[1] != OPTIMISTIC or part.groups is not None}


def _by_other_measure(part: Study, found: Found, best: Setting, row: int) -> dict[str, Any]:
    """What would be the best setting by accuracy, if balanced accuracy chose it, or the other way round.

    instead is the measure that chose, at that setting; of_best the other measure at the chosen setting.
    """
    average = "pooled" if part.average == "class" else "class"
    others = {pair: _curve(part, *pair, each.n_neighbors.tolist(), average) for pair, each in found.items()}
    setting, at = _best(_eligible(part, others))
    return setting._asdict() | {
        "measure": others[setting.pair].measure,
        "score": others[setting.pair].scores[at],
        "instead": found[setting.pair].scores[at],
        "of_best": others[best.pair].scores[row],
        "chosen_by": found[best.pair].measure,
        "is_best": setting == best,
        "curves": [each.to_dict(pair, part.table.n_items) for pair, each in others.items()],
    }


def _check_use(study: Study, part: Study, metric: str) -> None:
    """Raise ValueError, with the reason, if a metric is not offered; the first setting always is."""
    table = study.table
    units = _study.search_units(table.n_items, len(table.names), metric)
    if metric == OPTIMISTIC and study.groups is not None:
        fewest = min(_study.FEWEST_REFITTED, len(np.unique(np.asarray(part.groups))))
        units = max(units, _study.refit_units(table), fewest * _study.refit_units(part.table))
    if metric == OPTIMISTIC:
        msg = "HVDM compares categories by classes, and a regression has none"
        check(study.task != "regression", msg)
        check(table.categorical.any(), "without categories HVDM is another scaling of the numbers")
    work = f"comparing all pairs of {table.n_items:,} samples by {metric}"
    long = f"about {units / _study.SEARCH_LIMIT:.1f} times as long as a report allows"
    check(units <= _study.SEARCH_LIMIT, f"{work} would take {long}")


class Curve(NamedTuple):
    """The scores of several K, and the scores of the same random halves for all of them."""

    n_neighbors: Array
    scores: Array
    error_bound: Array
    measure: str
    half_scores: Callable[[int], HalfScores]

    def to_dict(self, pair: Pair, n_items: int) -> dict[str, Any]:
        """The curve on the page; `n_items` is the number of samples."""
        own = {"n_neighbors": self.n_neighbors, "scores": self.scores, "error_bound": self.error_bound}
        return {"scaling": pair[0], "metric": pair[1], **own, "n_items": n_items}


Found = dict[Pair, Curve]


def _curve(part: Study, scaling: str | None, metric: str, numbers: list[int], average: str) -> Curve:
    part = replace(part, average=average)
    if part.groups is not None:
        return _curve_of_groups(part, scaling, metric, numbers)
    near = part.neighbors(scaling, metric)
    part.keep_lists(near, part.depth_of_halves(numbers[-1]))
    found = part.surface((scaling, metric), numbers, [part.train_size])

    def half_scores(n_halvings: int) -> HalfScores:
        halves = found.half_scores(n_halvings, random_state=part.random_state)
        return replace(halves, scores=halves.scores[..., 0])

    of_k = found.n_neighbors, found.scores[:, 0], found.error_bound[:, 0]
    return Curve(*of_k, found.measure, half_scores)


def _curve_of_groups(part: Study, scaling: str | None, metric: str, numbers: list[int]) -> Curve:
    """The curve if one group is left out, every K by itself."""
    results = [part.score(Setting(scaling, metric, k)) for k in numbers]

    def half_scores(n_halvings: int) -> HalfScores:
        each = [one.half_scores(n_halvings, random_state=part.random_state) for one in results]
        return replace(each[0], scores=np.stack([one.scores for one in each], axis=-1))

    scores, bounds = np.array([(one.score, one.error_bound) for one in results]).T
    return Curve(np.array(numbers), scores, bounds, results[0].measure, half_scores)


def _best(found: Found, is_loss: bool = False) -> tuple[Setting, int]:
    """The best setting and its row, in case of a tie within the bounds the first with the smallest K."""
    points = [
        (Setting(*pair, int(k)), row, -score if is_loss else score, bound)
        for pair, each in found.items()
        for row, (k, score, bound) in enumerate(zip(*each[:3], strict=True))
    ]
    lowest = max(gain - bound for *_, gain, bound in points)
    return next((setting, row) for setting, row, gain, bound in points if gain + bound >= lowest)


def _not_worse(part: Study, found: Found, best: Pair, row: int) -> tuple[list[dict[str, Any]], bool]:
    """The settings that are not significantly worse than the best, and whether all could be compared.

    They are compared on the same random halves. Where halves say nothing, only a setting with the same
    score, within the bounds, is not worse.
    """
    halves: dict[Pair, HalfScores] = {}
    try:
        halves = {pair: each.half_scores(part.effort.n_comparisons) for pair, each in found.items()}
    except ValueError as reason:
        part.note(f"Settings are not compared statistically: {reason}.")
    kept, n_unknown = [], 0
    for pair, each in found.items():
        slack = np.zeros(len(each.scores))
        if halves:
            slack = _half_width(halves[pair], halves[best], row, part.confidence_level)
        gap = np.abs(each.scores - found[best].scores[row])
        near: Array = gap <= slack + each.error_bound + found[best].error_bound[row]
        if pair == best:
            near[row] = True
        n_unknown += int((~near & (slack == 0)).sum())
        if near.any():
            kept.append(Setting(*pair, each.n_neighbors[near].tolist())._asdict())
    if n_unknown and halves:
        what = "1 setting has" if n_unknown == 1 else f"{n_unknown} settings have"
        but = "but random halves of the data cannot tell whether by chance: such settings count as worse"
        part.note(f"{what} another score than the best, {but}.")
    return kept, bool(halves) and not n_unknown


def _half_width(of_setting: HalfScores, of_best: HalfScores, row: int, level: float) -> Array:
    """Half the interval of the difference to the best, for each K; 0 where the halves say nothing."""
    from scipy.special import stdtrit

    differences = of_setting.scores - of_best.scores[..., row, None]
    error = np.sqrt(np.square(differences[:, 0] - differences[:, 1]).mean(axis=0) / 4)
    known = error > of_setting.resolution + of_best.resolution
    freedom = degrees_of_freedom(of_best.n_units, len(differences))
    width: Array = np.where(known, stdtrit(freedom, (1 + level) / 2) * error, 0.0)
    return width


def _note_losses(study: Study, part: Study, wanted: list[int]) -> None:
    """State what the comparison of settings on some of the rows cannot see."""
    large = [k for k in wanted if k > part.train_size]
    n_items, size = f"{part.table.n_items:,}", f"{part.train_size:,}"
    if large:
        where = f"settings are compared on {n_items} samples with {size} training samples"
        study.note(f"The K above {size} were not compared: {where}.")
    if study.task == "classification" and part.n_classes < study.n_classes:
        held = f"hold {part.n_classes} of the {study.n_classes} classes"
        study.note(f"The {n_items} samples on which settings are compared {held}.")


def identifier_notes(table: Table) -> list[str]:
    """Of columns whose categories all differ."""
    notes = []
    for name, codes, is_category in zip(table.names, table.X.T, table.categorical, strict=True):
        known = codes[~np.isnan(codes)]
        if is_category and len(np.unique(known)) == len(known) > 1:
            notes += [f"Leave out the column {name} if it identifies the samples: all its values differ."]
    return notes


def _note(study: Study, found: Found) -> None:
    study.notes += [HEOM_NOTE] * study.table.is_mixed + identifier_notes(study.table)
    if any(metric == OPTIMISTIC for _, metric in found):
        study.note(HVDM_NOTE if study.groups is None else HVDM_OF_GROUPS)
    study.notes += [SCALING_NOTE] * any(scaling is not None for scaling, _ in found)
    if study.average == "class" and study.table.is_unequal:
        study.note(
            "The score is the balanced accuracy, in which all classes have equal weight. The largest class "
            f"has more than {TIMES_LARGER} times as many samples as the others on average, so that the "
            "accuracy hardly sees the others. Take the accuracy by --average pooled, in Python "
            "average='pooled'."
        )
    if study.task == "classification" and study.n_classes == 2 and study.n_neighbors % 2 == 0:
        study.note(
            f"With an even K, such as {study.n_neighbors}, votes may be tied. They go to "
            f"{shown(np.unique(study.y)[0])}, the first class in order, which may be why this K is best. "
            "Two classes never tie with an odd K."
        )


def _conclusion(study: Study, part: Study, compared: bool, found: dict[str, Any]) -> str:
    n_kept = sum(len(each["n_neighbors"]) for each in found["not_worse"])
    n_settings = sum(map(len, study.compared.values()))
    amount = study.said(found["best"]["score"])
    if study.task == "regression" or study.average == "class":
        amount = f"a {found['measure']} of {amount}"
    of = "only setting" if n_settings == 1 else f"best of {n_settings} settings"
    others = "" if n_settings == 1 else f" {_of_others(n_kept - 1, compared)}."
    largest = max(each["n_neighbors"][-1] for each in found["curves"])
    edge = at_the_edge(study.n_neighbors, largest, part.train_size)
    text = f"The {of} is {study.best_setting}, with {amount}{of_a_part(found['subsample'])}.{others}{edge}"
    return text + _other(found["other"])


def _other(other: dict[str, Any] | None) -> str:
    """What is said of the measure that did not choose."""
    if other is None:
        return ""
    measure, score = other["measure"], percentage(other["score"])
    if other["is_best"]:
        return f" It is also the best by {measure} ({score})."
    setting = Setting(other["scaling"], other["metric"], other["n_neighbors"])
    return (
        f" By {measure}, here {percentage(other['of_best'])}, the best is {setting}, with {score} "
        f"({other['chosen_by']} {percentage(other['instead'])})."
    )


def _of_others(n_kept: int, compared: bool) -> str:
    """What is said of the settings that are not worse than the best, which need not all be comparable."""
    if not n_kept:
        how = "are significantly worse" if compared else "count as worse (see the notes)"
        return f"All others {how}"
    return f"{'One other is' if n_kept == 1 else f'{n_kept} others are'} not significantly worse"


def at_the_edge(best: int, largest: int, most: int) -> str:
    """A remark if the best K is the largest that was compared, and larger ones are possible."""
    if best < largest or largest >= most or largest == 1:
        return ""
    options = "--n-neighbors, in Python n_neighbors"
    return f" Larger K than {best} were not compared and may be better ({options})."


def tuned_section(study: Study) -> dict[str, Any] | None:
    """Return the score of the choice among the compared settings; None, with a note, where there is none.

    Parameters
    ----------
    study : Study
        The data and the compared settings.

    Returns
    -------
    dict or None
        As `knnccv.TunedScore.to_dict`; n_settings, metrics, scalings and n_neighbors, the settings to
        choose from; shares, how often each of these numbers is chosen; choices, the settings that are ever
        chosen, the most frequent first; subsample, the part of the samples it was computed on, or None;
        conclusion.
    """
    part, cut = study.part(study.effort.n_settings, "choosing within training sets of")
    metrics = list(dict.fromkeys(metric for _, metric in study.compared))
    pairs = sorted(study.compared, key=lambda pair: metrics.index(pair[1]))
    inside = 1 if part.groups is None else int(np.sort(np.bincount(part.groups))[-2])
    ks = [k for k in next(iter(study.compared.values())) if k <= part.train_size - inside]
    n_settings = len(pairs) * len(ks)
    n_runs = _study.nested_runs(part.table.n_items, part.n_classes, len(pairs), max(ks, default=1))
    if OPTIMISTIC in metrics:
        n_runs = min(n_runs, int(_study.NESTED_LIMIT / _study.refit_units(part.table)))
    reason = ""
    if study.task == "regression":
        reason = "only right answers are counted, and a regression has none"
    elif study.groups is not None and not ks:
        reason = "no training set can spare another group"
        study.note(OPTIMISTIC_NOTE)
    elif n_settings < 2:
        reason = "there is nothing to choose from"
    elif not n_runs:
        reason = f"trying {n_settings} settings within each training set would take too long"
    if reason:
        study.note(*[OPTIMISTIC_NOTE] * (n_settings > 1))
        study.note(f"There is no score of a setting chosen within each training set: {reason}.")
        return None
    how: dict[str, Any] = {"n_runs": n_runs, "random_state": study.random_state, "n_jobs": study.n_jobs}
    how["average"] = "class" if study.average == "class" else "pooled"
    score = tuned_score([part.neighbors(*pair) for pair in pairs], part.y, ks, part.design, **how)
    found = score.to_dict()
    found.pop("seconds")
    if OPTIMISTIC not in metrics:  # its distances would be fitted anew in every half
        n_halvings = max(FEWEST_HALVINGS, min(study.effort.n_halvings, n_runs // RUNS_A_HALVING))
        with suppress(ValueError), warnings.catch_warnings(action="ignore"):
            halves: dict[str, Any] = {"n_halvings": n_halvings, "random_state": study.random_state}
            found["interval"] = score.confidence_interval(study.confidence_level, **halves).to_dict()
    settings = zip((Setting(*pair, k) for pair in pairs for k in ks), score.choices.values(), strict=True)
    choices = [one._asdict() | {"share": share} for one, share in settings if share]
    choices.sort(key=lambda one: -one["share"])
    found |= {
        "n_settings": n_settings,
        "metrics": metrics,
        "scalings": list(dict.fromkeys(scaling for scaling, _ in pairs)),
        "n_neighbors": ks,
        "shares": [sum(one["share"] for one in choices if one["n_neighbors"] == k) for k in ks],
        "choices": choices,
        "subsample": cut,
    }
    return found | {"conclusion": _of_choice(study, found)}


def _of_choice(study: Study, found: dict[str, Any]) -> str:
    whose = "new samples" if study.groups is None else "the samples of new groups"
    start, term = f"{percentage(found['score'])} of {whose} are classified correctly", ""
    if study.average == "class":
        start, term = f"On average over the classes, {start}", " (balanced accuracy)"
    points = 100 * found["optimism"]
    error = f"{abs(points):.1f} points too {'high' if points > 0 else 'low'}"
    if abs(found["optimism"]) <= 2 * found["optimism_std_error"]:
        error = "about the same"
    share, k = max(zip(found["shares"], found["n_neighbors"], strict=True), key=lambda one: one[0])
    return (
        f"{start}{term} if each training set chooses its own setting. The best score inside a training "
        f"set, {found['inner_score']:.1%}, is {error}. K = {k} is chosen most often, in {share:.0%} of the "
        "training sets."
    )
