"""How a file is to be read: its delimiter, header and sheet, and the marks of its numbers."""

from __future__ import annotations

import argparse
from typing import NamedTuple

from .cells import Marks


class FileFormat(NamedTuple):
    """How a file is to be read.

    Attributes
    ----------
    delimiter : str, optional
        Of text: one character, or "comma", "semicolon", "tab", "space". Default: the one of these four
        that splits the rows most evenly into most numbers.
    header : bool, optional
        Whether the first row names the columns. Default: it does if none of its cells is a number.
    sheet : str, optional
        The sheet of an Excel file. Default: the first.
    decimal : str, optional
        The decimal mark of numbers in text. Default: a point.
    thousands : str, optional
        The mark between thousands of such numbers. Default: none.
    """

    delimiter: str | None = None
    header: bool | None = None
    sheet: str | None = None
    decimal: str | None = None
    thousands: str | None = None

    @classmethod
    def of(cls, args: argparse.Namespace) -> FileFormat:
        """What the options say."""
        return cls(args.delimiter, args.header, args.sheet, args.decimal, args.thousands)

    @property
    def marks(self) -> Marks:
        """The marks of numbers; ValueError if one is not allowed."""
        marks = Marks(self.decimal or ".", self.thousands)
        for option, mark in zip(("--decimal", "--thousands"), marks, strict=True):
            if mark is not None and (len(mark) != 1 or mark.isalnum() or mark in "+-"):
                msg = f"{option} must be one character that is no digit, letter or sign, got {mark!r}"
                raise ValueError(msg)
        if marks.decimal == marks.thousands:
            other = "." if marks.decimal == "," else ","
            msg = (
                f"--thousands {marks.thousands} needs another --decimal, such as {other}: both are the same"
            )
            raise ValueError(msg)
        return marks


ANY = FileFormat()
