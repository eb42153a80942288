"""The section on classes."""

from __future__ import annotations

from typing import Any

from ._study import Study


def classes_section(study: Study) -> dict[str, Any] | None:  # noqa: ARG001
    """Return nothing yet."""
    return None
