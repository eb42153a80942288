"""Text of a page: numbers in words, and texts of the data, made harmless and visible."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from typing import Any

from .._base.formatting import plain, rounded_up

# Control characters as the pictures that Unicode has of them; halves of surrogate pairs have none.
_VISIBLE = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"}
_VISIBLE |= {0x7F: 0x2421} | dict.fromkeys([*range(0x80, 0xA0), *range(0xD800, 0xE000)], 0xFFFD)
# Signs that turn the direction of the text that follows; isolates end with the paragraph and stay.
_VISIBLE |= dict.fromkeys([*range(0x202A, 0x202F), 0x2066, 0x2067], 0xFFFD)
_ISOLATES = {0x2068: 0xFFFD, 0x2069: 0xFFFD}
_RIGHT_TO_LEFT = ("R", "AL", "AN")
LONGEST_NAME = 40
EMPTY = "(empty)"


def visible(text: Any, length: int | None = None) -> str:
    """The text with control characters shown as symbols, cut to a length with an ellipsis."""
    shown = str(text)
    if length is not None and len(shown) > length:
        shown = shown[: length - 1] + "…"
    return shown.translate(_VISIBLE)


def quoted(name: Any) -> str:
    """A label or a name within a sentence: on one line, cut to `LONGEST_NAME` characters, never empty.

    A name with letters that run from right to left is isolated, so that it does not reorder the sentence.
    """
    shown = visible(str(name).translate(_ISOLATES), LONGEST_NAME)
    shown = shown.replace("\n", "\u240a").replace("\t", "\u2409")
    if not shown.strip():
        return EMPTY
    turned = any(unicodedata.bidirectional(sign) in _RIGHT_TO_LEFT for sign in shown)
    return f"\u2068{shown}\u2069" if turned else shown


def embedded_json(value: Any) -> str:
    """JSON that is harmless within a script element: no `<`, `>`, `&`, and no character beyond ASCII."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def score_text(value: float, task: str) -> str:
    """A score in a sentence: accuracies as percentages, errors with four digits."""
    return percentage(value) if task == "classification" else rounded(value)


def interval_text(low: float, high: float, task: str) -> str:
    """The ends of an interval, as short as a figure needs it."""
    ends = score_text(low, task), score_text(high, task)
    return "–".join(ends).replace("%–", "–")


def percentage(share: float) -> str:
    """A share in percent, with one decimal; with up to four where it would read as 0 or 100 and is not."""
    for decimals in (1, 2, 3, 4):
        text = f"{share:.{decimals}%}"
        if share in (0, 1) or float(text[:-1]) not in (0, 100):
            return text
    return f"{share:.1%}"


def at_most(bound: float) -> str:
    """Two significant digits of a bound of an error, rounded up, so that the bound stays true."""
    return f"{rounded_up(bound):.2g}".replace("e-0", "e-")


def counted(number: int, noun: str) -> str:
    """The number and the noun, which has an s at its end unless the number is 1."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def rounded(value: float, digits: int = 4) -> str:
    """So many significant digits; large numbers with separators of thousands, and not as powers of ten."""
    if 10 ** min(digits, 4) <= abs(value) < 1e15:
        return f"{float(f'{value:.{digits}g}'):,.0f}"
    return f"{value:.{digits}g}"


def setting_name(setting: dict[str, Any]) -> str:
    """A setting in words."""
    pair = pair_name(setting["scaling"], setting["metric"])
    return f"{pair}, K\u00a0=\u00a0{setting['n_neighbors']}"


SCALED = {
    None: "raw",
    "standard": "standardized",
    "minmax": "min-max",
    "maxabs": "max-abs",
    "robust": "robust",
}
"""Scalings in words."""
USUAL_SCALINGS = (None, "standard", "minmax")
"""Those that a report compares by default."""


def pair_name(scaling: Any, metric: Any) -> str:
    """A scaling and a metric in words; HEOM and HVDM scale by themselves."""
    name = metric_name(metric)
    return name if metric in ("heom", "hvdm") else f"{SCALED[scaling]}, {name}"


def metric_name(metric: Any) -> str:
    """A metric in words: persons and abbreviations have capitals."""
    if metric in ("heom", "hvdm"):
        return str(metric).upper()
    return str(metric).capitalize() if metric in ("euclidean", "manhattan") else visible(metric)


def section(sentence: Callable[[dict[str, Any]], str], **numbers: Any) -> dict[str, Any]:
    """A section of the page: numbers and texts in the types that JSON has, and a sentence about them."""
    found: dict[str, Any] = plain(numbers)
    return found | {"conclusion": sentence(found)}


Cut = dict[str, Any] | None
"""What a page says of a random part of the samples: n_items, of how many, and the reason."""


def of_a_part(cut: Cut) -> str:
    """What a sentence adds if its numbers come from a part of the samples; starts with a space."""
    return f" (on a random {cut['n_items']:,} of {cut['of']:,} samples)" if cut else ""
