"""Names and rules within one process: register, unregister, look up, and kernels that have no file."""
# ruff: noqa: ARG001 (a kernel has four arguments, used or not)

import gc
import linecache
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import entry_points

import numpy as np
import pytest
from odd_rules import problem, quarter, variant_class
from problems import BUILT_IN

import knnccv
from knnccv import KFold, Subsample, complete_cv, get_variant, register, unregister
from knnccv.kernel import Score, Tables, Variant, jit
from knnccv_variants.ranks import Rank


@pytest.fixture(autouse=True)
def same_names_afterwards():
    """Leave the registry as it was, and fail if a test could not."""
    before = knnccv.variant_names()
    yield
    for name in set(knnccv.variant_names()) - set(before):
        unregister(name)
    assert knnccv.variant_names() == before


def score(rule, **more):
    X, y = problem()
    return complete_cv(X, y, rule, Subsample(10), **more).score


def test_the_built_in_variants_come_by_entry_points():
    points = {point.name: point for point in entry_points(group="knnccv.variants")}
    assert set(BUILT_IN) <= set(points) <= set(knnccv.variant_names())
    for name in BUILT_IN:
        assert points[name].dist.name == "knnccv"
        assert type(get_variant(name)) is points[name].load()
        assert get_variant(name).name == name
        assert get_variant(name).tie_rules == ("index", "random")


def test_registered_and_forgotten():
    view = knnccv.registered_variants()
    assert "quarter" not in view
    for given in (variant_class(), variant_class()()):
        made = register(given)
        assert made is (given if isinstance(given, Variant) else get_variant("quarter"))
        assert register(made) is made  # twice
        assert get_variant("quarter") is view["quarter"] is get_variant(made) is made
        assert list(view) == knnccv.variant_names()
        assert "quarter" in knnccv.variant_names()
        assert score("quarter") == score("quarter", exact=True) == 0.25
        unregister("quarter")
        assert "quarter" not in knnccv.variant_names()
        assert score(made) == score(given) == 0.25  # rules need not be registered
        assert view.get("quarter") is None
    assert "quarter" not in knnccv.variant_names()


@pytest.mark.parametrize("loaded", [False, True])
def test_an_installed_name(loaded):
    """It comes back when it is unregistered; its own class may be registered by hand, no other one."""
    unregister("rank")
    if loaded:
        get_variant("rank")
    with pytest.raises(ValueError, match=r"'rank' is taken by .*knnccv_variants\.ranks.*Made") as caught:
        register(variant_class("rank"))
    assert "unregister" not in str(caught.value)  # the installed one would come back
    made = register(Rank)
    assert get_variant("rank") is made
    unregister("rank")
    assert get_variant("rank") is not made
    assert type(get_variant("rank")) is Rank


def test_forms_of_kernels():
    @jit
    def one(order, labels, target, constraints):
        return 1

    static = variant_class(fixed=staticmethod(quarter))
    younger = type("Younger", (variant_class(),), {"name": "younger"})
    assert score(register(variant_class(fixed=one))) == 1  # whole numbers are numbers
    assert score(static) == score(static, exact=True) == score(register(younger)) == 0.25


@jit
def sum_of_tables(order, labels, target, constraints):
    total = constraints.unit * 0
    total += constraints.integers[0] + constraints.numbers[1] + constraints.weights[0]
    return total + constraints.table[1, 0] * labels.classes[target]


def test_tables_reach_the_kernel_as_they_are():
    """Lists, tuples, strided and Fortran-ordered arrays, integers where floats are wanted."""

    def tables(self, task, **parameters):
        return Tables(
            integers=(parameters["shift"],),
            numbers=np.arange(8)[2::2],
            weights=[np.float32(0.5)],
            table=np.asfortranarray([[1, 2, 3], [0.25, 5, 6]]),
        )

    made = variant_class(
        fixed=sum_of_tables,
        tables=tables,
        parameters={"shift": 3},
        score=lambda *_, **__: Score("sum", high=99.0),
    )
    X, y = problem()
    expected = 3 + 4 + 0.5 + 0.25 * y
    np.testing.assert_array_equal(complete_cv(X, y, made, Subsample(9)).per_item, expected)
    np.testing.assert_array_equal(complete_cv(X, y, made, Subsample(9), shift=4).per_item, expected + 1)


