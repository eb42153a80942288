"""Scaling of data by powers of two, so that sums and squares neither overflow nor vanish."""

from __future__ import annotations

import numpy as np

from .._typing import Array

PIECE = 4096  # rows
# Largest and smallest binary exponents for which sums of values, or of their squares, are safe.
SUMS = 900, -1000
SQUARES = 450, -450


def shifted(data: Array, name: str, limit: int, low: int) -> tuple[Array, int, int]:
    """The data divided by 2**shift, exactly; the shift; the smallest exponent afterwards.

    The data are scaled if the largest exponent is above `limit` or the smallest below `low`. The largest
    exponent is then `limit`.

    Raises
    ------
    ValueError
        If small values would lose digits.
    """
    largest, smallest = span(data)
    shift = largest - limit if largest > limit or smallest < low else 0
    scaled = np.ldexp(data, -shift) if shift else data
    if shift and (np.ldexp(scaled, shift) != data).any():
        raise ValueError(_too_wide(name, smallest, largest))
    return scaled, shift, smallest - shift


def safely_scaled(data: Array, name: str, limit: int, low: int) -> tuple[Array, int]:
    """The data and the shift from `shifted`, with all exponents at least `low`.

    Raises
    ------
    ValueError
        If the data span more orders of magnitude.
    """
    scaled, shift, smallest = shifted(data, name, limit, low)
    if smallest < low:
        raise ValueError(_too_wide(name, smallest + shift, span(data)[0]))
    return scaled, shift


def _too_wide(name: str, smallest: int, largest: int) -> str:
    return f"X spans too many orders of magnitude for metric {name!r}: 2**{smallest} to 2**{largest}"


def span(data: Array) -> tuple[int, int]:
    """Binary exponents of the largest and the smallest nonzero absolute value."""
    largest, smallest = 0.0, np.inf
    for start in range(0, len(data), PIECE):
        size = np.abs(data[start : start + PIECE])
        largest = max(largest, float(size.max()))
        smallest = min(smallest, float(size.min(where=size > 0, initial=np.inf)))
    return _exponent(largest), _exponent(min(smallest, largest))


def _exponent(largest: float) -> int:
    return int(np.frexp(largest)[1]) if largest > 0 else 0
