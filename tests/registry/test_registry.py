"""Names and variants within one process: register, unregister, look up, and what is refused."""
# ruff: noqa: ARG001 (a kernel has four arguments, used or not)

import gc
import linecache
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import entry_points
from textwrap import dedent

import numba
import numpy as np
import pytest
from problems import BUILT_IN

import knnccv
from knnccv import KFold, StratifiedKFold, Subsample, complete_cv, variants
from knnccv.kernel import Tables, Variant, jit
from knnccv_variants.ranks import Rank

needs_compiler = pytest.mark.skipif(
    bool(getattr(numba.config, "DISABLE_JIT", False)), reason="nothing is compiled: NUMBA_DISABLE_JIT"
)


@pytest.fixture(autouse=True)
def same_names_afterwards():
    """Leave the registry as it was, and fail if a test could not."""
    before = knnccv.variant_names()
    yield
    for name in set(knnccv.variant_names()) - set(before):
        knnccv.unregister(name)
    assert knnccv.variant_names() == before


@jit
def quarter(order, labels, target, constraints):
    return constraints.unit / 4


@jit
def own_first(order, labels, target, constraints):
    """The nearest training sample under leave-one-out."""
    if labels.classes[order.items[0]] == labels.classes[target]:
        return constraints.unit * 1
    return constraints.unit * 0


def variant_class(called="quarter", **members):
    """A new subclass of Variant with these members."""

    def n_nearest(self, **parameters):
        return 1

    return type("Made", (Variant,), {"name": called, "fixed": quarter, "n_nearest": n_nearest, **members})


def problem(n_items=30, seed=1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_items, 2)), rng.integers(0, 3, n_items)


def test_the_built_in_variants_come_by_entry_points():
    points = {point.name: point for point in entry_points(group=variants.GROUP)}
    assert set(BUILT_IN) <= set(points)
    for name in BUILT_IN:
        assert points[name].dist.name == "knnccv"
        assert type(knnccv.get_variant(name)) is points[name].load()
        assert knnccv.get_variant(name).name == name
    assert set(points) <= set(knnccv.variant_names())


def test_the_package_names_no_variant_module():
    """The core reaches the built-in variants by their names only, as anybody's."""
    code = """
        import sys
        import knnccv
        knnccv.variant_names()
        assert not [name for name in sys.modules if name.startswith("knnccv_variants")]
        knnccv.get_variant("rank")
        loaded = {name for name in sys.modules if name.startswith("knnccv_variants.")}
        assert "knnccv_variants.ranks" in loaded
        for module in ("votes", "nearest", "confidence", "regression"):
            assert f"knnccv_variants.{module}" not in loaded, module
    """
    subprocess.run([sys.executable, "-W", "error", "-c", dedent(code)], check=True, timeout=120)


def test_register_makes_a_variant_known_by_its_name():
    made = knnccv.register(variant_class())
    assert isinstance(made, Variant)
    assert "quarter" in knnccv.variant_names()
    assert knnccv.get_variant("quarter") is made
    assert knnccv.registered_variants()["quarter"] is made
    X, y = problem()
    assert complete_cv(X, y, "quarter", Subsample(10)).score == 0.25
    assert complete_cv(X, y, "quarter", Subsample(10), exact=True).exact * 4 == 1


def test_register_takes_an_object_and_hands_it_back():
    made = variant_class()()
    assert knnccv.register(made) is made
    assert knnccv.get_variant("quarter") is made


def test_unregister_forgets():
    made = knnccv.register(variant_class())
    knnccv.unregister("quarter")
    assert "quarter" not in knnccv.variant_names()
    with pytest.raises(ValueError, match="there is no variant 'quarter'"):
        knnccv.get_variant("quarter")
    X, y = problem()
    assert complete_cv(X, y, made, Subsample(10)).score == 0.25
    assert knnccv.register(made) is made


def test_unregister_of_an_unknown_name_says_which_exist():
    with pytest.raises(KeyError, match=r"there is no variant 'rnak'; choose from: .*knn.*mean 'rank'"):
        knnccv.unregister("rnak")


def test_an_unregistered_entry_point_comes_back():
    knnccv.unregister("nn")
    assert "nn" in knnccv.variant_names()
    X, y = problem()
    assert 0 < complete_cv(X, y, "nn", Subsample(10)).score < 1


