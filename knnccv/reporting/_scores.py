"""The sections on scores: best and default setting, both kinds of luck, learning curves, regression."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from itertools import groupby
from typing import Any

import numpy as np

from .._base.formatting import magnitude, magnitude_of_log10, plain_fields
from .._base.labels import majority_class
from .._base.refusals import need
from .._base.typing import Array
from .._base.validation import check
from .._core.luck.inference import InferenceWarning, ScoredHalves, compare
from .._core.scores.curves import surface
from .._core.scores.results import CompleteCV
from ._settings import Pair
from ._study import Setting, Study, search_units, smallest_training_size
from ._text import Cut, of_a_part, percentage, quoted, rounded, section, setting_name

MAX_EXACT_LOG = 1000
"""Decimal digits up to which the number of training sets is computed."""
N_RUNS = 5000
SECOND_SEARCH = 3.0
"""Units of the search of all pairs, beyond which there is no second one."""


DEFAULT_SCORINGS = ("f1", "roc_auc")
"""For two classes of unequal size."""


def checked_scorings(scoring: Any, study: Study) -> dict[str, Any]:
    """The scorings of scikit-learn by their names on the page.

    Raises
    ------
    ValueError, TypeError
        If scikit-learn does not know one.
    ImportError
        If scikit-learn is missing, and some are asked for.
    """
    names = (scoring,) if isinstance(scoring, str) else scoring
    if scoring is None:
        names = DEFAULT_SCORINGS if study.n_classes == 2 and study.table.is_unequal else ()
    must = "scoring must be a name or a list of names"
    check(isinstance(names, Sequence), must, scoring, TypeError)
    if not names or (scoring is None and find_spec("sklearn") is None):
        return {}
    need("sklearn", "sklearn", "scoring needs scikit-learn")
    from ..sklearn import named_scorings

    regression = study.task == "regression"
    return named_scorings(names, study.y, regression=regression, rarer=scoring is None)


def _scorings(study: Study, wanted: dict[str, Any], precision: Any) -> tuple[list[Any], list[Any]]:
    """Other scores of the best setting, and those that are not defined, with the reasons."""
    if not wanted:
        return [], []
    from ..sklearn import neighbors_rule, scores_of

    how: dict[str, Any] = {"random_state": study.random_state, "n_jobs": study.n_jobs}
    rule = neighbors_rule(study.task == "regression", n_neighbors=study.n_neighbors)
    found = scores_of(rule, study.near, study.y, study.design, wanted, precision=precision, **how)
    rows, undefined = [], []
    for name, one in found.items():
        if isinstance(one, str):
            undefined.append({"name": name, "reason": one.rstrip(".")})
        else:
            fields = "score", "is_exact", "std_error", "error_bound", "n_runs"
            _, interval, reason = _luck_of_the_data(study, one, f"Interval of {name}")
            if reason is not None:
                study.note(f"No interval of {name}: {reason}.")
            rows.append({"name": name} | plain_fields(one, *fields) | {"interval": interval})
    return rows, undefined


def scores_section(study: Study, wanted: dict[str, Any], precision: float | None) -> dict[str, Any]:
    """Score the best and the default setting, keep them in `study`, and return the section."""
    part, cut = _for_default(study)
    asked = {study.best_setting: study}
    asked.setdefault(study.default_setting, part)
    results = {}
    for setting, of in asked.items():
        near, k = of.neighbors(*setting.pair), setting.n_neighbors
        if of.groups is None:
            depth = of.depth_of_halves(k)
            if of.task == "regression":
                depth = max(depth, curve_numbers(k, near.max_depth)[-1] + 1)
            of.keep_lists(near, depth)
        results[setting] = of.score(setting)
    study.best, study.default = results[study.best_setting], results[study.default_setting]
    entries = {setting: _score(asked[setting], setting, found) for setting, found in results.items()}
    best = study.best if cut is None else part.score(study.best_setting)
    scorings, undefined = _scorings(study, wanted, precision)
    return section(
        partial(_conclusion, study),
        measure=study.best.measure,
        is_loss=study.task == "regression",
        average=study.average,
        train_size=study.train_size,
        best=entries[study.best_setting],
        default=entries[study.default_setting],
        baselines=_baselines(study),
        default_subsample=cut,
        difference=_difference(study, best) if len(results) > 1 else None,
        scorings=scorings,
        undefined=undefined,
    )


def _for_default(study: Study) -> tuple[Study, Cut]:
    """The samples of which the default setting is scored: not all of many, if its distance is another."""
    units = search_units(study.table.n_items, len(study.table.names), study.default_setting.metric)
    if units <= SECOND_SEARCH or study.default_setting.pair == study.best_setting.pair:
        return study, None
    return study.part(study.effort.n_settings, "searching by a second distance among")


def _score(study: Study, setting: Setting, found: CompleteCV) -> dict[str, Any]:
    error, interval, reason = _luck_of_the_data(study, found)
    return {
        **setting._asdict(),
        "score": found.score,
        **measures(study, found),
        "error_bound": found.error_bound,
        "standard_error": error,
        "interval": interval,
        "no_interval": reason,
        "split_std": _luck_of_the_split(study, found),
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


def _luck_of_the_data(
    study: Study, found: ScoredHalves, title: str = "Intervals"
) -> tuple[float | None, Any, str | None]:
    """Standard error, interval, and the reason why there is none."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", InferenceWarning)
            low, high = found.confidence_interval(study.confidence_level, **study.halves)
            error = found.standard_error(**study.halves)
    except ValueError as reason:
        return None, None, str(reason)
    study.note(*(f"{title}: {each.message}." for each in caught))
    if not (math.isfinite(low) and math.isfinite(high)):
        return error, None, "the halves of the data give no interval"
    return error, {"low": low, "high": high, "confidence_level": study.confidence_level}, None


