"""Halves of the samples, scored completely, for standard errors and intervals.

- `_half_scores` scores them, by the rule's own kernels or by the profiles of `knnccv._core.scores.curves`.
- `_request` goes from a result to the scores of its halves: checks, halvings, warnings. It says what a
  score estimates, and what two scores must share to be compared.
"""

from __future__ import annotations

from ._half_scores import (
    TOLERANCE,
    Half,
    HalfScorer,
    Owner,
    Sums,
    depth_for_halves,
    score_halves,
    score_in_halves,
)
from ._request import (
    HalvesRequest,
    check_finite,
    check_request,
    floors_of,
    halves_of,
    halves_request,
    halves_with_warnings,
    halvings_of,
    has_floors,
    target_of,
    terms_of,
)
