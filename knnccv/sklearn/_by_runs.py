"""Expected scores by random runs, for scorings that are no means over samples: `random_runs`.

Unweighted votes are counted for hundreds of runs at once, and scorings that are functions of these tables
are computed from them. Otherwise the nearest training samples are listed run by run, and their predictions
are scored. The confusion table, or the squared error, of the same runs is a control variate: its mean is
known.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .._base.compat import read_scorer
from .._base.parallel import counted
from .._base.typing import Array
from .._base.validation import check
from .._core.driver import InexactError
from .._core.luck.runs import NEITHER, Runs, add_votes, allotted_runs, from_pool, single_splits, train_sizes
from .._core.luck.scorings import (
    ACCURACIES,
    Budget,
    ControlledMean,
    confusion_controls,
    controlled_mean,
    enough_runs,
)
from .._core.scores.results import COUNTED, Controls, control_of_votes, is_counted, joined, score_tables
from ..kernel.words import BITS
from ._estimators import Rule, check_size
from ._request import ExpectedScore, Request
from ._splitters import FoldLaw, GroupLaw, Split, in_words

OPAQUE = "a scorer that make_scorer did not make may look at the estimator"
BUDGETS = {"counted": COUNTED, "predicted": Budget(64, 1000), "scored": Budget(64, 200)}
"""Of votes that are counted; of predictions that are counted; of scikit-learn's scores."""
MOST_UNDEFINED = 0.1
"""The share of runs with undefined scores that may be left out of the mean; more in few runs, by chance."""
FLAT = 1e-14
"""The spread of targets, relative to the largest, that rounding causes where they are equal."""
AT_ONCE = 2**22
"""Runs times samples times neighbors that are listed at once."""


