"""The command ``episodes``: few-shot accuracy of the samples in a file, without sampling."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import numpy as np

from .._formatting import bound_text
from ..episodes import Episodes, EpisodeScore, SampledEpisodes, expected_episodes, sampled_episodes
from .data import read_arrays
from .options import refuse
from .output import TIES, Lines, computing, show, span

SHOWN_WAYS = (2, 3, 5, 10, 20, 50, 100)


def run(args: argparse.Namespace) -> int:
    """Print the exact score of the nearest support, and sampled episodes if they are wanted."""
    prototypes = args.head == "prototype"
    repeats = args.repeats if args.repeats is not None else 600 * prototypes
    voting = "random episodes serve the nearest support and prototypes: omit --repeats or --n-neighbors"
    refuse(prototypes and not repeats, "--head prototype is sampled: give --repeats at least 2")
    refuse(repeats and args.n_neighbors > 1, voting)
    name, X, y = _data(args)
    episodes, runs = Episodes(args.n_way, args.n_shot), None
    how: dict[str, Any] = {"metric": args.metric, "n_jobs": args.jobs}
    with computing(args.progress, "the kernels of episodes (about 20 s)"):
        if repeats:
            asked = {"n_episodes": repeats, "n_query": args.n_query, "head": args.head}
            asked |= {"control_variate": prototypes, "random_state": args.seed}
            runs = sampled_episodes(X, y, episodes, **asked, **how)
        how |= {"ties": args.ties, "jackknife": "class" if args.jackknife else None}
        exact = expected_episodes(X, y, episodes, args.n_neighbors, **how)
    answer = {"data": name, "head": "nearest", **exact.to_dict(), "sampled": runs}
    return show(args, answer, lines(name, exact, runs), 11)


def _data(args: argparse.Namespace) -> tuple[str, Any, Any]:
    """The name of the data, the samples and the labels."""
    if args.file is None:
        from ..datasets import fetch_orl

        faces = fetch_orl()
        return "ORL faces", faces.X, faces.y
    found, _ = read_arrays(args.file, args, ("features", "labels"))
    return Path(args.file).name, found["features"], found["labels"]


def lines(name: str, exact: EpisodeScore, runs: SampledEpisodes | None) -> Lines:
    """The answer as titles and texts."""
    sizes = np.bincount(exact.labels)
    yield "Data", f"{name}: {len(exact.per_item)} samples, {len(exact.classes)} classes of {span(sizes)}"
    yield "Episodes", f"{exact.episodes}, all of them; every class and sample is equally likely"
    yield "Rule", f"{exact.rule}, {exact.metric} distance, tied samples {TIES[exact.ties]}"
    whose = " for the nearest support, prototypes are below" * (runs is not None and runs.head != "nearest")
    yield "Accuracy", f"{exact.score:.6f}  exact{whose}, error at most {bound_text(exact.error_bound)}"
    if exact.score_without is not None:
        yield "", f"standard error {exact.standard_error:.4f} for other classes (jackknife)"
    if len(exact.ways) > 1:
        shown = [f"{way}-way {exact.ways[way]:.4f}" for way in SHOWN_WAYS if way in exact.ways]
        yield "Other ways", ", ".join(shown)
    if runs is not None:
        low, high = runs.confidence_interval()
        drawn = f"{len(runs.accuracies)} random episodes, {runs.head}"
        yield "Sampled", f"{drawn}: {runs.score:.4f}, 95 % interval {low:.4f} to {high:.4f}"
        yield "", f"the accuracy of one episode scatters by {runs.std:.4f}"
        if not math.isnan(runs.r2):
            yield "", f"control variate: nearest support of the same episodes, R² {runs.r2:.2f}"
    yield "Time", f"{exact.seconds:.2f} s"
