"""Fixtures of the command line's tests."""

from __future__ import annotations

import pytest
from command_line import without_compiling

from knnccv.__main__ import main


@pytest.fixture
def run(capsys):
    """Run a command in this process; returns its status, output and error messages.

    The line on compiling kernels is left out, since it depends on what ran before.
    """

    def run(*argv):
        status = main([str(arg) for arg in argv])
        out, err = capsys.readouterr()
        return status, out, without_compiling(err)

    return run


@pytest.fixture
def write(tmp_path):
    """Write a table to a file, and return its path."""

    def write(content, encoding="utf-8", name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode(encoding) if isinstance(content, str) else content)
        return path

    return write
