"""Helpers of voting kernels: the probability that a class wins, with and without ties.

The built-in variants ("knn", "nn", "rank", "confidence") and the learning curves of `knnccv.curves` share
these functions. They work on floats and on Fractions alike.

- `_vote_scores` scores the distribution of the votes of several classes: plurality, shares, Brier score.
- `_tied_groups` finds groups of tied samples that contain several classes.
- `_fixed_size` averages over the orders of tied samples in designs with one training size.
- `_stratified` does the same in stratified designs.
"""

from __future__ import annotations

from ._fixed_size import group_rate, mark_group, score_fixed_size
from ._stratified import score_stratified
from ._tied_groups import has_mixed_group, is_mixed
from ._vote_scores import (
    ANY_RIGHT,
    BRIER,
    PLURALITY,
    VOTE_SHARE,
    plurality_probability,
    score_votes,
    tie_quadrature,
)

__all__ = [
    "ANY_RIGHT",
    "BRIER",
    "PLURALITY",
    "VOTE_SHARE",
    "group_rate",
    "has_mixed_group",
    "is_mixed",
    "mark_group",
    "plurality_probability",
    "score_fixed_size",
    "score_stratified",
    "score_votes",
    "tie_quadrature",
]
