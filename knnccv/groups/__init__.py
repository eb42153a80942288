"""TODO groups."""

from __future__ import annotations

from ._group_scores import GroupScorer, exact_group_scores, group_scorer, keep_outside

__all__ = [
    "GroupScorer",
    "exact_group_scores",
    "group_scorer",
    "keep_outside",
]
