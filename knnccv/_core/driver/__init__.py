"""The driver: from neighbors, a rule and a design to the exact mean score.

The driver names no variant. For each block of samples it gets the neighbor lists and calls the rule's
kernels. Every sample's A_x is computed independently, and the samples are summed in their order, so that
the result depends neither on the threads nor on the blocks, to the last bit.

- `_validation` checks labels, rule, design, ties and average, and chooses between exact kernels and drawn
  training sets; `_problem` is what it returns, and has what a sample weighs.
- `_deepen` finds the first depth and the samples that share a score, and has the one loop: search a block,
  work on it, and again with deeper lists where they were too short.
- `_scores` is the work for exact scores: `_part` has the kernels, a chain for each kind of training sets,
  and `_rows` the compiled passes over the rows of a block, with the tie rule. In exact mode it runs the
  kernels' source on rational numbers.
- `_summary` turns the samples' scores into the mean and its error bound.
- `_forecast` warns of problems that take long.

What else is asked of a problem is in packages above: `groups`, `sampled`, `halves`, `influence`, `runs`;
and `results` has `complete_cv`.
"""

from __future__ import annotations

from ._deepen import Jobs as Jobs
from ._deepen import alike_samples as alike_samples
from ._deepen import deepen as deepen
from ._deepen import first_depth as first_depth
from ._deepen import one_of_alike as one_of_alike
from ._forecast import LONG as LONG
from ._forecast import SlowComputationWarning as SlowComputationWarning
from ._forecast import Watch as Watch
from ._forecast import callers_level as callers_level
from ._forecast import in_words as in_words
from ._forecast import of_many as of_many
from ._part import Block as Block
from ._part import Part as Part
from ._part import Step as Step
from ._part import known_set_part as known_set_part
from ._part import steps_of as steps_of
from ._part import unserved as unserved
from ._problem import AVERAGES as AVERAGES
from ._problem import ScoringProblem as ScoringProblem
from ._problem import by_class as by_class
from ._problem import class_shares as class_shares
from ._problem import labels_of_pool as labels_of_pool
from ._problem import training_sets_of_pool as training_sets_of_pool
from ._problem import weights_of as weights_of
from ._rows import DISTANCES as DISTANCES
from ._rows import ITEMS as ITEMS
from ._rows import ROWS as ROWS
from ._rows import SCORES as SCORES
from ._rows import Rows as Rows
from ._rows import fill_group_ends as fill_group_ends
from ._rows import mixed_groups as mixed_groups
from ._rows import usable_lengths as usable_lengths
from ._scores import BlockScorer as BlockScorer
from ._scores import Evaluation as Evaluation
from ._scores import InexactError as InexactError
from ._scores import block_scorer as block_scorer
from ._scores import exact_scores as exact_scores
from ._scores import float_scores as float_scores
from ._summary import Scored as Scored
from ._summary import Scores as Scores
from ._summary import kind_weights as kind_weights
from ._summary import summarize_scores as summarize_scores
from ._validation import TIES as TIES
from ._validation import Pool as Pool
from ._validation import check_distances as check_distances
from ._validation import check_exact as check_exact
from ._validation import check_n_draws as check_n_draws
from ._validation import check_sampling as check_sampling
from ._validation import validate_problem as validate_problem
from ._validation import with_parameters as with_parameters
