"""Complete cross-validation of nearest-neighbor rules: the exact mean over all test/train splits.

Start with `complete_cv`. The names are in ``__init__.pyi``, and are loaded when they are first used.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_HOMES = {name: home for home, name in re.findall(r"^from \.([\w.]*) import (\w+)", _STUB, re.MULTILINE)}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    home = importlib.import_module(f".{_HOMES[name] or name}", __name__)
    value = getattr(home, name) if _HOMES[name] else home
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
