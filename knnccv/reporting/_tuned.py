"""The section on the tuned rule: the score of a setting that is chosen within each training set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..tuning import TunedScore, tuned_score
from ._cost import nested_runs
from ._settings import part_of
from ._wording import percentage

if TYPE_CHECKING:
    from ._study import Study


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
    choices = [
        {
            "scaling": each.scaling,
            "metric": metrics[0] if mixed else each.metric,
            "n_neighbors": each.n_neighbors,
            "share": share,
        }
        for each, share in sorted(found.choices.items(), key=lambda one: -one[1])
        if share
    ]
    shares = [sum(one["share"] for one in choices if one["n_neighbors"] == k) for k in ks]
    return {
        "score": found.score,
        "std_error": found.std_error,
        "std": found.std,
        "inner_score": found.inner_score,
        "optimism": found.optimism,
        "optimism_std_error": found.optimism_std_error,
        "n_runs": found.n_runs,
        "inner": found.inner,
        "n_settings": n_settings,
        "metrics": metrics,
        "scalings": scalings,
        "n_neighbors": ks,
        "shares": shares,
        "choices": choices,
        "subsample": cut,
        "conclusion": _conclusion(found, ks[int(np.argmax(shares))], max(shares)),
    }


def _conclusion(found: TunedScore, k: int, share: float) -> str:
    points = 100 * found.optimism
    error = f"{found.inner_score:.1%}, the best score inside a training set, "
    if abs(found.optimism) <= 2 * found.optimism_std_error:
        error += "is about as good"
    else:
        error += f"is {abs(points):.1g} points too {'high' if points > 0 else 'low'}"
    return (
        f"Whoever chooses the setting anew within each training set classifies {percentage(found.score)} of "
        f"new samples correctly (standard error {100 * found.std_error:.1g} points); {error}, and K = {k} is "
        f"chosen most often, in {share:.0%} of the training sets."
    )
