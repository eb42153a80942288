"""What all commands share: help, progress, Ctrl-C, files, the process, and the page of the guide."""

from __future__ import annotations

import doctest
import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

import numba
import pytest
from command_line import PLAIN, Terminal, elsewhere, knnccv, main, run, without_compiling, write
from numba.core import event

import knnccv as library
from knnccv.__main__ import main as library_main
from knnccv.kernel import Compiling, cache_folder

slow = pytest.mark.slow
needs_compiler = pytest.mark.skipif(
    bool(getattr(numba.config, "DISABLE_JIT", False)), reason="nothing is compiled: NUMBA_DISABLE_JIT"
)
posix = pytest.mark.skipif(os.name == "nt", reason="signals, links and pipes are others there")
QUICK = "score --variant nn --repeats 2"
LONG = {
    "score": "score t.csv --target label --n-neighbors 1 --interval",
    "curve": "curve t.csv --target label --kind validation --n-neighbors 1,3",
}
each_command = pytest.mark.parametrize("command", LONG.values(), ids=LONG)
POINTS = "--n-neighbors 1,2 --train-sizes 80"


@pytest.fixture(name="folder")
def _folder():
    """A folder with a small table."""
    with elsewhere() as folder:
        write(PLAIN)
        yield folder


def test_every_command_explains_itself():
    listed = dict(re.findall(r"^    ([a-z-]+) +(.*)", run("--help").out, re.MULTILINE))
    assert {"score", "report", "new-rule", "warm"} <= set(listed)
    for command in [*listed, ""]:
        done = run(f"{command} --help")
        assert (done.status, done.err) == (0, "")
        assert done.out.startswith("usage: knnccv")
        assert "SUPPRESS" not in done.out
        bar = "--progress, --no-progress progress bar (default: on a terminal, after"
        assert (bar in " ".join(done.out.split())) == (command not in ("datasets", "new-rule", "")), command
    assert run("--version") == (0, f"knnccv {library.__version__}\n", "")


@pytest.mark.usefixtures("cache")
def test_data_sets_are_listed():
    lines = knnccv("datasets").splitlines()
    found = {line.split()[0]: line.split()[1:5] for line in lines if line.strip()}
    assert (found["wine"], found["orl"]) == (["178", "13", "3", "yes"], ["400", "256", "40", "no"])
    assert max(map(len, lines)) <= 100
    listed = json.loads(knnccv("datasets --json"))
    assert {"name": "wine", "n_items": 178, "cached": True}.items() <= listed[-1].items()
    assert all(entry["licence"] and entry["citation"] and entry["address"] for entry in listed)


def compile_something():
    @numba.njit
    def fresh(x):
        return x + 1

    fresh(1)


@needs_compiler
def test_a_command_says_that_it_compiles_and_its_time_has_no_compilation(capsys, monkeypatch):
    assert main([*QUICK.split()]) == 0  # what the question needs is there from now on
    capsys.readouterr()
    assert main([*QUICK.split()]) == 0
    assert capsys.readouterr().err == ""

    def compiles(*args, **kwargs):
        compile_something()
        return library.complete_cv(*args, **kwargs)

    monkeypatch.setattr("knnccv._cli.score.complete_cv", compiles)
    monkeypatch.setattr(Compiling.__init__, "__defaults__", (0.0,))  # not after seconds only
    assert main([*QUICK.split(), "--json"]) == 0
    found = capsys.readouterr()
    assert re.fullmatch(r"knnccv: compiling once the kernels of this rule \(about \d+ s.*\)\n", found.err)
    assert json.loads(found.out)["variant"] == "nn"

    def long(*args, **kwargs):
        """Compilation that takes at least half a second, in an answer that says it took 1,000."""
        found = library.complete_cv(*args, **kwargs)
        with event.trigger_event("numba:compile"):
            time.sleep(0.5)
        object.__setattr__(found, "seconds", 1000.0)
        return found

    monkeypatch.setattr("knnccv._cli.score.complete_cv", long)
    assert 0 <= json.loads(run(f"{QUICK} --json").out)["seconds"] <= 999.5


