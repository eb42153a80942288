"""The sections of facts: the data, with columns that name the target, and the method, with its code."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from numbers import Real
from typing import Any

import numpy as np

from .._labels import encode_labels
from .._typing import Array
from .._validation import check_integer
from .._version import __version__
from ._cost import MOST_HALVINGS, affordable_rows, tie_size
from ._scores import number_of_training_sets
from ._study import Study
from ._table import FEWEST_ROWS, Cut, TableInput, shown, subsampled
from ._text import at_most, counted, quoted, rounded


def studied(table: TableInput, max_items: int, random_state: int) -> tuple[TableInput, Cut]:
    """The rows that are studied: at most `max_items`, and no more than can be afforded."""
    most = check_integer("max_items", max_items, FEWEST_ROWS)
    seed = check_integer("random_state", random_state, 0)
    n_items = min(table.n_items, most)
    ties = 1 + (tie_size(table.X, seed) - 1) * n_items / table.n_items
    rows, reason = affordable_rows(n_items, len(table.names), table.is_mixed, ties)
    part, cut = subsampled(table, rows if reason else most, seed, reason)
    if part.task == "classification" and len(set(part.y.tolist())) < 2:
        msg = (
            f"all {part.n_items:,} rows of the subsample are of one class, {shown(part.y[0])}; take a "
            "larger max_items, or another random_state"
        )
        raise ValueError(msg)
    return part, cut


def data_section(study: Study, cut: Cut) -> dict[str, Any]:
    """Return the section."""
    table = study.table
    names = np.array(table.names, dtype=object)
    copies = copies_of_target(table)
    classes, target, y = None, None, table.y
    if study.task == "classification":
        labels = encode_labels(y, table.n_items)
        classes = [
            {"label": str(label), "n_items": count, "share": count / table.n_items}
            for label, count in zip(labels.classes.tolist(), labels.counts.tolist(), strict=True)
        ]
    else:
        numbers = {"min": y.min(), "max": y.max(), "mean": y.mean(), "variance": y.var()}
        target = {name: float(value) for name, value in numbers.items()}
    return {
        "n_items": table.n_items,
        "n_features": len(names),
        "feature_names": names.tolist(),
        "categorical": names[table.categorical].tolist(),
        "constant": names[table.constant].tolist(),
        "copies_of_target": copies,
        "n_missing": table.n_missing,
        "classes": classes,
        "target": target,
        "subsample": cut,
        "conclusion": _of_data(study, classes, target, cut) + copies_note(copies),
    }


def _of_data(study: Study, classes: Any, target: Any, cut: Cut) -> str:
    table = study.table
    samples = (
        f"{table.n_items:,} samples"
        if cut is None
        else f"A random {cut['n_items']:,} of {cut['of']:,} samples"
    )
    text = f"{samples} with {counted(len(table.names), 'column')}"
    if classes is not None:
        largest = max(classes, key=lambda each: each["n_items"])
        text += (
            f" belong to {len(classes)} classes, the largest of which, {quoted(largest['label'])}, has "
            f"{largest['share']:.1%} of them"
        )
    else:
        text += (
            f" have targets from {rounded(target['min'])} to {rounded(target['max'])} with a mean of "
            f"{rounded(target['mean'])}"
        )
    counts = (
        ("column", " with categories", table.categorical.sum()),
        ("missing value", "", table.n_missing),
        ("constant column", "", table.constant.sum()),
    )
    remarks = [counted(int(n), noun) + more for noun, more, n in counts if n]
    if not remarks:
        return f"{text}."
    listed = ", ".join(remarks[:-1]) + " and " * (len(remarks) > 1) + remarks[-1]
    return f"{text}; the table has {listed}."


SAME = 1e-9
"""A column is a multiple of the target if 1 minus the square of their correlation is below this."""
SAME_IN_THE_MIDDLE = 0.01
"""And if what the multiple leaves over varies less than this share of the target, extreme rows aside."""
ROUNDING = 1e-14
"""The variation that rounding leaves, of targets of at most 1."""
MOST_NAMED = 5
FEW = 1000
"""Rows that are looked at first, so that most columns are refused quickly."""


def copies_of_target(table: TableInput) -> list[str]:
    """The names of the columns that say the same as the target.

    For classes: as many different values as classes, each with one class only. For a regression: a multiple
    of the target plus a constant. Rows where the column is missing do not count, but most must be there.
    """
    if table.task == "regression":
        found = [
            not category and _is_multiple(column, table.y)
            for column, category in zip(table.X.T, table.categorical.tolist(), strict=True)
        ]
    else:
        codes = encode_labels(table.y, table.n_items).codes
        found = [_names_classes(column, codes) for column in table.X.T]
    return [name for name, is_copy in zip(table.names, found, strict=True) if is_copy]


def copies_note(names: list[str]) -> str:
    """What the page says about them, if there are any; starts with a space."""
    if not names:
        return ""
    listed = ", ".join(quoted(name) for name in names[:MOST_NAMED]) + (", …" if names[MOST_NAMED:] else "")
    if len(names) == 1:
        return f" The column {listed} says the same as the target; if it is made from it, leave it out."
    return f" The columns {listed} say the same as the target; if they are made from it, leave them out."


def _known(column: Array) -> Array | None:
    """The mask of the values that are there; None if these are not most."""
    known = ~np.isnan(column)
    return known if 2 * known.sum() > len(known) else None


def _names_classes(column: Array, codes: Array) -> bool:
    """Whether each value stands for one class, and each class for one value."""
    known = _known(column)
    if known is None or not _one_to_one(column[known][:FEW], codes[known][:FEW]):
        return False
    values, classes = column[known], codes[known]
    return 1 < len(np.unique(classes)) < len(classes) and _one_to_one(values, classes)


def _one_to_one(values: Array, classes: Array) -> bool:
    values, places = np.unique(values, return_inverse=True)
    classes, codes = np.unique(classes, return_inverse=True)
    return len(values) == len(classes) == len(np.unique(places * len(classes) + codes))


def _is_multiple(column: Array, targets: Array) -> bool:
    """Whether a column is a multiple of the targets plus a constant, not for a few extreme rows only."""
    known = _known(column)
    if known is None:
        return False
    x, y = _centered(column[known]), _centered(targets[known])
    if x is None or y is None or 1 - (x @ y) ** 2 / ((x @ x) * (y @ y)) >= SAME:
        return False
    rest = y - (x @ y) / (x @ x) * x
    return _variation(rest) <= SAME_IN_THE_MIDDLE * _variation(y) + ROUNDING


def _centered(values: Array) -> Array | None:
    """Deviations from the mean, the largest of which is 1; None if there is none."""
    values = np.ldexp(values, -np.frexp(np.abs(values).max())[1])  # so that no sum overflows
    values -= values.mean()
    largest = np.abs(values).max()
    return values / largest if largest > 0 else None


def _variation(values: Array) -> float:
    """The median deviation from the median, which extreme values do not change."""
    return float(np.median(np.abs(values - np.median(values))))


GIVEN = "# X and y are the columns and the target that were given to report"
_EXACT = 2**53  # larger whole numbers are not exact in float64


def method_section(
    study: Study, reading: Sequence[str], labels: Sequence[Any] | None, started: float
) -> dict[str, Any]:
    """Return the section; `reading` and `labels` are as for `code`."""
    bound = study.best.error_bound
    return {
        "design": study.best.design,
        "n_train_sets": number_of_training_sets(study.best),
        "error_bound": bound if bound < float("inf") else None,
        "seconds": time.perf_counter() - started,
        "versions": {"knnccv": __version__, "python": platform.python_version()}
        | {package: version(package) for package in ("numpy", "scipy", "numba")},
        "code": code(study, reading, labels),
        "notes": _notes(study),
        "conclusion": (
            f"The score is the exact mean over all {number_of_training_sets(study.best)} training sets of "
            f"{study.train_size:,} of {study.table.n_items:,} samples, with an error of at most "
            f"{at_most(bound)}."
        ),
    }


def _notes(study: Study) -> list[str]:
    notes = list(dict.fromkeys(study.notes))
    if study.table.task_reason:
        notes.insert(0, f"The task is {study.task}, since {study.table.task_reason}.")
    if study.effort.n_halvings < MOST_HALVINGS:
        notes.append(
            f"Intervals come from {study.effort.n_halvings} random pairs of halves of the samples."
        )
    if study.effort.n_comparisons < MOST_HALVINGS:
        notes.append(f"Settings are compared on {study.effort.n_comparisons} random pairs of halves.")
    return notes


def code(study: Study, reading: Sequence[str], labels: Sequence[Any] | None) -> str:
    """Python that prints the score of the best setting.

    Parameters
    ----------
    study : Study
        The table and its best setting.
    reading : sequence of str
        Lines that set `X`, a data frame of numbers and categories, and `y`. They may use ``np`` and ``pd``.
        Labels of columns that are numbers must be their positions. Without any line, `X` and `y` are as
        they were given to `report`.
    labels : sequence, or None
        The labels of the columns if `X` was given to `report` as a data frame.
    """
    table, setting = study.table, study.best_setting
    lines = list(reading) or [GIVEN]
    is_cut = table.n_items < table.n_given
    if is_cut:
        seed, kept = study.random_state, table.n_items
        lines += [
            f"rows = np.sort(np.random.default_rng({seed}).choice({table.n_given}, {kept}, replace=False))",
            "X, y = pd.DataFrame(X).iloc[rows], np.asarray(y)[rows]",
        ]
    if table.is_mixed:
        distance = "from knnccv.hvdm import HEOM"
        nominal = [int(j) for j in table.categorical.nonzero()[0]]
        as_objects = not reading and (
            has_misleading_labels(labels or ())
            # HEOM takes columns of objects for categories in a data frame, and in an array looks into them.
            or ((labels is not None or is_cut) and _any_number_column(study, _holds_objects))
        )
        columns = "np.asarray(X, dtype=object)" if as_objects else "X"
        lines.append(f"near = HEOM(nominal={nominal}).fit({columns}).neighbors()")
        options = ""
    else:
        distance = "from knnccv.reporting import scaled"
        as_floats = not reading and _any_number_column(study, _needs_float)
        columns = "np.asarray(X, dtype=float)" if as_floats else "X"
        lines.append(f"near = scaled({columns}, {setting.scaling!r})")
        options = f", metric={setting.metric!r}"
    if study.average != "pooled":
        options += f", average={study.average!r}"
    lines.append(
        f"result = complete_cv(near, np.asarray(y).ravel(), {study.rule!r}, Subsample({study.train_size}), "
        f"n_neighbors={setting.n_neighbors}{options})"
    )
    imports = ["import numpy as np", "from knnccv import Subsample, complete_cv", distance]
    if any("pd." in line for line in lines):
        imports.insert(1, "import pandas as pd")
    return "\n".join([*imports, *lines, "print(result.score, result.error_bound)"])


def has_misleading_labels(labels: Sequence[Any]) -> bool:
    """Whether a label of a column is a number that is not its position, for which HEOM would take it."""
    return any(isinstance(label, Real) and label != at for at, label in enumerate(labels))


def _any_number_column(study: Study, check: Callable[[Array], bool]) -> bool:
    """Whether a check holds for a column of numbers as it was given."""
    table = study.table
    pairs = zip(table.columns, table.categorical.tolist(), strict=True)
    return any(check(column) for column, is_category in pairs if not is_category)


def _holds_objects(column: Array) -> bool:
    return column.dtype.kind == "O"


def _needs_float(column: Array) -> bool:
    """Whether `scaled` refuses a column of numbers: decimals, or whole numbers that float64 rounds."""
    if _holds_objects(column):
        return True
    return column.dtype.kind in "iu" and bool((np.abs(column.astype(np.float64)) >= _EXACT).any())
