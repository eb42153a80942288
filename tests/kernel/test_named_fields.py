"""Named fields of the constraints, compiled and unjitted, and the integers that are refused."""
# ruff: noqa: ARG001 (a kernel has four arguments, used or not)

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest

from knnccv import KFold, StratifiedKFold, Subsample, complete_cv, register
from knnccv.kernel import Tables, Task, Variant, as_python, constraints_for, jit, read_as
from knnccv.sampling import position_law, step_without_replacement
from knnccv.testing import check_variant
from knnccv_variants.votes import KNN


class Fields(NamedTuple):
    depth: int
    rule: int = 7


class Rates(NamedTuple):
    p_skip: float
    p_take: float


@jit
def depth_and_rule(array):
    fields = read_as(Fields, array)
    return fields.depth * 100 + fields.rule


@jit
def odds(array):
    p_skip, p_take = read_as(Rates, array)
    return p_take / p_skip


@pytest.mark.parametrize("dtype", [np.int64, object])
def test_fields_are_read_from_the_front(dtype):
    array = np.array([3, 4, 9], dtype=dtype)
    read = depth_and_rule if dtype is np.int64 else as_python(depth_and_rule)
    assert read(array) == 304
    assert read_as(Fields, array) == Fields(3, 4)


def test_numbers_are_read_as_floats_and_as_fractions():
    assert odds(np.array([0.25, 0.75, 5.0])) == 3
    exact = as_python(odds)(np.array([Fraction(1, 3), Fraction(2, 3)], dtype=object))
    assert exact == 2
    assert isinstance(exact, Fraction)


@pytest.mark.parametrize("array", [np.empty(0, np.int64), np.array([3])])
def test_a_short_array_is_refused_compiled_and_not(array):
    """Defaults of the class do not fill the gap: compiled code could not."""
    for read in (depth_and_rule, as_python(depth_and_rule)):
        with pytest.raises(IndexError, match="fewer entries than the class has fields"):
            read(array)


@pytest.mark.parametrize("number", [float, Fraction])
def test_the_constraints_have_the_rule_s_numbers_by_name(number):
    task = Task((4,), (9,), stratified=False, held_out=1, n_classes=3, number=number)
    tables = Tables(Fields(depth=5), numbers=(number(1),))
    found = constraints_for(task, tables, n_nearest=2, fields=Fields)
    assert (found.n_nearest, found.n_classes, found.held_out) == (2, 3, 1)
    assert found.integers.tolist() == [5, 7]
    assert isinstance(found.unit, number)
    assert constraints_for(task, tables, n_nearest=30).n_nearest == 4, "no more than the training set has"
    assert constraints_for(task, Tables()).n_nearest == 0


@pytest.mark.parametrize(
    ("integers", "got"),
    [((), "got 0 numbers"), ([1, 2, 3], "got 3 numbers"), (Rates(0, 1), "got Rates")],
)
def test_integers_that_do_not_fit_the_fields_are_refused(integers, got):
    task = Task((4,), (9,), stratified=False, held_out=1, n_classes=3)
    with pytest.raises(TypeError, match=rf"must be Fields\(depth, rule\), 2 numbers, .*{got}"):
        constraints_for(task, Tables(integers), fields=Fields)
    assert constraints_for(task, Tables([1, 2]), fields=Fields).integers.tolist() == [1, 2]


def variant_class(fields, **members):
    def n_nearest(self, **parameters):
        return 1

    return type("Made", (Variant,), {"name": "made", "fields": fields, "n_nearest": n_nearest, **members})


@jit
def always_right(order, labels, target, constraints):
    return constraints.unit


@pytest.mark.parametrize("fields", [3, int, ("depth", "rule")])
def test_fields_must_be_a_class_of_names(fields):
    with pytest.raises(
        TypeError, match=r"the fields of variant 'made' of .* must be a NamedTuple class or None"
    ):
        register(variant_class(fields, fixed=always_right))


def test_a_variant_whose_tables_forget_a_field_is_told_which():
    def tables(self, task, **parameters):
        return Tables(integers=(1,))

    made = variant_class(Fields, fixed=always_right, tables=tables)
    X, y = np.arange(6.0)[:, None], [0, 1, 0, 1, 0, 1]
    for refused in (
        lambda: complete_cv(X, y, made, Subsample(3)),
        lambda: check_variant(made, lambda *_: 1, n_cases=1),
    ):
        with pytest.raises(TypeError, match=r"must be Fields\(depth, rule\), 2 numbers, .*got 1 numbers"):
            refused()


# Variants from before there were names


@jit
def kth_by_position(order, labels, target, constraints):
    """P(the K-th nearest has the class), with K and the number of classes at positions of `integers`."""
    k, n_classes = constraints.integers[0], constraints.integers[1]
    n_train = constraints.n_train[0]
    left = constraints.counts[0] - constraints.held_out
    chosen = np.full(k, constraints.unit * 0)
    chosen[0] = constraints.unit
    score = constraints.unit * 0
    for item in order.items:
        if labels.classes[item] == labels.classes[target] < n_classes:
            score += chosen[k - 1] * (n_train - k + 1) / left
        step_without_replacement(chosen, 0, n_train, left)
        left -= 1
    return score


class ByPosition(Variant):
    name = "by_position"
    parameters = {"n_neighbors": 2}  # noqa: RUF012
    fixed = kth_by_position

    def n_nearest(self, **parameters):
        return parameters["n_neighbors"]

    def check(self, task, **parameters):
        if parameters["n_neighbors"] > task.train_size:
            raise ValueError

    def tables(self, task, **parameters):
        return Tables(integers=(parameters["n_neighbors"], task.n_classes), numbers=[1.0])


def test_a_variant_that_reads_positions_still_works():
    settings = [{"n_neighbors": k} for k in (1, 2, 3)]
    assert check_variant(
        ByPosition,
        lambda near, own, n_neighbors: int(near[n_neighbors - 1] == own),
        parameters=settings,
        n_cases=8,
    )


@pytest.mark.parametrize("design", [KFold(3), StratifiedKFold(3)])
def test_a_subclass_of_a_built_in_variant_with_tables_of_before_is_told_what_to_change(design):
    class Former(KNN):
        name = "former"

        def tables(self, task, **_):
            law = position_law(task.n_available, task.train_size, 1, task.number)
            return Tables(integers=(5, 0, 0, task.n_classes, 0, 0), weights=law)

    rng = np.random.default_rng(0)
    with pytest.raises(
        TypeError, match=r"must be VoteFields\(n_tie_nodes, .*got 6 numbers \(fields = None"
    ):
        complete_cv(rng.normal(size=(30, 2)), np.arange(30) % 3, Former, design)
