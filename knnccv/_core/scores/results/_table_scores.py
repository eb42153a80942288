"""Means of scorings over random runs of votes, from tables of counts: `scored_by_runs`, and its parts.

Exact means of the same runs are control variates: the confusion table, or for two classes the law of the
votes of every sample.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from ...._base.typing import Array
from ....neighbors import Neighbors
from ...driver import ScoringProblem, first_depth
from ...luck.runs import CONFUSION, VOTES, RunCounter, Runs, RunTables, ballot_of, draw_runs
from ...luck.scorings import (
    Budget,
    ControlledMean,
    TableScorer,
    Wish,
    confusion_controls,
    controlled_mean,
    enough_runs,
    mixed_ties,
    table_scorer,
    vote_controls,
    vote_laws,
)
from ._result import CompleteCV

COUNTED = Budget(512, 5000)
"""Runs whose votes are counted, 512 at a time."""
MOST_CELLS = 2**15
"""Cells of the table of a run that are counted."""
DEEP = 1e-12
"""The share of training sets for which the lists of the laws of votes may be too short."""

Controls = tuple[Array, Array] | None
"""Statistics of runs, (n_runs, n_controls), and their expectation; None if it is unknown."""
Control = Callable[[Array], Controls]
"""From the tables of some runs to their control variates."""


def scored_by_runs(result: CompleteCV, scoring: Any, wish: Wish, seed: int) -> ControlledMean:
    """Return the mean of a scoring of scikit-learn over random runs of a result's design.

    The scale of a precision is that of the score for the log loss alone.

    Raises
    ------
    ValueError
        If the rule does not vote, the scoring is no function of its tables, or is undefined in some run.
    """
    evaluation = result._reference()
    problem, near, n_jobs = evaluation.problem, evaluation.neighbors, evaluation.n_jobs
    scorer = table_scorer(scoring, problem.labels.classes)
    rng = np.random.default_rng(seed)
    runs = draw_runs(problem, 1, np.random.default_rng(seed))
    if scorer is None or not is_counted(scorer, problem, runs.n_folds) or problem.average != "pooled":
        of = "no" if problem.variant.target == "values" else len(problem.labels.classes)
        msg = (
            "scoring needs a plurality vote without a loss, average='pooled', and a function of a small "
            f"table of predictions or votes, got {scoring!r}, variant {problem.variant.name!r}, "
            f"average={problem.average!r} and {of} classes; "
            "knnccv.sklearn.expected_score takes more scorings"
        )
        raise ValueError(msg)
    if scorer.needs == "votes":
        control = control_of_votes(problem, near, runs.kinds, n_jobs)
    else:
        kinds, counts = [problem.training_sets[kind] for kind in runs.kinds], problem.labels.counts
        known = result.confusion(normalize="all")
        n_tested = np.array([kind.tested_share(len(counts)) for kind in kinds], float) @ counts
        control = partial(confusion_controls, n_tested=n_tested, expected=known)
    parts: list[tuple[Array, Controls]] = []

    def look(n_runs: int) -> list[ControlledMean]:
        runs = draw_runs(problem, n_runs, rng)
        parts.append(score_tables(problem, near, runs, scorer, control, n_jobs))
        values, controls = np.concatenate([one for one, _ in parts]), joined(one for _, one in parts)
        if not np.isfinite(values).all():
            msg = (
                f"scoring={scoring!r} must be defined in every run, but it is {values.min()} in some runs "
                f"of {problem.design!r}: take stratified=True, or test and train more samples"
            )
            raise ValueError(msg)
        means, expected = controls or (None, ())
        is_linear = scorer.is_linear and controls is not None
        return [controlled_mean(values, means, expected, is_linear=is_linear)]

    wish = wish._replace(is_relative=scorer.name.endswith("log_loss"))
    (found,), _, _ = enough_runs(look, [wish], COUNTED)
    return found


def is_counted(scorer: TableScorer, problem: ScoringProblem, n_folds: int) -> bool:
    """Return True if the votes of the rule can be counted in a table that is not too large."""
    ballot = ballot_of(problem)
    if ballot is None or ballot.any_of or not ballot.plain:
        return False
    n_numbers = ballot.n_nearest + 1 if scorer.needs == "votes" else 1
    return n_folds * len(problem.labels.classes) ** 2 * n_numbers <= MOST_CELLS


def score_tables(
    problem: ScoringProblem,
    neighbors: Neighbors,
    runs: Runs,
    scorer: TableScorer,
    control: Control | None,
    n_jobs: int | None,
) -> tuple[Array, Controls]:
    """Return the scores (n_runs,) of runs whose votes are counted, and their control variates."""

    def score(tables: Array) -> tuple[Array, Controls]:
        return scorer(tables).mean(axis=1), None if control is None else control(tables)

    values, controls = zip(*of_tables(problem, neighbors, runs, scorer.needs, score, n_jobs), strict=True)
    return np.concatenate(values), joined(controls)


def of_tables(
    problem: ScoringProblem,
    neighbors: Neighbors,
    runs: Runs,
    needs: str,
    each: Callable[[Array], Any],
    n_jobs: int | None,
) -> list[Any]:
    """What `each` returns for the tables of every block of runs, those that a scorer `needs`."""
    found: list[Any] = [None] * runs.n_blocks

    def take(block: int, tables: RunTables) -> None:
        found[block] = each(tables.counts)

    what = VOTES if needs == "votes" else CONFUSION
    counter = RunCounter(problem, neighbors, runs, what, np.arange(runs.n_folds))
    # The filters of warnings belong to the process: threads that set them alone would undo each other's.
    with warnings.catch_warnings(action="ignore"):
        counter.count(take, n_jobs)
    return found


def joined(parts: Iterable[Controls]) -> Controls:
    """Return the control variates of all blocks of runs."""
    known = [part for part in parts if part is not None]
    return (np.concatenate([part[0] for part in known]), known[0][1]) if known else None


def control_of_votes(
    problem: ScoringProblem, neighbors: Neighbors, kinds: Array, n_jobs: int | None
) -> Control | None:
    """Return the control of scores of votes by the laws of the votes of two classes; None if unknown.

    ``kinds`` (n_folds,) are the kinds of the folds of a run, which test all samples that do not train.
    """
    codes = problem.kernel_labels().classes
    if len(problem.labels.classes) != 2:
        return None
    lists = neighbors.all_lists(first_depth(problem, neighbors, DEEP), n_jobs)
    if problem.ties == "random" and mixed_ties(lists, codes).any():
        return None
    k = problem.variant.n_nearest(**problem.parameters)
    try:
        laws = [vote_laws(lists, codes, kind, k) for kind in problem.training_sets]
    except ValueError:
        return None
    is_known = max(float(each.tails.max()) for each in laws) < 1e-9
    return partial(vote_controls, laws=laws, kinds=kinds) if is_known else None
