"""Definitions of public evaluation codes, written plainly from their description, in NumPy."""

from __future__ import annotations

import numpy as np


def ranked_hits(distances, query_id, ids, removed):
    """Whether the items are right, in the order of their distances."""
    order = np.argsort(distances, kind="stable")
    order = order[~removed[order]]
    return ids[order] == query_id, order


def market(distances, query_ids, ids, query_cams, cams, n_ranks, junk=None):
    """CMC, mean average precision (rectangle) and mINP of torchreid and fast-reid."""
    curves, precisions, inverses = [], [], []
    for q, row in enumerate(distances):
        removed = (ids == query_ids[q]) & (cams == query_cams[q])
        if junk is not None:
            removed |= ids == junk
        hits, _ = ranked_hits(row, query_ids[q], ids, removed)
        if not hits.any():
            continue
        found = np.cumsum(hits)
        curves.append((found > 0)[:n_ranks])
        precisions.append((found / np.arange(1, len(hits) + 1))[hits].mean())
        last = np.flatnonzero(hits)[-1]
        inverses.append(hits.sum() / (last + 1))
    return np.mean(curves, axis=0), np.mean(precisions), np.mean(inverses)


def trapezoid(distances, query_id, ids, removed):
    """Average precision of the Matlab code of Market-1501 and of revisitop, or None."""
    hits, _ = ranked_hits(distances, query_id, ids, removed)
    places = np.flatnonzero(hits)
    if not len(places):
        return None
    total = 0.0
    for found, place in enumerate(places):
        before = 1.0 if place == 0 else found / place
        total += (before + (found + 1) / (place + 1)) / 2
    return total / len(places)


def metric_learning(distances, query_id, ids, removed):
    """R-precision and MAP@R of pytorch-metric-learning."""
    hits, _ = ranked_hits(distances, query_id, ids, removed)
    n_right = hits.sum()
    first = hits[:n_right]
    precision = np.cumsum(first) / np.arange(1, len(first) + 1)
    return first.sum() / n_right, (precision * first).sum() / n_right


def sysu_trial(distances, query_ids, ids, query_cams, cams, shots, rng, n_ranks):
    """CMC over identities, mAP and mINP of one random gallery of SYSU-MM01."""
    drawn = []
    for identity in np.unique(ids):
        for camera in np.unique(cams):
            cell = np.flatnonzero((ids == identity) & (cams == camera))
            drawn.extend(rng.permutation(cell)[:shots])
    drawn = np.array(drawn)
    curves, precisions, inverses = [], [], []
    for q, row in enumerate(distances):
        removed = (query_cams[q] == 3) & (cams[drawn] == 2)
        hits, order = ranked_hits(row[drawn], query_ids[q], ids[drawn], removed)
        if not hits.any():
            continue
        _, first = np.unique(ids[drawn][order], return_index=True)
        once = ids[drawn][order][np.sort(first)] == query_ids[q]
        curve = np.cumsum(once) > 0
        curves.append(np.pad(curve, (0, n_ranks), constant_values=True)[:n_ranks])
        found = np.cumsum(hits)
        precisions.append((found / np.arange(1, len(hits) + 1))[hits].mean())
        inverses.append(hits.sum() / (np.flatnonzero(hits)[-1] + 1))
    return np.append(np.mean(curves, axis=0), [np.mean(precisions), np.mean(inverses)])


def cuhk03_run(distances, query_ids, ids, query_cams, cams, rng, n_ranks, repeats=10):
    """CMC of the single-gallery-shot protocol: one item per identity, for every query anew."""
    curves = []
    for q, row in enumerate(distances):
        removed = (ids == query_ids[q]) & (cams == query_cams[q])
        hits, order = ranked_hits(row, query_ids[q], ids, removed)
        if not hits.any():
            continue
        curve = np.zeros(n_ranks)
        for _ in range(repeats):
            kept = np.zeros(len(order), bool)
            for identity in np.unique(ids[order]):
                kept[rng.choice(np.flatnonzero(ids[order] == identity))] = True
            found = np.cumsum(hits[kept]) > 0
            curve += np.pad(found, (0, n_ranks), constant_values=True)[:n_ranks]
        curves.append(curve / repeats)
    return np.mean(curves, axis=0)
