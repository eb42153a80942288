"""Exact mode: the source of the kernels, run unjitted on rational numbers."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np

from ..._base.parallel import stop_flag
from ..._base.typing import Array
from ...kernel import Constraints, Labels, as_python
from ...neighbors import Neighbors
from ._problem import ScoringProblem
from ._rows import Rows, score_rows, usable_lengths
from ._summary import Scores


def exact_scores(problem: ScoringProblem, neighbors: Neighbors) -> Scores:
    """A_x of every sample as Fractions; tied samples are not counted.

    Raises
    ------
    ValueError
        If the neighbor lists end before the last position that can matter.
    """
    n_items = neighbors.n_items
    depth = max(_depth_that_matters(problem), 1)
    if depth > neighbors.max_depth:
        msg = (
            f"exact=True needs {depth} neighbors of every sample, but {neighbors!r} has at most "
            f"{neighbors.max_depth}"
        )
        raise ValueError(msg)
    needed = depth
    average_ties = problem.ties == "random"
    if average_ties or not neighbors.ordered_by_index:  # a tied group must be complete
        depth = neighbors.max_depth
    labels = exact_labels(problem)
    untested = problem.never_tested()
    score_rows_exactly = as_python(score_rows)
    scores = np.full((len(problem.training_sets), n_items), None, dtype=object)
    size = neighbors.rows_at_once(depth)
    for start in range(0, n_items, size):
        rows = np.arange(start, min(start + size, n_items))
        lists = neighbors.search(rows, depth)
        lengths = usable_lengths(lists, neighbors, average_ties)
        wanted = ~untested[:, problem.labels.codes[rows]].all(axis=0)
        missing = (lengths < needed) & wanted
        if missing.any():
            at = int(rows[np.argmax(missing)])
            msg = (
                f"exact=True needs {needed} neighbors, ties included; the list of sample {at} is too short"
            )
            raise ValueError(msg)
        for j, kind in enumerate(problem.training_sets):
            task = problem.task(kind, Fraction)
            kernel = as_python(problem.variant.kernel_for(task))
            constraints = problem.constraints(task)
            tested = ~untested[j, problem.labels.codes[rows]]
            out = np.full(int(tested.sum()), None, dtype=object)
            given = Rows(
                lists.items[tested],
                lists.values[tested],
                lengths[tested],
                as_objects(rows[tested]),
                average_ties,
            )
            score_rows_exactly(kernel, given, labels, constraints, out, stop_flag())
            scores[j, rows[tested]] = [rational(score, problem, (constraints,)) for score in out]
    return Scores(scores, np.zeros(scores.shape), np.zeros(n_items, bool), depth)


def _depth_that_matters(problem: ScoringProblem) -> int:
    """Depth at which at least K of the samples passed are in every training set."""
    depth = 0
    for kind in problem.training_sets:
        left_out = kind.n_available - sum(kind.n_train)
        depth = max(depth, min(left_out + problem.nearest(kind), kind.n_available))
    return depth


def exact_labels(problem: ScoringProblem) -> Labels:
    """Classes as Python integers and targets as Fractions, as the kernel reads them in exact mode."""
    given = problem.kernel_labels()
    values = np.empty(given.values.shape, dtype=object)
    for at in np.ndindex(values.shape):
        values[at] = Fraction(float(given.values[at]))
    return Labels(as_objects(given.classes), values)


def rational(score: Any, problem: ScoringProblem, constraints: tuple[Constraints, ...]) -> Fraction:
    """The kernel's score as a Fraction; otherwise TypeError, which names tables() or the kernel."""
    if isinstance(score, (int, Fraction)):
        return Fraction(score)
    name = problem.variant.name
    found = _not_rational(constraints)
    if found:
        msg = (
            f"tables() of variant {name!r} does not keep to rational numbers: in exact mode it gave "
            f"{found} and the kernel returned {score!r}; tables() must make its numbers with task.number"
        )
    else:
        msg = (
            f"the kernel of variant {name!r} does not keep to rational numbers: it returned {score!r} in "
            "exact mode; products must start from constraints.unit"
        )
    raise TypeError(msg)


def _not_rational(constraints: tuple[Constraints, ...]) -> str:
    """The first entry of the tables that is neither integer nor Fraction, with its place, or ""."""
    for each, part in itertools.product(constraints, ("numbers", "weights", "table")):
        values: Array = getattr(each, part)
        for at in np.ndindex(values.shape):
            if not isinstance(values[at], (int, Fraction, np.integer)):
                return f"{part}[{', '.join(map(str, at))}] = {values[at]!r}"
    return ""


def as_objects(values: Array) -> Array:
    """An array of Python integers; with NumPy's integers Fractions would not stay exact."""
    out = np.empty(len(values), dtype=object)
    out[:] = [int(value) for value in values]
    return out
