"""The stages of a report, with one bar or one hook of progress over all of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

from .._parallel import progress_bar

Hook = Callable[[str, int, int], None]
Progress = bool | Hook


def run_stages(stages: Sequence[tuple[str, Callable[[], None]]], progress: Progress) -> None:
    """Run the stages one after the other.

    Parameters
    ----------
    stages : sequence of (str, callable)
        Their names and what they do.
    progress : bool or callable
        True shows a bar (needs tqdm). A callable gets the name of the stage that begins, the number of
        stages that are done and the number of all stages; at the end the name is empty.

    Raises
    ------
    ImportError
        If a bar is asked for and tqdm is missing.
    """
    with _hook(progress, len(stages)) as hook:
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
def _hook(progress: Progress, total: int) -> Iterator[Hook]:
    if callable(progress):
        yield progress
    elif not progress:
        yield lambda _name, _done, _total: None
    else:
        with progress_bar(total, "stage") as bar:

            def show(name: str, done: int, _total: int) -> None:
                bar.update(done - bar.n)
                bar.set_description(name)

            yield show
