"""What ties and errors do: confusion matrices, and the range of scores that ties allow."""

from __future__ import annotations

from ._confusion import check_normalize, expected_confusion, normalized
from ._tie_report import TieReport, tie_report

__all__ = [
    "TieReport",
    "check_normalize",
    "expected_confusion",
    "normalized",
    "tie_report",
]
