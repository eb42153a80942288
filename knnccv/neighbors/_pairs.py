"""Constructors of `Neighbors` from distances, and between two sets of items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, overload

import numpy as np

from ._between import (
    Between,
    BetweenFeatures,
    BetweenSparse,
    as_features,
    between_distances,
    check_same,
    check_sparse,
)
from ._between_lists import GivenBetween, SearchedBetween
from ._metrics import Metric
from ._sources import DistanceMatrix, FeatureTable
from ._square_input import as_matrix


class FromPairs:
    """Constructors of `Neighbors` from distances, and between two sets of items."""

    @classmethod
    def between(
        cls,
        queries: Any,
        gallery: Any,
        metric: Metric = "euclidean",
        *,
        metric_params: Mapping[str, Any] | None = None,
        same: Any = None,
        n_neighbors: int | None = None,
        algorithm: str = "auto",
        device: Any = None,
    ) -> Between:
        """Distances from queries to a gallery, for `knnccv.retrieval`.

        Parameters
        ----------
        queries : array or scipy sparse matrix of shape (n_queries, n_features)
            Finite real numbers. Arrays of floats are not copied for Euclidean distances, cosine and
            correlation: they may be in half or single precision or memory-mapped, become double precision
            in blocks, and must not be changed meanwhile. Other metrics copy them.
        gallery : array or scipy sparse matrix of shape (n_gallery, n_features)
            The items that are searched. If it is the same object as `queries`, no query finds itself.
            Sparse if `queries` are. Sparse features are never made dense; they serve "euclidean",
            "sqeuclidean", "manhattan", "cosine", "jaccard" and "tanimoto".
        metric : str or callable, default "euclidean"
            As in `from_data`. Euclidean distances, cosine, correlation and haversine are ordered by matrix
            products in double precision, whose rounding may order items that differ by a part in 10^14 in
            either way; equal gallery items tie exactly. All others are computed pair by pair.
        metric_params : mapping, optional
            As in `from_data`.
        same : integer array of shape (n_queries,), optional
            The gallery item that is the query itself, or -1. It is never found.
        n_neighbors : int, optional
            Search only so many nearest gallery items of every query (1 to n_gallery), besides the query
            itself. Right items beyond them are bracketed; see `between_lists`. Orders and ties are exact.
            Dense features only, which are copied. Default: compare with the whole gallery.
        algorithm : {"auto", "brute", "tree"}, default "auto"
            The search of the `n_neighbors` nearest, as in `from_data`: a k-d tree for few features, matrix
            products whose candidates are measured again, or a comparison of all pairs.
        device : str or torch.device, optional
            Device that computes the products of this search, as in `from_data`. The CPU serves galleries of
            fewer than 1,000 items and lists longer than an eighth of the gallery.

        Returns
        -------
        Between
            Computes distances in blocks of queries when they are needed.

        Raises
        ------
        ValueError, TypeError
            If the features are not as above, or their numbers differ; or `algorithm` or `device` is given
            without `n_neighbors`.
        ImportError
            If `device` is given and PyTorch is missing.

        Examples
        --------
        >>> from knnccv import Neighbors
        >>> Neighbors.between([[0.0], [4.0]], [[1.0], [2.0], [5.0]])
        <Between 2 queries and 3 gallery items (euclidean)>
        """
        if queries is gallery and same is None:
            same = np.arange(np.shape(queries)[0])
        sparse = hasattr(queries, "tocsr") or hasattr(gallery, "tocsr")
        check = check_sparse if sparse else as_features
        first, second = check("queries", queries), check("gallery", gallery)
        if first.shape[1] != second.shape[1]:
            msg = (
                "queries and gallery must have the same number of features, "
                f"got {first.shape[1]} and {second.shape[1]}"
            )
            raise ValueError(msg)
        identical = None if same is None else check_same(same, first.shape[0], second.shape[0])
        if n_neighbors is not None:
            if sparse:
                msg = "n_neighbors searches dense features; omit it, or pass queries and gallery .toarray()"
                raise ValueError(msg)
            both, size = np.concatenate([second, first]), len(second)
            source = FeatureTable(both, metric, metric_params, algorithm, device, n_searched=size)
            return SearchedBetween(source, identical, n_neighbors)
        if algorithm != "auto" or device is not None:
            msg = "algorithm and device search the nearest items; pass n_neighbors as well"
            raise ValueError(msg)
        make = BetweenSparse if sparse else BetweenFeatures
        return make(first, second, metric, metric_params, identical)

    @classmethod
    def between_lists(
        cls,
        indices: Any,
        distances: Any,
        n_gallery: int,
        *,
        same: Any = None,
        approximate: bool = False,
        cut_ties: bool = True,
    ) -> Between:
        """The nearest gallery items of every query, for `knnccv.retrieval`, as other programs find them.

        faiss, hnswlib and ``kneighbors`` of scikit-learn return such lists. Gallery items that are not in a
        list are at least as far as all that are. Scores are exact where all right items are listed; the
        others are bracketed: the exact score lies between `score` and ``score + error_bound``.

        Parameters
        ----------
        indices : integer array of shape (n_queries, depth)
            Gallery items, the nearest first. With `approximate`, -1 (as unsigned integers: their largest
            value) marks the end of a shorter list. Memory-mapped arrays are read in blocks of rows.
        distances : array of shape (n_queries, depth), or None
            Their distances, ascending; equal ones are ties. With None no items tie.
        n_gallery : int
            Number of items in the gallery.
        same : integer array of shape (n_queries,), optional
            The gallery item that is the query itself, listed or not, or -1. It is never found.
        approximate : bool, default False
            Whether nearer items may be missing in the lists. ``certified`` of scores is then False, and
            ``error_bound`` infinite.
        cut_ties : bool, default True
            Whether an item beyond a list may be as near as the last one in it, whose order is then unknown,
            with that of all that tie with it. False: all items beyond are farther.

        Returns
        -------
        Between

        Raises
        ------
        ValueError, TypeError
            If the shapes differ, an index is out of range or repeated, a distance is not finite, or
            distances decrease.

        Examples
        --------
        >>> from knnccv import Neighbors
        >>> Neighbors.between_lists([[3, 0], [1, 2]], [[0.1, 0.5], [0.2, 0.3]], 5)
        <Between 2 queries and 5 gallery items (lists)>
        """
        return GivenBetween(indices, distances, n_gallery, same, approximate=approximate, cut_ties=cut_ties)

    @overload
    @classmethod
    def from_distances(cls, D: Any, queries: None = None) -> Self: ...

    @overload
    @classmethod
    def from_distances(cls, D: Any, queries: Any) -> Between: ...

    @classmethod
    def from_distances(cls, D: Any, queries: Any = None) -> Any:
        """Orders by a matrix of dissimilarities.

        Parameters
        ----------
        D : array of shape (n_items, n_items)
            ``D[x, j]`` is the dissimilarity of sample j to the tested sample x. It need not be symmetric.
            The diagonal is ignored and may be NaN or infinite; all other values must be finite. Not copied.
        queries : "other", True or integer array of shape (n_queries,), optional
            If given, D has shape (n_queries, n_gallery): the rows are queries, the columns the gallery of
            `knnccv.retrieval`, and a `Between` is returned. "other" or True: no query is in the gallery.
            An array: the gallery item that is the query itself, which is never found, or -1. D may be
            memory-mapped; it is read in blocks of rows, and all its values must be finite.

        Returns
        -------
        Neighbors, or Between if `queries` is given

        Raises
        ------
        ValueError, TypeError
            If it is not a square matrix of at least two finite real rows, or holds similarities: every
            row's largest value is on the diagonal.
        """
        if queries is not None:
            return between_distances(D, queries)
        make: Any = cls
        return make(DistanceMatrix(as_matrix(D)))
