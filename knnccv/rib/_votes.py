"""Distance-weighted votes of near neighbors, for many settings of the weights at once.

Wilson & Martinez 1999, eqs. (7) to (11). Only ratios of a list's weights matter, so that the limit of
weights that all vanish (w_k = 0) is that of their ratios, and no confidence is ever 0 / 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._parallel import for_each
from .._typing import Array
from .._validation import check_bool, check_choice, check_real
from ..kernel import jit

VOTE_WEIGHTINGS = ("majority", "linear", "gaussian", "exponential")
MAJORITY, LINEAR, GAUSSIAN, EXPONENTIAL = range(4)
BLOCK = 256  # samples; sums are made block by block, whoever computes them
MOST_SUMS = 2**22  # held at a time: a number for every setting and block
LARGEST_POWER = 600.0  # as a logarithm: neither the power nor its inverse leaves the range of floats
EQUAL = 1e-12  # votes that differ by less, relative to the largest, are tied


@dataclass(frozen=True)
class VoteLists:
    """Neighbor lists as the votes see them.

    Attributes
    ----------
    distances : float64 ndarray of shape (n_items, depth)
        Ascending.
    voices : int32 ndarray of shape (n_items, depth)
        The neighbors' classes, numbered in every list by their first appearance.
    classes : int32 ndarray of shape (n_items, depth)
        Which class a number stands for; undefined beyond the classes that occur.
    own : int32 ndarray of shape (n_items,)
        The number of the item's own class; -1 where its list does not have it.
    """

    distances: Array
    voices: Array
    classes: Array
    own: Array

    @classmethod
    def of(cls, items: Array, distances: Array, codes: Array, own_codes: Array | None = None) -> VoteLists:
        """From neighbors (n_rows, depth), the classes of all samples, and of the rows if known."""
        shape = items.shape
        voices = np.empty(shape, np.int32)
        classes = np.zeros(shape, np.int32)
        own = np.full(len(items), -1, np.int32)
        known = np.full(len(items), -1, np.int64) if own_codes is None else own_codes
        _number_classes(items, codes, known, voices, classes, own)
        return cls(np.ascontiguousarray(distances), voices, classes, own)


@jit
def _number_classes(items, codes, known, voices, classes, own):  # type: ignore[no-untyped-def]
    for r in range(len(items)):
        met = 0
        for j in range(items.shape[1]):
            code = codes[items[r, j]]
            voice = 0
            while voice < met and classes[r, voice] != code:
                voice += 1
            if voice == met:
                classes[r, met] = code
                met += 1
                if code == known[r]:
                    own[r] = voice
            voices[r, j] = voice


def check_votes(kernel: Any, w_k: Any, avgk: Any) -> float | None:
    """Check the parameters of the weights; w_k as a float.

    Raises
    ------
    ValueError, TypeError
        If one is not allowed, or they do not go together.
    """
    check_choice("kernel", kernel, VOTE_WEIGHTINGS)
    check_bool("avgk", avgk)
    if kernel == "majority":
        if w_k is not None or avgk:
            msg = f"kernel 'majority' has neither w_k nor avgk, got w_k={w_k!r}, avgk={avgk!r}"
            raise ValueError(msg)
        return None
    if w_k is None or not 0 <= check_real("w_k", w_k) <= 1:
        msg = f"w_k of kernel {kernel!r} must be between 0 and 1, got {w_k!r}"
        raise ValueError(msg)
    return float(w_k)


@jit
def scale_of(distances, k, avgk):  # type: ignore[no-untyped-def]
    """The distance at which a vote has fallen to w_k: D_k, or D'_k of eq. (11)."""
    if not avgk:
        return distances[k - 1]
    total = 0.0
    for j in range(k):
        total += distances[j]
    return 2 * total / (k + 1)