def test_many_threads_register_and_look_up():
    """No lost registrations, no half-built views, one object per name; of a contested name there is one."""
    n_threads, n_rounds = 8, 25
    start = threading.Barrier(n_threads)

    def work(number):
        start.wait(timeout=60)
        seen = set()
        for i in range(n_rounds):
            name = f"thread-{number}-{i}"
            made = register(variant_class(name))
            assert get_variant(name) is made
            assert {"nn", name} <= set(knnccv.registered_variants())
            seen.add(id(get_variant("nn")))
            unregister(name)
            assert name not in knnccv.variant_names()
        start.wait(timeout=60)
        try:
            return seen, [register(variant_class("contested", __module__=f"module_{number}"))]
        except ValueError:
            return seen, []

    unregister("nn")
    with ThreadPoolExecutor(n_threads) as pool:
        seen, winners = zip(*pool.map(work, range(n_threads)), strict=True)
    assert len(set().union(*seen)) == 1
    assert [made for some in winners for made in some] == [get_variant("contested")]


SESSION = """
from knnccv.kernel import Variant, jit

@jit
def helper(own, other, unit):
    if own == other:
        return unit * 1
    return unit * 0

@jit
def kernel(order, labels, target, constraints):
    classes = labels.classes
    return helper(classes[target], classes[order.items[0]], constraints.unit)

class First(Variant):
    name = "first"
    fixed = kernel

    def n_nearest(self, **parameters):
        return 1
"""
ALL_BUT_ONE = Subsample(29)


@pytest.mark.parametrize("n_times", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_a_kernel_without_a_file_works(n_times):
    """Numba cannot cache what has no file; the kernel compiles all the same, and runs on Fractions.

    Also if it is written again, as in a notebook: the old one is gone, and must not haunt the driver.
    """
    for number in range(n_times):
        if number:
            scope = made = None
            unregister("first")
            gc.collect()
        scope = {"__name__": "typed_in"}
        exec(SESSION, scope)
        made = register(scope["First"])
        for exact in (False, True):
            found = complete_cv(*problem(), "first", ALL_BUT_ONE, exact=exact)
            assert found.score == complete_cv(*problem(), "nn", ALL_BUT_ONE, exact=exact).score
        assert get_variant("first") is made


def test_a_cell_that_is_run_again_replaces_its_variant_and_its_kernel(monkeypatch):
    """Other lines in one cell, as IPython runs it: a made-up file, whose source is in linecache."""
    found = []
    for number, body in enumerate(["return helper(classes[target]", "return 1 - helper(classes[target]"]):
        source = SESSION.replace("return helper(classes[target]", body)
        name = f"<cell {number}>"
        monkeypatch.setitem(linecache.cache, name, (len(source), None, source.splitlines(True), name))
        scope = {"__name__": "__main__"}
        exec(compile(source, name, "exec"), scope)
        made = register(scope["First"])
        assert get_variant("first") is made
        found.append(complete_cv(*problem(), "first", ALL_BUT_ONE).score)
    assert found[0] == complete_cv(*problem(), "nn", ALL_BUT_ONE).score
    assert found[1] == pytest.approx(1 - found[0], abs=1e-12)


def test_a_kernel_that_gives_no_number_certifies_nothing():
    @jit
    def undefined(order, labels, target, constraints):
        return constraints.unit * np.nan

    found = complete_cv([[0.0], [1.0], [2.0]], [0, 1, 1], variant_class(fixed=undefined), KFold(3))
    assert np.isnan(found.score)
    assert found.error_bound == np.inf
