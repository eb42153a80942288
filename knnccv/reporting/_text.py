"""Text from a person's data, made fit for a page: nothing invisible, and nothing that cannot be encoded."""

from __future__ import annotations

import json
from typing import Any

# Control characters as the pictures that Unicode has of them; halves of surrogate pairs have none.
_VISIBLE = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"}
_VISIBLE |= {0x7F: 0x2421} | dict.fromkeys([*range(0x80, 0xA0), *range(0xD800, 0xE000)], 0xFFFD)


def visible(text: Any, length: int | None = None) -> str:
    """The text with control characters shown as symbols, cut to a length with an ellipsis."""
    shown = str(text)
    if length is not None and len(shown) > length:
        shown = shown[: length - 1] + "…"
    return shown.translate(_VISIBLE)


def embedded_json(value: Any) -> str:
    """JSON that is harmless within a script element: no `<`, `>`, `&`, and no character beyond ASCII."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