def test_a_variant_need_not_be_registered():
    X, y = problem()
    for given in (variant_class(), variant_class()()):
        assert complete_cv(X, y, given, Subsample(10)).score == 0.25
    assert "quarter" not in knnccv.variant_names()


def test_get_variant_hands_objects_back_and_makes_classes():
    made = variant_class()()
    assert knnccv.get_variant(made) is made
    kind = variant_class()
    assert type(knnccv.get_variant(kind)) is kind


@pytest.mark.parametrize(
    ("asked", "meant"),
    [("rnak", "rank"), ("kn", "knn"), ("knnn", "knn"), ("quartr", "quarter"), ("Rank", "rank")],
)
def test_an_unknown_name_is_answered_with_the_closest(asked, meant):
    knnccv.register(variant_class())
    with pytest.raises(ValueError, match=f"there is no variant '{asked}'") as caught:
        knnccv.get_variant(asked)
    message = str(caught.value)
    assert message.endswith(f"did you mean {meant!r}?")
    for name in knnccv.variant_names():
        assert name in message


def test_a_name_like_no_other_gets_no_hint():
    with pytest.raises(ValueError, match="there is no variant 'ÿÿÿÿ'") as caught:
        complete_cv(*problem(), "ÿÿÿÿ")
    assert "did you mean" not in str(caught.value)


def test_a_clash_of_two_registrations_names_both_sides():
    first = variant_class(__module__="one")
    first.__qualname__ = "First"
    second = variant_class(__module__="two")
    second.__qualname__ = "Second"
    made = knnccv.register(first)
    with pytest.raises(ValueError, match="'quarter'") as caught:
        knnccv.register(second)
    assert "one.First" in str(caught.value)
    assert "two.Second" in str(caught.value)
    assert knnccv.get_variant("quarter") is made


@pytest.mark.parametrize("loaded", [False, True])
def test_a_clash_with_an_installed_variant_names_both_sides(loaded):
    knnccv.unregister("rank")
    if loaded:
        knnccv.get_variant("rank")
    with pytest.raises(ValueError, match="the name 'rank' is taken by") as caught:
        knnccv.register(variant_class("rank"))
    message = str(caught.value)
    assert "knnccv_variants.ranks" in message
    assert "Rank" in message
    assert "Made" in message
    assert type(knnccv.get_variant("rank")).__name__ == "Rank"


def test_a_registered_name_can_be_freed_and_the_error_says_so():
    first, second = variant_class(), variant_class(__module__="two")
    knnccv.register(first)
    with pytest.raises(
        ValueError, match=r"needs another name, or call knnccv\.unregister\('quarter'\) before"
    ):
        knnccv.register(second)
    knnccv.unregister("quarter")
    assert type(knnccv.register(second)) is second
    with pytest.raises(ValueError, match="the name 'rank' is taken by") as caught:
        knnccv.register(variant_class("rank"))
    assert "unregister" not in str(caught.value)  # the installed one would come back


def test_the_same_object_may_be_registered_twice():
    made = knnccv.register(variant_class())
    assert knnccv.register(made) is made
    assert knnccv.get_variant("quarter") is made


@pytest.mark.parametrize("loaded", [False, True])
def test_an_installed_class_may_be_registered_by_hand(loaded):
    knnccv.unregister("rank")
    if loaded:
        knnccv.get_variant("rank")
    made = knnccv.register(Rank)
    assert knnccv.get_variant("rank") is made
    knnccv.unregister("rank")
    assert knnccv.get_variant("rank") is not made


def test_a_cell_that_is_run_again_replaces_its_variant_and_its_kernel(monkeypatch):
    """With other lines in the same cell, as IPython runs it; the answer is that of the new kernel."""
    X, y = problem()
    found = []
    for number, body in enumerate(["return helper(classes[target]", "return 1 - helper(classes[target]"]):
        source = SESSION.replace("return helper(classes[target]", body)
        name = f"<cell {number}>"
        monkeypatch.setitem(linecache.cache, name, (len(source), None, source.splitlines(True), name))
        scope = {"__name__": "__main__"}
        exec(compile(source, name, "exec"), scope)
        made = knnccv.register(scope["First"])
        assert knnccv.get_variant("first") is made
        found.append(complete_cv(X, y, "first", Subsample(len(y) - 1)))
    assert found[0].score == own_first_share(X, y)
    assert found[1].score == pytest.approx(1 - found[0].score, abs=1e-12)