@needs_compiler
def test_warm_says_what_it_did_and_counts_its_steps(monkeypatch):
    done = []
    for step, said in (
        (lambda: done.append(1), r"nothing to compile: all kernels are in the cache\n"),
        (compile_something, r"1 function compiled in \d+ s\n"),
    ):
        monkeypatch.setattr("knnccv._cli.warm._steps", lambda step=step: [step])
        out = knnccv("warm")
        assert re.match(said, out)
        assert out.endswith(f"kept in {cache_folder()}\n")
    monkeypatch.setattr("knnccv._cli.warm._steps", lambda: [lambda: done.append(1)] * 3)
    assert "3/3" in run("warm --progress").err
    assert len(done) == 4


def numbers(found):
    """The answer without times."""
    if isinstance(found, dict):
        return {key: numbers(value) for key, value in found.items() if "seconds" not in key}
    return found


@each_command
@pytest.mark.usefixtures("folder")
def test_a_bar_on_stderr_and_a_clean_answer(command, monkeypatch):
    """If it is asked for, or on a terminal; Ctrl-C closes it, and leaves no file."""
    plain, shown = run(f"{command} --json"), run(f"{command} --json --progress")
    assert (plain.status, shown.status, "step" in plain.err) == (0, 0, False)
    assert numbers(json.loads(shown.out)) == numbers(json.loads(plain.out))
    assert "step" in shown.err
    assert shown.err.count("100%") >= 1
    monkeypatch.setenv("TQDM_DELAY", "0")
    assert "step" in run(f"{command} --json", err=Terminal()).err
    assert "step" not in run(f"{command} --json --no-progress", err=Terminal()).err
    before = sorted(Path().iterdir())
    written = {"score": "--per-item new.csv", "curve": "--out new.csv"}.get(command.split()[0], "")
    with mock.patch("knnccv._base.parallel.threads.Bar.update", side_effect=KeyboardInterrupt):
        done = run(f"{command} --progress {written}")
    assert (done.status, done.out) == (130, "")
    assert done.err.endswith("\nknnccv: interrupted\n")
    assert sorted(Path().iterdir()) == before
    assert "step" not in run(f"{command} --json").err  # no bar is left open


@posix
@pytest.mark.parametrize("moment", ["import", "computing"])
@pytest.mark.slow
def test_a_signal_ends_the_process(moment, tmp_path):
    code = f"""
import importlib, runpy, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)

def stop(*_, **__):
    print("ready", flush=True)
    time.sleep(60)

if {moment == "import"}:
    class Finder:
        find_spec = staticmethod(lambda name, *_: stop() if name == "knnccv._cli.commands" else None)
    sys.meta_path.insert(0, Finder)
else:
    importlib.import_module("knnccv._cli.score").compute = stop
sys.argv[1:] = ["score", "--per-item", "items.csv"]
runpy.run_module("knnccv", run_name="__main__")
"""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, **pipes) as process:
        try:
            assert process.stdout.readline() == b"ready\n"
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, out) == (130, b"")
    assert without_compiling(err.decode()) == "knnccv: interrupted\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (f"{QUICK} --per-item items.csv", "items.csv"),
        (f"curve {POINTS} --out items.csv", "items.csv"),
        pytest.param("report --n-neighbors 1,5 --out items.html", "items.html", marks=slow),
    ],
    ids=["score", "curve", "report"],
)
def test_a_file_is_written_whole_or_not_at_all(command, name):
    """Ctrl-C while it is written leaves what was there before, and no part of the new one."""
    during, replaced = [], os.replace

    def interrupted(part, path):
        if Path(path).name != name:  # kernels are kept first
            return replaced(part, path)
        during.extend(each.suffix for each in Path().iterdir())
        raise KeyboardInterrupt

    for before in ([], [name]):
        with elsewhere() as folder:
            for each in before:
                write("before", each)
            with mock.patch("os.replace", interrupted):
                done = run(command)
            assert (done.status, done.err.splitlines()[-1]) == (130, "knnccv: interrupted")
            assert during.count(".part") == 1 + len(before)
            assert [path.name for path in folder.iterdir()] == before
            assert [path.read_text() for path in folder.iterdir()] == ["before"] * len(before)


