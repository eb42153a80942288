"""Random runs of a design, and the spread of the score of one run.

- `_trials` scores runs: known training sets, on the neighbor lists of all samples.
- `_scalers` has the weights of columns that are scaled within the folds, `_rescaled` the nearest training
  samples under them.
- `_split_spread` computes the `SplitSpread` of `_split_result`, from random runs or by `_split_exact`:
  formulas on the `_split_scores` of single neighbors, with `_split_pairs` and `_split_tables`, or with
  `_split_strata`.
"""

from __future__ import annotations

from ._counts import Ballot, RunTables, ballot_of, count_runs
from ._planes import Planes, Runs, draw_planes, draw_runs, given_runs, pack, unpack
from ._rescaled import RescaledSearch
from ._scalers import ColumnScaling, scaling_of
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
    "ColumnScaling",
    "Planes",
    "RunTables",
    "Runs",
    "ballot_of",
    "count_runs",
    "draw_planes",
    "draw_runs",
    "given_runs",
    "pack",
    "unpack",
    "RandomSplits",
    "RescaledSearch",
    "SplitSpread",
    "item_shares",
    "scaling_of",
    "score_runs",
    "split_spread",
    "trial_scorer",
]
