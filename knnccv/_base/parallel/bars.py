"""Progress bars of tqdm, on stderr: one for a stage, or one that all stages of a call share.

A shared bar belongs to the thread that opened it. Stages that this thread begins add their tasks to it, so
that no function has to pass it on; stages within a task are a part of the task, and are not counted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any, TypeVar

from ..refusals import need
from .threads import having, here

_T = TypeVar("_T")


class Bar:
    """A bar whose total grows when a stage begins.

    Parameters
    ----------
    unit : str
        The name of a task.
    known : bool, default True
        Whether stages know their number of tasks in advance; otherwise tasks are counted without a total.

    Raises
    ------
    ImportError
        If tqdm is missing.
    """

    def __init__(self, unit: str, known: bool = True) -> None:
        self._unit, self._known = unit, known
        self._tqdm = tqdm()
        self._bar: Any = None
        self._lock = threading.Lock()

    def begin(self, n_tasks: int) -> None:
        """Add the tasks of a stage."""
        with self._lock:
            self._grow(n_tasks)

    def _grow(self, n_tasks: int) -> None:
        if self._bar is None:
            self._bar = self._tqdm(total=n_tasks if self._known else None, unit=self._unit)
        elif self._known and n_tasks:
            self._bar.total += n_tasks
            if getattr(self._bar, "last_print_n", 0):  # one with a delay is not shown before its time
                self._bar.refresh()

    def update(self, n_tasks: int = 1) -> None:
        """Count finished tasks of a stage that has begun."""
        with self._lock:
            self._bar.update(n_tasks)

    def describe(self, text: str) -> None:
        """Write a text before the bar."""
        with self._lock:
            self._grow(0)
            self._bar.set_description(text)

    def close(self) -> None:
        """End the line."""
        if self._bar is not None:
            self._bar.close()


def shared_bar() -> Bar | None:
    """The bar that this thread's stages share; None if there is none."""
    bar: Bar | None = here.bar
    return bar


@contextmanager
def one_bar(progress: bool, unit: str = "step", *, known: bool = True) -> Iterator[None]:
    """One bar over all stages that this thread begins, if `progress`; see `Bar` for the other arguments.

    Raises
    ------
    ImportError
        If tqdm is missing.
    """
    if not progress:
        yield
        return
    with closing(Bar(unit, known)) as bar, having(bar=bar):
        yield


def counted(tasks: Iterable[_T], n_tasks: int) -> Iterator[_T]:
    """The tasks of a loop; if there is a shared bar, it counts each of them when it is done."""
    bar = shared_bar()
    if bar is None:
        yield from tasks
        return
    bar.begin(n_tasks)
    for task in tasks:
        here.bar = None
        yield task  # after an error this generator ends at any time, and `having` has restored the bar
        here.bar = bar
        bar.update()


def tqdm() -> Callable[..., Any]:
    """The class of tqdm's bars; ImportError with the command that installs it."""
    bars: Callable[..., Any] = need("tqdm.auto", "progress", "a progress bar needs tqdm").tqdm
    return bars
