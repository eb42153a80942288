"""The files that options such as ``--out`` and ``--per-item`` name."""

from __future__ import annotations

import os
from pathlib import Path

from .._files import check_writable


def output_path(option: str, name: str, table: str | None) -> Path:
    """The path of a file to write, checked before anything is computed; a file that is there is replaced.

    Parameters
    ----------
    option : str
        The option that names the file, for messages.
    name : str
        Its argument.
    table : str or None
        The file of the data, which must not be overwritten.

    Raises
    ------
    ValueError
        If it is not the name of a file, or is the file of the data.
    OSError
        If it cannot be written.
    """
    if not name:
        msg = f"{option} needs the name of a file, got ''"
        raise ValueError(msg)
    if name == "-":
        msg = f"{option} needs the name of a file: standard output has the answer"
        raise ValueError(msg)
    path = Path(name)
    if (
        table not in (None, "-")
        and path.exists()
        and Path(table).exists()
        and os.path.samefile(path, table)
    ):
        msg = f"{option} would overwrite the table {table}; name another file"
        raise ValueError(msg)
    check_writable(path)
    return path
