"""The command line, for transcripts and tests: commands run in this process, on small tables."""

# Transcripts take modules from here, too.
# ruff: noqa: F401

from __future__ import annotations

import bz2
import contextlib
import datetime
import functools
import gzip
import io
import json
import lzma
import os
import shlex
import sys
import tempfile
import warnings
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import openpyxl
import pandas as pd
import pytest

from knnccv.__main__ import build_parser, main
from knnccv.datasets import load_wine

ROWS = [(2 * x, (7 * x) % 5, "ab"[x % 3 == 0]) for x in range(12)]
HOMES = [(2 * x, (7 * x) % 5, (x * x) / 4) for x in range(12)]
FIRST, LABEL = [row[0] for row in ROWS], [row[2] for row in ROWS]
PRICE = [row[2] for row in HOMES]
X = np.array([row[:2] for row in ROWS], float)


def csv(names: Any, *columns: Any) -> str:
    """A table with these columns, of text; without a header if there are no names."""
    names = names.split() if isinstance(names, str) else names
    rows = [*([names] if names else []), *zip(*columns, strict=True)]
    return "".join(",".join(map(str, cells)) + "\n" for cells in rows)


PLAIN = csv("x y label", *zip(*ROWS, strict=True))
PRICES = csv("x y price", *zip(*HOMES, strict=True))


def parquet(frame: Any) -> bytes:
    """A parquet file of a data frame, or of rows of x, y and label."""
    frame = frame if isinstance(frame, pd.DataFrame) else pd.DataFrame(frame, columns=["x", "y", "label"])
    blob = io.BytesIO()
    frame.to_parquet(blob)
    return blob.getvalue()


def excel(**sheets: Any) -> bytes:
    """A workbook of sheets, each a list of rows, or a data frame."""
    book, blob = openpyxl.Workbook(), io.BytesIO()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        if isinstance(rows, pd.DataFrame):
            rows = [rows.columns, *rows.astype(object).where(rows.notna(), None).itertuples(index=False)]
        for row in rows:
            sheet.append(list(row))
    book.save(blob)
    return blob.getvalue()


def zipped(**members: Any) -> bytes:
    """A zip archive."""
    blob = io.BytesIO()
    with zipfile.ZipFile(blob, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return blob.getvalue()


def write(content: Any, name: str = "t.csv") -> None:
    """Write a file into this folder: text, bytes, or what a function makes."""
    if callable(content):
        content(name)
    else:
        Path(name).write_bytes(content.encode() if isinstance(content, str) else content)


def scaled(features: Any) -> Any:
    """Zero mean and unit standard deviation of every column."""
    return (features - features.mean(axis=0)) / features.std(axis=0)


def wine() -> tuple[Any, Any]:
    """The data of a command without a file: standardized features, and the classes."""
    data = load_wine()
    return scaled(data.X), data.y


class Refused(Exception):
    """A command ended with status 2 and this error, in one line."""


class Usage(Exception):
    """The arguments of a command could not be parsed: status 2, below the usage."""


class Done(NamedTuple):
    """The exit status of a command, its answer, and its messages."""

    status: int
    out: str
    err: str


def without_compiling(err: str) -> str:
    """Messages without the line on compiling, which depends on what ran before."""
    lines = err.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("knnccv: compiling once"))


parser = functools.cache(build_parser)
"""Made once, as this takes half the time of a short command."""


def run(command: str, *more: Any, piped: Any = "", out: Any = None, err: Any = None) -> Done:
    """Run a command of words, and further ones that may have spaces, with this standard input."""
    out, err = out or io.StringIO(), err or io.StringIO()
    content = io.BytesIO(piped.encode() if isinstance(piped, str) else piped)
    with (
        mock.patch("sys.stdin", io.TextIOWrapper(content)),
        mock.patch("knnccv.__main__.build_parser", parser),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            status = main([*shlex.split(command), *map(str, more)])
        except SystemExit as ended:
            status = ended.code
    return Done(status, out.getvalue(), without_compiling(err.getvalue()))


@contextlib.contextmanager
def elsewhere() -> Iterator[Path]:
    """In an empty folder of its own."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        yield Path(folder)


@contextlib.contextmanager
def lacking(*packages: str) -> Iterator[None]:
    """Without these packages; other modules that are imported meanwhile stay."""
    before = {name: sys.modules[name] for name in packages if name in sys.modules}
    sys.modules.update(dict.fromkeys(packages))
    try:
        yield
    finally:
        for name in packages:
            del sys.modules[name]
        sys.modules.update(before)


def knnccv(
    command: str, table: Any = None, *, fields: str = "", without: str = "", piped: Any = "", **texts: str
) -> Any:
    """What a command prints in a folder of its own, messages first; or some fields of its JSON.

    `table` is the content of the file t.csv, `texts` those of others, by their names without ".txt". The
    packages in `without` are missing. A command that is refused must say so in one line, print no answer,
    and leave the folder as it was.
    """
    with elsewhere() as folder, lacking(*without.split()), mock.patch.dict(os.environ, COLUMNS="100"):
        if table is not None:
            write(table)
        for name, content in texts.items():
            write(content, f"{name}.txt")
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        done = run(command + " --json" * bool(fields), piped=piped)
        if done.status:
            after = {path.name: path.read_bytes() for path in folder.iterdir()}
            assert (done.status, done.out, after) == (2, "", before), done
    if done.status:
        if done.err.startswith("usage: "):
            raise Usage(done.err.splitlines()[-1])
        assert (done.err[:15], done.err.count("\n")) == ("knnccv: error: ", 1), done
        raise Refused(done.err[15:-1])
    if fields:
        found = json.loads(done.out)
        return done.err + "\n".join(f"{name}: {found[name]}" for name in fields.split())
    return done.err + done.out


class Terminal(io.StringIO):
    """A stream to a terminal of this encoding."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class FewWords:
    """A report that was not computed."""

    def to_dict(self) -> Any:
        words = {"data": {"conclusion": "Few rows."}, "scores": {"conclusion": "Good <b>enough</b>. " * 10}}
        return defaultdict(lambda: None, words)

    def save(self, path: Path) -> None:
        path.write_text("a page", encoding="utf-8")


def table(content: Any, options: str = "", name: str = "t.csv", piped: Any = "") -> SimpleNamespace:
    """What the command ``report`` reads in a file, and asks of it: the arguments of `report_on`.

    And the values that the code on the page reads, as `again`. The report itself is not computed.
    """
    with elsewhere(), mock.patch("knnccv.reporting.report_on", return_value=FewWords()) as asked:
        if content is not None:
            write(content, name)
        done = run("report", *[name] * (content is not None), *shlex.split(options), "--json", piped=piped)
        if done.status:
            raise Refused(done.err)
        read, title, question, _ = asked.call_args.args
        names: dict[str, Any] = {}
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            exec("\n".join(read.code), names)
        assert all(str(one.message) in done.err for one in warned)  # what the command noted
    return SimpleNamespace(
        X=np.column_stack(read.columns),
        y=read.y,
        names=read.names,
        categorical=np.flatnonzero(read.categorical).tolist(),
        read=read,
        title=title,
        question=question._asdict(),
        notes=done.err,
        code=read.code,
        again=(names.get("X"), names.get("y")),
    )


def numbers(command: str, content: Any = None, **texts: str) -> Any:
    """The JSON of a command, as a strict parser reads it."""
    text = knnccv(f"{command} --json", content, **texts).splitlines()[-1]
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
