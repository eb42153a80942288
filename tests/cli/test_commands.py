"""The other commands, and the behavior of the process."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time

import numba
import pytest
from command_line import (
    PLAIN,
    QUICK,
    needs_compiler,
    without_compiling,
)
from numba.core import event

from knnccv import (
    __version__,
    _warmup,
)
from knnccv.__main__ import main
from knnccv._cli import commands, score
from knnccv.datasets import uci_names
from knnccv.kernel import cache_folder


@pytest.mark.parametrize(
    "command",
    [(), ("report",), ("score",), ("curve",), ("retrieval",), ("episodes",), ("datasets",), ("reproduce",)],
)
def test_help(capsys, command):
    with pytest.raises(SystemExit) as ended:
        main([*command, "--help"])
    assert ended.value.code == 0
    assert "usage: knnccv" in capsys.readouterr().out


def test_version(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"knnccv {__version__}\n"


def test_datasets(run, tmp_path, monkeypatch):
    monkeypatch.setenv("KNNCCV_DATA_DIR", str(tmp_path))
    status, out, err = run("datasets")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    wine = next(line for line in lines if line.startswith("wine"))
    assert wine.split()[1:5] == ["178", "13", "3", "yes"]
    assert next(line for line in lines if line.startswith("orl")).split()[1:5] == ["400", "256", "40", "no"]
    assert max(map(len, lines)) <= 100
    assert all(any(name in line for line in lines) for name in uci_names())
    listed = json.loads(run("datasets", "--json")[1])
    assert {"name": "wine", "n_items": 178, "cached": True}.items() <= listed[-1].items()
    assert all(entry["licence"] and entry["citation"] and entry["address"] for entry in listed)


@needs_compiler
def test_a_first_score_says_that_it_compiles_and_a_second_one_does_not(capsys, monkeypatch):
    def compile_something(*_):
        @numba.njit
        def fresh(x):
            return x + 1

        fresh(1)

    assert main(["score", *QUICK]) == 0  # what the question needs is there from now on
    capsys.readouterr()
    assert main(["score", *QUICK]) == 0
    silent = capsys.readouterr()
    assert silent.err == ""
    monkeypatch.setattr(score, "_compile", compile_something)
    assert main(["score", *QUICK, "--json"]) == 0
    found = capsys.readouterr()
    assert re.fullmatch(r"knnccv: compiling once the kernels of this rule \(about \d+ s.*\)\n", found.err)
    assert json.loads(found.out)["variant"] == "nn"


@needs_compiler
def test_the_time_of_an_answer_has_no_compilation(run, monkeypatch):
    """Compilation that takes at least half a second, in an answer that says it took 1,000."""
    asked = score.complete_cv

    def slow(*args, **kwargs):
        found = asked(*args, **kwargs)
        with event.trigger_event("numba:compile"):
            time.sleep(0.5)
        object.__setattr__(found, "seconds", 1000.0)
        return found

    run("score", *QUICK)
    monkeypatch.setattr(score, "complete_cv", slow)
    monkeypatch.setattr(score, "_compile", lambda *_: None)
    _, out, _ = run("score", *QUICK, "--json")
    assert 0 <= json.loads(out)["seconds"] <= 999.5


@pytest.mark.parametrize("compiles", [False, pytest.param(True, marks=needs_compiler)])
def test_warm_says_what_it_did_and_where_it_is(run, monkeypatch, compiles):
    @numba.njit
    def fresh(x):
        return x + 1

    monkeypatch.setattr(_warmup, "_steps", lambda: [lambda: fresh(1)] * compiles)
    status, out, err = run("warm")
    assert (status, err) == (0, "")
    said = (
        r"1 function compiled in \d+ s" if compiles else "nothing to compile: all kernels are in the cache"
    )
    assert re.match(said, out)
    assert out.endswith(f"kept in {cache_folder()}\n")


def test_an_interrupted_command(run, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "run_datasets", interrupted)
    assert run("datasets") == (130, "", "knnccv: interrupted\n")


def python(*argv, **options):
    command = [sys.executable, "-W", "error", "-m", "knnccv", *argv]
    return subprocess.run(command, capture_output=True, check=False, timeout=120, **options)


def test_a_process_reads_standard_input():
    question = ("score", "-", "--target=-1", "--no-header", *QUICK, "--json")
    done = python(*question, input=PLAIN.split("\n", 1)[1].encode())
    assert (done.returncode, without_compiling(done.stderr.decode())) == (0, "")
    assert json.loads(done.stdout)["n_items"] == 12


def test_a_process_complains_in_a_line_and_without_a_traceback():
    done = python("score", "missing.csv", "--target", "0", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.decode().strip() == "knnccv: error: missing.csv: No such file or directory"


def test_a_terminal_without_the_signs_gets_question_marks():
    done = python("score", *QUICK, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert b"% ? " in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="pipes end otherwise there")
def test_a_process_whose_output_nobody_reads_ends_quietly():
    reading, writing = os.pipe()
    os.close(reading)
    try:
        command = [sys.executable, "-m", "knnccv", "datasets"]
        done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False, timeout=120)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def test_help_needs_no_heavy_import():
    code = (
        "import sys, contextlib\n"
        "from knnccv.__main__ import main\n"
        "with contextlib.suppress(SystemExit):\n"
        "    main(['score', '--help'])\n"
        "heavy = {'numpy', 'numba', 'scipy', 'pooch'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, b"")
