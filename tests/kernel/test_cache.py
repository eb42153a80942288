"""Compiled code on disk: never that of other source, healed when damaged, shared by processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from types import ModuleType

import numba
import pytest

import knnccv
import knnccv_variants
from knnccv.kernel._cache import KernelCache

pytestmark = pytest.mark.skipif(
    bool(numba.config.DISABLE_JIT), reason="nothing is compiled: NUMBA_DISABLE_JIT"
)

SCORE = """
    import numpy as np, knnccv, plugin
    X = np.arange(12) ** 1.7
    for rule in (plugin.Half, "knn"):
        print(knnccv.complete_cv(X[:, None], np.arange(12) // 2 % 3, rule, knnccv.LeaveOut(2)).score)
"""
PLUGIN = """
    from helper import factor
    from knnccv.kernel import Variant, jit
    from knnccv_variants import nearest

    built_in = nearest.nn_fixed

    @jit
    def kernel(order, labels, target, constraints):
        return factor(len(order.items)) * built_in(order, labels, target, constraints)

    class Half(nearest.NN):
        name = "half"
        fixed = staticmethod(kernel)
"""
HELPER = """
    from knnccv.kernel import jit

    @jit
    def factor(n):
        return 1.0
"""


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """Copies of the package and the built-in rules, a plug-in of two files; what is kept, and printed."""
    folder = tmp_path_factory.mktemp("warm")
    site, kept = folder / "site", folder / "kept"
    for package in (knnccv, knnccv_variants):
        source = Path(package.__file__).parent
        shutil.copytree(source, site / source.name, ignore=shutil.ignore_patterns("__pycache__", "*.nb?"))
    (site / "plugin.py").write_text(textwrap.dedent(PLUGIN))
    (site / "helper.py").write_text(textwrap.dedent(HELPER))
    return site, kept, run(site, kept)


@pytest.fixture
def environment(warm, tmp_path):
    """The same for one test: copies of the packages, and of what is kept, in other folders."""
    site, kept = (shutil.copytree(folder, tmp_path / folder.name) for folder in warm[:2])
    return site, kept, warm[2]


def start(site, kept, code=SCORE, **environment):
    """A process that runs on the packages of the folder `site`, with its cache in `kept`."""
    # No bytecode: a file that changes twice in a second would keep it.
    settings = {"NUMBA_CACHE_DIR": str(kept), "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
    settings["NUMBA_OPT"] = "1"  # which compiles faster
    settings |= environment
    command = [sys.executable, "-P", "-c", textwrap.dedent(code)]
    return subprocess.Popen(
        command, env={**os.environ, **settings}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def run(site, kept, code=SCORE, **environment):
    """What such a process prints."""
    process = start(site, kept, code, **environment)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert err == ""
    return out


def files(kept):
    """The compiled functions that are kept."""
    return {path.name for path in kept.iterdir()}


def forget_kernel(kept):
    """Remove the plug-in's kernel, so that the next process compiles it."""
    next(path for path in kept.iterdir() if "plugin.kernel" in path.name).unlink()


def edit(path, old, new):
    """Replace text that stands there once."""
    text = path.read_text()
    assert text.count(old) == 1, text.count(old)
    path.write_text(text.replace(old, new))


@pytest.mark.slow
def test_an_upgrade_and_a_downgrade_run_their_own_code(environment):
    """A helper of a plug-in or of the package changes, in another file than the kernel that calls it."""
    site, kept, first = environment
    known = files(kept)
    assert run(site, kept, PYTHONHASHSEED="7") == first
    assert files(kept) == known  # compiled in another folder, by another environment
    helpers = (
        (site / "helper.py", "return 1.0", "return 0.5"),
        (
            site / "knnccv/kernel/voting/_fixed_size.py",
            "weights[first:middle], weights[middle : middle + length])",
            "0.5 * weights[first:middle], 0.5 * weights[middle : middle + length])",
        ),
    )
    for path, old, new in helpers:
        edit(path, old, new)
    halved = [0.5 * float(score) for score in first.split()]
    assert [float(score) for score in run(site, kept).split()] == halved
    known = files(kept)
    for path, old, new in helpers:
        edit(path, new, old)
    assert run(site, kept) == first
    assert files(kept) == known  # nothing was compiled for the downgrade


@pytest.mark.slow
def test_damaged_files_are_compiled_again(environment):
    site, kept, first = environment
    whole = {path: path.read_bytes() for path in sorted(kept.iterdir())}
    damages = (lambda content: content[: len(content) // 2], lambda _: b"", lambda content: content[::-1])
    for number, (path, content) in enumerate(whole.items()):
        path.write_bytes(damages[number % 3](content))
    damaged = {path: path.read_bytes() for path in whole}
    assert run(site, kept) == first
    mended = [path for path in whole if path.read_bytes() != damaged[path]]
    assert len(mended) > len(whole) / 2  # some are not asked for, as their callers were compiled before
    assert files(kept) == {path.name for path in whole}


@pytest.mark.slow
def test_old_files_are_removed(environment):
    site, kept, first = environment
    now, day = time.time(), 86_400
    ages = {"old-1.knnccv": 61, "new-1.knnccv": 59, "old.1.part": 61, "of_numba.nbc": 61}
    for name, age in ages.items():
        (kept / name).write_bytes(b"")
        os.utime(kept / name, (now - age * day,) * 2)
    loaded = min(path for path in kept.iterdir() if "score_rows" in path.name)
    os.utime(loaded, (now - 59 * day,) * 2)
    forget_kernel(kept)  # files are removed when one is written
    assert run(site, kept) == first
    assert {*ages} & files(kept) == {"new-1.knnccv", "of_numba.nbc"}
    assert loaded.stat().st_mtime > now - day


@pytest.mark.slow
def test_processes_at_once_share_a_cache(environment):
    """Each compiles the kernels of all rules."""
    site, kept, first = environment
    known = files(kept)
    for path in list(kept.iterdir()):
        if path.name.startswith(("plugin", "helper", "knnccv_variants")):
            path.unlink()
    found = [process.communicate(timeout=300) for process in [start(site, kept) for _ in range(2)]]
    assert set(found) == {(first, "")}
    assert files(kept) == known
    assert all(name.endswith(".knnccv") for name in known)
    assert run(site, kept) == first
    assert files(kept) == known


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_to(environment, tmp_path):
    """Root may write to any folder, so a file stands in the way."""
    site, _, first = environment
    stop = tmp_path / "file"
    stop.write_text("not a folder")
    assert run(site, stop / "kept") == first


MODULE = """
import numpy as np
from typing import NamedTuple
from numba import float32, float64, njit
from numba.extending import intrinsic, overload
from knnccv.kernel import jit
import part

TABLE = np.array([1.0, 2.0])
DEEP = 3
RECORDS = np.array([(1.0, 2.0)], dtype=[("one", "f8"), ("two", "f8")])
PART = slice(0, 1)

class Pair(NamedTuple):
    low: float
    high: float

@intrinsic
def twice(typing_context, x):
    def generate(context, builder, signature, args):
        return builder.fadd(args[0], args[0])
    return x(x), generate

def rounded(x):
    return x

@overload(rounded)
def _rounded(x):
    return lambda x: x + 0.25

@njit(error_model="python", locals={"wide": float64})
def _inner(x):
    wide = part.add(x) + DEEP
    return wide + part.ENDS.first

def _made(step):
    @jit
    def inner(x):
        return x + step
    return inner

_step = _made(7)

@jit
def root(x, scale=2.0):
    pair = Pair(x, TABLE[0])
    last = RECORDS[0].one + TABLE[PART].sum() + part.LIMIT
    return _step(_inner(pair.low)) + twice(rounded(pair.high)) * scale + last
"""
PART = """
from collections import namedtuple
from knnccv.kernel import jit
LIMIT = 5
ENDS = namedtuple("Ends", "first, last")(1.0, 2.0)

@jit
def add(x):
    return x + 0.125
"""
CHANGES = (
    ("TABLE = np.array([1.0, 2.0])", "TABLE = np.array([1.5, 2.0])"),
    ("DEEP = 3", "DEEP = 4"),
    ("low: float\n    high: float", "high: float\n    low: float"),
    ("builder.fadd(args[0], args[0])", "builder.fmul(args[0], args[0])"),
    ("x + 0.25", "x + 0.5"),
    ('error_model="python"', 'error_model="numpy"'),
    ("return x + step", "return x - step"),
    ("_made(7)", "_made(8)"),
    ("scale=2.0", "scale=3.0"),
    ("LIMIT = 5", "LIMIT = 6"),
    ('("one", "f8"), ("two", "f8")', '("two", "f8"), ("one", "f8")'),
    ("slice(0, 1)", "slice(1, 2)"),
    ('"wide": float64', '"wide": float32'),
    ('"first, last"', '"last, first"'),
    ("x + 0.125", "x + 0.25"),
)


def stamp_of(module, part):
    """The stamp of the function `root` of a module with that source, and its value at 1."""
    for name, source in (("part", part), ("whole", module)):
        made = ModuleType(name)
        made.__file__ = f"{name}.py"
        sys.modules[name] = made
        exec(source, made.__dict__)
    return KernelCache(made.root.py_func).stamp


def test_everything_that_compiled_code_contains_changes_its_stamp(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "part", ModuleType("part"))
    monkeypatch.setitem(sys.modules, "whole", ModuleType("whole"))
    monkeypatch.chdir(tmp_path)

    def stamp(module, part):
        Path("whole.py").write_text(module)
        Path("part.py").write_text(part)
        return stamp_of(module, part)

    first = stamp(MODULE, PART)
    stamps = {first}
    for old, new in CHANGES:
        assert (MODULE + PART).count(old) == 1, old
        stamps.add(stamp(MODULE.replace(old, new), PART.replace(old, new)))
    assert len(stamps) == 1 + len(CHANGES)
    assert stamp(MODULE, PART) == first


PAIR = """
from typing import NamedTuple
from knnccv.kernel import jit

class Pair(NamedTuple):
    low: float
    high: float
"""
LOW = """
@jit
def low(pair):
    return pair.low
"""
CALL = """
@jit
def call(x):
    return low(Pair(x, x + 1.0))

print(call(1.0))
"""


@pytest.mark.slow
def test_code_for_a_named_tuple_whose_fields_change_places(tmp_path):
    """The function that reads the field does not name the class, which is in a module without kernels."""
    folder = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path)}

    def answer(pair, *options, **more):
        (tmp_path / "pair.py").write_text(pair)
        (tmp_path / "low.py").write_text("from knnccv.kernel import jit" + LOW)
        (tmp_path / "run.py").write_text(
            f"from low import low\n{CALL}".replace("@", "from pair import *\n@")
        )
        command = [sys.executable, "-B", *options]
        return subprocess.run(
            command, env=folder, cwd=tmp_path, check=True, capture_output=True, text=True, **more
        ).stdout

    assert answer(PAIR, "run.py") == answer(PAIR, "run.py") == "1.0\n"
    swapped = PAIR.replace("low: float\n    high: float", "high: float\n    low: float")
    assert swapped != PAIR
    assert answer(swapped, "run.py") == "2.0\n"
    # In a script the class is another one in every process; from the standard input it has no file.
    script = f"from low import low\n{PAIR}{CALL}"
    (tmp_path / "script.py").write_text(script)
    (tmp_path / "longer.py").write_text(script.replace("x + 1.0", "x + 2.0"))
    assert answer(PAIR, "script.py") == answer(PAIR, "longer.py") == "1.0\n"
    assert answer(PAIR, "-", input=script) == "1.0\n"
    assert answer(PAIR, "-c", f"exec({script!r}, {{}})") == "1.0\n"


@pytest.mark.slow
def test_every_compiled_function_of_the_package_has_the_cache():
    """But those that are inlined into others before these are compiled."""
    code = """
        import contextlib, gc, importlib, pkgutil, knnccv, knnccv_variants
        from numba.core.dispatcher import Dispatcher
        for package in (knnccv, knnccv_variants):
            for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
                with contextlib.suppress(ImportError):
                    importlib.import_module(found.name) if not found.name.endswith("__main__") else None
        compiled = [f for f in gc.get_objects() if isinstance(f, Dispatcher)]
        ours = [f for f in compiled if f.py_func.__module__.startswith("knnccv")]
        assert len(ours) > 300, len(ours)
        without = [f for f in ours if type(f._cache).__name__ != "KernelCache"]
        assert all("inline" in f.targetoptions for f in without), without
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


NOTE = """
    import sys
    sys.stderr.isatty = lambda: True
    from knnccv.kernel import _compile
    _compile._note.after = 0.0
    import numba
    @numba.njit
    def slow(x):
        return x + 1.0
    slow(1.0)
    print("---", file=sys.stderr)
"""


@pytest.mark.slow
def test_a_call_that_compiles_says_so_once(environment):
    """On a terminal, for functions of the library alone, and unless it is switched off."""
    site, kept, first = environment
    code = textwrap.dedent(NOTE) + textwrap.dedent(SCORE)
    for compiles, settings, lines in (
        (True, {}, ["---", "knnccv compiles"]),
        (False, {}, ["---"]),
        (True, {"KNNCCV_COMPILE_NOTE": "0"}, ["---"]),
    ):
        if compiles:
            forget_kernel(kept)
        process = start(site, kept, code, **settings)
        out, err = process.communicate(timeout=300)
        assert out == first
        assert [line[:15] for line in err.splitlines()] == lines
