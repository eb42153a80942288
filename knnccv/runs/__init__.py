"""TODO runs."""

from __future__ import annotations

from ._split_result import RandomSplits, SplitSpread
from ._split_scores import all_lists
from ._split_spread import split_spread
from ._trials import item_shares, score_runs, trial_scorer

__all__ = [
    "RandomSplits",
    "SplitSpread",
    "all_lists",
    "item_shares",
    "score_runs",
    "split_spread",
    "trial_scorer",
]
