"""The page of the guide on the command line: every command prints what the page shows."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide"
PAGE = (GUIDE / "command_line.md").read_text(encoding="utf-8")
CONSOLES = re.findall(r"^```console\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)
COMMANDS = re.findall(r"^\$ knnccv (.*)\n((?:[^$].*\n)*)", "".join(CONSOLES), flags=re.MULTILINE)


@pytest.mark.parametrize(("command", "shown"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_a_command_of_the_guide(run, monkeypatch, command, shown):
    monkeypatch.chdir(GUIDE)
    status, out, err = run(*shlex.split(command))
    assert status == (2 if "error: " in shown else 0)
    assert doctest.OutputChecker().check_output(shown, err + out, doctest.ELLIPSIS), err + out


def test_the_table_of_the_guide_begins_as_shown():
    shown = CONSOLES[0].split("\n", 1)[1]
    assert (GUIDE / "patients.csv").read_text(encoding="utf-8").startswith(shown)
    assert len(COMMANDS) == 8
