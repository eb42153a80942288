"""Source that is interpreted in place of compiling: the same bits, given up in time, counted in all."""

import gc
import importlib.util
import os
import runpy
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core import event
from seeds import FIRST

from knnccv import KFold, complete_cv
from knnccv.kernel import _tier, jit
from knnccv_variants.nearest import NN

pytestmark = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="nothing is compiled: NUMBA_DISABLE_JIT"
)
ROOT = Path(__file__).parents[2]
PATHS = os.pathsep.join(str(ROOT / "tests" / name) for name in ("reference", "helpers"))
INVARIANCES = str(ROOT / "tests" / "test_invariances.py")
DIGESTS = """
import hashlib, runpy, sys, warnings
warnings.simplefilter("error", RuntimeWarning)
from knnccv.kernel import _tier
found = runpy.run_path(sys.argv[1])
for name in sys.argv[3:] or found["ENTRIES"]:
    _tier.share = float(sys.argv[2])
    print(name, hashlib.sha256(b"".join(found["bits"](found["ask"](name)))).hexdigest())
"""
FAST = (
    "complete_cv rank KFold(n_splits=4) random",
    "complete_cv regression KFold(n_splits=4) random",
    "complete_cv nn LeaveGroupsOut(11 groups, p=2) index",
    "surface nn",
    "monte_carlo_cv",
)


def digests(folder, share, *names):
    """A digest of the numbers of every entry point, in a process with this folder of compiled code."""
    given = {**os.environ, "KNNCCV_TIER": "", "PYTHONPATH": PATHS}
    given |= {"NUMBA_CACHE_DIR": str(folder), "NUMBA_OPT": "1"} if folder else {}  # which compiles faster
    command = [sys.executable, "-c", DIGESTS, INVARIANCES, str(share), *names]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=given).stdout


@pytest.mark.slow
def test_some_answers_have_the_same_bits(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["", INVARIANCES, "0", *FAST])
    exec(DIGESTS, {})
    assert digests(tmp_path, 1e3, *FAST) == capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(("share", "step"), [(2e-4, 3), (1e-5, 6)])
def test_all_answers_have_the_same_bits(tmp_path, share, step):
    """Others every day: all of them take minutes."""
    names = list(runpy.run_path(INVARIANCES)["ENTRIES"])[FIRST % step :: step]
    assert digests(tmp_path, share, *names) == digests(None, 0, *names)


