"""As many random runs as a wanted standard error needs: `enough_runs`; or draws, `enough_draws`.

A pilot tells how many runs there have to be; these are drawn at once, and the mean is estimated again from
all. Looking seldom keeps the bias of stopping far below the error.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...._base.formatting import magnitude
from ...._base.validation import check_integer, check_real
from ...driver import callers_level
from ._controls import ControlledMean

OF_LUCK = 0.01
"""The usual error of a score of at most 1, times the root of the number of samples: 2 % of the luck of the
data, the standard error of a share of one half."""
LOOKS = 3
"""How often the mean is estimated, the pilot included."""
GROWTH = 16
"""How many times as many runs one look may ask for: what a pilot has not seen is overrated."""
STEP = 64
"""Runs are asked for in multiples of this."""
MOST = 20_000
"""The most runs that are drawn for a precision."""
TIMES = 100
"""How many times the usual number of draws there are at most for a precision."""
TOLERATED = 1.3
"""How many times as many runs a precision may take without a word."""


class Budget(NamedTuple):
    """How many runs a kind of scoring takes.

    ``pilot``
        The runs that are always drawn.
    ``unseen``
        The most where nobody has named a precision, and it is relative, or all error is of what no run has
        shown, such as equal scores.
    ``most``
        The most.
    """

    pilot: int
    unseen: int
    most: int = MOST


class Wish(NamedTuple):
    """The wanted standard error, and the number of samples that it is compared with.

    ``precision``
        In the units of the score; None: ``0.01 / sqrt(n_items)``, times the score if `is_relative`.
    ``n_runs``
        The number of runs, whatever the error; None: as many as the precision needs.
    """

    n_items: int
    precision: float | None = None
    n_runs: int | None = None
    is_relative: bool = False

    def error(self, mean: float) -> float:
        """The wanted standard error of a mean."""
        if self.precision is not None:
            return self.precision
        return OF_LUCK / math.sqrt(self.n_items) * (abs(mean) if self.is_relative else 1.0)


class EnoughRuns(NamedTuple):
    """Means over the same random runs, their number, and in words what better ones would take, or ""."""

    found: Sequence[ControlledMean]
    n_runs: int
    lacking: list[str]


def check_precision(precision: Any, n_runs: Any, named: str = "n_runs", least: int = 1) -> None:
    """Check two arguments of which one may be given; the second one has this name.

    Raises
    ------
    ValueError, TypeError
        If a precision is no positive number, `n_runs` is less than the `least`, or both are given.
    """
    if n_runs is not None:
        check_integer(named, n_runs, least)
    if precision is None:
        return
    value = check_real("precision", precision)
    if not 0 < value < math.inf:
        msg = f"precision is a standard error, which must be positive and finite, got {precision}"
        raise ValueError(msg)
    if n_runs is not None:
        msg = (
            f"give the precision, or {named}, the number of {named[2:]} whatever their error; got "
            f"precision={precision} and {named}={n_runs}"
        )
        raise ValueError(msg)


def runs_needed(found: ControlledMean, n_runs: int, wanted: float) -> float:
    """The number of runs for a standard error.

    What no run shows falls with their number, the rest with its root.
    """
    if not found.std_error > wanted:  # NaN: a single run was asked for
        return n_runs
    if wanted == 0:
        return math.inf
    unseen = found.unseen * n_runs
    squares = max(found.std_error**2 - found.unseen**2, 0.0) * n_runs
    return (squares + math.sqrt(squares**2 + (2 * wanted * unseen) ** 2)) / (2 * wanted**2)


def enough_runs(
    look: Callable[[int], Sequence[ControlledMean]], wishes: Sequence[Wish], budget: Budget
) -> EnoughRuns:
    """Draw a pilot, and as many runs more as the largest wish needs.

    Parameters
    ----------
    look : callable
        ``look(n)`` draws n further runs and returns the means of all so far, one for each wish.
    wishes : sequence of Wish
        They agree in ``n_runs``.
    budget : Budget

    Returns
    -------
    EnoughRuns
        The number of runs depends on the scores and the wishes alone.
    """
    started, n_runs = time.perf_counter(), wishes[0].n_runs or budget.pilot
    found = look(n_runs)
    if wishes[0].n_runs is not None:
        return EnoughRuns(found, n_runs, [""] * len(wishes))

    def needed(one: ControlledMean, wish: Wish) -> int:
        is_vague = wish.is_relative or one.unseen == one.std_error  # the score may be near 0
        most = budget.unseen if is_vague and wish.precision is None else budget.most
        runs = min(runs_needed(one, n_runs, wish.error(one.mean)), GROWTH * n_runs, most)
        return 0 if runs <= n_runs else min(-(-math.ceil(runs) // STEP) * STEP, most)

    for _ in range(LOOKS - 1):
        total = max(map(needed, found, wishes))
        if total <= n_runs:
            break
        found, n_runs = look(total - n_runs), total
    seconds = time.perf_counter() - started

    def lacking(one: ControlledMean, wish: Wish) -> str:
        wanted = wish.error(one.mean)
        runs = runs_needed(one, n_runs, wanted)
        if runs <= n_runs * TOLERATED or wanted == 0:
            return ""
        much = f"{magnitude(math.ceil(runs))} runs, {math.ceil(seconds * runs / n_runs):,} s"
        return f"; an error of {wanted:.1e} takes some {much}"

    return EnoughRuns(found, n_runs, list(map(lacking, found, wishes)))


def enough_draws(look: Callable[[int], float], usual: int, precision: Any, number: Any, named: str) -> None:
    """Draw `number` times, as often as a precision needs, or `usual` times if neither is given.

    Parameters
    ----------
    look : callable
        ``look(n)`` sees to it that there are n draws in all, and returns the standard error.
    named : str
        The argument that is the `number`, such as "n_draws".

    Warns
    -----
    UserWarning
        If the precision takes more than 100 times the usual number.
    """
    n_draws = 0

    def more(n: int) -> list[ControlledMean]:
        nonlocal n_draws
        n_draws += n
        return [ControlledMean(0.0, look(n_draws), 1.0, 0.0)]

    fixed = usual if number is None and precision is None else number
    (found,), _, (lacking,) = enough_runs(
        more, [Wish(1, precision, fixed)], Budget(usual, usual, TIMES * usual)
    )
    if lacking:
        msg = f"{n_draws:,} runs have a standard error of {found.std_error:.1e}{lacking}"
        msg = msg.replace("runs", named[2:])
        warnings.warn(msg, stacklevel=callers_level())
