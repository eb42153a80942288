"""Training sets that are drawn for one tested sample, along its neighbor list; compiled.

A draw goes along the list and puts every position into the training set with the probability that it has,
given the positions before it, until the K nearest training samples are known. A number u in [0, 1) makes
the decisions: if u < p the position is included, and the place of u within [0, p) decides the rest,
otherwise its place within [p, 1). The R draws of a sample take u from R / 2 strata of equal width, two from
each. So they divide the decisions at the nearest positions, which matter most, nearly in proportion to
their probabilities. The draws are independent, the variance is never larger than that of R plain draws, and
the two draws of each stratum estimate it without bias (Cochran, Sampling Techniques, 1977, section 5.3).
"""

from __future__ import annotations

import numpy as np

from ..driver import fill_group_ends
from ..kernel import jit
from ._random_stream import start_stream, uniform

USED_UP = 2.0**-20
"""Share of [0, 1) below which u has too few random bits left; fresh numbers follow."""
MISSED = -1
"""Stands for the number of training samples of a draw that goes on beyond the list."""


@jit
def list_positions(row, items, values, length, average_ties, strata_of, order, group_end, strata):
    """Fill the positions of a row, the ends of their tied groups, and the strata of their samples."""
    for i in range(length):
        order[i] = i
        group_end[i] = i + 1
        strata[i] = strata_of[items[row, i]]
    if average_ties:
        fill_group_ends(values[row], length, group_end)


@jit
def choose_extra(state, own, n_train, counts, extra, n_extra, need):
    """Add one to `need` for `n_extra` strata that are flagged in `extra`, given that `own` is tested.

    Training sets with an extra sample of the tested sample's own stratum leave it out less often.
    """
    n_flagged = 0
    for flag in extra:
        n_flagged += flag
    if extra[own] == 1:
        spared = counts[own] - n_train[own]
        with_own, without = n_extra * (spared - 1.0), (n_flagged - n_extra) * float(spared)
        n_flagged -= 1
        if uniform(state) * (with_own + without) < with_own:
            need[own] += 1
            n_extra -= 1
    for s in range(len(extra)):
        if extra[s] == 1 and s != own:
            if uniform(state) * n_flagged < n_extra:
                need[s] += 1
                n_extra -= 1
            n_flagged -= 1


@jit
def draw_nearest(u, state, order, group_end, strata, length, left, need, chosen, row):
    """Fill the positions of one draw's nearest training samples; return their number, and the reach.

    The positions are in ``chosen[row]``. The reach is the number of positions that were passed. ``left``
    and ``need`` (n_strata,) are the samples of every stratum, and those in the training set; they are as
    before at the end. Tied samples come in random order.
    """
    wanted = chosen.shape[1]
    low, width = 0.0, 1.0  # u is in [low, low + width) by the decisions so far
    found = 0
    i = 0
    while i < length and found < wanted:
        n_tied = group_end[i] - i
        if n_tied > 1:
            j = i + int(uniform(state) * n_tied)
            order[i], order[j] = order[j], order[i]
        at = order[i]
        s = strata[at]
        n_need, n_left = need[s], left[s]
        part = width * (n_need / n_left)
        left[s] = n_left - 1
        if u < low + part or n_need == n_left:  # the sum is rounded
            width = part
            need[s] = n_need - 1
            chosen[row, found] = at
            found += 1
        else:
            low += part
            width -= part
        if width < USED_UP:
            u = uniform(state)
            low, width = 0.0, 1.0
        i += 1
    for j in range(i):
        left[strata[order[j]]] += 1
    for j in range(found):
        need[strata[chosen[row, j]]] += 1
    return (found if found == wanted else MISSED), i


@jit
def draw_in_one_stratum(u, state, order, group_end, length, n_left, n_need, chosen, row):
    """The same as `draw_nearest` if there is one stratum, faster."""
    wanted = chosen.shape[1]
    low, width = 0.0, 1.0
    found = 0
    i = 0
    while i < length and found < wanted and width >= USED_UP:
        n_tied = group_end[i] - i
        if n_tied > 1:
            j = i + int(uniform(state) * n_tied)
            order[i], order[j] = order[j], order[i]
        part = width * ((n_need - found) / (n_left - i))
        if u < low + part or n_need - found == n_left - i:  # the sum is rounded
            width = part
            chosen[row, found] = order[i]
            found += 1
        else:
            low += part
            width -= part
        i += 1
    while i < length and found < wanted:  # u is used up: a number for each decision, and no branches
        n_tied = group_end[i] - i
        if n_tied > 1:
            j = i + int(uniform(state) * n_tied)
            order[i], order[j] = order[j], order[i]
        chosen[row, found] = order[i]
        found += uniform(state) * (n_left - i) < n_need - found
        i += 1
    return (found if found == wanted else MISSED), i


