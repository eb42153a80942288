"""Numbers as the sections give and write them."""

from __future__ import annotations

import math


def finite(value: float) -> float | None:
    """The number, or None if it is infinite or no number."""
    return float(value) if math.isfinite(value) else None


def score_text(value: float, task: str) -> str:
    """A score in a sentence: accuracies as percentages, errors with four digits."""
    return f"{value:.1%}" if task == "classification" else f"{value:.4g}"


def counted(number: int, noun: str) -> str:
    """The number and the noun, which has an s at its end unless the number is 1."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
