"""Helpers of voting kernels: the probability that a class wins a vote, with and without ties.

The built-in variants ("knn", "nn", "rank", "confidence") and the learning curves of `knnccv.curves` share
these functions. They work on floats and on Fractions.

- `_vote_scores` scores the distributions of the votes of several classes: plurality, shares, Brier score.
- `_position_weights` gives the probabilities of the positions where the K nearest training samples end.
- `_group_times` finds groups of tied samples that contain several classes, and gives them random times.
- `_fixed_size` averages over the orders of tied samples in designs with one training size.
- `_stratified` does the same in stratified designs, by the random times.
"""

from __future__ import annotations

from ._fixed_size import group_rate, score_fixed_size
from ._group_times import has_mixed_group, is_mixed, is_rounded, passed_together
from ._position_weights import (
    PositionWeights,
    ThinningRates,
    counted_weights,
    position_weights,
    position_weights_at,
    scaled_position_weights,
    thinning_rates,
)
from ._stratified import score_stratified
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

__all__ = [
    "ANY_RIGHT",
    "BRIER",
    "PLURALITY",
    "UNKNOWN",
    "VOTE_SHARE",
    "PositionWeights",
    "ThinningRates",
    "VoteDistributions",
    "VotingRule",
    "counted_weights",
    "group_rate",
    "has_mixed_group",
    "is_mixed",
    "is_rounded",
    "passed_together",
    "position_weights",
    "position_weights_at",
    "scaled_position_weights",
    "score_fixed_size",
    "score_stratified",
    "score_votes",
    "thinning_rates",
    "tie_quadrature",
]
