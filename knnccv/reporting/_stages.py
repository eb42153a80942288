"""The stages of a report, with one bar or one hook of progress over all of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

from numba.core import event

from .._parallel import Bar, one_bar, shared_bar
from ..kernel import COMPILES

Hook = Callable[[str, int, int], None]
Progress = bool | Hook


def run_stages(stages: Sequence[tuple[str, Callable[[], None]]], progress: Progress) -> None:
    """Run the stages one after the other.

    Parameters
    ----------
    stages : sequence of (str, callable)
        Their names and what they do.
    progress : bool or callable
        True shows a bar (needs tqdm): the name of the stage, and the tasks within all stages so far; a
        function that is compiled is a task as well, with a name. A callable gets the name of the stage that
        begins, the number of stages that are done and the number of all stages; at the end the name is
        empty.

    Raises
    ------
    ImportError
        If a bar is asked for and tqdm is missing.
    """
    with _hook(progress) as hook:
        for done, (name, step) in enumerate(stages):
            hook(name, done, len(stages))
            step()
        hook("", len(stages), len(stages))


def check_progress(progress: Progress) -> None:
    """Raise TypeError unless `progress` is a bool or a callable."""
    if not isinstance(progress, bool) and not callable(progress):
        msg = f"progress must be True, False or a callable of (stage, done, total), got {progress!r}"
        raise TypeError(msg)


@contextlib.contextmanager
def _hook(progress: Progress) -> Iterator[Hook]:
    if callable(progress):
        yield progress
    elif not progress:
        yield lambda _name, _done, _total: None
    else:
        with one_bar(progress, "task"):
            bar = shared_bar()
            assert bar is not None
            compilations = _Compilations(bar)

            def show(name: str, done: int, total: int) -> None:
                compilations.stage = f"{name} ({done + 1}/{total})" if name else f"{done}/{total}"
                bar.describe(compilations.stage)

            with event.install_listener(COMPILES, compilations):
                yield show


class _Compilations(event.Listener):
    """Shows that functions are compiled, each as a task of the bar."""

    def __init__(self, bar: Bar) -> None:
        self.stage = ""
        self._bar = bar
        self._depth = 0  # functions are compiled within others, by one thread at a time

    def on_start(self, event: event.Event) -> None:  # noqa: ARG002 (Numba passes it)
        if self._depth == 0:
            self._bar.describe(f"{self.stage}, compiling")
        self._depth += 1
        self._bar.begin(1)

    def on_end(self, event: event.Event) -> None:  # noqa: ARG002
        self._depth -= 1
        self._bar.update()
        if self._depth == 0:
            self._bar.describe(self.stage)
