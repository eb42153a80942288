"""The exact bootstrap of nearest-neighbor rules: out-of-bag scores, .632 and .632+.

A bootstrap sample has n draws with replacement; a sample is tested by those that leave it out. The mean
over all of them is computed along the neighbor order of the tested sample. Nothing is drawn.

- `_bootstrap_score` has the public function and its result.
- `_samples` goes over the samples: expected scores out of bag, and apparent ones, for which every sample is
  scored on all samples, itself among them. It warns of votes that take long.
- `_kernels` has the compiled scores of one sample, and the probabilities of the position of the K-th
  nearest draw.
"""

from __future__ import annotations

from ._bootstrap_score import BootstrapScore, bootstrap_score
