"""Ctrl-C ends a command with one line and status 130; what was at the file's place is still there."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys

import pytest
from command_line import without_compiling

from knnccv import _files

CHILD = """
import os, signal, sys, time, types
signal.signal(signal.SIGINT, signal.default_int_handler)

def stop(*_, **__):
    print("ready", flush=True)
    time.sleep(60)

def before_the_file_is_there():
    import knnccv._files
    def replace(part, path):  # answers of reproductions are kept first
        return os.replace(part, path) if os.environ["KNNCCV_CACHE_DIR"] in str(path) else stop()

    knnccv._files.os = types.SimpleNamespace(**{**vars(os), "replace": replace})

def at_the_import_of_the_commands():
    class Finder:
        find_spec = staticmethod(lambda name, *_: stop() if name == "knnccv._cli.commands" else None)
    sys.meta_path.insert(0, Finder)

def a_short_reproduction():
    from knnccv.reproduce import REPRODUCTIONS, Reproduction
    from knnccv.reproduce._paper import Comparison
    run = lambda quick, progress: Comparison("A title", "a source", ())
    REPRODUCTIONS["tr-table1"] = Reproduction("A title", run)

%s
from knnccv.__main__ import main
sys.exit(main(sys.argv[1:]))
"""
COMPUTING = {
    "score": "from knnccv._cli import score; score.compute = stop",
    "curve": "import knnccv.curves; knnccv.curves.surface = stop",
    "report": "import knnccv.reporting; knnccv.reporting.report_on = stop",
}
WRITING = "before_the_file_is_there(); a_short_reproduction()"
POINTS = ("--n-neighbors", "1,2", "--train-sizes", "80")
slow = pytest.mark.slow
pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals are others there")


def interrupted(code, *argv, folder):
    environment = {**os.environ, "KNNCCV_CACHE_DIR": str(folder.parent / "kept")}
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD % code, *argv],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=environment,
    )
    try:
        assert process.stdout.readline() == b"ready\n"
        during = sorted(path.name for path in folder.iterdir())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    assert out == b""
    lines = without_compiling(err.decode()).splitlines()
    assert [line for line in lines if not line.startswith("knnccv: note: ")] == ["knnccv: interrupted"]
    return during


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        pytest.param("score", ("--variant", "nn", "--per-item", "items.csv"), id="score"),
        pytest.param("curve", (*POINTS, "--out", "items.csv"), id="curve", marks=slow),
        pytest.param("report", ("--out", "items.html"), id="report", marks=slow),
    ],
)
def test_an_interrupt_while_it_computes(tmp_path, command, argv):
    folder = tmp_path / "here"
    folder.mkdir()
    interrupted(COMPUTING[command], command, *argv, folder=folder)
    assert list(folder.iterdir()) == []


def test_an_interrupt_while_it_imports(tmp_path):
    interrupted("at_the_import_of_the_commands()", "score", folder=tmp_path)


@slow
@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize(
    ("argv", "name"),
    [
        pytest.param(("score", "--variant", "nn", "--repeats", "0", "--per-item"), "items.csv", id="score"),
        pytest.param(("curve", *POINTS, "--out"), "items.csv", id="curve"),
        pytest.param(("report", "--n-neighbors", "1,5", "--out"), "items.html", id="report"),
        pytest.param(("reproduce", "tr-table1", "--out"), "tr-table1.md", id="reproduce"),
    ],
)
def test_an_interrupt_while_it_writes(tmp_path, argv, name, is_new):
    folder = tmp_path / "here"
    folder.mkdir()
    if not is_new:
        (folder / name).write_text("before", encoding="utf-8")
    during = interrupted(WRITING, *argv, "." if argv[0] == "reproduce" else name, folder=folder)
    assert len(during) == 2 - is_new
    assert sum(part.endswith(".part") for part in during) == 1
    assert [path.name for path in folder.iterdir()] == ([] if is_new else [name])
    if not is_new:
        assert (folder / name).read_text(encoding="utf-8") == "before"


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("before", encoding="utf-8")
    path.chmod(0o640)

    def interrupted_half_way():
        with _files.written_whole(path) as part:
            part.write_text("half", encoding="utf-8")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted_half_way()
    assert path.read_text(encoding="utf-8") == "before"
    with _files.written_whole(path) as part:
        part.write_text("all", encoding="utf-8")
        assert path.read_text(encoding="utf-8") == "before"
    assert path.read_text(encoding="utf-8") == "all"
    assert [each.name for each in tmp_path.iterdir()] == ["file.txt"]
    if os.name != "nt":
        assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_links_are_followed_and_devices_written_to(tmp_path):
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    link.symlink_to(real)
    with _files.written_whole(link) as part:
        part.write_text("all", encoding="utf-8")
    assert link.is_symlink()
    assert real.read_text(encoding="utf-8") == "all"
    with _files.written_whole(os.devnull) as part:
        assert str(part) == os.devnull
        part.write_text("all", encoding="utf-8")


def test_a_file_that_cannot_be_written(tmp_path):
    _files.check_writable(tmp_path / "new.txt")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(IsADirectoryError):
        _files.check_writable(tmp_path)
    with (
        pytest.raises(OSError, match=r"No space left on device: '.*new\.txt'"),
        _files.written_whole(tmp_path / "new.txt"),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileNotFoundError, match=r"missing.new\.txt"):
        _files.check_writable(tmp_path / "missing" / "new.txt")
