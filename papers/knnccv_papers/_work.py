"""What all protocols and reports share: work in threads with a bar, and files that are written whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, TypeAlias

from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from tqdm.auto import tqdm

Array: TypeAlias = NDArray[Any]


def n_workers() -> int:
    """The number of processors that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def for_each(
    work: Callable[[Any], None],
    pieces: Sequence[Any],
    n_threads: int | None = None,
    progress: bool = False,
    *,
    unit: str = "piece",
) -> None:
    """Call ``work(piece)`` for every piece, started in their order; after an error no other begins."""
    width = max(1, min(n_threads or n_workers(), len(pieces)))
    with tqdm(total=len(pieces), unit=unit, disable=not progress) as bar:
        if width == 1:
            for piece in pieces:
                work(piece)
                bar.update()
            return
        # Threads of BLAS would compete with these.
        with threadpool_limits(1, "blas"), ThreadPoolExecutor(width) as pool:
            try:
                for done in as_completed([pool.submit(work, piece) for piece in pieces]):
                    done.result()
                    bar.update()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, as another process may read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