@jit
def weigh(distances, k, kernel, w_k, avgk, out):  # type: ignore[no-untyped-def]
    """``out[:k]`` = the weights of eqs. (7) to (10); where all would vanish, their limit for small w_k."""
    scale = scale_of(distances, k, avgk)
    if kernel == MAJORITY or scale == 0:
        out[:k] = 1.0
        return
    for j in range(k):
        ratio = distances[j] / scale
        if kernel == LINEAR:
            # Not 1 - ratio, of which little is left for distances that are nearly the same. Beyond D'_k the
            # line may fall below 0, where it ends.
            out[j] = max(w_k + (1 - w_k) * ((scale - distances[j]) / scale), 0.0)
        elif w_k == 0:
            out[j] = 1.0 if distances[j] == 0 else 0.0
        else:
            out[j] = w_k ** (ratio * ratio if kernel == GAUSSIAN else ratio)
    total = 0.0
    for j in range(k):
        total += out[j]
    if total == 0:
        for j in range(k):
            out[j] = 1.0 if kernel == LINEAR or distances[j] == distances[0] else 0.0


@jit
def _linear(distances, voices, k, avgk, w_ks, number, height, votes):  # type: ignore[no-untyped-def]
    """``votes[voice, t]`` of the linear kernel for all w_k, ascending; O(k + voices * w_k).

    A weight is w_k + (1 - w_k) (1 - R_j) with R_j = D_j / D_k: sums over the neighbors of 1 and of 1 - R_j
    serve all w_k. Of those with R_j > 1, which eq. (11) admits, the ones that have not fallen to 0 enter as
    w_k grows.
    """
    scale = scale_of(distances, k, avgk)
    n_voices = votes.shape[0]
    number[:n_voices] = 0.0
    height[:n_voices] = 0.0
    j = 0
    for t in range(len(w_ks)):
        w_k = w_ks[t]
        while j < k:
            rest = (scale - distances[j]) / scale
            if rest < 0 and w_k + (1 - w_k) * rest <= 0:
                break
            number[voices[j]] += 1
            height[voices[j]] += rest
            j += 1
        for voice in range(n_voices):
            # Not below 0 in rounding, as no weight is.
            votes[voice, t] = max(w_k * number[voice] + (1 - w_k) * height[voice], 0.0)
        if w_k == 0 and distances[0] == scale:  # all at one distance: the limit
            votes[:, t] = number[:n_voices]


@jit
def _powers(distances, voices, k, avgk, squared, logs, factors, powers, votes):  # type: ignore[no-untyped-def]
    """``votes[voice, t]`` of the gaussian or exponential kernel for all w_k, the nearest's vote being 1.

    ``logs`` are the logarithms of w_k, that of 0 being -infinity. If w_k = t / n for t = 0 ... n,
    ``factors`` (2, n + 1) are a prime factor of t and what is left of t, and powers of primes serve all t;
    else they are (2, 0).
    """
    n = factors.shape[1] - 1
    scale = scale_of(distances, k, avgk)
    votes[:] = 0.0
    first = distances[0] / scale
    for j in range(k):
        row = votes[voices[j]]
        if distances[j] == distances[0]:
            for t in range(len(logs)):
                row[t] += 1.0
            continue
        ratio = distances[j] / scale
        power = ratio * ratio - first * first if squared else ratio - first
        # Never 0 times infinity, should the difference vanish in rounding.
        power = max(power, 1e-300)
        if n > 1 and -power * logs[1] < LARGEST_POWER:
            unit = np.exp(power * logs[1])
            row[1] += unit
            powers[1] = 1.0
            for t in range(2, n + 1):
                if factors[1, t] == 1:
                    powers[t] = np.exp(power * (logs[t] - logs[1]))
                else:
                    powers[t] = powers[factors[0, t]] * powers[factors[1, t]]
                row[t] += powers[t] * unit
        else:
            for t in range(len(logs)):
                row[t] += np.exp(power * logs[t])


@jit
def _winner(votes, met, classes, distances, voices, nearest_first):  # type: ignore[no-untyped-def]
    """Of the voices with most votes the one that is nearest, then the one of the lowest class.

    ``votes`` (n_voices,); numbers of voices ascend with the distance of their nearest neighbor.
    """
    most = 0.0
    for voice in range(met):
        most = max(most, votes[voice])
    least = most - EQUAL * most
    best = -1
    near = 0.0
    for voice in range(met):
        if votes[voice] < least:
            continue
        if best < 0:
            best = voice
            if nearest_first:
                near = distances[_first(voices, voice)]
        elif (not nearest_first or distances[_first(voices, voice)] == near) and classes[voice] < classes[
            best
        ]:
            best = voice
    return best


