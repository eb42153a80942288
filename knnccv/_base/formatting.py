"""Presentation of results: error bounds, long integers, parameters, data frames, dictionaries."""

from __future__ import annotations

import html
import itertools
import math
from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .refusals import need
from .typing import Array

if TYPE_CHECKING:
    import pandas as pd


PRINTED_BITS = 14_000
"""Python refuses to print integers of more than 4300 digits."""
MOST_SHOWN = 6
"""Entries of a dictionary or a list that are shown."""
SAFE_INTEGER = 2**53
"""Larger integers lose digits in most readers of JSON."""


def data_frame(columns: dict[str, Array]) -> pd.DataFrame:
    """Return a pandas DataFrame of these columns; ImportError if pandas is missing."""
    frame: pd.DataFrame = need("pandas", "pandas", "to_frame() needs pandas").DataFrame(columns)
    return frame


def item_frame(labels: Array, **columns: Array) -> pd.DataFrame:
    """Return a pandas DataFrame of one row per sample: its label, or several targets, and these columns."""
    targets = {"label": labels}
    if labels.ndim == 2:
        targets = {f"label_{output}": column for output, column in enumerate(labels.T)}
    frame = data_frame({**targets, **columns})
    frame.index.name = "item"
    return frame


def plain(value: Any) -> Any:
    """The value in types that JSON has.

    None for numbers that are not finite; text for whole numbers beyond 2**53 (in short if they have
    thousands of digits), for fractions, and for what JSON does not know. Results give their ``to_dict``.
    """
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, Fraction):
        # str() refuses integers of more than 4300 digits; Decimal prints them, and loses none.
        return f"{Decimal(value.numerator)}/{Decimal(value.denominator)}"
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, int) and not isinstance(value, bool):
        if abs(value) <= SAFE_INTEGER:
            return int(value)
        return str(value) if value.bit_length() < PRINTED_BITS else magnitude(value)
    return value if isinstance(value, bool | None) else str(value)


def plain_fields(result: Any, *names: str) -> dict[str, Any]:
    """The attributes of these names, or what these methods return, each as `plain` gives it."""
    return {name: plain(_field(result, name)) for name in names}


def _field(result: Any, name: str) -> Any:
    value = getattr(result, name)
    return value() if callable(value) else value


def rounded_up(bound: float) -> float:
    """The smallest number of two significant digits that is not below a bound, so that it stays one."""
    if not (math.isfinite(bound) and bound):
        return float(bound)
    exact = Decimal(repr(float(bound)))
    return float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - 1), ROUND_CEILING))


def bound_text(bound: float) -> str:
    """A bound with two significant digits, rounded up, as a power of ten."""
    return f"{rounded_up(bound):.1e}"


def html_table(caption: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return a table of HTML: a caption, and rows of a heading and a text each; all text is escaped."""
    lines = [f"<caption>{html.escape(caption)}</caption>", "<tbody>"]
    for heading, text in rows:
        lines.append(f'<tr><th scope="row">{html.escape(heading)}</th><td>{html.escape(text)}</td></tr>')
    return "\n".join(["<table>", *lines, "</tbody>", "</table>"])


class Result:
    """What a computation found: a dictionary for programs, and one form in which it is shown.

    A subclass names its fields in ``_json``, for the dictionary, and in ``_shown``, if it shows others.
    """

    _json: ClassVar[str] = ""
    _shown: ClassVar[str] = ""
    _note: ClassVar[str] = ""
    """What a reader of the numbers must know."""

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers and what they mean in types that JSON has.

        Arrays are lists. Numbers that are not finite are None, whole numbers beyond 2**53 and fractions are
        text.

        Examples
        --------
        >>> from knnccv import complete_cv
        >>> found = complete_cv([[0.0], [1.0], [3.0], [4.5]], [0, 0, 1, 1], "nn", 2).to_dict()
        >>> found["score"], found["measure"], found["n_train_sets"]
        (1.0, 'accuracy', 4)
        """
        return plain_fields(self, *self._json.split())

    def _words(self, name: str) -> str:
        """A field as text; of an array a few numbers."""
        value = _field(self, name)
        if name == "error_bound" and value is not None:
            return _bound_words(self)
        if name == "variant":
            return f"{value}{_listed(getattr(self, 'parameters', {}))}"
        return _in_short(value)

    def _lines(self) -> list[tuple[str, str]]:
        names = (self._shown or self._json).split()
        words = [(name, self._words(name)) for name in names if name not in ("parameters", "seconds")]
        return [*((name, text) for name, text in words if text), *[("note", self._note)] * bool(self._note)]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {', '.join(f'{name}={text}' for name, text in self._lines())}>"

    def _repr_html_(self) -> str:
        """Return the fields that are shown as a small table, for notebooks."""
        return html_table(type(self).__name__, self._lines())


class Numeric(Result):
    """A result that stands for one number, its field ``_value``: ``float(result)``, ``f"{result:.3f}"``."""

    _value: ClassVar[str] = "score"

    def __float__(self) -> float:
        return float(getattr(self, self._value))

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else str(self)


def _bound_words(result: Any) -> str:
    bound = float(np.max(result.error_bound))
    if getattr(result, "certified", math.isfinite(bound)):
        return bound_text(bound)
    likely = getattr(result, "truncation_bound", None)
    if_correct = "" if likely is None else f", {bound_text(float(np.max(likely)))} if they are correct"
    return f"unknown (neighbors approximate{if_correct})"


def _in_short(value: Any) -> str:
    """Text of a few characters; empty for None."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Fraction):
        parts = (value.numerator, value.denominator)
        if sum(part.bit_length() for part in parts) > 200:
            return "a fraction of {} by {} digits".format(*(Decimal(part).adjusted() + 1 for part in parts))
    if isinstance(value, Mapping):
        return f"{{{_joined(f'{name}: {_in_short(one)}' for name, one in value.items())}}}"
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return f"[{_joined(map(_in_short, value))}]"
    if isinstance(value, np.ndarray):
        text = np.array2string(value, precision=4, threshold=6, edgeitems=2, separator=", ")
        return " ".join(text.split())
    return "" if value is None else str(value)


def _joined(texts: Iterable[str]) -> str:
    few = list(itertools.islice(texts, MOST_SHOWN + 1))
    return ", ".join([*few[:MOST_SHOWN], *["…"] * (len(few) > MOST_SHOWN)])


def _listed(parameters: dict[str, Any]) -> str:
    shown = []
    for name, value in parameters.items():
        if value is None:
            continue
        shape = getattr(value, "shape", None)
        shown.append(f"{name}={'x'.join(map(str, shape)) + ' matrix' if shape else value}")
    return f"({', '.join(shown)})" if shown else ""


def magnitude(number: int) -> str:
    """Return a count as text: all digits if it is short, otherwise as a power of ten.

    Examples
    --------
    >>> magnitude(120)
    '120'
    >>> magnitude(10**40)
    '1.0e+40'
    """
    if number < 10**6:
        return str(number)
    with localcontext(rounding=ROUND_HALF_UP):
        return f"{Decimal(number):.1e}"


def magnitude_of_log10(log: float) -> str:
    """Return a large count as text, from its decimal logarithm.

    Examples
    --------
    >>> magnitude_of_log10(40.0), magnitude_of_log10(6018.999)
    ('1.0e+40', '1.0e+6019')
    """
    exponent = math.floor(log)
    lead = math.floor(10 ** (log - exponent) * 10 + 0.5)
    if lead == 100:
        lead, exponent = 10, exponent + 1
    return f"{lead // 10}.{lead % 10}e+{exponent}"
