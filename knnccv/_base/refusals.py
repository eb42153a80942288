"""Refusals in one clear line; without NumPy, so that help comes fast."""

from __future__ import annotations

import importlib
from collections.abc import Callable
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


def loaded_with_sklearn(
    home: dict[str, Any], module: str, *names: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package with estimators, which are loaded when first used.

    Parameters
    ----------
    home : dict
        ``globals()`` of the package.
    module : str
        The module of the estimators, which needs scikit-learn.
    names : str
        The estimators.
    """
    package = home["__name__"]

    def load(name: str) -> Any:
        if name not in names:
            msg = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(msg)
        need("sklearn", "sklearn", f"{package} needs scikit-learn")
        home[name] = getattr(importlib.import_module(module, package), name)
        return home[name]

    return load, lambda: sorted({*home, *home["__all__"]})
