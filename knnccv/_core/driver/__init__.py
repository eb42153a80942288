"""The driver: from neighbors, a rule and a design to the exact mean score.

The driver names no variant. For each block of samples it gets the neighbor lists and calls the rule's
kernels. Every sample's A_x is computed independently, and the samples are summed in their order, so that
the result depends neither on the threads nor on the blocks, to the last bit.

- `_problem` checks labels, rule, design, ties and average; `_method` chooses between exact kernels and
  drawn training sets.
- `_deepen` finds the first depth and the samples that share a score, and has the one loop: search a block,
  work on it, and again with deeper lists where they were too short.
- `_scores` is the work for exact scores: `_part` has the kernels, a chain for each kind of training sets,
  and `_rows` the compiled passes over the rows of a block, with the tie rule.
- `_exact` runs the kernels' source on rational numbers.
- `_summary` turns the samples' scores into the mean and its error bound.
- `_forecast` warns of problems that take long.

What else is asked of a problem is in packages above: `groups`, `sampled`, `halves`, `influence`, `runs`;
and `results` has `complete_cv`.
"""

from __future__ import annotations

from ._deepen import Jobs, alike_samples, deepen, first_depth, one_of_alike
from ._exact import as_objects, exact_labels, exact_scores, rational
from ._forecast import (
    LONG,
    SlowComputationWarning,
    Watch,
    callers_level,
    in_words,
    of_many,
)
from ._method import (
    Computation,
    InexactError,
    Sampling,
    check_distances,
    check_method,
    check_n_draws,
    check_sampling,
    is_exact,
    may_leave_out,
    sees_distances,
    tested_scores,
)
from ._part import Block, Part, Step, known_set_part, part_of, steps_of, unserved
from ._problem import (
    AVERAGES,
    TIES,
    Pool,
    ScoringProblem,
    by_class,
    check_labels_of,
    check_tested,
    class_shares,
    labels_of_pool,
    training_sets_of_pool,
    validate_problem,
    weights_of,
)
from ._rows import (
    DISTANCES,
    FIRST_MIXED_GROUPS,
    INTEGERS,
    ITEMS,
    ROWS,
    SCORE_ROWS,
    SCORES,
    Rows,
    fill_group_ends,
    first_mixed_groups,
    first_mixed_tie,
    labels_differ,
    order_of,
    score_rows,
    usable_lengths,
)
from ._scores import BlockScorer, Reach, block_scorer, float_scores, no_score, reach_of
from ._summary import Scored, Scores, kind_weights, summarize_scores

__all__ = [
    "AVERAGES",
    "DISTANCES",
    "FIRST_MIXED_GROUPS",
    "INTEGERS",
    "ITEMS",
    "LONG",
    "ROWS",
    "SCORES",
    "SCORE_ROWS",
    "TIES",
    "Block",
    "BlockScorer",
    "Computation",
    "InexactError",
    "Jobs",
    "Part",
    "Pool",
    "Reach",
    "Rows",
    "Sampling",
    "Scored",
    "Scores",
    "ScoringProblem",
    "SlowComputationWarning",
    "Step",
    "Watch",
    "alike_samples",
    "as_objects",
    "block_scorer",
    "by_class",
    "callers_level",
    "check_distances",
    "check_labels_of",
    "check_method",
    "check_n_draws",
    "check_sampling",
    "check_tested",
    "class_shares",
    "deepen",
    "exact_labels",
    "exact_scores",
    "fill_group_ends",
    "first_depth",
    "first_mixed_groups",
    "first_mixed_tie",
    "float_scores",
    "in_words",
    "is_exact",
    "kind_weights",
    "known_set_part",
    "labels_differ",
    "labels_of_pool",
    "may_leave_out",
    "no_score",
    "of_many",
    "one_of_alike",
    "order_of",
    "part_of",
    "rational",
    "reach_of",
    "score_rows",
    "sees_distances",
    "steps_of",
    "summarize_scores",
    "tested_scores",
    "training_sets_of_pool",
    "unserved",
    "usable_lengths",
    "validate_problem",
    "weights_of",
]
