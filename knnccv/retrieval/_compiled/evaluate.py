"""Expected scores at one group of own items that are equally near."""

from __future__ import annotations

from ...kernel import jit
from .bounds import NEGLIGIBLE, least, tail
from .contributions import add_cumulative, add_integrals, add_ranked, weigh
from .laws import fill_ahead_law, fill_next_law, fill_others_law, fill_own_law
from .ties import mix_ties, times_of_group


@jit
def evaluate(members, equal, nearer, pool, plan, scratch, found, q):
    """Add what a group of own items contributes to the scores of query q.

    Parameters
    ----------
    members : ndarray
        The own items of the group.
    equal : ndarray
        Strata of the wrong items that tie with them.
    """
    family, sizes, draws = nearer.family, nearer.sizes, nearer.draws
    counts, tied, none, means = nearer.counts, nearer.tied, nearer.none, nearer.means
    images, identities = nearer.images, nearer.ahead
    strata, touched = nearer.strata[: nearer.lengths[0]], nearer.identities[: nearer.lengths[1]]
    relevant, length = found.relevant[q], scratch.length
    fair = len(equal) > 0 or len(members) > 1
    times, shares = scratch.law, scratch.part
    if fair:  # nothing is allocated for other items, which are most
        times, shares = times_of_group(members, equal, family, tied, draws)
        found.rounding[q] += 2.3e-16 * len(times) * min(len(family), len(members))
    limit, ahead_limit = 1.0, 1.0
    if length > 0:
        limit = least(tail(means[0], length), images, scratch.inverse, len(plan.weights))
    if plan.by_identity and plan.max_rank > 0:
        ahead_limit = tail(means[1], plan.max_rank)
        if plan.identity_integrals:
            ahead_limit = least(ahead_limit, identities, scratch.inverse_ahead, len(plan.weights))
    law, part, chosen = scratch.law, scratch.part, scratch.chosen
    mine, mine_too = scratch.mine, scratch.mine_too
    others, others_too = scratch.others, scratch.others_too
    ahead, ahead_too = scratch.ahead, scratch.ahead_too
    at_once, of_identities, left = images, identities, none
    if len(equal) > 0:
        at_once, of_identities = images.copy(), identities.copy()
    for v in range(len(times) if fair else 1):
        time, share = (times[v], shares[v]) if fair else (0.0, 1.0)
        if len(equal) > 0:
            left = none.copy()
            at_once[:], of_identities[:] = images, identities
            mix_ties(equal, time, left, at_once, of_identities, nearer, pool, plan, chosen)
        if plan.integrals:
            weigh(at_once, plan, scratch)
        has_others, has_ahead = False, False  # laws that are computed when they are needed
        for s in family:  # the own items of a stratum have the same law
            if tied[s] == 0:
                continue
            if fair:
                mine, mine_too = fill_own_law(
                    mine, mine_too, family, sizes, counts, tied, draws, s, time, law, part, chosen
                )
            else:
                mine, mine_too = fill_next_law(
                    mine, mine_too, family, sizes, counts, draws, s, law, scratch.kept, scratch.known
                )
            weight = tied[s] * (share * draws[s] / sizes[s])
            if plan.integrals:
                single = found.single[q]
                add_integrals(mine, relevant, weight, at_once, of_identities, plan, single, scratch)
            first = weight * mine[0] if plan.max_rank else 0.0
            by_rank = (plan.ranks > 0 or plan.map_r) and limit >= NEGLIGIBLE
            if (plan.ranks > 0 or plan.map_r) and not by_rank:
                found.skipped[q] += weight * limit
            by_first = first * (ahead_limit if plan.by_identity else limit) >= NEGLIGIBLE
            if not by_first:
                found.skipped[q] += first * (ahead_limit if plan.by_identity else limit)
            if (by_rank or (by_first and not plan.by_identity)) and not has_others:
                has_others = True
                others, others_too = fill_others_law(
                    others, others_too, strata, sizes, counts, tied, draws, time, law, part, chosen
                )
            if by_first and plan.by_identity:
                if not has_ahead:
                    has_ahead = True
                    ahead, ahead_too = fill_ahead_law(ahead, ahead_too, touched, left)
                add_cumulative(first, ahead, found.cmc[q])
            elif by_first:
                add_cumulative(first, others, found.cmc[q])
            if by_rank:
                add_ranked(mine, relevant, weight, others, plan.map_r, found.ranks[q], found.single[q])
