"""The columns of a table: finding one by name or number, and notes on suspicious ones.

Notes point out possible mistakes that change the score without an error: row numbers or names of the
samples among the features, or a header that was taken for a sample.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .options import refuse

if TYPE_CHECKING:
    from .._typing import Array

_SHOWN = 20  # columns that an error lists
_FEWEST = 5  # rows; in a smaller table a feature may count the rows by chance
_MANY_SINGLE = 10  # values that occur once, and more than ...
_SINGLE_SHARE = 0.2  # ... this share of the known ones: names of the samples, as for IdentifierWarning
_KEY = re.compile(r"(?i:(.*[\W_])?(id|index|idx|row|no|nr|number)\.?|#)|.*[a-z]I[dD]")
"""Names of columns that identify rows: id, patient_id, PassengerId, row, no., #, …"""


@dataclass(frozen=True)
class Columns:
    """The columns of a file, found by name or by number."""

    source: str
    width: int
    names: tuple[str, ...] | None

    def name(self, index: int) -> str:
        """The column for messages: its name, or its number if it has none."""
        return (self.names[index] if self.names else "") or str(index)

    def option(self, index: int) -> str:
        """The argument of ``--drop`` for this column: its name for a shell, or its number if safer."""
        name = self.name(index)
        if self.names and (self.names.count(name) != 1 or name.startswith("-")):
            return str(index)
        return shlex.quote(name)

    def find(self, wanted: str) -> int:
        """The number of the column that `wanted` names or numbers; ValueError if there is none."""
        if self.names and wanted in self.names:
            if self.names.count(wanted) > 1:
                at = [i for i, name in enumerate(self.names) if name == wanted]
                msg = f"{self.source} has several columns {wanted!r}; give one of their numbers, {at}"
                raise ValueError(msg)
            return self.names.index(wanted)
        try:
            index = int(wanted)
        except ValueError:
            msg = f"{self.source} has no column {wanted!r}{self.listing(wanted)}"
            raise ValueError(msg) from None
        wrong = f"{self.source} has no column {index}{self.listing()}"
        refuse(not -self.width <= index < self.width, wrong)
        return index % self.width

    def listing(self, wanted: str | None = None) -> str:
        """The columns that exist, for the end of a message."""
        if self.names is None:
            hint = "" if wanted is None else "; --header if the first line names the columns"
            return f": its columns have no names, only numbers from 0 to {self.width - 1}{hint}"
        shown = [name or "(unnamed)" for name in self.names[:_SHOWN]]
        more = f" and {self.width - _SHOWN} more" if self.width > _SHOWN else ""
        listed = f"; it has: {', '.join(shown)}{more}, numbered from 0"
        closest = difflib.get_close_matches(wanted or "", self.names, n=1)
        return listed + (f"; did you mean {closest[0]!r}?" if closest else "")


def feature_notes(
    columns: Columns, values: Mapping[int, Array], categorical: Collection[int]
) -> tuple[str, ...]:
    """Notes on columns that may not be features.

    Parameters
    ----------
    columns : Columns
        All columns.
    values : mapping of int to float64 ndarray of shape (n_items,)
        The features by their numbers in the file; NaN for missing values.
    categorical : collection of int
        Which of them are codes of categories.
    """
    notes = (
        (_category_note if i in categorical else _column_note)(columns, i, column)
        for i, column in values.items()
    )
    return tuple(note for note in notes if note)


def _column_note(columns: Columns, index: int, values: Array) -> str | None:
    has_name = columns.names is None or columns.names[index]
    which = (
        f"column {columns.name(index)!r}"
        if has_name
        else f"column {index} of {columns.source} has no name and"
    )
    option = columns.option(index)
    if _counts_rows(values):
        counted = f"counts the rows ({_beginning(values[:3])})"
        return f"{which} {counted}; it is used as a feature; --drop {option} leaves it out"
    if not has_name:
        return f"{which} is taken as a feature; if it numbers the rows, leave it out with --drop {option}"
    if columns.names and _KEY.fullmatch(columns.names[index]) and _is_key(values):
        different = "has a different number in every row and is used as a feature"
        return f"{which} {different}; if it identifies the rows, leave it out with --drop {option}"
    return None


def _counts_rows(values: Array) -> bool:
    import numpy as np

    if len(values) < _FEWEST or values[0] != np.floor(values[0]):
        return False
    return bool((np.diff(values) == 1).all())


def _is_key(values: Array) -> bool:
    import numpy as np

    whole = bool((values == np.floor(values)).all())
    return len(values) >= _FEWEST and whole and len(np.unique(values)) == len(values)


def _category_note(columns: Columns, index: int, codes: Array) -> str | None:
    """A note on a categorical column that may identify the samples; `codes` has NaN for missing values."""
    import numpy as np

    known = codes[~np.isnan(codes)]
    n_single = int((np.bincount(known.astype(np.int64)) == 1).sum())
    is_key = n_single == len(known) >= _FEWEST
    if not is_key and (n_single < _MANY_SINGLE or n_single <= _SINGLE_SHARE * len(known)):
        return None
    return (
        f"column {columns.name(index)!r} is categorical, but {n_single} of its {len(known)} values occur "
        f"only once; if it identifies the rows, leave it out with --drop {columns.option(index)}"
    )


def header_note(
    columns: Columns, place: str, first: Sequence[float | None], target: int, y: Array
) -> str | None:
    """A note on a first line that was taken as a sample but may be a header.

    Parameters
    ----------
    columns : Columns
        Without names.
    place : str
        The position of the first record.
    first : sequence of (float or None)
        The numbers in that record; None for a cell that holds none.
    target : int
        The number of the column of the labels.
    y : ndarray of shape (n_items,)
        The labels.

    Returns
    -------
    str or None
        A note if the line holds column numbers from 0 or 1, or the only label that occurs once.
    """
    numbers = [value for value in first if value is not None]
    first_label = y.tolist()[0]
    single = [label for label, count in Counter(y.tolist()).items() if count == 1]
    if len(numbers) > 2 and numbers in [[start + i for i in range(len(numbers))] for start in (0.0, 1.0)]:
        looks = f"but looks like a header ({_beginning(numbers[:3])})"
    elif len(y) >= _FEWEST and single == [first_label]:
        looks = f"the only one with {str(first_label)!r} in column {columns.name(target)!r}"
    else:
        return None
    return (
        f"{place} of {columns.source} is taken as a sample, {looks}; "
        "--header if it names the columns, --no-header if not"
    )


def _beginning(numbers: Any) -> str:
    return ", ".join(f"{value:.0f}" for value in numbers) + ", …"
