"""TODO sampled."""

from __future__ import annotations

from ._decoupled import DrawnScores, sampled_scores

__all__ = [
    "DrawnScores",
    "sampled_scores",
]
