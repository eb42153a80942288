"""CVC and RIB, written out: the ground truth that `knnccv.rib` is tested against.

Everything here is slow and literal, in the notation of Wilson & Martinez 1999, *Combining cross-validation
and confidence to measure fitness*. Nothing is shared between settings, samples or rounds.

====================  ==========================================================================
function              source
====================  ==========================================================================
``neighbor_lists``    section 4.3: i.n_1 ... i.n_maxk and their distances i.d_j
``voting_weights``    eqs. 7 to 11, section 4.2
``votes``             section 4.2: weight_c, the weights "summed in their respective classes"
``winner``            section 4.3, "the majority class"
``confidence``        eq. 1
``evaluate``          section 4.3: r of eq. 2 and avgconf, each instance by all others
``cvc_of_all``        eq. 2
``cvc_of_one``        eq. 3
``figure_2``          Figure 2
``exhaustive``        every setting of a grid, and the majority votes at the end of Figure 2
====================  ==========================================================================

Where the paper is silent: equal distances come in the order of the instances; a tied vote goes to the
nearest of the tied classes, then to the lowest label, and votes are tied that differ by less than 1e-12 of
the largest; a linear weight is not below 0; where all weights vanish, the limit of their ratios as w_k
falls to 0 counts; of equally fit settings the first; w_k stays as it is unless another one is fitter; lists
of fewer than 30 others end where they end; the search begins with k = 3, linear, w_k = 0.5, D_k, unless it
is told otherwise.
"""

from fractions import Fraction
from math import fsum

TIED = 1e-12
DECIMALS = 12  # of avgconf that count, when two are compared
VOTE_WEIGHTINGS = ("majority", "linear", "gaussian", "exponential")
START = (3, "linear", 0.5, False)


def neighbor_lists(distances, maxk):
    """For every instance i the pairs (i.d_j, i.n_j), j = 1 ... maxk, from a square table of distances."""
    lists = []
    for i, row in enumerate(distances):
        others = sorted((row[j], j) for j in range(len(row)) if j != i)
        lists.append(others[:maxk])
    return lists


def voting_weights(D, kernel, w_k=None, avgk=False):
    """w_1 ... w_k of the distances D_1 <= ... <= D_k."""
    k = len(D)
    D_k = 2 * fsum(D) / (k + 1) if avgk else D[k - 1]  # eq. 11
    if D[k - 1] == 0:
        return [1.0] * k
    w = []
    for D_j in D:
        if kernel == "majority":
            w.append(1.0)  # eq. 7
        elif kernel == "linear":
            w.append(max(w_k + (1 - w_k) * (D_k - D_j) / D_k, 0.0))  # eq. 8
        elif kernel == "gaussian":
            w.append(w_k ** (D_j**2 / D_k**2))  # eq. 9
        elif kernel == "exponential":
            w.append(w_k ** (D_j / D_k))  # eq. 10
    if sum(w) > 0:
        return w
    if kernel == "linear":  # all at distance D_k, with the weight w_k
        return [1.0] * k
    return [1.0 if D_j == D[0] else 0.0 for D_j in D]  # w_k ** R_j is nothing beside w_k ** R_1


def votes(D, C, kernel, w_k=None, avgk=False):
    """{class: its weight}, from the k nearest's distances D and classes C."""
    w = voting_weights(D, kernel, w_k, avgk)
    return {c: fsum(w_j for w_j, C_j in zip(w, C, strict=True) if C_j == c) for c in set(C)}


def winner(weight, D, C):
    """The class with most weight."""
    most = max(weight.values())
    tied = [c for c in weight if weight[c] >= most - TIED * most]
    nearest = {c: min(D_j for D_j, C_j in zip(D, C, strict=True) if C_j == c) for c in tied}
    return min(tied, key=lambda c: (nearest[c], c))


def confidence(weight, c):
    """Share of the weight that a class has."""
    return weight.get(c, 0.0) / fsum(weight.values())


