"""Axes of the pictures, and their colors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EXACT_COLOR = "#b3261e"
SAMPLED_COLOR = "#8fa9cc"


@contextmanager
def canvas(ax: Any) -> Iterator[Axes]:
    """The axes to draw on; for None those of a new figure, which is closed again if drawing fails.

    Raises
    ------
    TypeError
        If `ax` is not a matplotlib Axes or None.
    ImportError
        If matplotlib is missing.
    """
    try:
        from matplotlib.axes import Axes
    except ImportError as error:
        msg = "knnccv.plot needs matplotlib: pip install 'knnccv[plot]'"
        raise ImportError(msg) from error
    if ax is not None:
        if not isinstance(ax, Axes):
            msg = f"ax must be a matplotlib Axes or None, got {ax!r}"
            raise TypeError(msg)
        yield ax
        return
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(layout="constrained")
    try:
        yield ax
    except BaseException:
        plt.close(figure)
        raise
