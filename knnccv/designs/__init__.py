"""Designs: which training sets are admissible, and how likely each is.

A *design* turns class counts into one or more kinds of equally likely training sets (`TrainingSets`).
Designs know nothing about distances or rules. A new design belongs here.

- `_base` defines `Design`, with what others ask about a design, `TrainingSets`, and `Allotment`; it has the
  training sizes of halves of the samples.
- `_splits` has the designs of single samples: `Subsample`, `LeaveOut`, `StratifiedSubsample`,
  `RebalancedLeaveOneOut`, `KFold` and `StratifiedKFold`; and the list of all designs, `DESIGNS`.
- `_groups` has `LeaveGroupsOut`, which tests whole groups together.
"""

from __future__ import annotations

from ._base import SMALL_SHARE, Allotment, Design, TrainingSets, n_train_in_half
from ._groups import GroupTrainingSets, LeaveGroupsOut, encode_groups
from ._splits import (
    DESIGNS,
    KFold,
    LeaveOut,
    RebalancedLeaveOneOut,
    StratifiedKFold,
    StratifiedSubsample,
    Subsample,
    as_design,
)
