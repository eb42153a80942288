"""The driver: from neighbors, a rule and a design to the exact mean score.

The driver names no variant. For each block of samples it gets the neighbor lists and calls the rule's
kernels. Every sample's A_x is computed independently, and the samples are summed in their order, so that
the result depends neither on the threads nor on the blocks, to the last bit.

- `_validation` checks labels, rule, design, ties and average, and chooses between exact kernels and drawn
  training sets; `_problem` is what it returns, and has what a sample weighs.
- `_deepen` finds the first depth and the samples that share a score, and has the one loop: search a block,
  work on it, and again with deeper lists where they were too short. It warns of problems that take long.
- `_scores` is the work for exact scores: `_rows` has the kernels, a chain for each kind of training sets,
  and the compiled passes over the rows of a block, with the tie rule. In exact mode it runs the kernels'
  source on rational numbers. It turns the samples' scores into the mean and its error bound.

What else is asked of a problem is in packages above: `groups`, `sampled`, `halves`, `influence`, `runs`;
and `results` has `complete_cv`.
"""

from __future__ import annotations

from ._deepen import (
    LONG,
    Jobs,
    SlowComputationWarning,
    Watch,
    alike_samples,
    callers_level,
    deepen,
    first_depth,
    in_words,
    of_many,
    one_of_alike,
)
from ._problem import (
    AVERAGES,
    ScoringProblem,
    by_class,
    class_shares,
    labels_of_pool,
    training_sets_of_pool,
    weights_of,
)
from ._rows import (
    DISTANCES,
    ITEMS,
    ROWS,
    Block,
    Part,
    Rows,
    Step,
    fill_group_ends,
    known_set_part,
    mixed_groups,
    steps_of,
    unserved,
    usable_lengths,
)
from ._scores import (
    BlockScorer,
    Evaluation,
    InexactError,
    Scored,
    Scores,
    block_scorer,
    exact_scores,
    float_scores,
    kind_weights,
    summarize_scores,
)
from ._validation import (
    TIES,
    Pool,
    check_distances,
    check_exact,
    check_n_draws,
    check_sampling,
    validate_problem,
    with_parameters,
)
