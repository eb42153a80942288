"""Transcripts: what the library answers and refuses, in words, as text files beside the tests.

A transcript ``tests/*/*.txt`` is a list of pieces of Python that run in one namespace::

    from bad_input import *

    complete(y=LABELS[:11])
    ! ValueError: X has 12 samples, but y has 11 labels
    Subsample(6)
    = Subsample(train_size=6)

``!`` is the error that the piece above must raise, type and message; ``=`` is what its last expression
gives, as `print` shows it, or the repr of a score. A piece with neither is a preparation, and ends at a
blank line. ``...`` stands for anything; a line that begins with ``#`` is a comment.
``KNNCCV_RECORD=1 pytest
tests/test_transcripts.py`` writes today's answers in place of those that differ: read what it changed
before you commit it.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

from knnccv._base.formatting import Numeric


class Piece(NamedTuple):
    """Code, its first line and the line after its last, and the lines of its answer with their marks."""

    first: int
    end: int
    code: str
    answer: list[str]


def pieces(text: str) -> list[Piece]:
    """Cut a transcript into its pieces."""
    found: list[Piece] = []
    code: list[str] = []
    answer: list[str] = []
    first = end = 0
    for number, line in enumerate([*text.splitlines(), ""]):
        marked = re.match(r"[!=]( |$)", line) is not None
        if code and not marked and (answer or not line.strip()):
            found.append(Piece(first, end, "\n".join(code), answer))
            code, answer = [], []
        if marked:
            answer.append(line)
        elif line.strip() and not line.startswith("#"):
            first, end = (first if code else number), number + 1
            code.append(line)
    return found


def answer(code: str, names: dict) -> list[str]:
    """What a piece of Python answers, as lines with their marks; no lines for None."""
    *body, last = ast.parse(code).body
    try:
        if not isinstance(last, ast.Expr):
            body.append(last)
        exec(compile(ast.Module(body, []), "<transcript>", "exec"), names)
        if not isinstance(last, ast.Expr):
            return []
        value = eval(compile(ast.Expression(last.value), "<transcript>", "eval"), names)
        mark, words = (
            "=",
            "" if value is None else repr(value) if isinstance(value, Numeric) else str(value),
        )
    except Exception as error:
        mark, words = "!", f"{type(error).__name__}: {error}"
    words = re.sub(r"\b0x[0-9A-Fa-f]+", "0x...", words)
    return [f"{mark} {line}".rstrip() for line in words.splitlines()]


def agrees(found: list[str], expected: list[str]) -> bool:
    """Whether lines are those expected, in which ``...`` stands for anything."""
    # Part by part, as a pattern with many gaps takes forever to see that it does not match.
    text, parts = "\n".join(found), "\n".join(expected).split("...")
    if len(parts) == 1 or not text.startswith(parts[0]):
        return [text] == parts
    at = len(parts[0])
    for part in parts[1:-1]:
        at = text.find(part, at) + len(part)
        if at < len(part):
            return False
    return text.endswith(parts[-1]) and at + len(parts[-1]) <= len(text)


def differences(path: Path, record: bool = False) -> list[str]:
    """Run a transcript, and tell what differs; `record` writes the answers of today in their place."""
    text = path.read_text(encoding="utf-8")
    names: dict = {}
    played = [(piece, answer(piece.code, names)) for piece in pieces(text)]
    other = [(piece, found) for piece, found in played if not agrees(found, piece.answer)]
    if record and other:
        lines = text.splitlines()
        for piece, found in reversed(other):
            lines[piece.end : piece.end + len(piece.answer)] = found
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [
        "\n".join([f"{path}:{piece.first + 1}: {piece.code}", "expected", *piece.answer, "found", *found])
        for piece, found in other
    ]
