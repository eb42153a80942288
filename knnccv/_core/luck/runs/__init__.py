"""Random runs of a design: drawn and counted 512 at a time, and the spread of the score of one run.

- `_planes` draws runs: the fold of every sample, in bit planes.
- `_counts` finds the votes of a sample in 512 runs at once, compiled, and makes tables of them.
- `_trials` scores runs: by these tables, or run by run with the kernels of any rule; and lists the nearest
  training samples run by run.
- `_random_runs` has what single runs would have said, `CompleteCV.runs`, and their spread.
- `_scalers` scales columns, and has the weights of those that are scaled within the folds; `_rescaled` the
  nearest training samples under them.
"""

from __future__ import annotations

from ._counts import ANY as ANY
from ._counts import CONFUSION as CONFUSION
from ._counts import RIGHT as RIGHT
from ._counts import VOTES as VOTES
from ._counts import RunCounter as RunCounter
from ._counts import RunTables as RunTables
from ._counts import ballot_of as ballot_of
from ._counts import check_lists_end_late as check_lists_end_late
from ._counts import deepened as deepened
from ._counts import unpack_table as unpack_table
from ._planes import NEITHER as NEITHER
from ._planes import Planes as Planes
from ._planes import Runs as Runs
from ._planes import allotted_runs as allotted_runs
from ._planes import below as below
from ._planes import draw_runs as draw_runs
from ._planes import equals as equals
from ._planes import from_pool as from_pool
from ._planes import given_runs as given_runs
from ._planes import pack as pack
from ._planes import unpack as unpack
from ._random_runs import RandomSplits as RandomSplits
from ._random_runs import ScoredRuns as ScoredRuns
from ._random_runs import SplitSpread as SplitSpread
from ._rescaled import RescaledSearch as RescaledSearch
from ._scalers import SCALERS as SCALERS
from ._scalers import read_scaling as read_scaling
from ._scalers import refitted as refitted
from ._scalers import scaled as scaled
from ._scalers import scaling_of as scaling_of
from ._trials import item_shares as item_shares
from ._trials import nearest_in_runs as nearest_in_runs
from ._trials import score_runs as score_runs
