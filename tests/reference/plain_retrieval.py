"""Definitions of public evaluation codes, written plainly from their description, in NumPy.

Each returns what the code would print for one run: means over the queries that it counts.
"""

from __future__ import annotations

import numpy as np

from knnccv.retrieval import AtRank, First, Reciprocal, Table


def rank_of(distances, kept):
    """The kept items by distance, then by number."""
    order = np.argsort(distances, kind="stable")
    return order[kept[order]]


def ranked_hits(distances, query_id, ids, removed):
    """Whether the items are right, in the order of their distances, and these items."""
    order = rank_of(distances, ~removed)
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


def open_reid_cmc(distances, query_ids, ids, query_cams, cams, n_ranks, *, other_cameras, first_only):
    """The function cmc of open-reid, without a draw.

    With ``other_cameras`` all items of the query's camera are removed, not only those of its identity as
    well. Every right item counts one share of the query, at its rank without the other right items; with
    ``first_only`` the first alone counts.
    """
    total, n_counted = np.zeros(n_ranks), 0
    for q, row in enumerate(distances):
        kept = (ids != query_ids[q]) | (cams != query_cams[q])
        if other_cameras:
            kept &= cams != query_cams[q]
        if not (kept & (ids == query_ids[q])).any():
            continue
        n_counted += 1
        places = np.flatnonzero(ids[rank_of(row, kept)] == query_ids[q])
        places = places[:1] if first_only else places
        for n_before, place in enumerate(places):
            total[place - n_before :] += 1 / len(places)
    return total / n_counted


def sysu_matlab(distances, query_ids, ids, query_cams, cams, permutations, shots, n_ranks):
    """CMC and mAP of SYSU-MM01's own evaluation, for given permutations of the images of every cell.

    ``permutations[identity, camera]`` are positions among the images of this identity and camera; the first
    `shots` are taken. Probes of one camera are evaluated at a time, with a gallery of the cameras at other
    places: camera 3 is at the place of camera 2.
    """
    place = {1: 1, 2: 2, 3: 2, 4: 3, 5: 4, 6: 5}
    curves, precisions = [], []
    for camera in np.unique(query_cams):
        gallery = []
        for (identity, other), order in permutations.items():
            if place[other] != place[int(camera)]:
                gallery += np.flatnonzero((ids == identity) & (cams == other))[order[:shots]].tolist()
        gallery = np.array(sorted(gallery))
        for q in np.flatnonzero(query_cams == camera):
            ranked = ids[gallery[np.argsort(distances[q, gallery], kind="stable")]]
            hits = ranked == query_ids[q]
            if not hits.any():
                continue
            different = list(dict.fromkeys(ranked.tolist()))
            at = different.index(query_ids[q])
            curves.append(np.arange(n_ranks) >= at)
            ranks = 1 + np.flatnonzero(hits)
            precisions.append(np.mean(np.arange(1, len(ranks) + 1) / ranks))
    return np.mean(curves, axis=0), np.mean(precisions)


def layumi(distances, query_ids, ids, query_cams, cams, n_ranks):
    """CMC and mAP of layumi's baseline and of Market-1501's Matlab code: queries without a hit are 0."""
    curve, total = np.zeros(n_ranks), 0.0
    for q, row in enumerate(distances):
        junk = (ids == -1) | (ids == query_ids[q]) & (cams == query_cams[q])
        ranked = [ids[i] == query_ids[q] for i in rank_of(row, ~junk)]
        n_right = sum(ranked)
        if not n_right:
            continue
        curve[ranked.index(True) :] += 1
        old_recall, old_precision, found = 0.0, 1.0, 0
        for place, hit in enumerate(ranked, 1):
            found += hit
            recall, precision = found / n_right, found / place
            total += (recall - old_recall) * (old_precision + precision) / 2
            old_recall, old_precision = recall, precision
    return curve / len(distances), total / len(distances)


