"""Designs: which training sets are admissible, and how likely each is.

A *design* turns class counts into one or more kinds of equally likely training sets (`TrainingSets`).
Designs know nothing about distances or rules. A new design belongs here.

- `_base` defines `Design`, with what others ask about a design, `TrainingSets`, and `Allotment`; it has the
  training sizes of halves of the samples.
- `_registry` has the list of all designs, `DESIGNS`, and `as_design`.
- `_splits` has the designs of single samples: `Subsample`, `LeaveOut`, `StratifiedSubsample`,
  `RebalancedLeaveOneOut`, `KFold` and `StratifiedKFold`.
- `_groups` has `LeaveGroupsOut`, which tests whole groups together.
"""

from __future__ import annotations

from ._base import SMALL_SHARE as SMALL_SHARE
from ._base import Allotment as Allotment
from ._base import Design as Design
from ._base import TrainingSets as TrainingSets
from ._base import n_train_in_half as n_train_in_half
from ._groups import GroupTrainingSets as GroupTrainingSets
from ._groups import LeaveGroupsOut as LeaveGroupsOut
from ._groups import encode_groups as encode_groups
from ._registry import DESIGNS as DESIGNS
from ._registry import as_design as as_design
from ._splits import KFold as KFold
from ._splits import LeaveOut as LeaveOut
from ._splits import RebalancedLeaveOneOut as RebalancedLeaveOneOut
from ._splits import StratifiedKFold as StratifiedKFold
from ._splits import StratifiedSubsample as StratifiedSubsample
from ._splits import Subsample as Subsample
