"""Compiled sums over all pairs of samples, for training sets or folds stratified by class.

Lists are walked with a running product over the classes: ``left[c]`` samples of class c have not been
passed. A walk ends where the product falls below `cut`; what is left is added to the residual, a bound of
the error.
"""

from __future__ import annotations

import numpy as np

from ..kernel import inner, jit


@jit
def walk(x, items, lengths, scores, codes, left, n_train, cut):
    """Mean squared score of x, the positions walked and the product at the end; changes `left`."""
    left[codes[x]] -= 1
    square, stay, walked = 0.0, 1.0, 0
    for i in range(lengths[x]):
        if stay <= cut:
            break
        c = codes[items[x, i]]
        square += stay * n_train[c] / left[c] * scores[x, i] * scores[x, i]
        stay *= (left[c] - n_train[c]) / left[c]
        left[c] -= 1
        walked += 1
    return square, walked, stay


@jit
def walk_all(items, lengths, scores, codes, counts, n_train, cut, squares, walked, stays):
    """`walk` for all rows."""
    for x in range(len(items)):
        squares[x], walked[x], stays[x] = walk(
            x, items, lengths, scores, codes, counts.copy(), n_train, cut
        )


@inner
def same_fold(
    n_own, own, own_class, other_at, n_other, other, other_class, where, left, n_train, part, cut
):
    """E[score of x times score of z | both are tested in one fold], and the residual; changes `left`.

    ``where[k]`` is the position in the list of x of the sample at position k in the list of z: -1 for x
    itself, the largest integer for a sample that is not listed. ``part[m]`` is 1 / m.
    """
    total, residual, stay = 0.0, 0.0, 1.0
    for i in range(n_own):
        if i == other_at:
            continue
        if stay <= cut:
            break
        c = own_class[i]
        drawn = n_train[c]
        if drawn > 0:
            prob, row, closed, end = stay, 0.0, False, n_other
            for k in range(n_other):
                at = where[k]
                if at < i:
                    continue
                if prob <= cut:
                    end = k
                    break
                if at == i:
                    row += prob * drawn * part[left[c]] * other[k]
                    closed, end = True, k
                    break
                d = other_class[k]
                miss = prob * part[left[d]]
                if d == c:
                    row += miss * drawn * (drawn - 1) * part[left[c] - 1] * other[k]
                else:
                    row += miss * n_train[d] * drawn * part[left[c]] * other[k]
                prob = miss * (left[d] - n_train[d])
                left[d] -= 1
            for k in range(end):
                if where[k] >= i:
                    left[other_class[k]] += 1
            if not closed:
                residual += prob
            total += own[i] * row
        stay *= (left[c] - drawn) * part[left[c]]
        left[c] -= 1
    return total, residual + stay


@inner
def two_folds(
    n_own, own, own_class, other_at, n_other, other, other_class, where, left, in_f, in_g, part, cut
):
    """E[score of x times score of z | x in F, z in G], and the residual; changes the counts.

    ``in_f[c]`` and ``in_g[c]`` are the other samples of the folds that have not been passed.
    """
    total, residual, stay = 0.0, 0.0, 1.0
    for i in range(n_own):
        if stay <= cut:
            break
        c = own_class[i]
        p_outside = i == other_at
        prob, row, closed, end = stay, 0.0, False, n_other
        for k in range(n_other):
            if prob <= cut:
                end = k
                break
            at, d = where[k], other_class[k]
            if at < i:  # q is outside G
                hit = 1.0 if p_outside else (left[c] - in_f[c]) * part[left[c]]
                row += prob * hit * other[k]
                closed, end = True, k
                break
            if at == i:
                hit = (left[c] - in_f[c] - in_g[c]) * part[left[c]]
            elif p_outside:
                hit = (left[d] - in_g[d]) * part[left[d]]
            elif c != d:
                hit = (left[c] - in_f[c]) * part[left[c]] * (left[d] - in_g[d]) * part[left[d]]
            else:
                neither = left[c] - in_f[c] - in_g[c]
                ways = in_g[c] * (left[c] - in_g[c]) + neither * (left[c] - 1 - in_g[c])
                hit = ways * part[left[c]] * part[left[c] - 1]
            row += prob * hit * other[k]
            prob *= in_g[d] * part[left[d]]
            in_g[d] -= 1
            left[d] -= 1
            if at == i:
                p_outside = True
        for k in range(end):
            d = other_class[k]
            in_g[d] += 1
            left[d] += 1
        if not closed:
            residual += prob
        total += own[i] * row
        if i == other_at:
            return total, residual
        stay *= in_f[c] * part[left[c]]
        in_f[c] -= 1
        left[c] -= 1
    return total, residual + stay


@jit
def sum_all_pairs(
    begin, finish, items, lengths, scores, codes, counts, n_train, shares, numbers, folded, cut, stop
):
    """Sum over the pairs of rows ``begin .. finish - 1`` with later rows, and its residual.

    ``n_train`` and ``shares`` (n_kinds, n_classes): the training samples, and the weight of a tested
    sample; ``numbers`` (n_kinds,): the folds of every kind in a run.
    """
    n_items, width = items.shape
    n_kinds = len(numbers)
    position = np.full(n_items, n_items, np.int64)
    own_class, other_class = np.empty(width, np.int64), np.empty(width, np.int64)
    where = np.empty(width, np.int64)
    left, in_f, in_g = counts.copy(), counts.copy(), counts.copy()
    part = np.zeros(counts.max() + 1)
    for m in range(1, len(part)):
        part[m] = 1.0 / m
    total, residual = 0.0, 0.0
    for x in range(begin, finish):
        if stop[0]:
            break
        position[x] = -1
        for i in range(lengths[x]):
            position[items[x, i]] = i
            own_class[i] = codes[items[x, i]]
        a = codes[x]
        for z in range(x + 1, n_items):
            b = codes[z]
            pairs = counts[a] * (counts[b] - (a == b))
            for k in range(lengths[z]):
                where[k] = position[items[z, k]]
                other_class[k] = codes[items[z, k]]
            for j in range(n_kinds):
                ours = counts[a] - n_train[j, a]
                tested = ours * (counts[b] - n_train[j, b] - (a == b))
                if tested > 0:
                    weight = numbers[j] * shares[j, a] * shares[j, b] * tested / pairs
                    left[:] = counts
                    left[a] -= 1
                    left[b] -= 1
                    found, rest = same_fold(
                        lengths[x], scores[x], own_class, position[z],
                        lengths[z], scores[z], other_class, where, left, n_train[j], part, cut,
                    )  # fmt: skip
                    total += weight * found
                    residual += weight * rest
                for h in range(n_kinds if folded else 0):
                    number = numbers[j] * (numbers[h] - (h == j))
                    theirs = counts[b] - n_train[h, b]
                    if number == 0 or ours == 0 or theirs == 0:
                        continue
                    weight = number * shares[j, a] * shares[h, b] * ours * theirs / pairs
                    left[:] = counts
                    left[a] -= 1
                    left[b] -= 1
                    in_f[:] = counts - n_train[j]
                    in_g[:] = counts - n_train[h]
                    in_f[a] -= 1
                    in_g[b] -= 1
                    found, rest = two_folds(
                        lengths[x], scores[x], own_class, position[z],
                        lengths[z], scores[z], other_class, where, left, in_f, in_g, part, cut,
                    )  # fmt: skip
                    total += weight * found
                    residual += weight * rest
        position[x] = n_items
        for i in range(lengths[x]):
            position[items[x, i]] = n_items
    return total, residual
