"""Checks of arguments; every message names the value and the allowed ones."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from ._work import Array


def check_choice(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    """Raise ValueError if `value` is not one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        msg = f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}"
        raise ValueError(msg)


def check_integer(name: str, value: Any, least: int) -> int:
    """Return the value as a Python integer; TypeError or ValueError unless it is at least `least`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral):
        msg = f"{name} must be an integer, got {value!r}"
        raise TypeError(msg)
    if value < least:
        msg = f"{name} must be at least {least}, got {value}"
        raise ValueError(msg)
    return int(value)


def check_real(name: str, value: Any) -> float:
    """Return the value as a Python float; TypeError unless it is a real number."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        msg = f"{name} must be a real number, got {value!r}"
        raise TypeError(msg)
    return float(value)


def check_level(confidence_level: Any) -> float:
    """Return the level; ValueError or TypeError unless it is a number in (0, 1)."""
    level = check_real("confidence_level", confidence_level)
    if not 0 < level < 1:
        percent = f"; for {level:g} % give {level / 100:g}" if 1 < level < 100 else ""
        msg = f"confidence_level must be in (0, 1), got {confidence_level!r}{percent}"
        raise ValueError(msg)
    return level


def check_random_state(random_state: Any) -> np.random.Generator:
    """Return the generator for a seed, or the given generator."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    if isinstance(random_state, (bool, np.bool_)) or not isinstance(random_state, Integral):
        msg = f"random_state must be None, an integer or a numpy Generator, got {random_state!r}"
        raise TypeError(msg)
    return np.random.default_rng(check_integer("random_state", random_state, 0))


def as_reals(name: str, values: Any) -> Array:
    """Return the values as float64; TypeError or ValueError unless they are finite real numbers."""
    data = np.asarray(values)
    if data.dtype.kind not in "biuf":
        msg = f"{name} must be real numbers, got dtype {data.dtype}"
        raise TypeError(msg)
    data = data.astype(float)
    wrong = np.argwhere(~np.isfinite(data))
    if len(wrong):
        at = tuple(wrong[0].tolist())
        msg = f"{name}[{', '.join(map(str, at))}] is {data[at]}; every value must be finite"
        raise ValueError(msg)
    return data


def as_codes(name: str, values: Any, n_items: int, of: str) -> Array:
    """Return labels as codes from 0 in their sorted order, int64 (n_items,).

    Raises
    ------
    ValueError
        If their number is wrong, or one is missing: None, NaN, NaT, pandas.NA, or masked.
    """
    labels = np.asarray(values)
    if np.ma.is_masked(values):
        msg = f"{name} holds masked entries; every sample needs a label"
        raise ValueError(msg)
    if labels.shape != (n_items,):
        msg = f"{name} must have one label for each of the {n_items} {of}, got shape {labels.shape}"
        raise ValueError(msg)
    # NumPy turns the missing values of a list of text into text.
    for at, label in enumerate(values if isinstance(values, (list, tuple)) else labels):
        # NaN and NaT are unequal to themselves; pandas.NA is neither equal nor unequal.
        if label is None or type(label).__name__ == "NAType" or label != label:
            msg = f"{name}[{at}] is missing ({label!r}); every sample needs a label"
            raise ValueError(msg)
    return np.unique(labels, return_inverse=True)[1]
