"""The command ``report``."""
from typing import Any


def add_report(commands: Any) -> None:
    """Add."""