def runs_at_once(n_cells: int) -> int:
    """How many runs of so many cells are computed at once: whole blocks of 64 if there are more."""
    n_runs = max(1, AT_ONCE // n_cells)
    return n_runs - n_runs % BITS if n_runs > BITS else n_runs


class Twin(NamedTuple):
    """A pipeline whose expected score is known, and its scores in the runs of another.

    ``mean``, ``std_error``
        The expectation, and its standard error if it is not exact.
    ``score``
        From the splits of a run to its score.
    """

    mean: float
    std_error: float
    score: Callable[[Sequence[Split]], float]

    def corrects(self, found: ControlledMean, without: ControlledMean) -> ControlledMean:
        """The mean with this as a control variate, with its error; or without it, if that is better."""
        error = float(np.hypot(found.std_error, self.std_error))
        return found._replace(std_error=error) if error < without.std_error else without


def random_runs(
    asked: Sequence[Request], whys: Sequence[str], twins: Sequence[Twin | None] = ()
) -> list[ExpectedScore | str] | None:
    """The means of random runs of knnccv; none if scikit-learn makes the splits, or pools the scores.

    Scorings that are found in the same way share their runs: the largest need counts.

    Parameters
    ----------
    asked : sequence of Request
        They differ in the scoring.
    whys : sequence of str
        Why there is no closed form.
    twins : sequence of Twin or None, optional
        The same with columns that are scaled once: control variates in place of confusion tables.

    Raises
    ------
    InexactError
        If the splits or the rule are unknown: scikit-learn itself has to run.
    ValueError
        If the score is undefined in too many runs, as folds lack a class.
    """
    request, law = asked[0], asked[0].law
    if isinstance(law, tuple) or request.pooled or 0 < law.n_splits * law.every <= len(request.y):
        return None
    msg = "all neighbors within a radius decide, whatever their number"
    check(request.rule.radius is None, msg, error=InexactError)
    runs = runs_of(request, 1)
    check_size(request.rule.n_neighbors, int(train_sizes(runs.folds(0)[:1]).min()))
    ways: dict[str, list[int]] = {}
    found: dict[int, ExpectedScore | str] = {}
    for at, one in enumerate(asked):
        if one.scorer is None and read_scorer(one.sklearn_scorer) is None:
            found[at] = OPAQUE
            continue
        is_predicted = one.scorer is not None or one.formula is not None
        way = "predicted" if is_predicted else "scored"
        ways.setdefault("counted" if in_tables(one, runs.n_folds) else way, []).append(at)
    for way, places in ways.items():
        some: Any = ([each[at] for at in places] for each in (asked, whys, twins or [None] * len(asked)))
        found |= zip(places, _scores(BUDGETS[way], *some), strict=True)
    return [found[at] for at in range(len(asked))]


def in_tables(request: Request, n_folds: int) -> bool:
    """Whether tables of counted votes are all that the scoring needs."""
    scorer = request.scorer
    return scorer is not None and request.votes_alike and is_counted(scorer, request.problem, n_folds)


def _scores(
    budget: Budget, asked: list[Request], whys: list[str], twins: list[Twin | None]
) -> Iterator[ExpectedScore]:
    """The scores of requests that differ in the scoring, by the same runs."""
    request, parts = asked[0], list[list[tuple[Array, Controls]]]()

    def look(n_runs: int) -> list[ControlledMean]:
        runs, is_counted = runs_of(request, n_runs, len(parts)), budget is COUNTED
        parts.append([count(one, runs) for one in asked] if is_counted else predict(asked, twins, runs))
        linear = [is_counted and one.scorer is not None and one.scorer.is_linear for one in asked]
        return list(map(mean_of_runs, asked, zip(*parts, strict=True), linear, twins))

    means, n_runs, lacking = enough_runs(look, [one.wish for one in asked], budget)
    n_tied = request.n_tied if request.problem.ties == "index" else 0
    columns = asked, whys, twins, means, lacking, zip(*parts, strict=True)
    for one, why, twin, mean, lacks, of_stages in zip(*columns, strict=True):
        undefined = float(np.isnan(np.concatenate([values for values, _ in of_stages])).mean())
        kind = "expected scores" if twin and twin.std_error else "exact means"
        known = f", corrected by {kind} of the same runs" if of_stages[0][1] else ""
        if undefined:
            known = f" ({undefined:.2%} of them, in which the score is undefined, are left out)"
        reason, _, _ = why.partition("; exact are")
        if request.prepared.search is not None:
            reason = "columns are scaled within the folds"
        how = f"the mean of {n_runs:,} random runs of {in_words(request.cv)}{known}, as {reason}{lacks}"
        yield one.of_runs(mean, n_runs, how, request.problem.ties, n_tied)


def mean_of_runs(
    request: Request,
    parts: Sequence[tuple[Array, Controls]],
    is_linear: bool = False,
    twin: Twin | None = None,
) -> ControlledMean:
    """The mean of scores of runs and their controls, of which each part has some; the last is of the twin.

    Raises
    ------
    ValueError
        If the score is undefined in too many runs.
    """
    values = np.concatenate([values for values, _ in parts])
    controls = joined([controls for _, controls in parts])
    defined = np.isfinite(values)
    share = 1 - defined.mean()
    if share > MOST_UNDEFINED + 3 * np.sqrt(MOST_UNDEFINED / len(values)):
        remedy = "more tested samples" if request.regression else "stratified splits, or fewer folds,"
        runs = f"{share:.1%} of {len(values):,} random runs of {in_words(request.cv)}"
        most = f"at most {MOST_UNDEFINED:.0%} may be left out; got scoring={request.scoring!r}"
        msg = f"{remedy} may help: the score is undefined in {runs}, and {most}"
        raise ValueError(msg)
    if controls is None or share or not np.isfinite(controls[0]).all():  # their means are those of all runs
        return controlled_mean(values[defined])
    mean = controlled_mean(values, *controls, is_linear=is_linear)
    if twin is None:
        return mean
    return twin.corrects(mean, controlled_mean(values, controls[0][:, :-1], controls[1][:-1]))


def controls_of(request: Request, tables: Array) -> Controls:
    """The control variates of a block of runs, from what `tables_of` returns."""
    if request.expected is None:
        return None
    law = request.law
    n_tested = tables[..., -1] if request.by_output else tables.sum(axis=(2, 3))
    if isinstance(law, GroupLaw) and not request.n_tested:  # the mean size: sizes of folds vary
        share = np.array([tested for _, tested in law.folds]) / len(law.sizes)
        n_tested = np.broadcast_to(share * len(law.codes), n_tested.shape)
    if not request.by_output:
        return confusion_controls(tables, n_tested, request.expected)
    n_outputs, number = len(request.expected), tables[..., -1:]
    means = (tables[..., :n_outputs] / n_tested[..., None]).mean(axis=1)
    alike = request.n_tested > 0 or isinstance(law, GroupLaw)  # no known variance of the tested
    if not request.regression or alike or number.min() < 2:
        return means, request.expected
    # R² divides by the variance of the tested targets, which has no bias.
    sums, squares = np.split(tables[..., n_outputs:-1], 2, axis=-1)
    spread = ((squares - sums**2 / number) / (number - 1)).mean(axis=1)
    return np.hstack([means, spread]), np.r_[request.expected, request.targets.var(axis=0, ddof=1)]


def controls_once(request: Request, folds: Array, items: Array, n_folds: int) -> Controls:
    """The same of the nearest samples with equal weights, those of columns that are scaled once."""
    tables = tables_of(request, folds, outputs_of(request, items, None), n_folds)
    return controls_of(request, tables)


def runs_of(request: Request, n_runs: int, stage: int = 0) -> Runs:
    """Random runs of the splits of a request; those of several stages are independent."""
    law, seed = request.law, request.seed  # which the first stage has
    if stage:
        seed = int(np.random.SeedSequence([seed, stage]).generate_state(1, np.uint64)[0] >> 1)
    assert not isinstance(law, tuple)
    allotment = law.allotment() if isinstance(law, GroupLaw) else law.design.allotment(request.labels)
    if allotment is None:
        return drawn_runs(request, n_runs, seed)
    if isinstance(law, FoldLaw) and not law.tests_rest:
        n_test, ((n_train, rest),) = n_tested_by(request), allotment.sizes.tolist()
        allotment = replace(allotment, sizes=np.array([[n_train, n_test, rest - n_test]]))
    runs = allotted_runs(allotment, n_runs, seed)
    n_tested, rng = request.n_tested, np.random.default_rng(seed)
    return from_pool(runs, n_tested, rng) if n_tested else runs


def n_tested_by(request: Request) -> int:
    """The number of samples of a test set of a splitter that leaves some out."""
    _, test = next(request.splits())
    return len(test)


def drawn_runs(request: Request, n_runs: int, seed: int) -> Runs:
    """Random runs of single splits that the splitter draws itself."""
    rng, splits = np.random.default_rng(seed), list[Split]()
    while len(splits) < n_runs:
        splits += request.splits(int(rng.integers(2**31 - 1)))
    return single_splits(folds_of(splits[:n_runs], len(request.y)), seed)


def count(request: Request, runs: Runs) -> tuple[Array, Controls]:
    """The scores (n_runs,) of runs whose votes are counted, and their control variates."""
    scorer, law, near = request.scorer, request.law, request.rule.neighbors
    assert scorer is not None
    control: Any = None
    if scorer.needs != "votes":
        control = None if request.expected is None else partial(controls_of, request)
    elif isinstance(law, FoldLaw) and law.tests_rest and runs.kinds.ndim == 1:
        control = control_of_votes(request.problem, near, runs.kinds, request.n_jobs)
    return score_tables(request.problem, near, runs, scorer, control, request.n_jobs)


def predict(
    asked: Sequence[Request], twins: Sequence[Twin | None], runs: Runs
) -> list[tuple[Array, Controls]]:
    """The same of several scorings from the same predictions, run by run."""
    request, n_folds = asked[0], runs.n_folds
    width = sum(len(labels.classes) for labels in request.outputs) if request.by_output else 0
    if any(one.scorer is not None and one.scorer.needs == "votes" for one in asked):
        width = len(request.all_labels.classes) ** 2  # of `ranked`
    step = runs_at_once(len(request.y) * max(request.rule.n_neighbors, width))
    values, controls = [], []
    for block in range(runs.n_blocks):
        folds = runs.folds(block)
        starts = range(0, len(folds), step)
        for start in counted(starts, len(starts)):
            some, seed = folds[start : start + step], runs.seed + block * BITS + start
            nearest = nearest_of(request, some, seed)
            has_controls = any(twins) or request.expected is not None
            is_scaled = request.prepared.search is not None
            once = request.nearest(some, seed) if is_scaled and has_controls else nearest
            outputs = outputs_of(request, *nearest)
            some = some[:, : outputs.shape[1]]  # without a pool
            values.append([score_outputs(one, some, outputs, n_folds) for one in asked])
            of_tables: Controls = None
            if request.votes_alike and request.expected is not None:
                of_tables = controls_of(request, tables_of(request, some, outputs, n_folds))
            elif request.expected is not None:
                of_tables = controls_once(request, some, once[0], n_folds)
            if any(twins):
                outputs = outputs_of(request, *once)
            of_runs: list[Controls] = [of_tables] * len(asked)
            for at, (one, twin) in enumerate(zip(asked, twins, strict=True)):
                if twin is not None:
                    known, means = of_tables or (np.empty((len(some), 0)), np.empty(0))
                    scores = score_outputs(one, some, outputs, n_folds)
                    of_runs[at] = np.column_stack([known, scores]), np.append(means, twin.mean)
            controls.append(of_runs)
    columns = zip(zip(*values, strict=True), zip(*controls, strict=True), strict=True)
    return [(np.concatenate(scores), joined(known)) for scores, known in columns]


def folds_of(splits: Sequence[Any], n: int) -> Array:
    """The folds (n_splits, n) of training and tested samples, or groups, of which there are n."""
    folds = np.full((len(splits), n), NEITHER, np.int32)
    for fold_of, (train, test) in zip(folds, splits, strict=True):
        fold_of[np.asarray(train)], fold_of[np.asarray(test)] = -1, 0
    return folds


def weights_of(rule: Rule, distances: Array) -> Array:
    """The weights of the neighbors, of the shape of `distances` (n_runs, n_items, K)."""
    if rule.weights is None and not rule.by_distance:
        return np.ones(distances.shape)
    if callable(rule.weights):
        flat = distances.reshape(-1, distances.shape[2])
        weights = np.ones(flat.shape)
        tested = np.isfinite(flat).all(axis=1)
        weights[tested] = rule.weights(flat[tested])
        return weights.reshape(distances.shape)
    zero = distances == 0
    with np.errstate(divide="ignore"):
        weights = 1 / distances
    return np.where(zero.any(axis=2, keepdims=True), zero, weights)


def nearest_of(
    request: Request, folds: Array, seed: int, fitted: Array | None = None
) -> tuple[Array, Array]:
    """The nearest training samples in some runs, of columns that are scaled within the folds if any are.

    Or they are scaled by the training sets `fitted`, see `RescaledSearch.nearest`.
    """
    search = request.prepared.search
    if search is None:
        return request.nearest(folds, seed)
    items, distances = search.nearest(folds, request.rule.n_neighbors, request.n_jobs, fitted)
    n_tested = request.n_tested or len(request.y)  # which come before a pool
    return items[:, :n_tested], distances[:, :n_tested]


def outputs_of(request: Request, items: Array, distances: Array | None) -> Array:
    """Shares of the votes or means of the targets, (n_runs, n_items, n_classes or n_outputs).

    The neighbors weigh as the rule tells, or alike without distances. The classes of several outputs follow
    each other.
    """
    return next(outputs_by_k(request, items, distances, [items.shape[2]]))


def outputs_by_k(
    request: Request, items: Array, distances: Array | None, ks: Sequence[int]
) -> Iterator[Array]:
    """The same of the first K of the neighbors, for rising K."""
    weights = np.ones(items.shape) if distances is None else weights_of(request.rule, distances)
    targets, labels_of = request.targets, request.outputs
    n_classes = [1] * targets.shape[1] if request.regression else [len(one.classes) for one in labels_of]
    starts, width = np.cumsum([0, *n_classes[:-1]]), sum(n_classes)
    summed, total = np.zeros((*items.shape[:2], width)), np.zeros((*items.shape[:2], 1))
    rows = items.reshape(-1, items.shape[2]), weights.reshape(-1, items.shape[2])
    cells = np.column_stack([at + labels.codes for at, labels in zip(starts, labels_of, strict=True)])
    for start, k in pairwise([0, *ks]):
        if request.regression:
            for place in range(start, k):
                near, weight = items[:, :, place], weights[:, :, place, None]
                total += weight
                summed += weight * targets[near]
            yield summed / total
        else:  # sums of the shares themselves, as scikit-learn's: so no share is larger than 1
            add_votes(*rows, start, k, cells, summed.reshape(-1, width))
            yield summed / np.repeat(np.add.reduceat(summed, starts, axis=2), n_classes, axis=2)


def shares_of(request: Request, outputs: Array) -> list[Array]:
    """The shares of the votes for every output, (..., n_classes) each."""
    ends = np.cumsum([len(labels.classes) for labels in request.outputs])
    return np.split(outputs, ends[:-1], axis=-1)


def errors_of(request: Request, outputs: Array) -> Array:
    """Errors of a regression, or whether predictions are right, (n_runs, n_items, n_outputs)."""
    n = outputs.shape[1]  # the tested ones come before a pool
    if request.regression:
        return np.asarray(outputs - request.targets[:n])
    pairs = zip(shares_of(request, outputs), request.outputs, strict=True)
    return np.stack([shares.argmax(axis=2) == labels.codes[:n] for shares, labels in pairs], axis=2)


def fold_sums(folds: Array, values: Array, n_folds: int) -> Array:
    """Sums over the tested samples of every fold, and their number, (n_runs, n_folds, n_outputs + 1)."""
    tested, n_cells = folds >= 0, len(folds) * n_folds
    cell = (np.arange(len(folds))[:, None] * n_folds + folds)[tested]
    sums = [np.bincount(cell, weights, n_cells) for weights in (*values[tested].T, None)]
    return np.stack(sums, axis=1).reshape(len(folds), n_folds, -1)


def tables_of(request: Request, folds: Array, outputs: Array, n_folds: int) -> Array:
    """Confusion tables (n_runs, n_folds, n_classes, n_classes), or sums by output, see `fold_sums`.

    The sums are of correct predictions, or of squared errors, and of the targets and their squares, less
    the mean of all targets.
    """
    if request.by_output:
        values = errors_of(request, outputs)
        if request.regression:
            targets = request.targets[: values.shape[1]]
            off = np.broadcast_to(targets - targets.mean(axis=0), values.shape)
            values = np.concatenate([values**2, off, off**2], axis=2)
        return fold_sums(folds, values, n_folds)
    n_runs, tested = len(folds), folds >= 0
    cell = (np.arange(n_runs)[:, None] * n_folds + folds)[tested]
    true = np.broadcast_to(request.all_labels.codes[: folds.shape[1]], folds.shape)[tested]
    n_classes = len(request.all_labels.classes)
    at = (cell * n_classes + true) * n_classes + outputs.argmax(axis=2)[tested]
    shape = (n_runs, n_folds, n_classes, n_classes)
    return np.bincount(at, minlength=int(np.prod(shape))).reshape(shape)


def score_outputs(request: Request, folds: Array, outputs: Array, n_folds: int) -> Array:
    """The mean score of the folds of every run: of tables, or by scikit-learn."""
    if request.scorer is not None and request.scorer.needs != "votes":
        return np.asarray(request.scorer(tables_of(request, folds, outputs, n_folds)).mean(axis=1))
    scorer = request.sklearn_scorer
    made = read_scorer(scorer)
    if made is not None and request.formula is not None:
        return np.asarray(made.sign * _by_formula(request, folds, outputs, n_folds).mean(axis=(1, 2)))
    check(made is not None, OPAQUE, error=InexactError)
    known, y, codes = _known(request), request.y, request.all_labels.codes[: folds.shape[1]]
    found = np.full((len(folds), n_folds), np.nan)
    if request.scorer is not None:
        found = request.scorer.on_shares(outputs, codes, folds, n_folds)
    with warnings.catch_warnings(action="ignore"):  # of undefined scores, which are left out
        for run, fold in np.argwhere(np.isnan(found)):
            rows = np.flatnonzero(folds[run] == fold)
            known.outputs = outputs[run, rows]
            try:
                found[run, fold] = scorer(known, rows[:, None], y[rows])
            except ValueError:
                if not _lacks_class(request, rows):
                    raise
    return np.asarray(found.mean(axis=1))


def _lacks_class(request: Request, rows: Array) -> bool:
    """Whether a fold tests no sample of some class, of which scikit-learn's functions may not know then."""
    lacks = [len(np.unique(labels.codes[rows])) < len(labels.classes) for labels in request.outputs]
    return not request.regression and any(lacks)


def _by_formula(request: Request, folds: Array, outputs: Array, n_folds: int) -> Array:
    """The scores of every fold and output, (n_runs, n_folds, n_outputs), as scikit-learn defines them."""

    def means(values: Array) -> Array:
        sums = fold_sums(folds, values, n_folds)
        return np.asarray(sums[..., :-1] / sums[..., -1:])

    errors = errors_of(request, outputs)
    if not request.regression:
        together = ACCURACIES[str(request.formula)] == "together"
        share = means(np.asarray(errors.all(axis=2, keepdims=True)) if together else errors)
        return 1 - share if str(request.formula).endswith("_loss") else share
    if request.formula == "mean_absolute_error":
        return means(np.abs(errors))
    squared = means(errors**2)
    if request.formula != "r2_score":
        return squared if request.formula == "mean_squared_error" else np.sqrt(squared)
    y = request.targets[: errors.shape[1]].astype(float)
    targets = np.broadcast_to(y, errors.shape)
    off = targets - means(targets)[np.arange(len(folds))[:, None], np.maximum(folds, 0)]
    spread = means(off**2)
    n_tested = fold_sums(folds, errors, n_folds)[..., -1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(spread > (FLAT * np.abs(y).max()) ** 2, 1 - squared / spread, squared == 0)
    return np.where(n_tested > 1, found, np.nan)


def _known(request: Request) -> Any:
    """An estimator whose predictions are known: set its ``outputs`` for the tested samples."""
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

    regression, one_output = request.regression, request.y.ndim == 1
    classes = [labels.classes for labels in request.outputs]

    class Known(RegressorMixin if regression else ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        outputs: Array

        def predict(self, X: Any) -> Array:  # noqa: ARG002
            if regression:
                return self.outputs[:, 0] if one_output else self.outputs
            shares = zip(classes, shares_of(request, self.outputs), strict=True)
            found = np.stack([labels[each.argmax(axis=1)] for labels, each in shares], axis=1)
            return found[:, 0] if one_output else found

        if not regression:

            def predict_proba(self, X: Any) -> Any:  # noqa: ARG002
                return self.outputs if one_output else shares_of(request, self.outputs)

    known = Known()
    known.classes_ = classes[0] if one_output else classes
    return known
