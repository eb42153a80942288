"""The ORL Database of Faces: fetching and reading the images, and reducing their size by area means."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from . import _download
from ._dataset import Dataset
from ._manifest import load_manifest

ORL_SHAPE = (112, 92)
"""Rows and columns of an ORL image."""

_PGM_HEADER = len(b"P5\n92 112\n255\n")


def fetch_orl(size: tuple[int, int] | None = (16, 16)) -> Dataset:
    """Fetch the ORL Database of Faces: 10 photographs of each of 40 people.

    Parameters
    ----------
    size : tuple of two ints (height, width) or None, default (16, 16)
        The images are reduced to this size; a pixel is the mean over the rectangle that it
        covers in the original, where pixels count by their covered area. None: the
        original 112 rows of 92 pixels.

    Returns
    -------
    Dataset
        `X` of shape (400, height * width), gray levels 0 to 255 row by row; `y` int64, the number
        of the person, 1 to 40, ten samples each.

    Raises
    ------
    TypeError, ValueError
        If `size` is neither None nor two integers up to the size of the original.
    DatasetError
        If the archive cannot be fetched; the message lists every address tried and what to do.

    References
    ----------
    .. [1] Samaria, F. & Harter, A. (1994). Parameterisation of a stochastic model for human face
       identification. 2nd IEEE Workshop on Applications of Computer Vision.

    Examples
    --------
    >>> from knnccv.datasets import fetch_orl
    >>> fetch_orl()  # doctest: +SKIP
    <Dataset: 400 samples, 256 features, 40 classes>
    """
    shape = ORL_SHAPE if size is None else _check_size(size)
    manifest = load_manifest("orl")
    content = _download.fetch(manifest)
    pixels = [np.frombuffer(blob, np.uint8, offset=_PGM_HEADER) for blob in content.values()]
    images = np.stack(pixels).reshape(-1, *ORL_SHAPE).astype(np.float64)
    subjects = [name.split("/")[0] for name in content]
    X = area_means(images, shape).reshape(len(images), -1)
    note = "The images are the original ones."
    if size is not None:
        note = f"The images are reduced to {shape[0]} rows of {shape[1]} pixels by area averaging."
    return Dataset(
        X=X,
        y=np.array([int(subject[1:]) for subject in subjects], dtype=np.int64),
        feature_names=tuple(f"pixel_{i}_{j}" for i in range(shape[0]) for j in range(shape[1])),
        target_names=tuple(dict.fromkeys(subjects)),
        description=manifest.describe(note),
        citation=manifest.citation,
    )


def _check_size(size: object) -> tuple[int, int]:
    allowed = (
        f"size must be None or (height, width) with 1 <= height <= {ORL_SHAPE[0]} "
        f"and 1 <= width <= {ORL_SHAPE[1]}, got {size!r}"
    )
    if not isinstance(size, tuple | list) or not all(
        isinstance(length, int | np.integer) and not isinstance(length, bool) for length in size
    ):
        raise TypeError(allowed)
    if len(size) != 2 or any(not 1 <= k <= n for k, n in zip(size, ORL_SHAPE, strict=True)):
        raise ValueError(allowed)
    return int(size[0]), int(size[1])


def area_means(images: NDArray[np.float64], shape: tuple[int, int]) -> NDArray[np.float64]:
    """Reduce images to `shape`: each new pixel is the mean over the rectangle that it covers.

    The overlaps are whole numbers in units of 1 / shape. The sums are therefore exact, and the single
    division rounds every mean correctly, on any machine.
    """
    height, width = images.shape[1:]
    rows, columns = _overlaps(height, shape[0]), _overlaps(width, shape[1])
    means: NDArray[np.float64] = rows @ images @ columns.T / (height * width)
    return means


def _overlaps(n_source: int, n_target: int) -> NDArray[np.float64]:
    """The part of every source pixel that each target pixel covers, in units of 1 / n_target.

    The result has shape (n_target, n_source), and every row sums to n_source.
    """
    target = np.arange(n_target)[:, None] * n_source
    source = np.arange(n_source)[None, :] * n_target
    start = np.maximum(target, source)
    stop = np.minimum(target + n_source, source + n_target)
    overlaps: NDArray[np.float64] = np.maximum(stop - start, 0).astype(np.float64)
    return overlaps
