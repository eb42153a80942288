"""Every command that may take long has the same option --progress; the bar never mixes with the answer."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from command_line import PLAIN, refused

import knnccv._parallel.bars
from knnccv import _warmup
from knnccv.__main__ import main
from knnccv._parallel import for_each

RNG = np.random.default_rng(0)
IDS = np.arange(12) % 3
COMMANDS = ("report", "score", "curve", "retrieval", "episodes", "reproduce", "warm")
OPTIONS = {
    "score": ("table.csv", "--target", "label", "--n-neighbors", "1", "--interval"),
    "curve": ("table.csv", "--target", "label", "--kind", "validation", "--n-neighbors", "1,3"),
    "retrieval": ("people.npz", "--shots", "2", "--jackknife", "--repeats", "3"),
    "episodes": ("items.npz", "--n-way", "2", "--head", "prototype", "--n-query", "2", "--repeats", "5"),
}
SLOW = ("retrieval", "episodes")  # compile large kernels
each_command = pytest.mark.parametrize(
    "command", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in OPTIONS]
)
quick_for_each_command = pytest.mark.parametrize("command", OPTIONS)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text(PLAIN, encoding="utf-8")
    distances = RNG.random((12, 12)) + (IDS[:, None] != IDS)
    np.savez(tmp_path / "people.npz", distmat=distances, q_pids=IDS, g_pids=IDS)
    np.savez(tmp_path / "items.npz", X=RNG.random((12, 2)) + IDS[:, None], y=IDS)
    return tmp_path


def numbers(found):
    """The object without times."""
    if isinstance(found, dict):
        return {key: numbers(value) for key, value in found.items() if "seconds" not in key}
    return found


@pytest.mark.parametrize("command", COMMANDS)
def test_the_option_is_the_same_everywhere(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    out = " ".join(capsys.readouterr().out.split())
    assert "--progress, --no-progress a progress bar over all stages (default: on a terminal, after" in out


@each_command
def test_a_bar_on_stderr_and_a_clean_answer(command, run):
    pytest.importorskip("tqdm")
    asked = (command, *OPTIONS[command], "--json")
    status, out, err = run(*asked)
    assert (status, "step" in err) == (0, False)
    status, shown, err = run(*asked, "--progress")
    assert status == 0
    assert numbers(json.loads(shown)) == numbers(json.loads(out))
    assert err.count("100%") >= 1
    assert "step" in err


@each_command
def test_by_default_a_bar_on_a_terminal(command, run, monkeypatch):
    pytest.importorskip("tqdm")
    monkeypatch.setenv("TQDM_DELAY", "0")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    asked = (command, *OPTIONS[command], "--json")
    assert "step" in run(*asked)[2]
    assert "step" not in run(*asked, "--no-progress")[2]


@quick_for_each_command
def test_a_bar_without_tqdm_is_refused_before_anything_is_read(command, run, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    asked = [option if "." not in option else "missing.csv" for option in OPTIONS[command]]
    assert "pip install 'knnccv[progress]'" in refused(run, command, *asked, "--progress")


@each_command
def test_ctrl_c_closes_the_bar_and_leaves_no_file(command, run, folder, monkeypatch):
    pytest.importorskip("tqdm")
    before = sorted(folder.iterdir())

    def stop(*_):
        raise KeyboardInterrupt

    written = {"score": ("--per-item", "items.csv"), "curve": ("--out", "items.csv")}
    monkeypatch.setattr(knnccv._parallel.bars.Bar, "update", stop)
    status, out, err = run(command, *OPTIONS[command], "--progress", *written.get(command, ()))
    assert (status, out) == (130, "")
    assert err.endswith("\nknnccv: interrupted\n")
    assert sorted(folder.iterdir()) == before
    assert knnccv._parallel.bars.shared_bar() is None


def test_warm_counts_its_steps(run, monkeypatch):
    pytest.importorskip("tqdm")
    done = []
    monkeypatch.setattr(_warmup, "_steps", lambda: [lambda: for_each(done.append, range(2), 1)] * 3)
    status, out, err = run("warm", "--progress")
    assert status == 0
    assert "3/3" in err
    assert out.startswith("nothing to compile")
    assert done == [0, 1] * 3


def test_warm_checks_progress_first(monkeypatch):
    monkeypatch.setattr(_warmup, "_steps", None)
    with pytest.raises(TypeError, match="progress must be True or False"):
        _warmup.warm(progress=1)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match="needs tqdm"):
        _warmup.warm(progress=True)
