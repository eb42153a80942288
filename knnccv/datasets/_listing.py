"""The list of the data sets with manifests, and which of them are on this disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ._download import file_path, is_cached
from ._manifest import load_manifest, manifest_names


@dataclass(frozen=True)
class DatasetInfo:
    """The properties of a data set that are known without loading it.

    Attributes
    ----------
    name : str
        The name of its manifest.
    n_items, n_features : int
        The shape of `X` as the function returns it by default.
    n_classes : int or None
        The number of classes by default; None for a regression.
    licence, citation : str
        The terms, and the source to cite.
    address : str
        The page that describes it.
    cached : bool
        Whether the file is on this disk and intact; always so for a bundled table.
    path : Path
        Where the file is, or would be once fetched.

    Examples
    --------
    >>> from knnccv.datasets import list_datasets
    >>> [(info.name, info.n_classes) for info in list_datasets() if info.cached and info.name == "wine"]
    [('wine', 3)]
    """

    name: str
    n_items: int
    n_features: int
    n_classes: int | None
    licence: str
    citation: str
    address: str
    cached: bool
    path: Path


def list_datasets() -> list[DatasetInfo]:
    """The data sets that have manifests, sorted by name; no server is contacted.

    Returns
    -------
    list of DatasetInfo
        One entry per data set.

    Examples
    --------
    >>> from knnccv.datasets import list_datasets
    >>> [info.n_items for info in list_datasets() if info.name == "wine"]
    [178]
    """
    known = [load_manifest(name) for name in manifest_names()]
    fields = ("name", "n_items", "n_features", "n_classes", "licence", "citation")
    return [
        DatasetInfo(
            **{field: getattr(manifest, field) for field in fields},
            address=manifest.homepage,
            cached=is_cached(manifest),
            path=file_path(manifest),
        )
        for manifest in known
    ]