def _luck_of_the_split(study: Study, found: CompleteCV) -> float | None:
    """Standard deviation of the score of one random split; of large data from fewer random splits.

    None if every group is tested once: then no split is random.
    """
    if study.groups is not None:
        return None
    n_runs = study.effort.n_runs
    if n_runs:
        study.note(f"The scatter of one split comes from {n_runs} random splits.")
    return float(found.split_std(n_runs or N_RUNS, study.random_state))


def _difference(study: Study, best: CompleteCV) -> dict[str, Any] | None:
    """The best against the default setting, of the same samples."""
    try:
        with warnings.catch_warnings(action="ignore", category=InferenceWarning):
            found = compare(best, study.default, **study.halves)
            low, high = found.confidence_interval(study.confidence_level)
    except ValueError:
        return None
    return {"score": found.difference, "low": low, "high": high, "pvalue": found.pvalue}


def _baselines(study: Study) -> list[dict[str, Any]]:
    setting = study.best_setting._replace(n_neighbors=1)
    nearest = study.best if setting == study.best_setting else study.score(setting)
    others: dict[str, Any] = measures(study, nearest)
    if study.task == "regression":
        name, score = "mean of the training targets", error_of_mean(study.y, study.train_size, study.groups)
        explanation, simple = "always answers this mean", others
    else:
        label, share = majority_class(study.y)
        name, explanation = "largest class", f"always answers {quoted(label)}"
        simple = {"accuracy": share, "balanced_accuracy": 1 / study.n_classes}
        score = simple["balanced_accuracy" if study.average == "class" else "accuracy"]
    first = {"name": name, "score": score, "explanation": explanation}
    named = setting_name(setting._asdict())
    copied = {"name": "one nearest neighbor", "score": nearest.score, "explanation": named}
    return [first | simple, copied | others]


def error_of_mean(y: Any, train_size: int, groups: Array | None = None) -> float:
    """Expected squared error of the mean of a random training set, over all tested samples.

    It is s^2 (1 + 1 / m), with the unbiased variance s^2 of all targets and m training samples. The bias of
    a sample is its distance to the mean of the others, the variance that of a mean of m draws without
    replacement from the others. The finite corrections of both cancel in the mean over the samples. With
    `groups` the training set is all samples of the other groups.
    """
    if groups is not None:
        sums, sizes = np.bincount(groups, y), np.bincount(groups)
        return float(np.square(y - ((y.sum() - sums) / (len(y) - sizes))[groups]).mean())
    return float(np.var(y, ddof=1)) * (1 + 1 / train_size)


