"""Unpacking of files within bounds, since a small one may fill the memory, and errors of damaged ones."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, NamedTuple

RATIO = 100
"""Tables of numbers unpack to 3 to 30 times their size, and decompression bombs to 1000 times."""
ALWAYS = 2**28
"""Bytes that any file may unpack to."""

_BYTES_OF_CELL = 4  # an empty cell within the extent of a sheet takes more than that in memory
_MOST_ROWS = 2**20  # of a sheet, by the format
_AT_ONCE = 2**20


class RefusedFileError(ValueError):
    """A file that is too large or damaged."""


class Bound(NamedTuple):
    """The name and size of a file, which bound what it may unpack to."""

    name: str
    size: int

    def check(self, n_bytes: int, shape: str = "") -> None:
        """Raise RefusedFileError if so many bytes are too many; `shape` says what takes them."""
        most = max(ALWAYS, RATIO * self.size)
        if n_bytes > most:
            msg = (
                f"save {self.name} as CSV without compression: its {self.size:,} bytes unpack to "
                f"{n_bytes:,} or more{shape}; at most {most:,} are allowed"
            )
            raise RefusedFileError(msg)


@contextmanager
def damage_reported(name: str, what: str) -> Iterator[None]:
    """Turn whatever a damaged file raises into one clear error."""
    try:
        yield
    except (RefusedFileError, MemoryError):
        raise
    except Exception as error:
        # zipfile, zlib, XML parsers and the packages on top of them raise a dozen unrelated types.
        said = " ".join(str(error).split())[:200]
        msg = f"save or download {name} again: it cannot be {what} ({type(error).__name__}: {said})"
        raise RefusedFileError(msg) from error


def decompressed(bound: Bound, blob: bytes) -> tuple[bytes, str]:
    """The content of a file compressed by gzip, bzip2 or xz, or alone in a zip archive; others as is.

    And the compression, in the words of pandas.

    Raises
    ------
    RefusedFileError
        If it is damaged, too large, or an archive of several files.
    """
    packed = io.BytesIO(blob)
    with damage_reported(bound.name, "decompressed"):
        if blob.startswith(b"\x1f\x8b"):
            return _read_within(bound, gzip.open(packed)), "gzip"
        if re.match(rb"BZh[1-9]1AY&SY", blob):
            return _read_within(bound, bz2.open(packed)), "bz2"
        if blob.startswith(b"\xfd7zXZ\x00"):
            return _read_within(bound, lzma.open(packed)), "xz"
        if is_zip(blob):
            with zipfile.ZipFile(packed) as archive:
                members = [member for member in archive.namelist() if not member.endswith("/")]
                if any(member.startswith("xl/") for member in members):  # Excel
                    return blob, ""
                if len(members) != 1:
                    msg = f"{bound.name} is a zip archive of {len(members)} files; it must hold one table"
                    raise RefusedFileError(msg)
                return _read_within(bound, archive.open(members[0])), "zip"
    return blob, ""


def is_zip(blob: bytes) -> bool:
    """Return True if a file is a zip archive, even if it is damaged."""
    return blob.startswith((b"PK\3\4", b"PK\5\6", b"PK\7\x08"))


def _read_within(bound: Bound, stream: IO[bytes] | gzip.GzipFile) -> bytes:
    # In parts, since the stream may declare any size, and a large read reserves its memory at once.
    content = bytearray()
    with stream:
        while part := stream.read(_AT_ONCE):
            content += part
            bound.check(len(content))
    return bytes(content)


def check_parquet(bound: Bound, metadata: Any) -> None:
    """Raise RefusedFileError if the pages are too large, or the rows and columns too many."""
    pages = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    bound.check(pages)
    rows, columns = metadata.num_rows, metadata.num_columns
    bound.check(rows * columns, f" ({rows:,} rows of {columns:,} columns)")  # any value is a byte or more


def check_members(bound: Bound, blob: bytes) -> None:
    """Raise RefusedFileError if the files in a zip archive are too large; zipfile reads no more of them."""
    with zipfile.ZipFile(io.BytesIO(blob)) as archive:
        bound.check(sum(member.file_size for member in archive.infolist()))


def bounded_rows(bound: Bound, rows: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
    """The rows of a sheet up to their last value; RefusedFileError if the values are far apart.

    All cells between them are made, so that a file of two cells can fill the memory.
    """
    width = area = touched = 0
    for n_rows, row in enumerate(rows, 1):
        filled = next((i for i in range(len(row), 0, -1) if row[i - 1].value is not None), 0)
        if filled:
            width = max(width, filled)
            area = n_rows * width
        touched += len(row)
        cells = max(touched, area)
        shape = f" ({cells:,} cells, most of them empty; delete those far from the table)"
        bound.check(_BYTES_OF_CELL * cells, shape)
        if n_rows > _MOST_ROWS:
            msg = f"save {bound.name} again: it has rows beyond {_MOST_ROWS:,}, the last one of a sheet"
            raise RefusedFileError(msg)
        yield row[:filled]
