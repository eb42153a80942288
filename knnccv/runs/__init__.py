"""Random runs of a design, and the spread of the score of one run.

- `_trials` scores runs: known training sets, on the neighbor lists of all samples.
- `_split_spread` computes the `SplitSpread` of `_split_result`, from random runs or by `_split_exact`:
  formulas on the `_split_scores` of single neighbors, with `_split_pairs` and `_split_tables`, or with
  `_split_strata`.
"""

from __future__ import annotations

from ._counts import Ballot, RunTables, ballot_of, count_runs
from ._planes import (
    Planes,
    Runs,
    below,
    draw_planes,
    draw_runs,
    equals,
    given_runs,
    pack,
    random_below,
    unpack,
)
from ._split_result import RandomSplits, SplitSpread
from ._split_spread import split_spread
from ._trials import item_shares, score_runs, trial_scorer
from ._walks import ANY, CONFUSION, RIGHT, VOTES

__all__ = [
    "ANY",
    "CONFUSION",
    "RIGHT",
    "VOTES",
    "Ballot",
    "Planes",
    "RunTables",
    "Runs",
    "ballot_of",
    "below",
    "count_runs",
    "draw_planes",
    "draw_runs",
    "equals",
    "given_runs",
    "pack",
    "random_below",
    "unpack",
    "RandomSplits",
    "SplitSpread",
    "item_shares",
    "score_runs",
    "split_spread",
    "trial_scorer",
]
