"""Public data sets, downloaded once and verified by sha256, and two bundled ones.

- `_loaders` has the public functions; `_uci` the sets of Wilson and Martinez (1999).
- `_manifest` reads the manifests (``datasets/*.toml``): addresses, hashes, licenses, columns.
- `_download` fetches files; `_archive` verifies and unpacks them; `_csv` and `_orl` parse them.
- `_dataset` defines `Dataset`.
"""

from __future__ import annotations

from ._dataset import Dataset
from ._download import DatasetError
from ._loaders import (
    DatasetInfo,
    fetch_abalone,
    fetch_breast_cancer,
    fetch_liver_disorders,
    fetch_orl,
    fetch_uci,
    list_datasets,
    load_diabetes,
    load_wine,
    uci_names,
)
from ._manifest import manifest_folder

__all__ = [
    "Dataset",
    "DatasetError",
    "DatasetInfo",
    "fetch_abalone",
    "fetch_breast_cancer",
    "fetch_liver_disorders",
    "fetch_orl",
    "fetch_uci",
    "list_datasets",
    "load_diabetes",
    "load_wine",
    "manifest_folder",
    "uci_names",
]
