"""Scores from tables of runs."""

from __future__ import annotations

from ._scorers import TableScorer, table_scorer

__all__ = ["TableScorer", "table_scorer"]
