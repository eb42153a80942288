"""Numbers as the sections give and write them."""

from __future__ import annotations

import math


def finite(value: float) -> float | None:
    """The number, or None if it is infinite or no number."""
    return float(value) if math.isfinite(value) else None


def score_text(value: float, task: str) -> str:
    """A score in a sentence: accuracies as percentages, errors with four digits."""
    return f"{value:.1%}" if task == "classification" else rounded(value)


def counted(number: int, noun: str) -> str:
    """The number and the noun, which has an s at its end unless the number is 1."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def rounded(value: float, digits: int = 4) -> str:
    """So many significant digits; large numbers with separators of thousands, and not as powers of ten."""
    if 1e4 <= abs(value) < 1e15:
        return f"{float(f'{value:.{digits}g}'):,.0f}"
    return f"{value:.{digits}g}"
