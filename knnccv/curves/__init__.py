"""Learning curves and validation curves: all K and all training sizes from one pass.

- `_surface` is `knnccv.surface`; `_surface_result` is its result.
- `_profile` computes the profile of the data, from which every pair of K and training size is a weighted
  sum; `_profile_ties` adds tied samples; `_simd` has the vector operations.
- `_loo` is leave-one-out for all K at once.
"""

from __future__ import annotations

from ._loo import loo_curve, loo_identity
from ._surface import surface
from ._surface_result import Surface

__all__ = [
    "Surface",
    "loo_curve",
    "loo_identity",
    "surface",
]
