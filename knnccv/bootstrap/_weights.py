"""Where the K nearest draws of a bootstrap sample end: probabilities of positions and numbers of copies.

The n draws fall on M samples in the order of their similarity, each with probability 1 / M. Of the K
nearest draws, K - h fall on the first G samples and h on the b samples behind them, and the K-th is one of
the latter, with probability

    C(n, K - h) (G / M)^(K - h) (1 - G / M)^(n - K + h) P(Bin(n - K + h, b / (M - G)) >= h).

The K - h draws are then independent and uniform on the G samples. Their numbers by class are those of
independent Poisson variables with means G_c n / M, given their sum. So the weight of h is this probability
divided by that of a Poisson variable of mean G n / M at K - h. It stays near 1 where the other would
underflow.
"""

from __future__ import annotations

import math

import numpy as np

from ..kernel import ZERO, jit

ONE = ZERO + 1


@jit
def log_end_weights(n_draws, n_samples, nearer, size, k, out):
    """``out[h - 1]`` = the logarithm of the weight of h = 1 .. K draws on the group; O(K^2).

    `nearer` samples come before the group of `size` samples. Tails are sums of positive terms, or one minus
    less than about a half.
    """
    share = nearer / n_samples
    left = n_samples - nearer
    chance = size / left
    log_rest = math.log1p(-share)
    log_other = math.log1p(-chance) if size < left else -math.inf
    log_falling = 0.0  # of n (n - 1) .. (n - a + 1) / n^a
    for before in range(k):
        h = k - before
        more = n_draws - before
        mean = more * chance
        if size == left:
            log_tail = 0.0
        elif h > mean:
            log_tail = h * math.log(chance) + (more - h) * log_other
            for j in range(h):
                log_tail += math.log((more - j) / (j + 1))
            odds = size / (left - size)
            total = 1.0
            term = 1.0
            for t in range(h, more):
                term *= (more - t) / (t + 1) * odds
                total += term
                if term < 1e-18 * total:
                    break
            log_tail += math.log(total)
        else:
            odds = size / (left - size)
            term = math.exp(more * log_other)
            fewer = 0.0
            for t in range(h):
                fewer += term
                term *= (more - t) / (t + 1) * odds
            log_tail = math.log1p(-fewer)
        out[h - 1] = log_falling + n_draws * (share + log_rest) - before * log_rest + log_tail
        log_falling += math.log1p(-before / n_draws) if before < n_draws else -math.inf


@jit
def fill_poisson(row, mean):
    """``row[v]`` = the probability of v under a Poisson distribution."""
    value = math.exp(-mean)
    for v in range(len(row)):
        row[v] = value
        value *= mean / (v + 1)


@jit
def log_weights(n_draws, n_samples, depth, k):
    """`log_end_weights` of the single sample at every position, (depth * K,)."""
    table = np.empty(depth * k)
    for i in range(depth):
        log_end_weights(n_draws, n_samples, i, ONE, k, table[i * k : (i + 1) * k])
    return table


@jit
def vote_weights(n_draws, n_samples, depth, k):
    """The weights of h = 1 .. K draws on the single sample at every position, (depth * K,)."""
    table = log_weights(n_draws, n_samples, depth, k)
    for at in range(len(table)):
        table[at] = math.exp(table[at])
    return table


@jit
def pair_moments(n_draws, n_samples, nearer, size, logs, out):
    """Expected numbers of draws, and of ordered pairs, among the K nearest if the K-th is in the group.

    Draws before it, pairs of these, draws in it, pairs of these, and pairs of one and the other. `logs` is
    scratch of K numbers.
    """
    k = len(logs)
    log_end_weights(n_draws, n_samples, nearer, size, k, logs)
    mean = n_draws * nearer / n_samples
    out[:] = 0.0
    log_poisson = -mean
    for before in range(k):
        h = k - before
        probability = math.exp(logs[h - 1] + log_poisson)
        out[0] += probability * before
        out[1] += probability * before * (before - 1)
        out[2] += probability * h
        out[3] += probability * h * (h - 1)
        out[4] += probability * before * h
        if nearer == 0:
            break
        log_poisson += math.log(mean / (before + 1))


@jit
def moment_weights(n_draws, n_samples, depth, k):
    """`pair_moments` of the single sample at every position, (depth * 5,)."""
    table = np.empty(depth * 5)
    logs = np.empty(k)
    for i in range(depth):
        pair_moments(n_draws, n_samples, i, ONE, logs, table[5 * i : 5 * i + 5])
    return table


@jit
def undecided(n_draws, n_samples, longest, k):
    """The probability that fewer than K draws fall on the first 0 .. `longest` samples, (longest + 1,)."""
    tails = np.ones(longest + 1)
    for m in range(1, longest + 1):
        if m == n_samples:
            tails[m] = 0.0
            continue
        share = m / n_samples
        log_rest = math.log1p(-share)
        log_odds = math.log(m / (n_samples - m))
        log_term = n_draws * log_rest
        total = 0.0
        for a in range(k):
            total += math.exp(log_term)
            log_term += log_odds + (math.log((n_draws - a) / (a + 1)) if a < n_draws else -math.inf)
        tails[m] = min(total, 1.0)
    return tails
