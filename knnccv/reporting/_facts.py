"""The sections of facts: the data, with columns that name the target, and the method, with its code."""

from __future__ import annotations

import platform
import re
import shlex
import time
from collections.abc import Sequence
from importlib.metadata import version
from numbers import Real
from typing import Any

import numpy as np

from .._base import __version__
from .._base.formatting import plain
from .._base.labels import encode_labels
from .._base.typing import Array
from ..neighbors import copies_text
from ._columns import EXACT
from ._scores import number_of_training_sets
from ._study import MOST_HALVINGS, Study
from ._table import Table
from ._text import Cut, at_most, counted, quoted, rounded, section


def data_section(study: Study, cut: Cut, whole: Table) -> dict[str, Any]:
    """Return the section; `whole` is the table before some of its rows were drawn."""
    table, y = study.table, study.y
    repeated = repeated_rows(whole)
    warned = [*groups_warnings(whole), *[repeated] * bool(repeated), *remarks(whole)]
    study.note(*warned)
    names = np.array(table.names, dtype=object)
    classes, target = None, None
    if study.task == "classification":
        encoded = encode_labels(y)
        classes = [
            {"label": str(label), "n_items": n_items, "share": n_items / table.n_items}
            for label, n_items in zip(encoded.classes, encoded.counts, strict=True)
        ]
    else:
        target = {"min": y.min(), "max": y.max(), "mean": y.mean(), "variance": y.var()}
    return section(
        _of_data,
        n_items=table.n_items,
        n_features=len(names),
        n_groups=None if study.groups is None else len(np.unique(study.groups)),
        feature_names=names,
        categorical=names[table.categorical],
        constant=names[table.constant],
        copies_of_target=copies_of_target(table),
        repeated_rows=repeated,
        warnings=warned,
        n_missing=table.n_missing,
        classes=classes,
        target=target,
        target_name=None if table.target_name is None or not table.has_header else str(table.target_name),
        subsample=cut,
    )


def _of_data(found: dict[str, Any]) -> str:
    text = f"The table has {found['n_items']:,} samples"
    if found["subsample"]:
        text = f"The page is about a random {found['n_items']:,} of {found['subsample']['of']:,} samples"
    if found["n_groups"]:
        text += f" of {found['n_groups']:,} groups"
    text += f" with {counted(found['n_features'], 'column')}"
    if found["target"]:
        low, high, mean = (rounded(found["target"][name]) for name in ("min", "max", "mean"))
        text += f". The targets go from {low} to {high}, with a mean of {mean}."
    else:
        largest = max(found["classes"], key=lambda each: each["n_items"])
        text += f" and {len(found['classes'])} classes. The largest class, {quoted(largest['label'])}, has "
        text += f"{largest['share']:.1%} of the samples."
    if found["target_name"] is not None:
        text += f" The target is {quoted(found['target_name'])}."
    counts = (
        (len(found["categorical"]), "column", "with categories"),
        (found["n_missing"], "missing value", ""),
        (len(found["constant"]), "constant column", ""),
    )
    remarks = [f"{counted(n, noun)} {more}".rstrip() for n, noun, more in counts if n]
    if remarks:
        there = "There is" if remarks[0].startswith("1 ") else "There are"
        text += f" {there} {', '.join(remarks[:-1])}{' and ' * (len(remarks) > 1)}{remarks[-1]}."
    return text + copies_note(found["copies_of_target"])


SAME = 1e-9
"""A column is a multiple of the target if 1 minus the square of their correlation is below this."""
SAME_IN_THE_MIDDLE = 0.01
"""And if what the multiple leaves over varies less than this share of the target, extreme rows aside."""
ROUNDING = 1e-14
"""The variation that rounding leaves, of targets of at most 1."""
MOST_NAMED = 5
FEW = 1000
"""Rows that are looked at first, so that most columns are refused quickly."""


def copies_of_target(table: Table) -> list[str]:
    """The names of the columns that say the same as the target.

    For classes: as many different values as classes, each with one class only. For a regression: a multiple
    of the target plus a constant. Rows where the column is missing do not count, but most must be there.
    """
    regression = table.task == "regression"
    says_the_same = _is_multiple if regression else _names_classes
    target = table.y if regression else encode_labels(table.y).codes
    found = []
    for name, column, category in zip(table.names, table.X.T, table.categorical, strict=True):
        known = ~np.isnan(column)
        if 2 * known.sum() > len(known) and not (regression and category):
            found += [name] * says_the_same(column[known], target[known])
    return found


