"""The confusion matrix and the file of per-sample scores of the command ``score``."""

from __future__ import annotations

import contextlib
import csv
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .._typing import Array
from ..driver import CompleteCV
from ..kernel import Variant


def check_confusion(rule: Variant) -> None:
    """Raise ValueError if the rule predicts no class."""
    if "loss" not in rule.parameters:
        msg = (
            f"variant {rule.name!r} does not predict a class, so it has no confusion matrix; rules that "
            "take a loss have one (nn, knn)"
        )
        raise ValueError(msg)


def confusion_as_json(names: list[str], matrix: Array) -> dict[str, Any]:
    """The matrix in types that JSON has; the row of a class that is never tested holds nulls."""
    rows = [[_known(float(share)) for share in row] for row in matrix]
    return {"classes": names, "normalize": "true", "matrix": rows}


def scores_as_json(scores: dict[Any, float]) -> dict[str, float | None]:
    """The scores of the classes; null for a class that is never tested."""
    return {str(name): _known(score) for name, score in scores.items()}


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def confusion_lines(names: list[str], matrix: Array, margin: int) -> list[str]:
    """The matrix in percent as lines of text; the rows' names take at least `margin` characters."""
    cells = [["-" if share != share else f"{100 * float(share):.2f}" for share in row] for row in matrix]
    table = [names, *cells]
    widths = [max(map(len, column)) + 2 for column in zip(*table, strict=True)]
    margin = max(margin, max(map(len, names)) + 4)
    lines = ["Expected confusion matrix (% of a true class, in its row, that are given each class)"]
    for title, row in zip(["", *names], table, strict=True):
        shown = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        lines.append(f"  {title}".ljust(margin) + "".join(shown))
    return lines


@contextlib.contextmanager
def items_file(name: str | None, table: str | None) -> Iterator[Path | None]:
    """The file for the scores of the samples, checked to be writable before anything is computed.

    An existing file keeps its content until there is an answer. A new file is removed if there is none.

    Parameters
    ----------
    name : str or None
        The argument of ``--per-item``; None gives None.
    table : str or None
        The file of the data, which must not be overwritten.

    Raises
    ------
    ValueError
        If it is not the name of a file, or is the file of the data.
    OSError
        If it cannot be written.
    """
    if name is None:
        yield None
        return
    if not name:
        msg = "--per-item needs the name of a file, got ''"
        raise ValueError(msg)
    if name == "-":
        msg = "--per-item needs the name of a file: standard output has the answer"
        raise ValueError(msg)
    path = Path(name)
    is_new = not path.exists()
    if not is_new and table not in (None, "-") and Path(table).exists() and os.path.samefile(path, table):
        msg = f"--per-item would overwrite the table {table}; name another file"
        raise ValueError(msg)
    with path.open("a", encoding="utf-8"):
        pass
    try:
        yield path
    except BaseException:
        if is_new:
            path.unlink(missing_ok=True)
        raise


def write_items(path: Path, found: CompleteCV) -> None:
    """Write a row per sample: number from 0, label, score (none where it is never tested) and weight."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("item", "label", "score", "weight"))
        columns = (found.labels.tolist(), found.per_item.tolist(), found.weights.tolist())
        for item, (label, score, weight) in enumerate(zip(*columns, strict=True)):
            writer.writerow((item, label, "" if math.isnan(score) else score, weight))
