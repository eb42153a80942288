"""The confusion matrix and the file of per-sample scores of the command ``score``."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

from .._files import written_whole
from .._typing import Array
from ..kernel import Variant
from ..results import CompleteCV


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


def write_items(path: Path, found: CompleteCV) -> None:
    """Write a row per sample: number from 0, label, score (none where it is never tested) and weight."""
    with written_whole(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("item", "label", "score", "weight"))
        columns = (found.labels.tolist(), found.per_item.tolist(), found.weights.tolist())
        for item, (label, score, weight) in enumerate(zip(*columns, strict=True)):
            writer.writerow((item, label, "" if math.isnan(score) else score, weight))