@pytest.fixture
def tier(monkeypatch, tmp_path):
    """Interpret, with an empty cache folder."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(_tier, "share", _tier.TIERS[""])
    monkeypatch.setattr(_tier, "OURS", (*_tier.OURS, __name__.split(".")[0]))
    return monkeypatch


def add_up():
    """A new function that nothing has compiled; some steps of it take a second, not compiled."""

    @jit
    def function(numbers, out):
        for i in range(len(out)):
            out[i] += 1
            for j in range(len(numbers)):
                out[i] += numbers[j] % 3
        return len(out)

    return function


@pytest.mark.usefixtures("tier")
def test_a_long_call_is_given_up_and_begins_again():
    function, out = add_up(), np.zeros(9000, np.int64)
    started = time.process_time()
    assert function(np.arange(10_000), out) == 9000  # half a minute, not compiled
    assert time.process_time() - started < 5
    assert function.signatures
    np.testing.assert_array_equal(out, 10_000)


@pytest.mark.usefixtures("tier")
def test_short_calls_are_counted_over_processes(tmp_path):
    numbers = np.arange(1000)
    functions = [add_up() for _ in range(400)]  # which differ in nothing
    for function in functions:
        out = np.zeros(8, np.int64)
        assert function(numbers, out) == 8
        assert out[0] == 1000
        if function.signatures:
            break
    assert not functions[1].signatures
    assert function.signatures
    assert list(tmp_path.glob("*.seconds"))
    latest = add_up()
    latest(numbers, out)
    assert latest.signatures, "a version on disk comes first"


def test_a_folder_that_nobody_can_write_to(tier):
    tier.setattr(numba.config, "CACHE_DIR", os.devnull)
    out = np.zeros(8, np.int64)
    assert add_up()(np.arange(1000), out) == 8


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("was_on", [True, False])
def test_the_garbage_collector_waits_while_something_compiles(was_on):
    seen = []
    listener = event.RecordingListener()
    listener.on_start = lambda _: seen.append(gc.isenabled())
    with event.install_listener("numba:compile", listener):
        (gc.enable if was_on else gc.disable)()
        try:
            add_up()(np.arange(10, dtype=np.float32), np.zeros(9, np.float32))
            assert gc.isenabled() == was_on
        finally:
            gc.enable()
    assert seen
    assert not any(seen)


@jit
def odd(a, b, items):
    return a // b, (a + b) / items[0], items[1] * items[1]


@pytest.mark.usefixtures("tier")
def test_compiled_code_decides_what_is_odd():
    """Division by zero, and integers that leave their range."""
    items = np.array([4, 2**20], np.int32)
    assert odd(7, 2, items) == (3, 2.25, 2**40)
    assert [type(one) for one in odd(7, 2, items)] == [int, float, int]
    assert not odd.signatures
    with pytest.raises(ZeroDivisionError):
        odd(7, 0, items)


def made(source):
    """A function of this source."""
    scope = {"np": np, "__name__": __name__}
    exec(f"def function(x, y):\n    {source}", scope)
    return jit(scope["function"])


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("expression", ["x ** 3", "np.exp(x)", "y.sum()", "(x < 1) + (x < 2)"])
def test_what_has_other_bits_is_compiled_at_once(expression):
    function = made(f"return {expression}")
    function(0.5, np.ones(9))
    assert function.signatures


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize(
    "source",
    [
        "a, b = y[0] < 2, y[1] < 2; return a + b",
        "a = y[0] < 2; a += y[1] < 2; return a",
        "a = np.isnan(y[0] - y[0]); b = a = not a; return y[0] < 2 and a + b",
        "found = np.ones(2, np.bool_); a = found[0]; b = found[1]; return b + a",
    ],
)
def test_truth_values_are_added_as_numbers(source):
    assert made(source)(0.5, np.ones(9)) == 2


@pytest.mark.usefixtures("tier")
def test_single_precision_and_large_arrays_are_compiled_at_once():
    for numbers in (np.ones(5, np.float32), np.zeros(_tier.MOST_ENTRIES, np.int64)):
        function = add_up()
        function(numbers, np.zeros(1, np.int64))
        assert function.signatures


@jit
def nearest_is_right(order, labels, target, constraints):  # noqa: ARG001
    return 1.0 if labels.classes[order.items[0]] == labels.classes[target] else 0.0


class Plugin(NN):
    name = "plugin"
    fixed = staticmethod(nearest_is_right)


def test_plugins_and_threads(tier):
    """Two threads ask a rule which nobody has compiled; later the compiled driver calls it."""
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    found = []

    def score():
        found.append(complete_cv(X, y, Plugin, KFold(60), n_jobs=2).score)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: score(), range(2)))
    assert not nearest_is_right.signatures
    tier.setattr(_tier, "share", 0.0)
    score()
    assert nearest_is_right.signatures
    assert len(set(found)) == 1


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("share", [1e3, 5e-4])
def test_threads_may_write_to_places_of_one_array(monkeypatch, share):
    """Also if one is given up and begins again, compiled, when others are done."""

    @jit
    def function(out, numbers, first, last, n_times):
        for _ in range(n_times):
            for i in range(first, last):
                out[i] = i
                numbers[i] = i

    monkeypatch.setattr(_tier, "share", share)
    out, numbers = np.full(4000, -1, np.int32), np.full(4000, np.nan)
    n_times = {0: 1000} if share < 1 else {}
    with ThreadPoolExecutor(4) as pool:
        for at in range(0, 4000, 1000):
            pool.submit(function, out, numbers, at, at + 1000, n_times.get(at, 1))
    np.testing.assert_array_equal(out, np.arange(4000))
    np.testing.assert_array_equal(numbers, np.arange(4000))
    assert bool(function.signatures) == (share < 1)


@pytest.mark.usefixtures("tier")
def test_arrays_that_overlap_are_not_copied():
    function = jit(lambda one, other: one.fill(3.0))  # noqa: ARG005
    numbers = np.zeros(6)
    function(numbers[:4], numbers[2:])
    assert function.signatures
    assert numbers.tolist() == [3.0] * 4 + [0.0] * 2


def test_the_rules_of_others_are_compiled_at_once(tier):
    """Nobody has compared their bits in both tiers."""
    tier.setattr(_tier, "OURS", ("knnccv", "knnccv_variants"))
    function = jit(lambda numbers: (numbers[0] > 0) * (numbers[1] > 0))
    assert function(np.ones(2)) == 1
    assert function.signatures


INTERRUPTED = """
import _thread, threading, time
import numpy as np
from knnccv.kernel import jit, _tier
_tier.share = 1e3
_tier.OURS = ("__main__",)
@jit
def endless(out):
    while True:
        out[0] += 1
threading.Timer(0.2, _thread.interrupt_main).start()
started = time.perf_counter()
try:
    endless(np.zeros(1, np.int64))
except KeyboardInterrupt:
    print(time.perf_counter() - started)
"""


def test_ctrl_c(tmp_path):
    given = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "KNNCCV_TIER": ""}
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], check=True, capture_output=True, text=True, env=given
    )
    assert float(done.stdout) < 1.5


def test_another_name_of_a_tier(monkeypatch):
    monkeypatch.setenv("KNNCCV_TIER", "fast")
    again = importlib.util.spec_from_file_location("knnccv.kernel._again", _tier.__file__)
    with pytest.raises(ValueError, match="KNNCCV_TIER must be python, compiled, or empty"):
        again.loader.exec_module(importlib.util.module_from_spec(again))
