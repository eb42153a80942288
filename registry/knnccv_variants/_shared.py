# mypy: allow-untyped-defs
"""What several rules share: losses, K nearest neighbors, and the fields that their kernels read."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from knnccv._base.typing import Array
from knnccv._base.validation import as_reals, check, check_choice, check_integer
from knnccv.kernel import Task, Variant, inner, read_as

LARGEST = 1e300  # so that no sum of losses overflows
NO_TABLE = -1


class VoteFields(NamedTuple):
    """The fields of `KNN`.

    A table of all votes between two classes serves lists up to `table_depth`; with NO_TABLE,
    ``constraints.table`` are the losses. Counting serves lists up to `counted_depth`.
    If `contested_depth` > 0, ``constraints.table`` is a `contested_table` for that depth.
    """

    n_tie_nodes: int  # 0: a tied vote goes to the smallest label
    table_depth: int = NO_TABLE
    counted_depth: int = 0
    contested_depth: int = 0


class RemovalNumbers(NamedTuple):
    """The numbers that the kernels of strata read."""

    removed: float  # the class of the samples that are left out in turn


@inner
def losses_of(constraints):
    """The losses of a vote; none where ``constraints.table`` is another table."""
    fields = read_as(VoteFields, constraints.integers)
    if fields.table_depth != NO_TABLE or fields.contested_depth > 0:
        return constraints.table[:0]
    return constraints.table


@inner
def score_of(losses, own_class, predicted, unit):
    """The loss of predicting `predicted` for class `own_class`; without losses, 1 for the same class."""
    if len(losses) == 0:
        if own_class == predicted:
            return unit * 1
        return unit * 0
    return losses[own_class, predicted] * unit


@inner
def add_without_each(kinds, terms, moved, out):
    """Add the terms of all other tied groups to ``out[i]``, the term of its own group without position i.

    A score is the sum of the `terms` (n_listed,), which is returned: each at the last position of its
    group. At the first position of its group ``moved`` (n_listed, n_kinds) has what the term is without a
    nearer sample of each kind; ``kinds`` (n_listed,) are those of the samples.
    """
    after = np.zeros(moved.shape[1])
    for i in range(len(terms) - 1, -1, -1):
        out[i] += after[kinds[i]]
        for kind in range(len(after)):
            after[kind] += moved[i, kind]
    before = 0.0
    for i in range(len(terms)):
        out[i] += before
        before += terms[i]
    return before


def check_loss(loss: Any, n_classes: int) -> None:
    """Check that `loss` is None or a finite (n_classes, n_classes) matrix.

    Raises
    ------
    ValueError
        If the shape or a value is wrong.
    TypeError
        If it contains a value that is not a real number.
    """
    if loss is None:
        return
    must = "loss must be None or a matrix of real numbers"
    matrix = as_reals("loss", loss, must)
    msg = (
        f"loss must have shape ({n_classes}, {n_classes}) for {n_classes} classes (rows true, "
        f"columns predicted, in sorted label order), got shape {matrix.shape}"
    )
    check(matrix.shape == (n_classes, n_classes), msg)
    most = np.abs(matrix).max()
    check(most <= LARGEST, f"loss must not exceed {LARGEST:g} in absolute value, got {most:g}")


def loss_table(loss: Any, number: type) -> Array:
    """The matrix as floats or as Fractions; empty for the 0/1 match."""
    if loss is None:
        return np.empty((0, 0), dtype=object if number is Fraction else float)
    matrix = np.asarray(loss)
    if number is not Fraction:
        return matrix.astype(float)
    table = np.empty(matrix.shape, dtype=object)
    for at in np.ndindex(matrix.shape):
        table[at] = _rational(matrix[at])
    return table


def _rational(value: Any) -> Fraction:
    if isinstance(value, (Fraction, int)):
        return Fraction(value)
    if isinstance(value, (np.integer, np.bool_)):
        return Fraction(int(value))
    return Fraction(*value.as_integer_ratio())


class NearestVariant(Variant):
    """A rule of the K nearest training samples, of one without `n_neighbors`; with or without a loss."""

    tie_rules = ("index", "random")

    def n_nearest(self, **parameters: Any) -> int:
        """K."""
        return int(parameters.get("n_neighbors", 1))

    def check(self, task: Task, **parameters: Any) -> None:
        """Refuse K larger than a training set, a loss that does not fit the classes, and unknown ways."""
        if "n_neighbors" in parameters:
            limit = "the size of the training set"
            check_integer("n_neighbors", parameters["n_neighbors"], 1, task.train_size, limit)
        check_loss(parameters.get("loss"), task.n_classes)
        if "vote_ties" in parameters:
            check_choice("vote_ties", parameters["vote_ties"], ("smallest", "random"))
