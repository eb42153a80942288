"""Refusals in one clear line; without NumPy, so that help comes fast."""

from __future__ import annotations

import importlib
from typing import Any


class Refusal(ValueError):
    """Arguments or data that cannot be used, said in one clear line."""


def refuse(is_wrong: Any, message: str) -> None:
    """Raise Refusal with this message if something is wrong."""
    if is_wrong:
        raise Refusal(message)


def need(package: str, extra: str, what: str) -> Any:
    """The package; ImportError that says how to install it if it is missing."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        msg = f'{what}: pip install "knnccv[{extra}]"'
        raise ImportError(msg) from error