def _conclusion(study: Study, found: dict[str, Any]) -> str:
    best, simple = found["best"], found["baselines"][0]
    regression, by_classes = study.task == "regression", study.average == "class"
    said = (lambda score: rounded(math.sqrt(score))) if regression else study.said
    amount, interval, more = said(best["score"]), "", ""
    simplest = f"the {simple['name']}" if regression else f"always answering the {simple['name']}"
    if ends := best["interval"]:
        interval = f"{100 * study.confidence_level:g}% interval {said(ends['low'])} to {said(ends['high'])}"
    whose = "the samples of new groups" if study.groups is not None else "new samples"
    start, term = f"{amount} of {whose} are classified correctly", ""
    if regression:
        start, term = f"Predictions are off by about {amount}", "the root of the mean squared error"
        spread = float(np.var(study.y))
        share = 1 - best["score"] / spread if spread > 0 else 0.0
        more = f" The best explains {percentage(share)} of the variance of the target." * (share > 0)
    if by_classes:
        start, term = f"On average over the classes, {start}", found["measure"]
        more = (
            f" Of all samples, the best classifies {percentage(best['accuracy'])} correctly (accuracy), "
            f"{simplest} {percentage(simple['accuracy'])}."
        )
    if ends and (ends["high"] >= simple["score"] if regression else ends["low"] <= simple["score"]):
        start = f"No setting is significantly better than {simplest}. {start}"
    remarks = "; ".join(filter(None, (term, interval)))
    chosen = ", chosen by the same data" * (sum(map(len, study.compared.values())) > 1)
    of = "is off by" if regression else "has"
    others = ", ".join(f"{quoted(one['name'])} {one['score']:.3f}" for one in found["scorings"])
    also = f" The best has {others}." * bool(others)
    return (
        f"{start}{f' ({remarks})' * bool(remarks)} with the best setting{chosen}: {study.best_setting}. "
        f"The default setting {of} {said(study.default.score)}{of_a_part(found['default_subsample'])}, and "
        f"{simplest} {'by ' * regression}{said(simple['score'])}.{more}{also}"
    )


FEWEST_SIZES, MOST_SIZES = 7, 12
SIZES_PER_DOUBLING = 3
MODEL = "a - b * n**-c"
FEWEST_POINTS = 5
LARGEST_MISFIT = 0.25
"""Root mean squared residual of a sensible fit, as a share of the spread of the scores."""


