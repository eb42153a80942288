"""Tables and helpers for the tests of the command line."""

from __future__ import annotations

import io
import sys

import numba
import pytest

ROWS = [(2 * x, (7 * x) % 5, "ab"[x % 3 == 0]) for x in range(12)]
PLAIN = "x,y,label\n" + "".join(f"{x},{y},{c}\n" for x, y, c in ROWS)
needs_compiler = pytest.mark.skipif(
    bool(getattr(numba.config, "DISABLE_JIT", False)), reason="nothing is compiled: NUMBA_DISABLE_JIT"
)
QUICK = ("--variant", "nn", "--repeats", "2")
HOMES = [(2 * x, (7 * x) % 5, (x * x) / 4) for x in range(12)]
PRICES = "x,y,price\n" + "".join(f"{x},{y},{price}\n" for x, y, price in HOMES)
FIRST, LABEL = [row[0] for row in ROWS], [row[2] for row in ROWS]


def without_compiling(err):
    """Standard error without the line on compiling, which depends on what ran before."""
    lines = err.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("knnccv: compiling once"))


def refused(run, *argv):
    """The error message of a command, which must be one line, with status 2."""
    status, out, err = run(*argv)
    assert status == 2
    assert out == ""
    assert err.startswith("knnccv: error: ")
    assert err.count("\n") == 1
    return err


def stdin(monkeypatch, content):
    content = content.encode() if isinstance(content, str) else content
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def table(names, *columns):
    """A table with these columns, of text."""
    header = [",".join(names)] if names else []
    return "\n".join([*header, *(",".join(map(str, cells)) for cells in zip(*columns, strict=True))]) + "\n"


def scaled(X):
    """Zero mean and unit standard deviation of every column."""
    return (X - X.mean(axis=0)) / X.std(axis=0)
