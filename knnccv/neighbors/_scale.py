"""Data brought to a scale on which sums and squares neither overflow nor vanish."""

from __future__ import annotations

import numpy as np

from .._typing import Array

PIECE = 4096  # rows
# The largest and the smallest binary exponent at which sums of values, or of their squares, are safe.
SUMS = 900, -1000
SQUARES = 450, -450


def shifted(data: Array, name: str, limit: int, low: int) -> tuple[Array, int, int]:
    """The data divided by 2**shift, exactly; the shift, and the smallest exponent then.

    The largest value goes to the upper limit if it is beyond, or if the smallest is below `low`.

    Raises
    ------
    ValueError
        If small values would lose digits.
    """
    largest, smallest = _span(data)
    shift = largest - limit if largest > limit or smallest < low else 0
    scaled = np.ldexp(data, -shift) if shift else data
    if shift and (np.ldexp(scaled, shift) != data).any():
        raise ValueError(_too_wide(name, smallest, largest))
    return scaled, shift, smallest - shift


def safely_scaled(data: Array, name: str, limit: int, low: int) -> tuple[Array, int]:
    """As `shifted`, the smallest exponent no less than `low`.

    Raises
    ------
    ValueError
        If the data span more.
    """
    scaled, shift, smallest = shifted(data, name, limit, low)
    if smallest < low:
        raise ValueError(_too_wide(name, smallest + shift, _span(data)[0]))
    return scaled, shift


def _too_wide(name: str, smallest: int, largest: int) -> str:
    return f"X spans too many orders of magnitude for metric {name!r}: 2**{smallest} to 2**{largest}"


def _span(data: Array) -> tuple[int, int]:
    """The binary exponents of the largest and the smallest absolute value other than 0."""
    largest, smallest = 0.0, np.inf
    for start in range(0, len(data), PIECE):
        size = np.abs(data[start : start + PIECE])
        largest = max(largest, float(size.max()))
        smallest = min(smallest, float(size.min(where=size > 0, initial=np.inf)))
    return _exponent(largest), _exponent(min(smallest, largest))


def _exponent(largest: float) -> int:
    return int(np.frexp(largest)[1]) if largest > 0 else 0