def test_the_view_is_read_only():
    view = knnccv.registered_variants()
    assert list(view) == knnccv.variant_names()
    assert len(view) == len(knnccv.variant_names())
    assert "nn" in view
    assert "nonsense" not in view
    assert view["nn"] is knnccv.get_variant("nn")
    assert view.get("nonsense") is None
    assert repr(view).startswith("<knnccv variants: ")
    with pytest.raises(KeyError):
        view["nonsense"]
    with pytest.raises(TypeError):
        view["mine"] = variant_class()()
    with pytest.raises(TypeError):
        del view["nn"]
    for name in ("add", "discard", "clear", "pop", "update", "setdefault"):
        assert not hasattr(view, name)


def test_the_view_is_alive():
    view = knnccv.registered_variants()
    assert "quarter" not in view
    made = knnccv.register(variant_class())
    assert view["quarter"] is made


def three_arguments(order, labels, target):
    return 0.5


def tuple_result(order, labels, target, constraints):
    return (0.5, 0.5)


def text_result(order, labels, target, constraints):
    return "right"


def unknown_field(order, labels, target, constraints):
    return constraints.distance


def no_result(order, labels, target, constraints):
    pass


def refused(**members):
    """The message with which register refuses; nothing is left behind."""
    before = knnccv.variant_names()
    with pytest.raises(TypeError) as caught:
        knnccv.register(variant_class("misfit", **members))
    assert knnccv.variant_names() == before
    return str(caught.value)


@pytest.mark.parametrize("place", ["fixed", "stratified"])
def test_a_kernel_with_three_arguments_is_refused(place):
    message = refused(**{place: jit(three_arguments)})
    for part in ("'misfit'", "three_arguments", "must take 4 arguments", "got 3 (order, labels, target)"):
        assert part in message


@needs_compiler
@pytest.mark.parametrize("place", ["fixed", "stratified"])
@pytest.mark.parametrize("kernel", [tuple_result, text_result, unknown_field, no_result])
def test_a_kernel_that_does_not_fit_is_refused(place, kernel):
    message = refused(**{place: jit(kernel)})
    for part in ("'misfit'", kernel.__name__, "does not fit the signature", "float64"):
        assert part in message
    assert "\n" not in message


@needs_compiler
def test_the_reason_stands_in_the_message():
    assert "distance" in refused(fixed=jit(unknown_field))


@needs_compiler
@pytest.mark.parametrize("place", ["fixed", "stratified"])
def test_a_kernel_that_is_not_jitted_is_refused(place):
    def plain(order, labels, target, constraints):
        return 0.5

    message = refused(**{place: plain})
    for part in ("'misfit'", "knnccv.kernel.jit", "plain"):
        assert part in message


@pytest.mark.parametrize("kernel", [0.5, "kernel", object()])
def test_what_is_no_function_is_no_kernel(kernel):
    message = refused(fixed=kernel)
    assert "'misfit'" in message
    assert "knnccv.kernel.jit" in message


def test_whole_numbers_are_numbers():
    @jit
    def one(order, labels, target, constraints):
        return 1

    X, y = problem()
    assert complete_cv(X, y, knnccv.register(variant_class(fixed=one)), Subsample(9)).score == 1


def test_a_kernel_may_be_a_static_method():
    X, y = problem()
    made = variant_class(fixed=staticmethod(quarter))
    assert complete_cv(X, y, made, Subsample(9)).score == 0.25
    assert complete_cv(X, y, made, Subsample(9), exact=True).score == 0.25


def test_kernels_are_inherited():
    kind = type("Younger", (variant_class(),), {"name": "younger"})
    X, y = problem()
    assert complete_cv(X, y, knnccv.register(kind), Subsample(9)).score == 0.25


def test_a_subclass_without_n_nearest_is_incomplete():
    kind = type("Unfinished", (Variant,), {"name": "unfinished", "fixed": quarter})
    with pytest.raises(TypeError, match=r"Unfinished .*is incomplete: .*n_nearest"):
        knnccv.register(kind)


def test_a_class_that_wants_arguments_is_refused():
    def wants_more(self, depth):
        self.depth = depth

    message = refused(__init__=wants_more)
    assert "Made" in message
    assert "depth" in message


def test_without_a_kernel_there_is_no_variant():
    message = refused(fixed=None)
    assert "'misfit'" in message
    assert "neither a fixed nor a stratified kernel" in message


