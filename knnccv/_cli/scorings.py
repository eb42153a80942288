"""Other scorings of a table, by the names of scikit-learn: exact, or means over random runs.

If one group is left out, every sample has one prediction. A scoring is then that of all predictions
together, as in a report.
"""

from __future__ import annotations

import argparse
from typing import Any

from .._base.refusals import need, refuse
from ..designs import LeaveGroupsOut, as_design
from ..neighbors import Neighbors, in_other_groups
from ..reporting import MIXED, Table
from .data import Problem

REGRESSION = {"regression", "weighted_regression"}
SERVED = {"nn", "knn", *REGRESSION, "weighted"}
"""The rules that scikit-learn has too."""


def check_scorings(args: argparse.Namespace) -> None:
    """Raise ValueError if the other options do not suit ``--scoring``; no file is read yet."""
    if args.scoring is None:
        return
    need("sklearn", "sklearn", "--scoring takes the names of scikit-learn's scorings")
    rule = args.variant or "knn"
    refuse(rule not in SERVED, f"--scoring is for {', '.join(sorted(SERVED))}, got --variant {rule}")
    both = args.per_class is not None and args.test is not None
    refuse(both, "--scoring with --test takes --train-size, with --stratify if you like, not --per-class")
    mixed = args.metric in MIXED and args.groups is not None and args.leave_out not in (None, 1)
    several = f"take a metric of numbers, or leave out --leave-out {args.leave_out}"
    refuse(mixed, f"{several}: --scoring with --metric {args.metric} leaves one group out")


def is_pooled(args: argparse.Namespace, cv: Any) -> bool:
    """Return True if every sample is tested once, by all samples of other groups."""
    return isinstance(cv, LeaveGroupsOut) and cv.p == 1 and args.test is None


def scored(args: argparse.Namespace, problem: Problem, cv: Any) -> dict[str, Any]:
    """The expected score of the same rule and design, by the name of the scoring.

    Designs and distances that scikit-learn lacks are those of knnccv.

    Raises
    ------
    ValueError
        If scikit-learn has no scoring of a name, or it does not suit the labels.
    """
    from ..sklearn import expected_score, named_scorings, neighbors_rule, scores_of

    name, given, mixed = problem.rule.name, problem.given, args.metric in MIXED
    how: dict[str, Any] = {"metric": "euclidean" if mixed else args.metric, "n_jobs": args.jobs}
    if args.p is not None:
        how["p"] = args.p
    how["n_neighbors"] = 1 if name == "nn" else given.get("n_neighbors", 5)
    others = given.keys() - {"n_neighbors", "weights"}
    refuse(others, f"--scoring takes no --parameter {', '.join(sorted(others))}")
    if "weighted" in name:
        how["weights"] = given.get("weights", "distance")
        known = how["weights"] in ("distance", "inverse")
        refuse(not known, f"--scoring takes weights=inverse, as scikit-learn has, got {how['weights']!r}")
        how["weights"] = "distance"
    rule, table = neighbors_rule(name in REGRESSION, **how), problem.table
    names = [one.strip() for one in args.scoring.split(",")]
    scorings = named_scorings(names, table.y, regression=name in REGRESSION)
    if mixed or args.per_class is not None or is_pooled(args, cv):
        params = None if args.p is None else {"p": args.p}
        near = problem.X if mixed else Neighbors.from_data(table.X, args.metric, metric_params=params)
        design = as_design(cv, stratified=name not in REGRESSION)
        asked: dict[str, Any] = {"random_state": args.seed, "n_jobs": args.jobs}
        if is_pooled(args, cv):
            near = in_other_groups(near, cv.codes)
        found = scores_of(rule, near, table.y, design, scorings, **asked)
        for one, score in found.items():
            refuse(isinstance(score, str), f"there is no {one}: {score}")
        return dict(found)
    return dict(
        expected_score(
            rule,
            table.X,
            table.y,
            cv=splitter_of(args, table, name not in REGRESSION),
            scoring=scorings,
            groups=table.groups,
            random_state=args.seed,
            n_jobs=args.jobs,
            test=problem.how.get("test"),
        )
    )


def splitter_of(args: argparse.Namespace, table: Table, has_classes: bool) -> Any:
    """scikit-learn's splitter of the design that the options describe."""
    from sklearn import model_selection as ms

    if table.groups is not None:
        return ms.LeavePGroupsOut(args.leave_out or 1)
    if args.train_size is not None:
        kind = ms.StratifiedShuffleSplit if args.stratify else ms.ShuffleSplit
        return kind(train_size=args.train_size)
    if args.leave_out is not None:
        return ms.LeavePOut(args.leave_out)
    stratified = has_classes if args.stratify is None else args.stratify
    return (ms.StratifiedKFold if stratified else ms.KFold)(args.cv or 5, shuffle=True)
