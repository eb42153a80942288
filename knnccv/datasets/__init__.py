"""The data sets of the literature on complete cross-validation, as arrays.

``load_*`` functions read tables that are part of the package. ``fetch_*`` functions download a file on
first use, verify it by SHA-256 and keep it in a cache folder. Labels are those of the original files, rows
are in the original order (which decides ties between neighbors), and no feature is scaled.

Two environment variables are read at every call: ``KNNCCV_DATA_DIR``, the cache folder, and
``KNNCCV_DATA_URL``, a mirror that is tried before the public addresses.

- `_tables` defines `Dataset`, and has and lists the data sets.
- `_download` reads the manifests (``datasets/*.toml``), and fetches, verifies, unpacks and caches files.
  Only verified bytes are parsed.
"""

from __future__ import annotations

from ._download import DatasetError
from ._tables import (
    Dataset,
    DatasetInfo,
    fetch_abalone,
    fetch_breast_cancer,
    fetch_liver_disorders,
    fetch_orl,
    list_datasets,
    load_diabetes,
    load_wine,
)

__all__ = [
    "Dataset",
    "DatasetError",
    "DatasetInfo",
    "fetch_abalone",
    "fetch_breast_cancer",
    "fetch_liver_disorders",
    "fetch_orl",
    "list_datasets",
    "load_diabetes",
    "load_wine",
]
