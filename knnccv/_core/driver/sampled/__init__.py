"""Scores of rules without an exact kernel, from training sets that are drawn for each sample alone.

- `_decoupled` goes over the samples, and deepens lists where draws go on beyond them.
- `_draws` draws the training sets of a sample along its list, and scores them; compiled.
"""

from __future__ import annotations

from ._decoupled import DrawnScores, sampled_scores

__all__ = [
    "DrawnScores",
    "sampled_scores",
]