@pytest.mark.parametrize("name", ["", None, 3, b"quarter"])
def test_a_name_is_a_non_empty_string(name):
    before = knnccv.variant_names()
    with pytest.raises(TypeError, match="non-empty string as its name"):
        knnccv.register(variant_class(name))
    assert knnccv.variant_names() == before


def test_a_name_is_required():
    def n_nearest(self, **parameters):
        return 1

    kind = type("Nameless", (Variant,), {"fixed": quarter, "n_nearest": n_nearest})
    with pytest.raises(TypeError, match="Nameless"):
        knnccv.register(kind)


@pytest.mark.parametrize("thing", [None, 3, "nn", dict, quarter, object()])
def test_what_is_no_variant_cannot_be_registered(thing):
    with pytest.raises(TypeError, match=r"register\(\) expects a knnccv.kernel.Variant"):
        knnccv.register(thing)


@pytest.mark.parametrize("thing", [None, 3, dict, quarter])
def test_what_is_no_variant_cannot_be_asked_for(thing):
    with pytest.raises(TypeError, match=r"expects a knnccv.kernel.Variant"):
        complete_cv(*problem(), thing)


def test_after_a_refusal_the_name_is_free():
    refused(fixed=None)
    made = knnccv.register(variant_class("misfit"))
    assert knnccv.get_variant("misfit") is made


def test_an_unknown_parameter_is_answered_with_the_allowed():
    X, y = problem()
    with pytest.raises(TypeError) as caught:
        complete_cv(X, y, "knn", n_neighbours=3)
    allowed = "n_neighbors, loss, vote_ties; did you mean 'n_neighbors'?"
    assert str(caught.value) == f"variant 'knn' has no parameter 'n_neighbours'; it takes: {allowed}"
    with pytest.raises(TypeError) as caught:
        complete_cv(X, y, variant_class(), Subsample(9), loss=None)
    assert str(caught.value) == "variant 'quarter' has no parameter 'loss'; it takes: none"


def test_a_missing_kernel_is_named():
    X, y = problem()
    with pytest.raises(ValueError, match="variant 'quarter' has no kernel for stratified training sets"):
        complete_cv(X, y, variant_class(), 3)
    other = variant_class(fixed=None, stratified=quarter)
    with pytest.raises(ValueError, match="variant 'quarter' has no kernel for fixed-size training sets"):
        complete_cv(X, y, other, Subsample(9))


def test_a_rule_without_strata_asked_with_the_default_design_is_told_which_to_take():
    X, y = problem()
    for asked in ({}, {"cv": 3}, {"cv": np.int64(3)}):
        n_splits = asked.get("cv", 5)
        with pytest.raises(ValueError, match="variant 'quarter' has no kernel for stratified") as caught:
            complete_cv(X, y, variant_class(), **asked)
        message = str(caught.value)
        assert f"cv={n_splits} means stratified folds; take cv=KFold({n_splits})" in message
        assert "--no-stratify" in message
        assert complete_cv(X, y, variant_class(), KFold(n_splits)).score == 0.25
    with pytest.raises(ValueError, match="try Subsample, KFold or LeaveOut") as caught:
        complete_cv(X, y, variant_class(), StratifiedKFold(3))
    assert "cv=" not in str(caught.value)


def test_a_tie_rule_that_is_not_offered_is_refused():
    X, y = problem()
    with pytest.raises(ValueError, match="variant 'quarter' offers ties='index', got ties='random'"):
        complete_cv(X, y, variant_class(), Subsample(9), ties="random")


def test_the_default_of_ties_is_what_the_variant_offers():
    X, y = np.zeros((9, 1)), np.arange(9) % 2
    for offered, expected in [
        (("index",), "index"),
        (("random",), "random"),
        (("index", "random"), "random"),
        (("random", "index"), "random"),
    ]:
        made = variant_class(tie_rules=offered)
        for ties in (None, expected):
            assert complete_cv(X, y, made, Subsample(5), ties=ties).ties == expected
            assert knnccv.monte_carlo_cv(X, y, made, Subsample(5), ties=ties, n_repeats=2).ties == expected
    for name in BUILT_IN:
        assert knnccv.get_variant(name).tie_rules == ("index", "random")


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

    made = variant_class(fixed=sum_of_tables, tables=tables, parameters={"shift": 3})
    X, y = problem()
    expected = 3 + 4 + 0.5 + 0.25 * y
    np.testing.assert_array_equal(complete_cv(X, y, made, Subsample(9)).per_item, expected)
    np.testing.assert_array_equal(complete_cv(X, y, made, Subsample(9), shift=4).per_item, expected + 1)


