"""Random runs of a design: drawn and counted 512 at a time, and the spread of the score of one run.

- `_planes` draws runs: the fold of every sample, in bit planes; also of halves of the samples.
- `_counts` finds the votes of a sample in 512 runs at once, compiled, and makes tables of them.
- `_trials` scores runs: by these tables, or run by run with the kernels of any rule; and lists the nearest
  training samples run by run.
- `_random_runs` has what single runs would have said, `CompleteCV.runs`, and their spread.
- `_scalers` scales columns, and has the weights of those that are scaled within the folds; `_rescaled` the
  nearest training samples under them.
"""

from __future__ import annotations

from ._counts import (
    ANY,
    CONFUSION,
    RIGHT,
    VOTES,
    RunCounter,
    RunTables,
    ballot_of,
    check_lists_end_late,
    deepened,
    depth_of_runs,
    unpack_table,
)
from ._planes import (
    MOST,
    NEITHER,
    Draw,
    Planes,
    Runs,
    allotted_runs,
    below,
    draw_by,
    draw_runs,
    each_split,
    equals,
    from_pool,
    given_runs,
    is_noisy,
    pack,
    pool_draw,
    runs_of_halves,
    single_splits,
    train_sizes,
    unpack,
)
from ._random_runs import RandomSplits, ScoredRuns, SplitSpread
from ._rescaled import RescaledSearch
from ._scalers import SCALERS, read_scaling, refitted, scaled, scaling_of
from ._trials import add_votes, item_shares, nearest_in_runs, score_runs
