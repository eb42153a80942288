"""Designs: which training sets are admissible, and how likely each is.

A *design* turns class counts into one or more kinds of equally likely training sets (`TrainingSets`).
Designs know nothing about distances or rules. A new design belongs here.

- `_base` defines `Design`, with what others ask about a design, `TrainingSets`, and `Allotment`.
- `_registry` has the list of all designs, `DESIGNS`, and `as_design`.
- `_splits` has the five designs of single samples: `Subsample`, `StratifiedSubsample`, `KFold`,
  `StratifiedKFold` and `LeaveOut`.
- `_rebalanced` has `RebalancedLeaveOneOut`, which leaves out one sample of every class together.
- `_groups` has `LeaveGroupsOut`, which tests whole groups together.
- `_half_sizes` has the training sizes of halves of the samples.
"""

from __future__ import annotations

from ._base import Allotment, Design, TrainingSets
from ._groups import GroupTrainingSets, LeaveGroupsOut, encode_groups
from ._half_sizes import SMALL_SHARE, n_train_in_half
from ._rebalanced import RebalancedLeaveOneOut
from ._registry import DESIGNS, as_design
from ._splits import (
    KFold,
    LeaveOut,
    StratifiedKFold,
    StratifiedSubsample,
    Subsample,
    merge_folds,
)

__all__ = [
    "DESIGNS",
    "SMALL_SHARE",
    "Allotment",
    "Design",
    "GroupTrainingSets",
    "KFold",
    "LeaveGroupsOut",
    "LeaveOut",
    "RebalancedLeaveOneOut",
    "StratifiedKFold",
    "StratifiedSubsample",
    "Subsample",
    "TrainingSets",
    "as_design",
    "encode_groups",
    "merge_folds",
    "n_train_in_half",
]
