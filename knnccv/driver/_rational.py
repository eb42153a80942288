"""Rational numbers: inputs for unjitted kernels, and checks of their scores."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np

from .._typing import Array
from ..kernel import Constraints, Labels
from ._problem import ScoringProblem


def exact_labels(problem: ScoringProblem) -> Labels:
    """Classes as Python integers and targets as Fractions, as the kernel reads them in exact mode."""
    values = np.empty(problem.values.shape, dtype=object)
    for at in np.ndindex(values.shape):
        values[at] = Fraction(float(problem.values[at]))
    return Labels(as_objects(problem.labels.codes), values)


def rational(score: Any, problem: ScoringProblem, constraints: tuple[Constraints, ...]) -> Fraction:
    """The kernel's score as a Fraction; otherwise TypeError, which names tables() or the kernel."""
    if isinstance(score, (int, Fraction)):
        return Fraction(score)
    name = problem.variant.name
    found = _not_rational(constraints)
    if found:
        msg = (
            f"tables() of variant {name!r} does not keep to rational numbers: in exact mode it gave "
            f"{found} and the kernel returned {score!r}; tables() must make its numbers with task.number"
        )
    else:
        msg = (
            f"the kernel of variant {name!r} does not keep to rational numbers: it returned {score!r} in "
            "exact mode; products must start from constraints.unit"
        )
    raise TypeError(msg)


def _not_rational(constraints: tuple[Constraints, ...]) -> str:
    """The first entry of the tables that is neither integer nor Fraction, with its place, or ""."""
    for each, part in itertools.product(constraints, ("numbers", "weights", "table")):
        values: Array = getattr(each, part)
        for at in np.ndindex(values.shape):
            if not isinstance(values[at], (int, Fraction, np.integer)):
                return f"{part}[{', '.join(map(str, at))}] = {values[at]!r}"
    return ""


def as_objects(values: Array) -> Array:
    """An array of Python integers; with NumPy's integers Fractions would not stay exact."""
    out = np.empty(len(values), dtype=object)
    out[:] = [int(value) for value in values]
    return out
