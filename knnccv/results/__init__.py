"""TODO results."""

from __future__ import annotations

from ._complete_cv import complete_cv
from ._result import CompleteCV
from ._sampled_result import SampledCV

__all__ = [
    "CompleteCV",
    "SampledCV",
    "complete_cv",
]
