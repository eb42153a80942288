"""The section on the method: design, bounds, versions, notes, and the code of the headline number."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import numpy as np

from .._typing import Array
from .._version import __version__
from ._cost import MOST_HALVINGS
from ._scores import number_of_training_sets
from ._study import Study
from ._wording import at_most

GIVEN = "# X and y are the columns and the target that were given to report"
_EXACT = 2**53  # larger whole numbers are not exact in float64


class Clock:
    """Starts when it is made."""

    def __init__(self) -> None:
        self._started = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds since then."""
        return time.perf_counter() - self._started


def method_section(
    study: Study, reading: Sequence[str], labels: Sequence[Any] | None, clock: Clock
) -> dict[str, Any]:
    """Return the section; `reading` and `labels` are as for `code`."""
    bound = study.best.error_bound
    return {
        "design": study.best.design,
        "n_train_sets": number_of_training_sets(study.best),
        "error_bound": bound if bound < float("inf") else None,
        "seconds": clock.seconds,
        "versions": _versions(),
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


def _versions() -> dict[str, str]:
    import numba
    import scipy

    return {
        "knnccv": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
    }


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
