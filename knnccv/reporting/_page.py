"""The page of a report."""

from __future__ import annotations

import html
import json
from typing import Any


def render_page(content: dict[str, Any]) -> str:
    """Return the page of the dictionary of `Report.to_dict`, as HTML."""
    return f"<!doctype html><pre>{html.escape(json.dumps(content, indent=1))}</pre>"