@jit
def _first(voices, voice):  # type: ignore[no-untyped-def]
    j = 0
    while voices[j] != voice:
        j += 1
    return j


@jit
def _judge(votes, own, classes, distances, voices, nearest_first, most, total, correct, confidence):  # type: ignore[no-untyped-def]
    """Add every setting's verdict on one sample, from ``votes[voice, t]``."""
    met, n = votes.shape
    if own < 0 or own >= met:
        return
    most[:] = 0.0
    total[:] = 0.0
    for voice in range(met):
        for t in range(n):
            most[t] = max(most[t], votes[voice, t])
            total[t] += votes[voice, t]
    for t in range(n):
        confidence[t] += votes[own, t] / total[t]
        least = most[t] - EQUAL * most[t]
        if votes[own, t] < least:
            continue
        alone = True
        for voice in range(met):
            if voice != own and votes[voice, t] >= least:
                alone = False
        if alone or _winner(votes[:, t], met, classes, distances, voices, nearest_first) == own:
            correct[t] += 1


@jit
def _sweep(  # type: ignore[no-untyped-def]
    distances,
    voices,
    classes,
    own,
    ks,
    kernels,
    avgks,
    w_ks,
    logs,
    factors,
    nearest_first,
    correct,
    confidence,
):
    """Verdicts of all settings on some samples, added up; settings in the order k, kernel, avgk, w_k."""
    n_w = len(w_ks)
    scratch = np.empty((distances.shape[1], n_w))
    plain, number, height = np.empty((3, distances.shape[1]))
    powers, most, total = np.empty((3, n_w))
    for r in range(len(distances)):
        row = distances[r]
        voice = voices[r]
        met = 0
        seen = 0
        at = 0
        for k in ks:
            while seen < k:
                met = max(met, voice[seen] + 1)
                seen += 1
            for kernel in kernels:
                for avgk in avgks:
                    if met == 1:  # whatever the weights
                        if own[r] == 0:
                            for t in range(n_w):
                                correct[at + t] += 1
                                confidence[at + t] += 1.0
                        at += n_w
                        continue
                    votes = scratch[:met]
                    if kernel == MAJORITY or scale_of(row, k, avgk) == 0:
                        for one in range(met):
                            plain[one] = 0.0
                        for j in range(k):
                            plain[voice[j]] += 1.0
                        for one in range(met):
                            votes[one, :] = plain[one]
                    elif kernel == LINEAR:
                        _linear(row, voice, k, avgk, w_ks, number, height, votes)
                    else:
                        _powers(row, voice, k, avgk, kernel == GAUSSIAN, logs, factors, powers, votes)
                    end = at + n_w
                    _judge(
                        votes,
                        own[r],
                        classes[r],
                        row,
                        voice,
                        nearest_first,
                        most,
                        total,
                        correct[at:end],
                        confidence[at:end],
                    )
                    at = end


