"""Compiled sums over all pairs of samples, for training sets or folds stratified by class.

Lists are walked with a running product over the classes: ``left[c]`` samples of class c have not been passed.
A walk ends where the product falls below `cut`; what is left is added to the residual, a bound of the error.
"""

from __future__ import annotations

import numpy as np

from ..kernel import jit


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


@jit
def same_fold(x, z, items, lengths, scores, codes, seen, position, left, n_train, cut):
    """E[score of x times score of z | both are tested in one fold], and the residual; changes `left`."""
    total, residual, stay = 0.0, 0.0, 1.0
    for i in range(lengths[x]):
        p = items[x, i]
        if p == z:
            continue
        if stay <= cut:
            break
        c = codes[p]
        if n_train[c] > 0:
            prob, row, closed, end = stay, 0.0, False, lengths[z]
            for k in range(lengths[z]):
                q = items[z, k]
                if q == x or (seen[q] == x and position[q] < i):
                    continue
                if prob <= cut:
                    end = k
                    break
                d = codes[q]
                hit = n_train[c] / left[c]
                if q == p:
                    row += prob * hit * scores[z, k]
                    closed, end = True, k
                    break
                if d == c:
                    hit *= (n_train[c] - 1) / (left[c] - 1)
                else:
                    hit *= n_train[d] / left[d]
                row += prob * hit * scores[z, k]
                prob *= (left[d] - n_train[d]) / left[d]
                left[d] -= 1
            for k in range(end):
                q = items[z, k]
                if q != x and not (seen[q] == x and position[q] < i):
                    left[codes[q]] += 1
            if not closed:
                residual += prob
            total += scores[x, i] * row
        stay *= (left[c] - n_train[c]) / left[c]
        left[c] -= 1
    return total, residual + stay


@jit
def two_folds(x, z, items, lengths, scores, codes, seen, position, left, in_f, in_g, cut):
    """E[score of x times score of z | x in F, z in G], and the residual; changes the last arrays.

    ``in_f[c]`` and ``in_g[c]`` are the other samples of the folds that have not been passed.
    """
    total, residual, stay = 0.0, 0.0, 1.0
    for i in range(lengths[x]):
        if stay <= cut:
            break
        p = items[x, i]
        c = codes[p]
        p_outside = p == z
        prob, row, closed, end = stay, 0.0, False, lengths[z]
        for k in range(lengths[z]):
            if prob <= cut:
                end = k
                break
            q = items[z, k]
            d = codes[q]
            q_outside = q == x or (seen[q] == x and position[q] < i)
            if q == p:
                hit = (left[c] - in_f[c] - in_g[c]) / left[c]
            elif q_outside:
                hit = 1.0 if p_outside else (left[c] - in_f[c]) / left[c]
            elif p_outside:
                hit = (left[d] - in_g[d]) / left[d]
            elif c != d:
                hit = (left[c] - in_f[c]) / left[c] * (left[d] - in_g[d]) / left[d]
            else:
                neither = left[c] - in_f[c] - in_g[c]
                hit = in_g[c] * (left[c] - in_g[c]) + neither * (left[c] - 1 - in_g[c])
                hit = hit / left[c] / (left[c] - 1)
            row += prob * hit * scores[z, k]
            if q_outside:
                closed, end = True, k
                break
            prob *= in_g[d] / left[d]
            in_g[d] -= 1
            left[d] -= 1
            if q == p:
                p_outside = True
        for k in range(end):
            d = codes[items[z, k]]
            in_g[d] += 1
            left[d] += 1
        if not closed:
            residual += prob
        total += scores[x, i] * row
        if p == z:
            return total, residual
        stay *= in_f[c] / left[c]
        in_f[c] -= 1
        left[c] -= 1
    return total, residual + stay


@jit
def sum_all_pairs(
    begin, finish, items, lengths, scores, codes, counts, n_train, shares, numbers, folded, cut, stop
):
    """Sum over the pairs of rows ``begin .. finish - 1`` with later rows, and its residual.

    ``n_train`` and ``shares`` (n_kinds, n_classes): the training samples, and the weight of a tested sample;
    ``numbers`` (n_kinds,): the folds of every kind in a run.
    """
    n_items, n_kinds = len(items), len(numbers)
    seen, position = np.full(n_items, -1, np.int32), np.empty(n_items, np.int32)
    total, residual = 0.0, 0.0
    for x in range(begin, finish):
        if stop[0]:
            break
        for i in range(lengths[x]):
            seen[items[x, i]] = x
            position[items[x, i]] = i
        a = codes[x]
        for z in range(x + 1, n_items):
            b = codes[z]
            left = counts.copy()
            left[a] -= 1
            pairs = counts[a] * left[b]
            left[b] -= 1
            for j in range(n_kinds):
                in_f = counts - n_train[j]
                tested = in_f[a] * (in_f[b] - (a == b))
                if tested > 0:
                    weight = numbers[j] * shares[j, a] * shares[j, b] * tested / pairs
                    found, rest = same_fold(
                        x, z, items, lengths, scores, codes, seen, position, left.copy(), n_train[j], cut
                    )
                    total += weight * found
                    residual += weight * rest
                if not folded:
                    continue
                for h in range(n_kinds):
                    in_g = counts - n_train[h]
                    number = numbers[j] * (numbers[h] - (h == j))
                    if number == 0 or in_f[a] == 0 or in_g[b] == 0:
                        continue
                    weight = number * shares[j, a] * shares[h, b] * in_f[a] * in_g[b] / pairs
                    ours = in_f.copy()
                    ours[a] -= 1
                    in_g[b] -= 1
                    found, rest = two_folds(
                        x, z, items, lengths, scores, codes, seen, position, left.copy(), ours, in_g, cut
                    )
                    total += weight * found
                    residual += weight * rest
    return total, residual