def copies_note(names: list[str]) -> str:
    """What the page says about them, if there are any; starts with a space."""
    if not names:
        return ""
    listed = ", ".join(quoted(name) for name in names[:MOST_NAMED]) + (", …" if names[MOST_NAMED:] else "")
    if len(names) == 1:
        return f" The column {listed} says the same as the target. Leave it out if it is made from it."
    return f" The columns {listed} say the same as the target. Leave them out if they are made from it."


MANY_REPEATED = 20
"""Values of a column at least, and rows of one at most, that may name groups."""
MEAN_REPEATED = 5
"""Rows of one on average, at most."""


SHARE_REPEATED = 0.8
"""The share of rows with a value that another row has, at least."""
SMOOTH = 0.3
"""The correlation of the numbers of rows of values next to each other, at most; names have none."""


def like_groups(
    values: Array, groups: Array | None = None, classes: Array | None = None, names: bool = False
) -> str:
    """What is said of a column with many values, each in a few rows, such as the numbers of patients.

    Also of one whose values have more rows, but each of one class. Empty of another column, and of one that
    tells parts of given groups. NaN are missing values; `names` are categories.
    """
    is_known = ~np.isnan(values)
    known = values[is_known]
    seen = max((np.count_nonzero(known == one) for one in known[:: len(known) // 5 + 1]), default=0)
    decides = seen > 1 and classes is not None and _decides(known, classes[is_known], names)
    if seen < 2 or (seen > MANY_REPEATED and not decides):  # spares most columns the sorting
        return ""
    counts = np.unique(known, return_counts=True)[1]
    few = counts.max() <= MANY_REPEATED and (names or counts.mean() <= MEAN_REPEATED)
    if len(counts) < MANY_REPEATED or not (few or decides):
        return ""
    if counts.min() == 1:
        # Some came once. A rounded measurement also repeats, but near values are about as frequent.
        repeating = counts[counts > 1].sum() / len(known)
        if repeating < SHARE_REPEATED or (known != np.floor(known)).any():
            return ""
        if np.gcd.reduce(known[np.abs(known) < EXACT].astype(np.int64)) > 1:  # rounded, as 3,750 g
            return ""
        if (counts[1:] @ counts[:-1] / (len(counts) - 1) - counts.mean() ** 2) > SMOOTH * counts.var():
            return ""
    size = " to ".join(map(str, sorted({counts.min(), counts.max()})))
    said = f"has {len(counts)} values, each in {size} rows"
    if groups is None:
        return said
    pairs = np.unique(np.column_stack([values, groups])[~np.isnan(values)], axis=0)
    return f"{said}, of several groups" if len(pairs) > len(counts) else ""


def _decides(values: Array, classes: Array, names: bool) -> bool:
    """Whether all rows of a value are of one class, and the class of numbers is no matter of thresholds."""
    for some in (slice(FEW), slice(None)):
        pairs = np.unique(np.column_stack([values[some], classes[some]]), axis=0)
        if (pairs[1:, 0] == pairs[:-1, 0]).any():
            return False
    return names or bool(np.count_nonzero(np.diff(pairs[:, 1])) > 2 * len(np.unique(classes)))


def groups_warnings(table: Table) -> list[str]:
    """Of columns that may name groups, also of those that are left out."""
    aside = ((name, cells.codes(), False) for name, cells in table.set_aside)
    columns = [*zip(table.names, table.X.T, table.categorical, strict=True), *aside]
    groups = None if table.groups is None else np.unique(table.groups, return_inverse=True)[1]
    classes = encode_labels(table.y).codes if table.task == "classification" else None
    found = ((name, like_groups(values, groups, classes, bool(cat))) for name, values, cat in columns)
    return [
        f"The column {quoted(name)} {rows}. If rows with one value belong together, the scores hold only "
        "for new samples of these groups. To score new groups, name the column (--groups "
        f"{shlex.quote(name)}, in Python groups=)."
        for name, rows in found
        if rows
    ]


def remarks_of_score(table: Table, by_scale: bool) -> list[str]:
    """What a score says of its table as a page does; and of columns of other scales, if these matter."""
    scale = largest_scale(table) * by_scale
    of_target = copies_note(copies_of_target(table)).strip()
    found = repeated_rows(table), *groups_warnings(table), *remarks(table), scale, of_target
    return list(filter(None, found))


def repeated_rows(table: Table) -> str:
    """What is said of rows that may be copies; empty if there are none, or groups keep them together."""
    return copies_text(table.X, table.y) if table.groups is None else ""


def remarks(table: Table) -> list[str]:
    """What a page and a score say of the labels and cells; nothing is changed."""
    found = []
    if table.y.dtype.kind in "UO":
        same: dict[str, list[str]] = {}
        for label in np.unique(table.y.astype(str)).tolist():
            same.setdefault(" ".join(label.split()).casefold(), []).append(label)
        found += [
            f"The labels {' and '.join(map(quoted, labels))} are different classes, but differ by case or "
            "spaces only. Write them alike if they mean the same."
            for labels in same.values()
            if len(labels) > 1
        ]
    for name, column, category in zip(table.names, table.X.T, table.categorical, strict=True):
        mark = None if category else sentinel(column)
        if mark is not None:
            rows = counted(int((column == mark).sum()), "row")
            found.append(
                f"The column {quoted(name)} has {mark:.15g} in {rows}, far from its other values. Leave "
                f"these cells empty, or pass --missing={mark:.15g}, if it stands for a missing value."
            )
    return found


def sentinel(column: Array) -> float | None:
    """A number of nines at an end of a column that may stand for a missing value; None without one.

    It occurs twice at least, and is farther from the others than these are from each other.
    """
    values = column[~np.isnan(column)]
    for mark in (values.min(initial=0), values.max(initial=0)):
        rest = values[values != mark]
        if not re.fullmatch("-?99+", f"{mark:.15g}") or len(values) - len(rest) < 2 or len(rest) < 2:
            continue
        if np.abs(rest - mark).min() > rest.max() - rest.min():
            return float(mark)
    return None


TIMES_WIDER = 10
"""The standard deviation of a column, in medians of the others, from which it is named."""


def largest_scale(table: Table) -> str:
    """What is said of columns of such different scales that few of them decide distances; or empty."""
    spread = np.nanstd(table.X, axis=0)
    widest = int(spread.argmax())
    others = np.delete(spread, widest)
    times = spread[widest] / np.median(others[others > 0]) if others.any() else 1.0
    if times < TIMES_WIDER:
        return ""
    varies = f"varies {times:.3g} times as much as the others do in the median"
    remedy = "Give all the same scale by --scaling standard."
    name = quoted(table.names[widest])
    return f"The column {name} {varies}, so that few columns decide the distances. {remedy}"


def _names_classes(values: Array, classes: Array) -> bool:
    """Whether each value stands for one class, and each class for one value."""
    may_agree = _one_to_one(values[:FEW], classes[:FEW])
    return may_agree and 1 < len(np.unique(classes)) < len(classes) and _one_to_one(values, classes)


def _one_to_one(values: Array, classes: Array) -> bool:
    values, places = np.unique(values, return_inverse=True)
    classes, codes = np.unique(classes, return_inverse=True)
    return len(values) == len(classes) == len(np.unique(places * len(classes) + codes))


def _is_multiple(values: Array, targets: Array) -> bool:
    """Whether values are a multiple of the targets plus a constant, not for a few extreme rows only."""
    x, y = _centered(values), _centered(targets)
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
GROUPS_GIVEN = "# groups are those that were given to report"


def method_section(study: Study, started: float) -> dict[str, Any]:
    """Return the section."""
    best, table = study.best, study.table
    n_train_sets = number_of_training_sets(best)
    sets = f"all {n_train_sets} training sets of {study.train_size:,} of {table.n_items:,} samples"
    if study.groups is not None:
        sets = f"all {n_train_sets} training sets that leave out one group"
    return {
        "design": best.design,
        "n_train_sets": n_train_sets,
        "error_bound": plain(best.error_bound),
        "seconds": time.perf_counter() - started,
        "versions": {"knnccv": __version__, "python": platform.python_version()}
        | {package: version(package) for package in ("numpy", "scipy", "numba")},
        "code": code(study),
        "notes": _notes(study),
        "conclusion": (
            f"The score is the exact mean over {sets}, with an error of at most "
            f"{at_most(best.error_bound)}."
        ),
    }


def _notes(study: Study) -> list[str]:
    reason, effort = study.table.task_reason, study.effort
    notes = [f"The task is {study.task}, since {reason}."] if reason else []
    notes += study.notes
    if effort.n_halvings < MOST_HALVINGS:
        notes.append(f"Intervals come from {effort.n_halvings} random pairs of halves of the samples.")
    if effort.n_comparisons < MOST_HALVINGS:
        notes.append(f"Settings are compared on {effort.n_comparisons} random pairs of halves.")
    return notes


def code(study: Study) -> str:
    """Python that prints the score of the best setting, of what was given to `report` or is in a file."""
    table, setting = study.table, study.best_setting
    n_given = len(table.columns[0])
    is_cut = table.n_items < n_given
    numbers = [each for each, nominal in zip(table.columns, table.categorical, strict=True) if not nominal]
    lines, columns, options = list(table.code) or [GIVEN, *table.converting], "X", ""
    grouped = study.groups is not None
    if grouped and not table.code:
        lines.append(GROUPS_GIVEN)
    if is_cut:
        seed, kept = study.random_state, table.n_items
        lines += [
            f"rows = np.sort(np.random.default_rng({seed}).choice({n_given}, {kept}, replace=False))",
            "X, y = pd.DataFrame(X).iloc[rows], np.asarray(y)[rows]",
        ]
        lines += ["groups = np.asarray(groups)[rows]"] * grouped
    if table.is_mixed:
        kind = "HVDM" if setting.metric == "hvdm" else "HEOM"
        target, anew = (", np.asarray(y).ravel()", "groups=groups") if kind == "HVDM" else ("", "")
        distance = f"from knnccv.neighbors.hvdm import {kind}"
        # HEOM takes columns of objects for categories in a data frame, and in an array looks into them.
        in_frame = table.labels is not None or table.converting
        objects = any(each.dtype.kind == "O" for each in (numbers if in_frame else table.columns))
        if has_misleading_labels(table.labels or ()) or (objects and (in_frame or is_cut)):
            columns = "np.asarray(X, dtype=object)"
        nominal = np.flatnonzero(table.categorical).tolist()
        lines.append(f"near = {kind}(nominal={nominal}).fit({columns}{target}).neighbors({anew})")
    else:
        distance = "from knnccv.reporting import scaled"
        if not table.code and any(map(_needs_float, numbers)):
            columns = "np.asarray(X, dtype=float)"
        lines.append(f"near = scaled({columns}, {setting.scaling!r})")
        options = f", metric={setting.metric!r}"
    design = "LeaveGroupsOut(groups)" if grouped else f"Subsample({study.train_size})"
    if study.average != "pooled":
        options += f", average={study.average!r}"
    lines.append(
        f"result = complete_cv(near, np.asarray(y).ravel(), {study.rule!r}, {design}, "
        f"n_neighbors={setting.n_neighbors}{options})"
    )
    imports = [
        "import numpy as np",
        f"from knnccv import {design.partition('(')[0]}, complete_cv",
        distance,
    ]
    if any("pd." in line for line in lines):
        imports.insert(1, "import pandas as pd")
    return "\n".join([*imports, *lines, "print(result.score, result.error_bound)"])


def has_misleading_labels(labels: Sequence[Any]) -> bool:
    """Whether a label of a column is a number that is not its position, for which HEOM would take it."""
    return any(isinstance(label, Real) and label != at for at, label in enumerate(labels))


def _needs_float(column: Array) -> bool:
    """Whether `scaled` refuses a column of numbers: decimals, or whole numbers that float64 rounds."""
    if column.dtype.kind == "O":
        return True
    return column.dtype.kind in "iu" and bool((np.abs(column.astype(np.float64)) >= EXACT).any())
