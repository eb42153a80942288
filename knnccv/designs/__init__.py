"""Designs: which training sets are admissible, and how likely each is.

A *design* turns class counts into one or more kinds of equally likely training sets (`TrainingSets`).
Designs know nothing about distances or rules. A new design belongs here.

- `_base` defines `Design` and `TrainingSets`.
- `_splits` has the five designs of single samples: `Subsample`, `StratifiedSubsample`, `KFold`,
  `StratifiedKFold` and `LeaveOut`.
- `_groups` has `LeaveGroupsOut`, which tests whole groups together.
"""

from __future__ import annotations

from ._base import Design, TrainingSets
from ._groups import GroupTrainingSets, LeaveGroupsOut
from ._splits import (
    KFold,
    LeaveOut,
    StratifiedKFold,
    StratifiedSubsample,
    Subsample,
    as_design,
    merge_folds,
)

__all__ = [
    "Design",
    "GroupTrainingSets",
    "KFold",
    "LeaveGroupsOut",
    "LeaveOut",
    "StratifiedKFold",
    "StratifiedSubsample",
    "Subsample",
    "TrainingSets",
    "as_design",
    "merge_folds",
]
