"""The section on the method: design, bounds, versions, notes, and the code of the headline number."""

from __future__ import annotations

import platform
import time
from pathlib import Path
from typing import Any

from .._version import __version__
from ._cost import MOST_HALVINGS
from ._scores import number_of_training_sets
from ._study import Study


class Clock:
    """Starts when it is made."""

    def __init__(self) -> None:
        self._started = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds since then."""
        return time.perf_counter() - self._started


def method_section(study: Study, name: str, target: str | None, clock: Clock) -> dict[str, Any]:
    """Return the section."""
    bound = study.best.error_bound
    return {
        "design": study.best.design,
        "n_train_sets": number_of_training_sets(study.best),
        "error_bound": bound if bound < float("inf") else None,
        "seconds": clock.seconds,
        "versions": _versions(),
        "code": code(study, name, target),
        "notes": _notes(study),
        "conclusion": (
            f"The score is the exact mean over all {number_of_training_sets(study.best)} training sets of "
            f"{study.train_size:,} of {study.table.n_items:,} samples, with an error of at most "
            f"{bound:.1g}."
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
    import numpy as np
    import scipy

    return {
        "knnccv": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
    }


def code(study: Study, name: str, target: str | None) -> str:
    """Python that prints the score of the best setting.

    It reads the file that `name` names, if there is one and the target has a name; otherwise it takes X and
    y as they were given to `report`.
    """
    table, setting = study.table, study.best_setting
    lines = ["import numpy as np", "import pandas as pd"]
    lines += ["from knnccv import Subsample, complete_cv"]
    if target is not None and Path(name).is_file() and Path(name).suffix.lower() in (".csv", ".gz"):
        lines += [f"data = pd.read_csv({name!r})", f"X, y = data[{list(table.names)!r}], data[{target!r}]"]
    else:
        lines += ["# X and y are the columns and the target that were given to report"]
    if table.n_items < table.n_given:
        seed, kept = study.random_state, table.n_items
        lines += [
            f"rows = np.sort(np.random.default_rng({seed}).choice({table.n_given}, {kept}, replace=False))",
            "X, y = pd.DataFrame(X).iloc[rows], np.asarray(y)[rows]",
        ]
    if table.is_mixed:
        nominal = [int(j) for j in table.categorical.nonzero()[0]]
        lines.insert(3, "from knnccv.hvdm import HEOM")
        lines.append(f"near = HEOM(nominal={nominal}).fit(X).neighbors()")
        metric = ""
    else:
        lines.insert(3, "from knnccv.reporting import scaled")
        lines.append(f"near = scaled(X, {setting.scaling!r})")
        metric = f", metric={setting.metric!r}"
    lines.append(
        f"result = complete_cv(near, np.asarray(y).ravel(), {study.rule!r}, Subsample({study.train_size}), "
        f"n_neighbors={setting.n_neighbors}{metric})"
    )
    used = "\n".join(lines)
    if "pd." not in used:
        lines.remove("import pandas as pd")
    return "\n".join([*lines, "print(result.score, result.error_bound)"])
