"""Random halves of the samples, and their exact scores, which standard errors are made of.

- `_halves` checks the arguments, draws halves, and warns where they say little.
- `_half_scores` scores them by the rule's own kernels, from the lists of all samples, which `_keep_halves`
  filters.
- `_target` has what a score estimates, in words, and what two scores must share to be compared.
"""

from __future__ import annotations

from ._half_scores import TOLERANCE, depth_for_halves, score_halves, search_block, within_half
from ._halves import (
    FEWEST_GROUPS,
    LEAST_TRAIN_PER_NEIGHBOR,
    MOST_UNDECIDED,
    check_request,
    halves_of,
    halvings_of,
    has_grown,
    uncertain_lists,
)
from ._target import HalvesRequest, check_finite, score_range_of, target_of, terms_of

__all__ = [
    "FEWEST_GROUPS",
    "LEAST_TRAIN_PER_NEIGHBOR",
    "MOST_UNDECIDED",
    "TOLERANCE",
    "HalvesRequest",
    "check_finite",
    "check_request",
    "depth_for_halves",
    "halves_of",
    "halvings_of",
    "has_grown",
    "score_halves",
    "score_range_of",
    "search_block",
    "target_of",
    "terms_of",
    "uncertain_lists",
    "within_half",
]
