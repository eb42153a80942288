"""The driver: from neighbors, a rule and a design to the exact mean score.

The driver names no variant. For each block of samples it gets the neighbor lists and calls
the variant's kernel. Every sample's A_x is computed independently, and the samples are summed in their
order, so that the result depends neither on the threads nor on the blocks, to the last bit.

- `_complete_cv` is the public function.
- `_problem` checks the arguments; `_evaluation` combines the problem with the neighbors.
- `_scores` goes over the blocks, and deepens the lists until the tolerance holds. `_kind_scorer` scores a
  block for one kind of training sets, `_joint_scorer` for all kinds at once. `_rows` is the compiled pass;
  `_light_kernels` are compiled first.
- `_group_scores`, `_group_members` and `_group_sets` leave out whole groups.
- `_halves` draws halves of the samples and warns, `_half_scores` scores them from lists that `_keep_halves`
  filters; `_target` has what a score estimates, in words.
- `_exact` and `_rational` compute with rational numbers.
- `_method` chooses between exact kernels and `_decoupled`, which estimates the scores from training sets
  that `_draws` draws for each sample, by the random numbers of `_random_stream`; `_sampling` checks the
  arguments, `_sampled_result` has the `SampledCV`.
- `_label_ties` finds tied samples of different labels.
- `_summary` turns the samples' scores into the `CompleteCV` of `_result`.
- `_further_results` has methods of `CompleteCV` that would make its file too long.
- `_confusion`, `_tie_range` and `_tie_order` compute a confusion matrix or a `TieReport` of a result.
- `_influence` finds how the score changes without each sample: `_reduced` has the problems of N - 1
  samples, `_removal_kernels` the kernels, `_influence_rows` the compiled passes, `_influence_joint` the one
  for all kinds of training sets at once; `_influence_groups` is for left-out groups.
- `_alike_samples` finds samples with equal features and targets, which share a score.
- `_trials` scores random runs.
- `_split_spread` computes the `SplitSpread` of `_split_result` from random runs, or by `_split_exact`:
  formulas on the `_split_scores` of single neighbors, with `_split_pairs` and `_split_tables`, or with
  `_split_strata`.
- `_depth` chooses the first depth; `_forecast` warns of problems that take long.
"""

from __future__ import annotations

from ._alike_samples import alike_samples, one_of_alike
from ._complete_cv import complete_cv
from ._depth import first_depth
from ._forecast import LONG, SlowComputationWarning, announce_profile, callers_level, in_words, of_many
from ._half_scores import TOLERANCE, depth_for_halves, score_halves, search_block, within_half
from ._halves import (
    FEWEST_GROUPS,
    LEAST_TRAIN_PER_NEIGHBOR,
    MOST_UNDECIDED,
    check_request,
    halvings_of,
    has_grown,
    uncertain_lists,
)
from ._influence_result import Influence
from ._kind_scorer import known_set_scorer
from ._method import InexactError
from ._priors import AVERAGES
from ._problem import TIES, ScoringProblem, is_accuracy, validate_problem, weights_of
from ._removal_kernels import RemovalKernels, removal_kernels
from ._result import CompleteCV
from ._rows import SCORE_ROWS, score_rows, usable_lengths
from ._sampled_result import SampledCV
from ._sampling import check_n_draws
from ._scores import BlockScorer, block_scorer
from ._split_result import SplitSpread
from ._split_scores import all_lists
from ._target import HalvesRequest, score_range_of, target_of
from ._tie_report import TieReport
from ._trials import item_shares, score_runs, trial_scorer

__all__ = [
    "AVERAGES",
    "FEWEST_GROUPS",
    "LEAST_TRAIN_PER_NEIGHBOR",
    "LONG",
    "MOST_UNDECIDED",
    "SCORE_ROWS",
    "TIES",
    "TOLERANCE",
    "BlockScorer",
    "CompleteCV",
    "HalvesRequest",
    "InexactError",
    "Influence",
    "RemovalKernels",
    "SampledCV",
    "ScoringProblem",
    "SlowComputationWarning",
    "SplitSpread",
    "TieReport",
    "alike_samples",
    "all_lists",
    "announce_profile",
    "block_scorer",
    "callers_level",
    "check_n_draws",
    "check_request",
    "complete_cv",
    "depth_for_halves",
    "first_depth",
    "halvings_of",
    "has_grown",
    "in_words",
    "is_accuracy",
    "item_shares",
    "known_set_scorer",
    "of_many",
    "one_of_alike",
    "removal_kernels",
    "score_halves",
    "score_range_of",
    "score_rows",
    "score_runs",
    "search_block",
    "target_of",
    "trial_scorer",
    "uncertain_lists",
    "usable_lengths",
    "validate_problem",
    "weights_of",
    "within_half",
]
