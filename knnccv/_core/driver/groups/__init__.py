"""Scores of designs that leave out whole groups.

Read `_group_scores` first: the scorer, for a known training set if one group is left out. For several
groups `_group_members` has rules of one nearest sample, and `_group_sets` goes through the sets of groups.
"""

from __future__ import annotations

from ._group_scores import GroupScorer, exact_group_scores, group_scorer

__all__ = [
    "GroupScorer",
    "exact_group_scores",
    "group_scorer",
]
