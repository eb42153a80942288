"""Compute what the pages on episodes and on tables say about the jackknife, in about twenty minutes.

    python docs/jackknife.py

Every data set has random classes or identities. The variance of the score over data sets is the true one,
to about 10 %; the jackknife estimates it from a single data set. Printed are the mean of these estimates
divided by the true variance, and how often score ± q standard errors holds the mean score of all data sets.
"""

import numpy as np
from scipy import stats

from knnccv import Neighbors
from knnccv.episodes import Episodes, expected_episodes
from knnccv.retrieval import Gallery, SameIdentityAndCamera, expected_retrieval


def summary(scores, errors, n_units):
    """The ratio of the variances, and the coverages with normal and with Student's quantiles."""
    scores, errors = np.array(scores), np.array(errors)
    off = np.abs(scores - scores.mean(axis=0))
    ratio = (errors**2).mean(axis=0) / scores.var(axis=0, ddof=1)
    held = [100 * (off < q * errors).mean(axis=0) for q in (1.96, stats.t.ppf(0.975, n_units - 1))]
    normal, student = np.round(held)
    return f"{np.round(ratio, 2)} of the variance, holds in {normal} %, with t {student} %"


def episodes(n_classes, n_shot, n_each, unequal, n_sets):
    """5-way episodes of classes of different difficulty, and the difference to a noisier embedding."""
    found = []
    for seed in range(n_sets):
        rng = np.random.default_rng([n_classes, 5, n_shot, seed])
        sizes = rng.integers(n_each // 2, 2 * n_each, n_classes) if unequal else n_each
        y = np.repeat(np.arange(n_classes), sizes)
        blur = rng.uniform(0.8, 2.2, n_classes)
        X = rng.normal(size=(n_classes, 16))[y] + blur[y, None] * rng.normal(size=(len(y), 16))
        one, two = (
            expected_episodes(data, y, Episodes(5, n_shot), jackknife="class", all_ways=False)
            for data in (X, X + 0.5 * rng.normal(size=X.shape))
        )
        apart = one.difference(two)
        found.append([one.score, one.standard_error(), apart.difference, apart.standard_error()])
    columns = np.array(found).T
    print(f"{n_sets} sets of {n_classes} classes, {n_shot}-shot, {n_each} samples, unequal: {unequal}")
    print(f"  score: standard deviation {columns[0].std(ddof=1):.4f}, {summary(*columns[:2], n_classes)}")
    print(f"  difference: {summary(*columns[2:], n_classes)}", flush=True)


def people(rng, n_ids, unequal, cameras):
    """Features of identities of different difficulty; `cameras` is None, "same" or "random"."""
    n_queries = rng.integers(1, 9, n_ids) if unequal else np.full(n_ids, 4)
    n_items = rng.integers(2, 11, n_ids) if unequal else np.full(n_ids, 6)
    q_pids, g_pids = np.repeat(np.arange(n_ids), n_queries), np.repeat(np.arange(n_ids), n_items)
    person, view = rng.normal(size=(n_ids, 16)), rng.normal(size=(n_ids, 7, 16))
    blur = rng.uniform(0.3, 1.6, n_ids)
    shift = rng.normal(size=(7, 16))
    if cameras != "random":
        shift = np.random.default_rng(99).normal(size=(7, 16)) * (cameras == "same")
    q_cams = rng.integers(1, 3 if cameras else 7, len(q_pids))
    g_cams = rng.integers(3 if cameras else 1, 7, len(g_pids))
    sides = [
        person[ids]
        + 0.7 * view[ids, cams]
        + shift[cams]
        + blur[ids, None] * rng.normal(size=(len(ids), 16))
        for ids, cams in ((q_pids, q_cams), (g_pids, g_cams))
    ]
    return sides, q_pids, g_pids, q_cams, g_cams


def retrieval(draw, *, average="pooled", unequal=True, mask=False, cameras=None, n_ids=60, n_sets=200):
    """Rank-1 and mean average precision, and their differences to a noisier embedding."""
    found, independent = [], []
    for seed in range(n_sets):
        rng = np.random.default_rng([7, seed])
        sides, q_pids, g_pids, q_cams, g_cams = people(rng, n_ids, unequal, cameras)
        gallery = {
            "one": Gallery(per_identity=1),
            "all": Gallery("all"),
            "cells": Gallery(shots=1, strata=(g_pids, g_cams)),
        }[draw]
        one, two = (
            expected_retrieval(
                Neighbors.between(*data), q_pids, g_pids, gallery, max_rank=1, average=average,
                exclude=SameIdentityAndCamera(q_cams, g_cams) if mask else None,
                jackknife="identity", n_groups=n_ids,
            )
            for data in (sides, [side + 0.4 * rng.normal(size=side.shape) for side in sides])
        )  # fmt: skip
        apart = [one.difference(two, name) for name in ("cmc", "ap")]
        scores = [one["cmc"], one["ap"]]
        found.append(
            [
                [np.ravel(s.score)[0] for s in scores],
                [np.ravel(s.standard_error())[0] for s in scores],
                [np.ravel(d.difference)[0] for d in apart],
                [np.ravel(d.standard_error())[0] for d in apart],
            ]
        )
        independent.append(one["ap"].per_item[one.valid].var(ddof=1) / one.valid.sum())
    parts = np.array(found).swapaxes(0, 1)
    words = f"{draw}, {average} mean, unequal: {unequal}, mask: {mask}, cameras: {cameras}"
    print(f"{n_sets} sets of {n_ids} identities, {words}; rank-1 and mAP:")
    print(f"  score: {summary(*parts[:2], n_ids)}")
    print(f"  difference: {summary(*parts[2:], n_ids)}")
    naive = np.mean(independent) / parts[0][:, 1].var(ddof=1)
    print(f"  queries taken for independent: {naive:.2f} of the variance of mAP", flush=True)


if __name__ == "__main__":
    episodes(20, 1, 30, False, 400)
    episodes(20, 5, 30, True, 300)
    episodes(20, 1, 12, True, 300)
    episodes(8, 1, 20, False, 600)
    episodes(6, 1, 20, False, 800)
    for draw in ("one", "all"):
        retrieval(draw, unequal=False)
        retrieval(draw, average="identity")
    retrieval("all")
    retrieval("all", mask=True)
    for cameras in ("same", "random"):
        retrieval("cells", average="identity", unequal=False, cameras=cameras, n_ids=40, n_sets=120)
