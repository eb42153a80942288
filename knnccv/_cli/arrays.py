"""Files of arrays: .npz and .npy, and lists of names in text files."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .._typing import Array
from .options import refuse


@contextmanager
def archive(path: str, hint: str = "") -> Iterator[Any]:
    """The arrays of an .npz file; ValueError if it is none, or if one of those read is damaged."""
    must = f"{path} is not an .npz file of plain arrays"
    try:
        held = np.load(path, allow_pickle=False)
    except (zipfile.BadZipFile, ValueError, EOFError) as error:
        msg = f"{must}{hint}: {error}"
        raise ValueError(msg) from error
    refuse(isinstance(held, np.ndarray), f"{must}: it holds one array{hint}")
    with held:
        yield Arrays(held, must)


class Arrays:
    """The arrays of an open .npz file."""

    def __init__(self, held: Any, must: str) -> None:
        self.held, self.must = held, must
        self.files: list[str] = held.files

    def __getitem__(self, name: str) -> Array:
        try:
            found: Array = self.held[name]
        except (zipfile.BadZipFile, EOFError, ValueError, OSError) as error:
            objects = "one holds Python objects; store text as numpy.array(names, dtype=str)"
            msg = f"{self.must}: {objects if 'allow_pickle' in str(error) else error}"
            raise ValueError(msg) from error
        return found


def matrix(path: str) -> Any:
    """The distances of an .npy file, which stays on disk."""
    from ..neighbors import Neighbors

    try:
        held = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        msg = f"{path} is not an .npy file of numbers: {error}"
        raise ValueError(msg) from error
    if not isinstance(held, np.ndarray):
        held.close()
        msg = f"{path} is an .npz file; a matrix of distances is one array, as numpy.save writes it"
        raise ValueError(msg)
    return Neighbors.from_distances(held, queries="other")


def lists(paths: list[str]) -> list[Array]:
    """The lines of two text files: integers if all of them are, in both."""
    found = []
    for path in paths:
        wrong = f"{path} is no text file; identities of both sides go into one .npz file"
        refuse(path.endswith((".npz", ".npy")), wrong)
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            msg = f"{path} is not UTF-8 text: {error}"
            raise ValueError(msg) from error
        lines = [line.strip() for line in text.splitlines()]
        if not all(lines) or not lines:
            empty = lines.index("") + 1 if lines else 1
            msg = f"{path}, line {empty}: nothing is there; every line is one identity or camera"
            raise ValueError(msg)
        found.append(lines)
    if all(_is_integer(line) for lines in found for line in lines):
        return [np.array([int(line) for line in lines], np.int64) for lines in found]
    return [np.array(lines) for lines in found]


def _is_integer(text: str) -> bool:
    """Whether the text is an integer below 10^18 without leading zeros, which may belong to a name."""
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) <= 18 and str(int(text)) == text
