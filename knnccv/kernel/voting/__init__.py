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

from ._fixed_size import (
    ThinningRates,
    counted_weights,
    group_rate,
    has_mixed_group,
    is_mixed,
    pass_wrong,
    passed_together,
    position_weights,
    position_weights_at,
    scaled_position_weights,
    score_fixed_size,
    thinning_rates,
)
from ._stratified import is_rounded, score_stratified
from ._vote_scores import (
    ANY_RIGHT,
    BRIER,
    PLURALITY,
    UNKNOWN,
    VOTE_SHARE,
    VoteDistributions,
    VotingRule,
    score_votes,
    tie_quadrature,
)