@jit
def draw_groups(
    u, state, order, group_end, group_at, length, is_whole, own, n_left, n_need, member, chosen, row
):
    """The same if whole groups are drawn: a group is drawn when its first sample is met.

    ``member`` (n_groups,) is 0 before and after. A training set may have fewer than K samples.
    """
    wanted = chosen.shape[1]
    low, width = 0.0, 1.0
    found = 0
    i = 0
    while i < length and found < wanted:
        n_tied = group_end[i] - i
        if n_tied > 1:
            j = i + int(uniform(state) * n_tied)
            order[i], order[j] = order[j], order[i]
        at = order[i]
        i += 1
        g = group_at[at]
        if g == own:
            continue
        if member[g] == 0:
            part = width * (n_need / n_left)
            if u < low + part or n_need == n_left:  # the sum is rounded
                width = part
                member[g] = 1
                n_need -= 1
            else:
                low += part
                width -= part
                member[g] = 2
            n_left -= 1
            if width < USED_UP:
                u = uniform(state)
                low, width = 0.0, 1.0
        if member[g] == 1:
            chosen[row, found] = at
            found += 1
    for j in range(i):
        member[group_at[order[j]]] = 0
    return (found if found == wanted or is_whole else MISSED), i


@jit
def open_strata(own, n_train, counts, left, need):
    """Set `left` and `need` for a tested sample of the stratum `own`."""
    for s in range(len(counts)):
        left[s] = counts[s]
        need[s] = n_train[s]
    left[own] -= 1


@jit
def draw_sets(
    row,
    items,
    values,
    length,
    target,
    average_ties,
    strata_of,
    of_groups,
    sets,
    seed,
    kind,
    chosen,
    found,
    stop,
):
    """Draw ``len(found)`` training sets for one tested sample; return how far they reach along its list.

    Parameters
    ----------
    row, items, values, length
        The row of the lists, and its length.
    strata_of : int64 array of shape (n_items,)
        The stratum of every sample; its group if `of_groups`.
    sets : Constraints
        The training sets; they count groups if `of_groups`.
    seed, kind
        They choose the stream of random numbers, with the target.
    chosen : int64 array of shape (n_draws, K)
        Filled with the positions of the nearest training samples.
    found : int64 array of shape (n_draws,)
        Filled with the numbers of them, or `MISSED`.
    """
    n_strata, n_draws = len(sets.counts), len(found)
    n_slices = n_draws // 2
    # One by one: the rows of one array would not be known to be contiguous.
    order, group_end = np.empty(length, np.int64), np.empty(length, np.int64)
    strata = np.empty(length, np.int64)
    left, need = np.empty(n_strata, np.int64), np.empty(n_strata, np.int64)
    member = np.zeros(sets.counts[0] if of_groups else 0, np.int8)
    state = np.empty(1, np.uint64)
    list_positions(row, items, values, length, average_ties, strata_of, order, group_end, strata)
    start_stream(state, seed, target, kind)
    own = strata_of[target]
    is_whole = length == len(strata_of) - 1
    if not of_groups:
        open_strata(own, sets.n_train, sets.counts, left, need)
    reach, at_slice = 0, 0
    for j in range(n_draws):
        if stop[0]:
            break
        u = (at_slice + uniform(state)) / n_slices
        at_slice = at_slice + 1 if at_slice + 1 < n_slices else 0
        if of_groups:
            found[j], passed = draw_groups(
                u,
                state,
                order,
                group_end,
                strata,
                length,
                is_whole,
                own,
                sets.counts[0] - 1,
                sets.n_train[0],
                member,
                chosen,
                j,
            )
        elif n_strata == 1:
            found[j], passed = draw_in_one_stratum(
                u, state, order, group_end, length, left[0], need[0], chosen, j
            )
        else:
            if sets.n_extra > 0:
                open_strata(own, sets.n_train, sets.counts, left, need)
                choose_extra(state, own, sets.n_train, sets.counts, sets.extra, sets.n_extra, need)
            found[j], passed = draw_nearest(
                u, state, order, group_end, strata, length, left, need, chosen, j
            )
        reach = max(reach, passed)
    return reach


@jit
def estimate(scores):
    """Mean of draws and its estimated variance; draw j is of the slice ``j % (len(scores) // 2)``."""
    n_slices = len(scores) // 2
    total, spread = 0.0, 0.0
    for s in range(n_slices):
        mean, n = 0.0, 0
        for j in range(s, len(scores), n_slices):
            mean += scores[j]
            n += 1
        mean /= n
        squares = 0.0
        for j in range(s, len(scores), n_slices):
            squares += (scores[j] - mean) ** 2
        total += mean
        spread += squares / (n * (n - 1))
    return total / n_slices, spread / n_slices**2