@posix
def test_permissions_links_and_full_disks():
    question = f"{QUICK} --per-item"
    with elsewhere() as folder:
        real, link = folder / "real.csv", folder / "link.csv"
        real.write_text("before")
        real.chmod(0o640)
        link.symlink_to(real)
        assert run(f"{question} link.csv").status == 0
        assert link.is_symlink()
        assert real.read_text().startswith("item,label")
        assert real.stat().st_mode & 0o777 == 0o640
        full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        with mock.patch("pandas.DataFrame.to_csv", side_effect=full):
            done = run(f"{question} link.csv")
        assert done == (2, "", "knnccv: error: link.csv: No space left on device\n")
        assert {path.name for path in folder.iterdir()} == {"real.csv", "link.csv"}
        assert real.read_text().startswith("item,label")
        longest = "\u4e2d" * 83 + ".csv"  # 253 bytes of the 255 that names may have
        assert run(f"{question} {longest}").status == 0
        assert (folder / longest).read_text().startswith("item,label")


@posix
@pytest.mark.slow
def test_the_streams_of_a_process():
    """It reads standard input, writes question marks for signs that are missing, and ends quietly."""
    command = [sys.executable, "-W", "error", "-m", "knnccv"]
    question = [*command, "score", "-", "--target=-1", "--no-header", "--variant", "nn", "--repeats", "2"]
    narrow = {**os.environ, "PYTHONIOENCODING": "ascii"}
    content = PLAIN.split("\n", 1)[1].encode()
    done = subprocess.run(
        question, input=content, capture_output=True, check=False, timeout=120, env=narrow
    )
    assert (done.returncode, without_compiling(done.stderr.decode())) == (0, "")
    assert b"standard input: 12 samples" in done.stdout
    assert b"% ? " in done.stdout
    reading, writing = os.pipe()
    os.close(reading)
    try:
        streams = {"stdout": writing, "stderr": subprocess.PIPE}
        done = subprocess.run([*command, "datasets"], check=False, timeout=120, **streams)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.usefixtures("cache")
def test_a_closed_output_ends_quietly(monkeypatch):
    """Python has no stream then."""
    monkeypatch.setattr(sys, "stdout", None)
    assert library_main(["datasets"]) == 0


def test_help_needs_no_heavy_import():
    code = (
        "import contextlib, runpy, sys\n"
        "sys.argv[1:] = ['score', '--help']\n"
        "with contextlib.suppress(SystemExit):\n"
        "    runpy.run_module('knnccv', run_name='__main__')\n"
        "heavy = {'numpy', 'numba', 'scipy', 'pooch'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, b"")


GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide"


def test_every_command_prints_what_the_guide_shows(monkeypatch):
    pages = (GUIDE / "command_line.md").read_text(encoding="utf-8")
    consoles = re.findall(r"^```console\n(.*?)^```$", pages, flags=re.DOTALL | re.MULTILINE)
    commands = re.findall(r"^\$ knnccv (.*)\n((?:[^$].*\n)*)", "".join(consoles), flags=re.MULTILINE)
    assert len(commands) == 6
    monkeypatch.chdir(GUIDE)
    monkeypatch.setenv("COLUMNS", "80")
    assert Path("patients.csv").read_text(encoding="utf-8").startswith(consoles[0].split("\n", 1)[1])
    for command, shown in commands:
        done = run(command)
        assert done.status == (2 if "error: " in shown else 0)
        said = done.err + done.out
        assert doctest.OutputChecker().check_output(shown, said, doctest.ELLIPSIS), said
