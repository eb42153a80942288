"""Numbers as the sections give and write them."""

from __future__ import annotations

import math

from .._formatting import rounded_up


def finite(value: float) -> float | None:
    """The number, or None if it is infinite or no number."""
    return float(value) if math.isfinite(value) else None


def score_text(value: float, task: str) -> str:
    """A score in a sentence: accuracies as percentages, errors with four digits."""
    return percentage(value) if task == "classification" else rounded(value)


def interval_text(low: float, high: float, task: str) -> str:
    """The ends of an interval."""
    return f"{score_text(low, task)} to {score_text(high, task)}"


def percentage(share: float) -> str:
    """A share in percent, with one decimal; with up to four where it would read as 0 or 100 and is not."""
    for decimals in (1, 2, 3, 4):
        text = f"{share:.{decimals}%}"
        if share in (0, 1) or float(text[:-1]) not in (0, 100):
            return text
    return f"{share:.1%}"


def at_most(bound: float) -> str:
    """Two significant digits of a bound of an error, rounded up, so that the bound stays true."""
    return f"{rounded_up(bound):.2g}".replace("e-0", "e-")


def counted(number: int, noun: str) -> str:
    """The number and the noun, which has an s at its end unless the number is 1."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def rounded(value: float, digits: int = 4) -> str:
    """So many significant digits; large numbers with separators of thousands, and not as powers of ten."""
    if 1e4 <= abs(value) < 1e15:
        return f"{float(f'{value:.{digits}g}'):,.0f}"
    return f"{value:.{digits}g}"
