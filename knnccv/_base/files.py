"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import uuid
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A new, empty file to write to, which takes the place of `path` when the block ends.

    The new file is in the same folder. After an exception, Ctrl-C included, it is removed, and a file that
    was at `path` keeps its content. A link is followed. What is no regular file, such as ``/dev/stdout``,
    is written to directly.

    Parameters
    ----------
    path : path
        The file to write.

    Raises
    ------
    OSError
        If the file cannot be written; the error names `path`.
    """
    final = Path(os.path.realpath(path))
    _check_writable(final, path)
    if final.exists() and not final.is_file():
        with _named(path):
            yield final
        return
    # A character may take four of the 255 bytes of a name.
    scratch = final.with_name(f".{final.name[:50]}.{uuid.uuid4().hex[:8]}.part")
    try:
        scratch.touch(exist_ok=False)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
    try:
        with _named(path):
            yield scratch
        if final.exists():
            scratch.chmod(final.stat().st_mode & 0o7777)
        os.replace(scratch, final)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise OSError if `written_whole` could not write here; no file is left."""
    with contextlib.suppress(_Checked), written_whole(path):
        raise _Checked


@contextlib.contextmanager
def _named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file in errors of writing that name none, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


class _Checked(Exception):
    pass


def _check_writable(final: Path, path: str | os.PathLike[str]) -> None:
    """Raise OSError for folders and for files that are write-protected, which could still be replaced."""
    if final.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if final.exists() and not os.access(final, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
