"""The ORL face images: reading them, and reducing them by area means."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._download import DatasetError

ORL_SHAPE = (112, 92)
"""Rows and columns of an ORL image."""

_PGM_HEADER = b"P5\n%d %d\n255\n" % ORL_SHAPE[::-1]


def read_pgm(name: str, blob: bytes) -> NDArray[np.float64]:
    header, pixels = blob[: len(_PGM_HEADER)], blob[len(_PGM_HEADER) :]
    if header != _PGM_HEADER or len(pixels) != ORL_SHAPE[0] * ORL_SHAPE[1]:
        msg = f"{name}: not a binary PGM of {ORL_SHAPE[0]} x {ORL_SHAPE[1]} pixels of 8 bits"
        raise DatasetError(msg)
    return np.frombuffer(pixels, dtype=np.uint8).reshape(ORL_SHAPE).astype(np.float64)


def area_means(images: NDArray[np.float64], shape: tuple[int, int]) -> NDArray[np.float64]:
    """Reduce images to `shape`: each new pixel is the mean over the rectangle that it covers.

    The overlaps are whole numbers in units of 1 / shape, so the sums are exact, and the one
    division makes every mean the correctly rounded one, on any machine.
    """
    height, width = images.shape[1:]
    rows, columns = _overlaps(height, shape[0]), _overlaps(width, shape[1])
    means: NDArray[np.float64] = rows @ images @ columns.T / (height * width)
    return means


def _overlaps(n_source: int, n_target: int) -> NDArray[np.float64]:
    """Return what every target pixel covers of every source pixel, in units of 1 / n_target.

    The result has shape (n_target, n_source), and every row sums to n_source.
    """
    target = np.arange(n_target)[:, None] * n_source
    source = np.arange(n_source)[None, :] * n_target
    start = np.maximum(target, source)
    stop = np.minimum(target + n_source, source + n_target)
    overlaps: NDArray[np.float64] = np.maximum(stop - start, 0).astype(np.float64)
    return overlaps