def revisitop(distances, right, junk, depths):
    """mAP and mean precision at `depths` of revisitop, from bool matrices of right and of junk items.

    Precision at k divides by k, or by the rank of the last right item if that is smaller.
    """
    precisions, at_depths = [], []
    for q, row in enumerate(distances):
        if not right[q].any():
            continue
        ranks, n_junk = [], 0
        for place, item in enumerate(np.argsort(row, kind="stable")):
            if junk[q, item]:
                n_junk += 1
            elif right[q, item]:
                ranks.append(place - n_junk)
        total = 0.0
        for found, rank in enumerate(ranks):
            before = found / rank if rank else 1.0
            total += (before + (found + 1) / (rank + 1)) / 2 / len(ranks)
        precisions.append(total)
        ranks = np.array(ranks) + 1
        limits = [min(max(ranks), k) for k in depths]
        at_depths.append([(ranks <= limit).sum() / limit for limit in limits])
    return np.mean(precisions), np.mean(at_depths, axis=0)


def torchmetrics_ap(scores, right, depth=None):
    """Average precision of torchmetrics: 0 without a hit; divided by the hits in the first `depth`.

    Items with a score of 0 or less do not count as right.
    """
    ranked = [bool(right[i] and scores[i] > 0) for i in np.argsort(-scores, kind="stable")][:depth]
    if not any(ranked):
        return 0.0
    ranks = [rank for rank, hit in enumerate(ranked, 1) if hit]
    return sum(n / rank for n, rank in enumerate(ranks, 1)) / len(ranks)


def one_threshold_ap(distances, right):
    """Average precision of scikit-learn: equal distances are one threshold."""
    total = 0.0
    for value in sorted(set(distances.tolist())):
        gained = (right & (distances == value)).sum()
        total += gained * (right & (distances <= value)).sum() / (distances <= value).sum()
    return total / right.sum()


def oml_precision(ranking, depth):
    """Precision of OpenMetricLearning: right items among the first, over the most that are possible."""
    return sum(ranking[:depth]) / min(depth, sum(ranking))


def random_problem(seed, n_queries, n_gallery, n_ids, levels, nearer):
    """Distances, identities and cameras; right items are `nearer`, and a number of `levels` makes ties."""
    rng = np.random.default_rng(seed)
    query_ids, ids = rng.integers(0, n_ids, n_queries), rng.integers(0, n_ids, n_gallery)
    right = query_ids[:, None] == ids
    distances = rng.random((n_queries, n_gallery)) + 0.6 - nearer * right
    if levels:
        distances = np.round(distances * levels) / levels
    return distances, query_ids, ids, rng.integers(0, 4, n_queries), rng.integers(0, 4, n_gallery)


def random_forms(rng):
    """Scores of one's own of all kinds, with random parameters."""
    c = int(rng.choice([0, 1, 2, 61]))
    constant = 0.0 if c == 0 else float(rng.integers(0, 3)) / 2
    slope = float(rng.integers(1 if constant == 0 else 0, 4))
    options = {"constant": constant, "slope": slope, "at_top": float(rng.random())}
    for of in ("every", "first", "last"):
        yield Reciprocal(c, of, normalize=str(rng.choice(["1", "R"])), name=f"reciprocal {of}", **options)
    weights = rng.integers(-4, 9, int(rng.integers(1, 6))) / 4
    for normalize in ("1", "k", "R", "min(k,R)"):
        yield AtRank(weights, normalize=normalize, name=f"at rank {normalize}")
    yield AtRank(np.abs(weights) + 0.25, normalize="ideal", name="at rank ideal")
    yield First(rng.random(int(rng.integers(1, 6))), name="first of first")
    yield First(rng.integers(-3, 4, int(rng.integers(1, 6))), "every", name="first of every")
    table = rng.integers(-4, 9, rng.integers(1, 5, 2)) / 8
    yield Table(table, name="table")
