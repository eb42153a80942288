"""Learning curves and validation curves: all K and all training sizes from one pass.

- `_surface` has `knnccv.surface`, which reads rows and columns; `_surface_result` is its result.
- `_profile` computes the profile of the data, from which every pair of K and training size is a weighted
  sum: it counts the votes, in the vectors of `kernel.simd`, and `_profile_ties` adds tied samples.
  `_profile_surface` makes the surface; it has the profile of squared errors, shares of votes and Brier
  scores, and the grid of the cells, and runs a pass over chunks of samples.
- `_half_surface` scores halves of the samples in all cells, from profiles of the halves where there are
  any; `_half_surface_methods` has the standard errors, intervals and differences of a surface.
"""

from __future__ import annotations

from ._surface import surface
from ._surface_result import Surface
