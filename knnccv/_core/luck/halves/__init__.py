"""Halves of the samples, scored completely, for standard errors and intervals.

- `_half_scores` scores them, by the rule's own kernels or by the profiles of `knnccv._core.scores.curves`.
- `_request` goes from a result to the scores of its halves: checks, halvings, warnings. It says what a
  score estimates, and what two scores must share to be compared.
"""

from __future__ import annotations

from ._half_scores import TOLERANCE as TOLERANCE
from ._half_scores import Half as Half
from ._half_scores import HalfScorer as HalfScorer
from ._half_scores import Owner as Owner
from ._half_scores import Sums as Sums
from ._half_scores import depth_for_halves as depth_for_halves
from ._half_scores import score_halves as score_halves
from ._half_scores import score_in_halves as score_in_halves
from ._request import HalvesRequest as HalvesRequest
from ._request import check_finite as check_finite
from ._request import check_request as check_request
from ._request import floors_of as floors_of
from ._request import halves_of as halves_of
from ._request import halves_with_warnings as halves_with_warnings
from ._request import halvings_of as halvings_of
from ._request import has_floors as has_floors
from ._request import target_of as target_of
from ._request import terms_of as terms_of
