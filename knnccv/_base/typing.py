"""Type aliases for all modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Kernel: TypeAlias = Callable[..., Any]