def learning_section(study: Study) -> dict[str, Any] | None:
    """Return the section; None, with a note, if whole groups are left out."""
    if study.groups is not None:
        study.note(
            "With groups every sample has one training set. So there is no learning curve, and no range "
            "over the orders of tied samples"
            f"{', and no bias and variance' * (study.task == 'regression')}."
        )
        return None
    part, cut = study.part(study.effort.learning, "learning curves of")
    setting = study.best_setting._replace(n_neighbors=min(study.n_neighbors, part.train_size))
    numbers = sorted({1, setting.n_neighbors, min(5, part.train_size)})
    sizes = _sizes(part, max(numbers), study.ties)
    curves = _curves(part, setting.pair, numbers, sizes)
    scores = np.array(curves[numbers.index(setting.n_neighbors)]["scores"], float)
    known = ~np.isnan(scores)
    if sizes[0] > max(2, part.table.n_items // 40):
        long = "smaller ones would take too long"
        study.note(f"Learning curves start at {sizes[0]:,} training samples: {long}.")
    points, scores = np.array(sizes)[known], scores[known]
    highest = 1.0 if study.task == "classification" else math.inf
    extrapolation, reason = extrapolated(points, scores, 2 * part.table.n_items, highest)
    known_part = (
        f"The {study.best.measure} goes from {study.said(scores[0])} with {points[0]:,} to "
        f"{study.said(scores[-1])} with {points[-1]:,} training samples (K = {setting.n_neighbors})"
        f"{of_a_part(cut)}."
    )
    return {
        "scaling": setting.scaling,
        "metric": setting.metric,
        "train_sizes": sizes,
        "curves": curves,
        "extrapolation": extrapolation,
        "subsample": cut,
        "conclusion": _of_more_data(study, extrapolation, reason, known_part),
    }


def _curves(part: Study, pair: Pair, numbers: list[int], sizes: list[int]) -> list[dict[str, Any]]:
    """The scores of several K; None for training sets that are smaller."""
    curves = list[dict[str, Any]]()
    for n_without, ks in groupby(numbers, lambda k: sum(size < k for size in sizes)):
        found, without = part.surface(pair, list(ks), sizes[n_without:]), [None] * n_without
        rows = zip(
            found.n_neighbors.tolist(), found.scores.tolist(), found.error_bound.tolist(), strict=True
        )
        for k, scores, bounds in rows:
            curves.append({"n_neighbors": k, "scores": without + scores, "error_bound": without + bounds})
    return curves


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
        with warnings.catch_warnings(action="ignore"):
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


def _of_more_data(study: Study, found: dict[str, Any] | None, reason: str, known: str) -> str:
    """The answer comes first if there is one; `known` is the sentence on the computed curve."""
    if found is None:
        return f"{known} It is not extrapolated, since {reason}."
    gain = found["gain"]
    change = ("+" if gain > 0 else "") + rounded(gain, 2)
    if study.task == "classification":
        change = f"{100 * gain:+.1f} points"
    return (
        f"With {found['train_size']:,} training samples the {study.best.measure} may be "
        f"{study.said(found['score'])} ({change.replace('-', '−')}): an extrapolation, and so a guess. "
        f"{known}"
    )


CURVE = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50)
"""K of the leave-one-out curve, besides that of the best setting."""


def regression_section(study: Study) -> dict[str, Any] | None:
    """Return the parts of the error of the best setting; None for a classification.

    Parameters
    ----------
    study : Study
        The data and the best setting.

    Returns
    -------
    dict or None
        mse, the expected squared error, and rmse, its square root; bias2 and variance, the weighted
        means of `knnccv.CompleteCV.bias2` and `knnccv.CompleteCV.variance`, which sum to it;
        target_variance, the mean squared distance of the targets from their mean; r2,
        1 - mse / target_variance, None if all targets are equal; loo, the error over leave-one-out for
        several K; conclusion.
    """
    if study.task != "regression" or study.groups is not None:
        return None
    best, spread = study.best, float(np.var(study.y))
    tested = best.weights > 0
    ks = curve_numbers(study.n_neighbors, study.near.max_depth)
    curve = surface(study.near, study.y, ks, len(study.y) - 1, "regression", n_jobs=study.n_jobs)
    return section(
        _of_regression,
        mse=best.score,
        rmse=math.sqrt(best.score),
        bias2=best.weights[tested] @ best.bias2[tested],
        variance=best.weights[tested] @ best.variance[tested],
        target_variance=spread,
        r2=1 - best.score / spread if spread > 0 else None,
        loo={"n_neighbors": ks, "mse": curve.scores[:, 0]},
    )


def curve_numbers(n_neighbors: int, most: int) -> list[int]:
    """K of the leave-one-out curve, ascending: those of `CURVE` and `n_neighbors`, up to `most`."""
    return sorted({k for k in (*CURVE, n_neighbors) if k <= most})


def _of_regression(found: dict[str, Any]) -> str:
    r2, total = found["r2"], found["bias2"] + found["variance"]
    if r2 is None:
        error = f"the error is {rounded(found['mse'])}"
        return f"All targets are equal, so there is nothing to explain: {error}."
    start = f"The rule predicts worse than the mean of the targets would (R² = {r2:.3g}). " * (r2 <= 0)
    error, k = min(zip(found["loo"]["mse"], found["loo"]["n_neighbors"], strict=True))
    loo = f"Leave-one-out is best at K = {k}, with a mean squared error of {rounded(error)}."
    if total <= 0:
        return f"{start}The expected squared error is 0. {loo}"
    share = found["bias2"] / total
    bias = f"{share:.0%} of the squared error is squared bias, the noise of the target included"
    return f"{start}{bias}; {1 - share:.0%} is variance between training sets. {loo}"