def sweep(
    lists: VoteLists,
    ks: Array,
    kernels: Array,
    avgks: Array,
    w_ks: Array,
    *,
    nearest_first: bool = True,
    n_jobs: int | None = None,
    progress: bool = False,
) -> tuple[Array, Array]:
    """How many samples are right under every setting, and the mean confidence in their own classes.

    Parameters
    ----------
    lists : VoteLists
        Neighbors of labeled samples, without the sample itself.
    ks, kernels : int64 ndarray
        Numbers of neighbors, ascending; kernels by their number in `VOTE_WEIGHTINGS`.
    avgks : bool ndarray
        Whether D'_k of eq. (11) takes the place of D_k.
    w_ks : float64 ndarray
        Weights of the k-th neighbor, ascending, each in [0, 1].
    nearest_first : bool, default True
        Whether tied votes go to the nearest of the tied classes; else to the lowest label.
    n_jobs, progress
        Threads, and a bar.

    Returns
    -------
    int64 ndarray and float64 ndarray of shape (n_k, n_kernels, n_avgk, n_w_k)
        O(k) a setting and sample for the powers, and O(1) for the linear kernel.
    """
    shape = (len(ks), len(kernels), len(avgks), len(w_ks))
    n_items = len(lists.distances)
    starts = range(0, n_items, BLOCK)
    # A few settings at a time, or the blocks' sums would fill the memory.
    n_settings = int(np.prod(shape))
    correct = np.zeros(n_settings, np.int64)
    confidence = np.zeros(n_settings)
    with np.errstate(divide="ignore"):
        logs = np.log(w_ks)
    factors = _prime_factors(w_ks)
    step = max(1, MOST_SUMS // max(len(starts) * int(np.prod(shape[1:])), 1))
    per_k = n_settings // len(ks)
    for k in range(0, len(ks), step):
        some = ks[k : k + step]
        sums = np.zeros((len(starts), len(some) * per_k))
        counts = np.zeros((len(starts), len(some) * per_k), np.int64)

        def fill(start: int, some: Array = some, sums: Array = sums, counts: Array = counts) -> None:
            end = start + BLOCK
            _sweep(
                lists.distances[start:end],
                lists.voices[start:end],
                lists.classes[start:end],
                lists.own[start:end],
                some,
                kernels,
                avgks,
                w_ks,
                logs,
                factors,
                nearest_first,
                counts[start // BLOCK],
                sums[start // BLOCK],
            )

        for_each(fill, starts, n_jobs, progress, unit="block")
        place = slice(k * per_k, k * per_k + counts.shape[1])
        correct[place] = counts.sum(axis=0)
        for row in sums:  # in their order
            confidence[place] += row
    return correct.reshape(shape), (confidence / n_items).reshape(shape)


def _prime_factors(w_ks: Array) -> Array:
    """For w_k = t / n, t = 0 ... n, the smallest prime factor of t > 1 and the quotient; else (2, 0)."""
    n = len(w_ks) - 1
    if n < 2 or (w_ks != np.arange(n + 1) / n).any():
        return np.zeros((2, 0), np.int64)
    smallest = np.arange(n + 1)
    for p in range(2, int(n**0.5) + 1):
        if smallest[p] == p:
            multiples = smallest[p * p :: p]
            np.minimum(multiples, p, out=multiples)
    return np.stack([smallest, np.arange(n + 1) // np.maximum(smallest, 1)])


@jit
def _decide(distances, voices, classes, k, kernel, w_k, avgk, nearest_first, shares, chosen):  # type: ignore[no-untyped-def]
    """``shares[r, class]`` of the votes and the class ``chosen[r]``."""
    weights = np.empty(k)
    votes = np.empty(k)
    for r in range(len(distances)):
        weigh(distances[r], k, kernel, w_k, avgk, weights)
        votes[:] = 0.0
        met = 0
        total = 0.0
        for j in range(k):
            votes[voices[r, j]] += weights[j]
            met = max(met, voices[r, j] + 1)
            total += weights[j]
        for voice in range(met):
            shares[r, classes[r, voice]] = votes[voice] / total
        chosen[r] = classes[r, _winner(votes, met, classes[r], distances[r], voices[r], nearest_first)]


def decide(
    lists: VoteLists,
    n_classes: int,
    k: int,
    kernel: str,
    w_k: float | None,
    avgk: bool,
    nearest_first: bool = True,
) -> tuple[Array, Array]:
    """The classes' shares of the votes (n_rows, n_classes), and the classes chosen (n_rows,)."""
    shares = np.zeros((len(lists.distances), n_classes))
    chosen = np.empty(len(lists.distances), np.int64)
    weight = 1.0 if w_k is None else float(w_k)
    number = VOTE_WEIGHTINGS.index(kernel)
    _decide(
        lists.distances, lists.voices, lists.classes, k, number, weight, avgk, nearest_first, shares, chosen
    )
    return shares, chosen


@jit
def _weights(distances, k, kernel, w_k, avgk, out):  # type: ignore[no-untyped-def]
    for r in range(len(distances)):
        weigh(distances[r], k, kernel, w_k, avgk, out[r])


def neighbor_weights(distances: Array, k: int, kernel: str, w_k: float | None, avgk: bool) -> Array:
    """The weights of the k nearest, (n_rows, k)."""
    out = np.empty((len(distances), k))
    _weights(
        np.ascontiguousarray(distances),
        k,
        VOTE_WEIGHTINGS.index(kernel),
        1.0 if w_k is None else float(w_k),
        avgk,
        out,
    )
    return out
