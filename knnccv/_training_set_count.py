"""Numbers of training sets: exact integers, with a short form for long ones."""

from __future__ import annotations

import math
from decimal import Decimal

SHORT = 10**15
"""Counts below are shown with all their digits."""


class TrainingSetCount(int):
    """A number of training sets: an exact integer with a short form.

    Python refuses to print integers of more than 4300 digits. This one is shown as ``3.2e+6018`` if it has
    more than 15 digits. Arithmetic gives plain integers. ``f"{n:d}"`` and ``f"{n:,}"`` have all digits, and
    the formats "e", "f", "g" and "n" work for any length. ``"%d" % n``, ``"%g" % n``, ``json.dumps`` and
    ``float`` use the plain integer and raise if it is too long; use `log10_n_train_sets` there.

    Examples
    --------
    >>> n = TrainingSetCount(2**20000)
    >>> n
    4.0e+6020
    >>> f"{n:.3e}", len(f"{n:d}"), n % 10
    ('3.980e+6020', 6021, 6)
    """

    def __repr__(self) -> str:
        return int.__repr__(self) if abs(self) < SHORT else magnitude(int(self))

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        try:
            return int.__format__(self, spec)
        except (OverflowError, ValueError):
            if self.bit_length() < 1000:  # the length is not the reason
                raise
        return _format_long(int(self), spec)


def _format_long(number: int, spec: str) -> str:
    """The text that `format` would return if it accepted long integers."""
    kind = spec[-1] if spec[-1].isalpha() else ""
    rest = spec.removesuffix(kind) if kind else spec
    if kind in ("", "d", "n"):
        if not kind and "," not in rest and "_" not in rest:
            return format(magnitude(number), rest)
        # Decimals have no underscores.
        shown = format(Decimal(number), rest.replace("_", ",") + "f")
        return shown.replace(",", "_") if "_" in rest else shown
    if "." not in rest:
        rest += ".6"
    shown = format(Decimal(number), rest + kind)
    if kind in "gG" and "#" not in rest:  # floats leave trailing zeros out here, decimals do not
        lead, mark, exponent = shown.partition("e" if kind == "g" else "E")
        if "." in lead and mark:
            lead = lead.rstrip("0").rstrip(".")
        shown = lead + mark + exponent
    return shown


def magnitude(number: int) -> str:
    """Return a count as text: all digits if it is short, otherwise as a power of ten.

    Examples
    --------
    >>> magnitude(120)
    '120'
    >>> magnitude(10**40)
    '1.0e+40'
    """
    if number < 10**6:
        return int.__repr__(number)
    digits = n_digits(number)
    lead = (number // 10 ** (digits - 3) + 5) // 10
    if lead == 100:
        lead, digits = 10, digits + 1
    return f"{lead // 10}.{lead % 10}e+{digits - 1}"


def magnitude_of_log10(log: float) -> str:
    """Return a large count as text, from its decimal logarithm.

    Examples
    --------
    >>> magnitude_of_log10(40.0), magnitude_of_log10(6018.999)
    ('1.0e+40', '1.0e+6019')
    """
    exponent = math.floor(log)
    lead = math.floor(10 ** (log - exponent) * 10 + 0.5)
    if lead == 100:
        lead, exponent = 10, exponent + 1
    return f"{lead // 10}.{lead % 10}e+{exponent}"


def n_digits(number: int) -> int:
    """Return the number of decimal digits of a positive integer of any length."""
    guess = int(number.bit_length() * 0.30102999566398120) - 1
    digits = max(guess, 0)
    power = 10**digits
    while power <= number:
        power *= 10
        digits += 1
    return digits
