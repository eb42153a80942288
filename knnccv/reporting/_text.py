"""Text from a person's data, made fit for a page: nothing invisible, and nothing that cannot be encoded."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

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
