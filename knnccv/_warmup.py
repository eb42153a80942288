"""`warm`: compile every function before its first use."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from .bootstrap import bootstrap_score
from .curves import loo_curve, surface
from .designs import KFold, LeaveGroupsOut, StratifiedKFold
from .driver import complete_cv, score_rows
from .episodes import Episodes, expected_episodes, sampled_episodes
from .kernel import compile_kernel
from .montecarlo import monte_carlo_cv, screened_cv
from .neighbors import FEWEST_ITEMS, MOST_FEATURES, Neighbors
from .retrieval import (
    AtRank,
    First,
    Gallery,
    Reciprocal,
    Table,
    expected_retrieval,
    sampled_retrieval,
)
from .variants import get_variant

BUILT_IN = ("nn", "knn", "rank", "confidence", "regression")
METRICS: dict[str, dict[str, Any]] = {
    "cosine": {},
    "jaccard": {},
    "tanimoto": {},
    "canberra": {},
    "braycurtis": {},
    "mahalanobis": {"V": np.eye(2)},
    "haversine": {},
}
"""Metrics that have their own compiled functions, with example parameters."""


def warm() -> None:
    """Compile the functions of the built-in variants, designs, metrics, curves, retrieval and episodes.

    This takes minutes once per installation, later some seconds; the command ``knnccv warm`` does the same.
    Without it, a call compiles the functions that no earlier call needed. Tables with categories
    (`knnccv.hvdm`, `knnccv.rib`) and GPUs are not included.

    Examples
    --------
    >>> import knnccv
    >>> knnccv.warm()
    """
    X = np.arange(8.0)[:, None] ** 1.5
    tied = np.arange(12.0)[:, None] // 6  # tied samples of several classes
    labels = {2: np.arange(12) % 2, 3: np.arange(12) % 3}
    for name in BUILT_IN:
        rule = get_variant(name)
        parameters: dict[str, Any] = {"n_neighbors": 1} if "n_neighbors" in rule.parameters else {}
        both = ((rule.fixed, KFold(2)), (rule.stratified, StratifiedKFold(2)))
        designs = [cv for kernel, cv in both if kernel is not None]
        for cv in designs:
            for y in labels.values():  # two classes have their own functions
                result = complete_cv(X, y[:8], rule, cv, **parameters)
                result.influence()
                result.half_scores(2)
            if name == "nn":
                result.split_std()
            monte_carlo_cv(X, y[:8], rule, cv, n_repeats=1, **parameters)
        for kernel in rule.kernels():  # last: once they are compiled the light kernels are not called
            compile_kernel(kernel, f"variant {name!r}")
        for cv in designs:
            complete_cv(tied, labels[2], rule, cv, **parameters)
        bootstrap_score(tied, labels[2], rule, **parameters)
        for y in labels.values():
            surface(tied, y, variant=rule, train_sizes=4)
        for p in (1, 2):
            complete_cv(tied, labels[2], rule, LeaveGroupsOut(np.arange(12) % 4, p), **parameters)
            if parameters:
                complete_cv(tied, labels[2], rule, LeaveGroupsOut(np.arange(12) % 4, p), n_neighbors=2)
    for ties in ("random", "index"):
        surface(tied, labels[2], [1, 2], [1, 2], "rank", stratified=True, ties=ties)
    complete_cv(X, labels[2][:8], "nn", KFold(2), method="sampled", n_draws=2)
    screened_cv(X, labels[2][:8], lambda *_: [0], KFold(2), n_repeats=1)
    for n_neighbors in (1, 2):
        expected_episodes(tied, labels[2], Episodes(2, 1), n_neighbors)
    sampled_episodes(tied, labels[2], Episodes(2, 1), n_episodes=2, n_query=1)
    loo_curve(tied, labels[2].astype(float), [1, 2])
    loo_curve(tied, labels[2], [1, 2], "knn")
    _warm_engines()
    _warm_sources()
    _warm_retrieval()


def _warm_engines() -> None:
    """Compile the searches for many samples, in both precisions."""
    rng = np.random.default_rng(0)
    for precision in (np.float32, np.float64):
        for n_features in (1, MOST_FEATURES + 1):
            X = rng.integers(0, 9, (FEWEST_ITEMS, n_features)).astype(precision)
            Neighbors.from_data(X).kneighbors(5)


def _warm_sources() -> None:
    """Compile the functions of metrics, sparse data, given lists and graphs."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (40, 2)) + np.arange(40)[:, None] / 64
    for metric, params in METRICS.items():
        data = X / 64 if metric == "haversine" else np.floor(X) * (np.arange(40) % 2)[:, None] + [1, 0]
        Neighbors.from_data(data, metric, metric_params=params or None).kneighbors(5)
    for metric in ("euclidean", "sqeuclidean", "manhattan", "cosine", "jaccard", "tanimoto"):
        counts = np.floor(X) + np.array([1, 0])
        Neighbors.from_data(scipy.sparse.csr_array(counts), metric).kneighbors(5)
    near = Neighbors.from_data(X)
    items, distances = near.kneighbors(5)
    for given in (
        Neighbors.from_lists(items),
        Neighbors.from_lists(items, distances),
        Neighbors.from_graph(
            scipy.sparse.csr_array((distances.ravel(), items.ravel(), np.arange(0, 201, 5)), shape=(40, 40))
        ),
    ):
        complete_cv(given, np.arange(40) % 2, "nn", KFold(4))


def kept_in() -> str:
    """The folder in which Numba caches the compiled driver; kernels have caches beside their sources."""
    stats = getattr(score_rows, "stats", None)  # missing while NUMBA_DISABLE_JIT is set
    return getattr(stats, "cache_path", None) or "the memory of this process only"


def _warm_retrieval() -> None:
    """Scores of all forms, over all kinds of galleries."""
    ids = np.arange(12) % 3
    distances = np.arange(36.0).reshape(3, 12) % 7 + 2 * (ids[:3, None] != ids)
    near = Neighbors.between_lists(np.argsort(distances)[:, :6], np.sort(distances)[:, :6], n_gallery=12)
    forms = (AtRank([1]), First([1]), Reciprocal(2), Table(np.ones((1, 1))))
    scores = ("cmc", "ap", "ndcg@2", "map@r", "cmc_all_shots", *forms)
    for gallery in (
        Gallery("all"),
        Gallery(per_identity=1),
        Gallery(shots=2),
        Gallery(n_identities=2),
        Gallery(n_identities=2, shots=1),
    ):
        for ties in ("index", "random"):
            for rank in ("image", "identity"):
                expected_retrieval(distances, ids[:3], ids, gallery, scores=scores, ties=ties, rank=rank)
                sampled_retrieval(
                    distances, ids[:3], ids, gallery, scores=scores, ties=ties, rank=rank, n_repeats=2
                )
    expected_retrieval(distances, ids[:3], ids)
    expected_retrieval(near, ids[:3], ids, Gallery(per_identity=1))
    expected_retrieval(distances, ids[:3], ids, Gallery(shots=2), jackknife="identity", hajek=True)
