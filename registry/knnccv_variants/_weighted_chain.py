"""The squared error of a sum over the K nearest whose terms are known along the neighbor list, exactly.

The prediction is S = sum over ranks r of w_r v_(r), where v is known for every sample: with weights of the
ranks the targets, with weights of the pair the weighted targets. Its first two moments follow a chain along
the list, whose state is the number of samples in the training set so far.
"""

from __future__ import annotations

import numpy as np

from knnccv.kernel import jit

P, IN_GROUP, SQUARED_IN_GROUP, SQUARES_IN_GROUP = range(4)


@jit
def chain_error(values, group_end, rank_weights, start, constraints):
    """E|start + S|^2 over all training sets of one size; O(depth * K * outputs).

    ``values`` (depth, n_outputs) are the terms v of the listed samples, ``start`` (n_outputs,) is the
    constant. For every state k the walk keeps P(k), E[S; k] and E[S^2; k], of the part S before a tied
    group. Within a group it keeps the moments of the weights that its samples get: which of them they are
    is a matter of chance, so that the mean, the mean square and the mean product of two of the v are
    enough.
    """
    depth, n_outputs = values.shape
    k_all = len(rank_weights)
    left, need = constraints.counts[0] - constraints.held_out, constraints.n_train[0]
    law = np.zeros((k_all + 1, 4))
    sums = np.zeros((k_all + 1, n_outputs))
    mixed = np.zeros((k_all + 1, n_outputs))  # E[S * weights of the group; k]
    squares = np.zeros(k_all + 1)
    law[0, P] = 1.0
    for o in range(n_outputs):
        sums[0, o] = start[o]
        squares[0] += start[o] * start[o]
    first = 0
    while first < depth and law[k_all, P] < 1:
        end = group_end[first]
        size = end - first
        law[:, IN_GROUP:] = 0.0
        mixed[:] = 0.0
        for i in range(first, end):
            for k in range(min(i, k_all - 1), -1, -1):
                share = max(need - k, 0) / (left - i)
                stay = max(left - i - need + k, 0) / (left - i)
                _pass_on(law, sums, mixed, squares, k, share, stay, rank_weights[k])
        for o in range(n_outputs):
            single = square = 0.0
            for i in range(first, end):
                single += values[i, o]
                square += values[i, o] * values[i, o]
            product = (single * single - square) / (size * (size - 1)) if size > 1 else 0.0
            single, square = single / size, square / size
            for k in range(k_all + 1):
                squares[k] += 2 * mixed[k, o] * single + law[k, SQUARES_IN_GROUP] * square
                if size > 1:
                    pairs = law[k, SQUARED_IN_GROUP] - law[k, SQUARES_IN_GROUP]
                    squares[k] += pairs * product
                sums[k, o] += law[k, IN_GROUP] * single
        first = end
    return max(squares[k_all], 0.0)


@jit
def _pass_on(law, sums, mixed, squares, k, share, stay, weight):
    """Move the share of state k that takes one more sample, at this weight, to the state k + 1."""
    p, one = law[k, P] * share, law[k, IN_GROUP] * share
    law[k + 1, P] += p
    law[k + 1, IN_GROUP] += one + weight * p
    law[k + 1, SQUARED_IN_GROUP] += law[k, SQUARED_IN_GROUP] * share + weight * (2 * one + weight * p)
    law[k + 1, SQUARES_IN_GROUP] += law[k, SQUARES_IN_GROUP] * share + weight * weight * p
    for o in range(sums.shape[1]):
        moved = sums[k, o] * share
        sums[k + 1, o] += moved
        mixed[k + 1, o] += mixed[k, o] * share + weight * moved
        sums[k, o] *= stay
        mixed[k, o] *= stay
    squares[k + 1] += squares[k] * share
    squares[k] *= stay
    for moment in range(4):
        law[k, moment] *= stay
