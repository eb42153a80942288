"""Helpers of voting kernels: the probability that a class wins a vote, with and without ties.

The built-in variants ("knn", "nn", "rank", "confidence") and the learning curves of `surface` share
these functions. They work on floats and on Fractions.

- `_vote_scores` scores the distributions of the votes of several classes: plurality, shares, Brier score.
- `_fixed_size` finds groups of tied samples that contain several classes, and averages over their orders in
  designs with one training size; it has the probabilities of the positions where the K nearest training
  samples end.
- `_stratified` does the same in stratified designs, by random times of the samples.
"""

from __future__ import annotations

from ._fixed_size import ThinningRates as ThinningRates
from ._fixed_size import counted_weights as counted_weights
from ._fixed_size import group_rate as group_rate
from ._fixed_size import has_mixed_group as has_mixed_group
from ._fixed_size import is_mixed as is_mixed
from ._fixed_size import pass_wrong as pass_wrong
from ._fixed_size import passed_together as passed_together
from ._fixed_size import position_weights as position_weights
from ._fixed_size import position_weights_at as position_weights_at
from ._fixed_size import scaled_position_weights as scaled_position_weights
from ._fixed_size import score_fixed_size as score_fixed_size
from ._fixed_size import thinning_rates as thinning_rates
from ._stratified import is_rounded as is_rounded
from ._stratified import score_stratified as score_stratified
from ._vote_scores import ANY_RIGHT as ANY_RIGHT
from ._vote_scores import BRIER as BRIER
from ._vote_scores import PLURALITY as PLURALITY
from ._vote_scores import UNKNOWN as UNKNOWN
from ._vote_scores import VOTE_SHARE as VOTE_SHARE
from ._vote_scores import VoteDistributions as VoteDistributions
from ._vote_scores import VotingRule as VotingRule
from ._vote_scores import score_votes as score_votes
from ._vote_scores import tie_quadrature as tie_quadrature