def test_many_threads_register_and_look_up():
    """No lost registrations, no half-built views, one object per name."""
    n_threads, n_rounds = 8, 25
    start = threading.Barrier(n_threads)

    def work(number):
        start.wait(timeout=60)
        seen = set()
        for i in range(n_rounds):
            name = f"thread-{number}-{i}"
            made = knnccv.register(variant_class(name))
            assert knnccv.get_variant(name) is made
            assert name in knnccv.variant_names()
            assert {"nn", name} <= set(knnccv.registered_variants())
            seen.add(id(knnccv.get_variant("nn")))
            knnccv.unregister(name)
            assert name not in knnccv.variant_names()
        return seen

    knnccv.unregister("nn")
    with ThreadPoolExecutor(n_threads) as pool:
        seen = set().union(*pool.map(work, range(n_threads)))
    assert len(seen) == 1


def test_of_many_threads_one_gets_the_name():
    n_threads = 8
    start = threading.Barrier(n_threads)

    def work(number):
        start.wait(timeout=60)
        try:
            return knnccv.register(variant_class("contested", __module__=f"module_{number}"))
        except ValueError:
            return None

    with ThreadPoolExecutor(n_threads) as pool:
        winners = [made for made in pool.map(work, range(n_threads)) if made is not None]
    assert len(winners) == 1
    assert knnccv.get_variant("contested") is winners[0]


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


def test_a_kernel_without_a_file_works():
    """Numba cannot cache what has no file; the kernel compiles all the same, and runs on Fractions."""
    scope = {"__name__": "typed_in"}
    exec(SESSION, scope)
    made = knnccv.register(scope["First"])
    X, y = problem()
    for exact in (False, True):
        found = complete_cv(X, y, "first", Subsample(len(y) - 1), exact=exact)
        assert found.score == complete_cv(X, y, "nn", Subsample(len(y) - 1), exact=exact).score
    assert knnccv.get_variant("first") is made


@pytest.mark.slow
def test_a_kernel_may_be_written_again_and_again():
    """As in a notebook: the old kernels are gone, and must not haunt the driver's cache."""
    X, y = problem()
    for i in range(3):
        scope = {"__name__": "typed_in"}
        exec(SESSION.replace('"first"', f'"attempt {i}"'), scope)
        found = complete_cv(X, y, scope["First"], Subsample(len(y) - 1)).score
        assert found == own_first_share(X, y)
        del scope
        gc.collect()


def test_a_kernel_in_a_notebook_cell_works(monkeypatch):
    """As IPython does it: a made-up file name whose source stands in linecache."""
    name = "<cell 7>"
    monkeypatch.setitem(linecache.cache, name, (len(SESSION), None, SESSION.splitlines(True), name))
    scope = {"__name__": "__main__"}
    exec(compile(SESSION, name, "exec"), scope)
    knnccv.register(scope["First"])
    X, y = problem()
    assert complete_cv(X, y, "first", Subsample(len(y) - 1)).score == own_first_share(X, y)


def own_first_share(X, y):
    """Leave-one-out of the nearest neighbor, by a kernel with a file."""
    return complete_cv(X, y, variant_class("own_first", fixed=own_first), Subsample(len(y) - 1)).score


def test_a_kernel_typed_into_a_session_works():
    typed = SESSION.replace("\n    return 1\n", "\n    return 1\n\n") + dedent(
        """
        import numpy as np
        from knnccv import Subsample, complete_cv, register

        register(First)
        X, y = np.arange(12.0)[:, None] ** 1.5, [0, 0, 1, 1] * 3
        scores = [complete_cv(X, y, name, Subsample(11)).score for name in ("first", "nn")]
        assert scores[0] == scores[1]
        print("fine")
        """
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-"],
        input=typed,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout == "fine\n", done.stderr


def test_a_kernel_that_gives_no_number_certifies_nothing():
    @jit
    def undefined(order, labels, target, constraints):
        return constraints.unit * np.nan

    class Undefined(Variant):
        name = "undefined"
        fixed = undefined

        def n_nearest(self, **_):
            return 1

    found = complete_cv([[0.0], [1.0], [2.0]], [0, 1, 1], Undefined, Subsample(1))
    assert np.isnan(found.score)
    assert found.error_bound == np.inf
