"""Checks of arguments that several modules share; every message says the value and what is allowed."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np


def check_integer(name: str, value: Any, least: int, most: int | None = None, limit: str = "") -> int:
    """The value as a Python integer; `limit` says in words what `most` is.

    Raises
    ------
    TypeError
        If it is no integer; booleans are none.
    ValueError
        If it is below `least` or above `most`.
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral):
        msg = f"{name} must be an integer, got {value!r}"
        raise TypeError(msg)
    number = int(value)
    if most is not None and not least <= number <= most:
        msg = f"{name} must be between {least} and {most}{limit and f', {limit}'}, got {number}"
        raise ValueError(msg)
    if number < least:
        msg = f"{name} must be at least {least}, got {number}"
        raise ValueError(msg)
    return number


def check_real(name: str, value: Any) -> float:
    """The value as a Python float.

    Raises
    ------
    TypeError
        If it is no real number; booleans are none.
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        msg = f"{name} must be a real number, got {value!r}"
        raise TypeError(msg)
    return float(value)
