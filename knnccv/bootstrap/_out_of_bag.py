"""Expected scores of all samples over the bootstrap samples that leave them out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._parallel import for_each, stop_flag
from .._typing import Array, Kernel
from ..driver import SCORE_ROWS, ScoringProblem, alike_samples, score_rows, usable_lengths
from ..kernel import Constraints, Tables, Task, compile_driver, compile_kernel, constraints_for
from ..neighbors import Neighbors
from ..voting import BRIER, VOTE_SHARE, tie_quadrature
from ._forecast import announce
from ._kernels import (
    BootstrapFields,
    ShareFields,
    bootstrap_rank,
    bootstrap_regression,
    bootstrap_shares,
    bootstrap_votes,
)
from ._weights import moment_weights, undecided, vote_weights

RULES = ("nn", "knn", "rank", "confidence", "regression")


class OutOfBag(NamedTuple):
    """``scores`` and ``tails`` (n_items,): the scores, and the probabilities that lists did not decide."""

    scores: Array
    tails: Array
    depth: int


def out_of_bag(
    problem: ScoringProblem, near: Neighbors, n_draws: int, tol: float, n_jobs: int | None
) -> OutOfBag:
    """Score every sample; lists are deepened until at most `tol` / 2 of its score is undecided."""
    n_items, average_ties = near.n_items, problem.ties == "random"
    n_nearest = problem.variant.n_nearest(**problem.parameters)
    labels = problem.kernel_labels()
    kernel = compile_kernel(_special_kernel(problem) or bootstrap_votes, "the bootstrap")
    compile_driver(score_rows, SCORE_ROWS)
    longest = near.max_depth
    fixed = undecided(n_draws, n_items - 1, longest, n_nearest)
    enough = int(np.argmax(fixed <= tol / 2)) if (fixed <= tol / 2).any() else longest
    scores, tails = np.empty(n_items), np.ones(n_items)
    announced = _special_kernel(problem) is not None

    def at_depth(rows: Array, depth: int) -> Callable[[Array], None]:
        nonlocal announced
        if len(rows) == n_items:
            near.search_all(depth, n_jobs=n_jobs)
        announced = announced or announce(problem, near, rows, depth, n_nearest, n_jobs)
        constraints = _constraints(problem, n_draws, n_items, depth, n_nearest)

        def fill(block: Array) -> None:
            lists = near.search(block, depth)
            lengths = usable_lengths(lists, near, average_ties)
            found = np.zeros(len(block))
            score_rows(
                kernel, lists.items, lists.values, lengths, block, average_ties, labels, constraints, found,
                stop_flag(),
            )  # fmt: skip
            scores[block], tails[block] = found, fixed[lengths]

        return fill

    alike, deepest = deepen(
        problem, near, max(enough, 1) + average_ties, at_depth, lambda rows: tails[rows] > tol / 2, n_jobs
    )
    return OutOfBag(scores[alike], tails[alike], deepest)


def deepen(
    problem: ScoringProblem,
    near: Neighbors,
    depth: int,
    at_depth: Callable[[Array, int], Callable[[Array], None]],
    is_open: Callable[[Array], Array],
    n_jobs: int | None,
) -> tuple[Array | slice, int]:
    """Score blocks of rows, and rows that are still open again with lists twice as long.

    Samples with equal features and equal targets share a score. Returns the index that
    takes its score to every sample, and the longest lists.

    Parameters
    ----------
    depth : int
        The length of the lists at first, if they are as long.
    at_depth : callable
        ``at_depth(rows, depth)`` returns the function that scores a block of these rows.
    is_open : callable
        ``is_open(rows)`` returns for each row whether longer lists are needed.
    """
    alike = alike_samples(problem, near)
    rows, depth = np.arange(near.n_items) if alike is None else np.unique(alike), min(depth, near.max_depth)
    while True:
        near.prepare(depth)
        fill = at_depth(rows, depth)
        ordered, size = near.visiting_order(rows, depth), near.rows_at_once(depth)
        for_each(fill, [ordered[at : at + size] for at in range(0, len(ordered), size)], n_jobs)
        rows = rows[is_open(rows)]
        if not len(rows) or depth == near.max_depth:
            return slice(None) if alike is None else alike, depth
        depth = min(2 * depth, near.max_depth)


def _special_kernel(problem: ScoringProblem) -> Kernel | None:
    """The kernel of a rule that needs no distribution of all votes, and is fast; None for votes."""
    special = {"regression": bootstrap_regression, "confidence": bootstrap_shares, "rank": bootstrap_rank}
    return special.get(problem.variant.name)


def _constraints(
    problem: ScoringProblem, n_draws: int, n_items: int, depth: int, n_nearest: int
) -> Constraints:
    """What the kernel reads: the rule, and the weights of all positions of the lists."""
    parameters: dict[str, Any] = problem.parameters
    task = Task((n_draws,), (n_items,), False, held_out=1, n_classes=len(problem.labels.classes))
    positions = n_draws, n_items - 1, depth, n_nearest
    name = problem.variant.name
    if name in ("regression", "confidence"):
        kind = BRIER if parameters.get("score") == "brier" else VOTE_SHARE
        tables = Tables(ShareFields(kind), weights=moment_weights(*positions))
    elif name == "rank":
        tables = Tables(weights=vote_weights(*positions))
    else:
        smallest = parameters.get("vote_ties", "smallest") == "smallest"
        n_tie_nodes, tie_nodes = tie_quadrature(n_nearest, smallest, float)
        loss = parameters.get("loss")
        tables = Tables(
            BootstrapFields(n_tie_nodes),
            numbers=tie_nodes,
            weights=vote_weights(*positions),
            table=np.empty((0, 0)) if loss is None else np.asarray(loss, dtype=float),
        )
    return constraints_for(task, tables, n_nearest=n_nearest)
