"""`warm`: compile every function before its first use."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse

from .._base.parallel import check_pool, for_each
from .._base.typing import Array
from .._core.scores.bootstrap import bootstrap_score
from .._core.scores.curves import surface
from .._core.scores.results import complete_cv, monte_carlo_cv
from ..designs import Design, KFold, LeaveGroupsOut, StratifiedKFold
from ..episodes import Episodes, expected_episodes, sampled_episodes
from ..kernel import compile_at_once, compile_kernel
from ..kernel.registry import get_variant
from ..neighbors import FEWEST_ITEMS, MOST_FEATURES, Neighbors
from ..retrieval import AtRank, First, Gallery, Reciprocal, Table, expected_retrieval, sampled_retrieval

BUILT_IN = ("nn", "knn", "rank", "confidence", "regression")
METRICS = ("cosine", "jaccard", "tanimoto", "canberra", "braycurtis", "mahalanobis", "haversine")
"""Metrics that have their own compiled functions."""
X = np.arange(8.0)[:, None] ** 1.5
TIED = np.arange(12.0)[:, None] // 6
"""Tied samples of several classes."""
LABELS = {2: np.arange(12) % 2, 3: np.arange(12) % 3}
"""Two classes have functions of their own."""
GALLERIES = Gallery("all"), Gallery(per_identity=1), Gallery(shots=2)


def warm(*, progress: bool = False) -> None:
    """Compile the functions of the built-in variants, designs, metrics, curves, retrieval and episodes.

    This takes minutes the first time, later some seconds; the command ``knnccv warm`` does the same.
    Without it, a call interprets the functions that no earlier call has compiled, and compiles those that
    take long. Afterwards this process interprets none. Tables with categories
    (`knnccv.neighbors.hvdm`, `knnccv.rib`) are not included.

    Parameters
    ----------
    progress : bool, default False
        Show a progress bar (needs tqdm).

    Raises
    ------
    TypeError, ImportError
        If `progress` is not allowed, or tqdm is missing.

    Examples
    --------
    >>> import knnccv
    >>> knnccv.warm()
    """
    check_pool(None, None, progress)
    compile_at_once()
    for_each(lambda step: step(), _steps(), 1, progress, unit="step")


def _steps() -> list[Callable[[], object]]:
    """The calls that compile everything, in their order."""
    steps: list[Callable[[], object]] = []
    for name in BUILT_IN:
        steps += _steps_of(name)
    for ties in ("random", "index"):
        steps.append(partial(surface, TIED, LABELS[2], [1, 2], [1, 2], "rank", stratified=True, ties=ties))
    few, targets, shots = LABELS[2][:8], LABELS[2].astype(float), Episodes(2, 1)
    return [
        *steps,
        lambda: complete_cv(X, few, "nn", KFold(2), method="sampled", n_draws=2),
        lambda: expected_episodes(TIED, LABELS[2], shots, 1),
        lambda: expected_episodes(TIED, LABELS[2], shots, 2),
        lambda: sampled_episodes(TIED, LABELS[2], shots, n_episodes=2, n_query=1),
        lambda: surface(TIED, targets, [1, 2], len(targets) - 1, "regression"),
        lambda: surface(TIED, LABELS[2], [1, 2], len(targets) - 1),
        _warm_engines,
        _warm_sources,
        *(partial(_warm_gallery, gallery) for gallery in GALLERIES),
        _warm_retrieval,
    ]


def _steps_of(name: str) -> list[Callable[[], object]]:
    """The functions of one variant."""
    rule = get_variant(name)
    parameters: dict[str, Any] = {"n_neighbors": 1} if "n_neighbors" in rule.parameters else {}
    both = ((rule.fixed, KFold(2)), (rule.stratified, StratifiedKFold(2)))
    designs = [cv for kernel, cv in both if kernel is not None]

    def scores(cv: Design, y: Array, last: bool) -> None:
        result = complete_cv(X, y[:8], rule, cv, **parameters)
        result.influence()
        result.half_scores(2)
        if last and name == "nn":
            result.split_std()

    def kernels() -> None:
        for kernel in rule.kernels():
            compile_kernel(kernel, f"variant {name!r}")

    def ties() -> None:
        for cv in designs:
            complete_cv(TIED, LABELS[2], rule, cv, **parameters)
        bootstrap_score(TIED, LABELS[2], rule, **parameters)

    def curves() -> None:
        for y in LABELS.values():
            surface(TIED, y, variant=rule, train_sizes=4)

    def groups() -> None:
        for p in (1, 2):
            complete_cv(TIED, LABELS[2], rule, LeaveGroupsOut(np.arange(12) % 4, p), **parameters)
            if parameters:
                complete_cv(TIED, LABELS[2], rule, LeaveGroupsOut(np.arange(12) % 4, p), n_neighbors=2)

    steps: list[Callable[[], object]] = []
    for cv in designs:
        steps += [partial(scores, cv, y, y is LABELS[3]) for y in LABELS.values()]
        steps.append(partial(monte_carlo_cv, X, LABELS[3][:8], rule, cv, n_runs=1, **parameters))
    # Kernels come after these: once they are compiled the first ones of the chains are not called.
    return [*steps, kernels, ties, curves, groups]


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
    for metric in METRICS:
        data = X / 64 if metric == "haversine" else np.floor(X) * (np.arange(40) % 2)[:, None] + [1, 0]
        params = {"V": np.eye(2)} if metric == "mahalanobis" else None
        Neighbors.from_data(data, metric, metric_params=params).kneighbors(5)
    for metric in ("euclidean", "sqeuclidean", "manhattan", "cosine", "jaccard", "tanimoto"):
        counts = np.floor(X) + np.array([1, 0])
        Neighbors.from_data(scipy.sparse.csr_array(counts), metric).kneighbors(5)
    near = Neighbors.from_data(X)
    items, distances = near.kneighbors(5)
    cells = distances.ravel(), items.ravel(), np.arange(0, 201, 5)
    graph = Neighbors.from_graph(scipy.sparse.csr_array(cells, shape=(40, 40)))
    for given in (Neighbors.from_lists(items), Neighbors.from_lists(items, distances), graph):
        complete_cv(given, np.arange(40) % 2, "nn", KFold(4))


def _warm_gallery(gallery: Gallery) -> None:
    """Scores of all forms, over one kind of gallery."""
    ids, distances = _retrieval()
    forms = (AtRank([1]), First([1]), Reciprocal(2), Table(np.ones((1, 1))))
    scores = ("cmc", "ap", "ndcg@2", "map@r", "cmc_all_shots", *forms)
    for rank in ("image", "identity"):
        asked: dict[str, Any] = {"scores": scores, "rank": rank}
        expected_retrieval(distances, ids[:3], ids, gallery, **asked)
        sampled_retrieval(distances, ids[:3], ids, gallery, **asked, n_runs=2)


def _warm_retrieval() -> None:
    """Scores of lists of the nearest, and their errors."""
    ids, distances = _retrieval()
    near = Neighbors.between_lists(np.argsort(distances)[:, :6], np.sort(distances)[:, :6], n_gallery=12)
    expected_retrieval(distances, ids[:3], ids)
    expected_retrieval(near, ids[:3], ids, Gallery(per_identity=1))
    expected_retrieval(distances, ids[:3], ids, Gallery(shots=2), jackknife="identity")
    sampled_retrieval(distances, ids[:3], ids, Gallery(n_identities=2), n_runs=2)


def _retrieval() -> tuple[Array, Array]:
    """Identities of 12 items, of which three are queries as well, and the distances of these."""
    ids = np.arange(12) % 3
    return ids, np.arange(36.0).reshape(3, 12) % 7 + 2 * (ids[:3, None] != ids)