def evaluate(lists, y, setting, vote_ties="nearest"):
    """(r, avgconf) of a setting (k, kernel, w_k, avgk)."""
    k, kernel, w_k, avgk = setting
    r, conf = 0, []
    for i, others in enumerate(lists):
        D = [d for d, _ in others[:k]]
        C = [y[j] for _, j in others[:k]]
        weight = votes(D, C, kernel, w_k, avgk)
        chosen = winner(weight, D if vote_ties == "nearest" else [0] * k, C)
        r += chosen == y[i]
        conf.append(confidence(weight, y[i]))
    return r, fsum(conf) / len(lists)


def cvc_of_all(r, avgconf, n):
    """CVC_T."""
    return (r + avgconf) / (n + 1)


def cvc_of_one(cv_i, conf_i, n):
    """cvc_i."""
    return (n * cv_i + conf_i) / (n + 1)


class Fitness:
    """CVC (or LCV), which orders settings as (r, avgconf) (or r) does; remembers what it was asked."""

    def __init__(self, lists, y, use_confidence=True, vote_ties="nearest"):
        self.lists, self.y = lists, y
        self.use_confidence, self.vote_ties = use_confidence, vote_ties
        self.known = {}

    def __call__(self, setting):
        if setting not in self.known:
            r, avgconf = evaluate(self.lists, self.y, setting, self.vote_ties)
            self.known[setting] = (r, round(avgconf, DECIMALS) if self.use_confidence else 0)
        return self.known[setting]

    @property
    def maxk(self):
        return len(self.lists[0])


def best_of(settings, fitness):
    """The first of the fittest."""
    best = settings[0]
    for setting in settings[1:]:
        if fitness(setting) > fitness(best):
            best = setting
    return best


def figure_2(fitness, choose, start=START, max_time=10):
    """FindParams: bestParams, and the parameters that were chosen for adjustment one after the other.

    ``choose(names)`` is the random choice among the parameters that may be adjusted.
    """
    chosen = []
    best_params = None
    if fitness.maxk >= 2:
        params = (min(start[0], fitness.maxk), *start[1:])
        best_params = params
        time_since_improvement = 0
        while time_since_improvement < max_time:
            p = choose([name for name in ("k", "kernel", "wk", "avgk") if [name] != chosen[-1:]])
            chosen.append(p)
            k, kernel, w_k, avgk = params
            if p == "k":
                params = best_of([(k, kernel, w_k, avgk) for k in range(2, fitness.maxk + 1)], fitness)
            if p == "kernel":
                params = best_of([(k, kernel, w_k, avgk) for kernel in VOTE_WEIGHTINGS[1:]], fitness)
            if p == "avgk":
                params = best_of([(k, kernel, w_k, avgk) for avgk in (False, True)], fitness)
            if p == "wk":
                low, high = Fraction(0), Fraction(1)
                for _ in range(3):
                    width = (high - low) / 10
                    tried = [low + step * width for step in range(11)]
                    best = best_of([(k, kernel, float(w), avgk) for w in tried], fitness)
                    best_w = next(w for w in tried if float(w) == best[2])
                    low, high = max(best_w - width, 0), min(best_w + width, 1)
                    if fitness(best) > fitness(params):
                        params = best
            if fitness(params) > fitness(best_params):
                best_params = params
                time_since_improvement = 0
            else:
                time_since_improvement += 1
    return with_majority(best_params, fitness), chosen


def exhaustive(fitness, n_w_k):
    """The fittest of all k, kernels, D_k and D'_k, and w_k = 0, 1 / (n_w_k - 1), ..., 1."""
    settings = [
        (k, kernel, t / (n_w_k - 1), avgk)
        for k in range(2, fitness.maxk + 1)
        for kernel in VOTE_WEIGHTINGS[1:]
        for avgk in (False, True)
        for t in range(n_w_k)
    ]
    return with_majority(best_of(settings, fitness) if settings else None, fitness)


def with_majority(best_params, fitness):
    """The end of Figure 2: plain votes, if they are fitter."""
    plain = [(k, "majority", None, None) for k in range(1, fitness.maxk + 1)]
    return best_of(plain if best_params is None else [best_params, *plain], fitness)
