"""`described_episodes`: exact scores of episodes whose classes and shots are given, as of Meta-Dataset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sized
from typing import Any

import numpy as np

from .._labels import encode_labels
from .._parallel import check_pool, counted, one_bar
from ..neighbors import Neighbors
from ._episodes import Episodes
from ._expected import expected_episodes
from ._result import DescribedEpisodes


def described_episodes(
    X: Any,
    y: Any,
    descriptions: Iterable[Mapping[Any, int]],
    n_neighbors: int = 1,
    *,
    metric: Any = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    ties: str = "random",
    n_jobs: int | None = None,
    progress: bool = False,
) -> DescribedEpisodes:
    """Exact mean accuracies of episodes whose classes and shots are given.

    Meta-Dataset draws the classes of an episode, and then the shots of each class from the class sizes,
    random weights and a random budget. The mean over its episodes cannot be counted. But given this
    description, the mean over all supports and queries can. So descriptions are drawn as the benchmark
    does, and everything after that is averaged exactly: only their luck remains.

    Parameters
    ----------
    X : array of shape (n_items, n_features), or (n_items, n_items)
        Embedded samples; distances with ``metric="precomputed"``.
    y : array of shape (n_items,)
        Class labels.
    descriptions : iterable of mappings
        Of each episode: its labels, at least two, and their numbers of supports. Each class gives as many
        queries.
    n_neighbors, metric, metric_params, ties, n_jobs
        As in `expected_episodes`.
    progress : bool, default False
        Show a progress bar (needs tqdm) of the descriptions.

    Returns
    -------
    DescribedEpisodes

    Raises
    ------
    ValueError, TypeError
        If there is no description, one is no mapping or has labels that are not in y, or an argument is
        refused by `expected_episodes`.

    References
    ----------
    Triantafillou et al., Meta-Dataset: A Dataset of Datasets for Learning to Learn from Few Examples,
    ICLR 2020.

    Examples
    --------
    >>> from knnccv.datasets import load_wine
    >>> from knnccv.episodes import described_episodes
    >>> wine = load_wine()
    >>> X = (wine.X - wine.X.mean(axis=0)) / wine.X.std(axis=0)
    >>> first, second, third = sorted(set(wine.y.tolist()))
    >>> found = described_episodes(X, wine.y, [{first: 1, second: 5}, {first: 2, second: 1, third: 7}])
    >>> [round(score, 4) for score in found.scores.tolist()]
    [0.9047, 0.8172]
    """
    check_pool(n_jobs, None, progress)
    if isinstance(X, Neighbors):
        msg = f"X must be an array, since every description takes some of its rows, got {X!r}"
        raise TypeError(msg)
    data = X if hasattr(X, "tocsr") else np.asarray(X)
    n_items = data.shape[0] if data.ndim else 0
    precomputed = isinstance(metric, str) and metric == "precomputed"
    if precomputed and data.shape != (n_items, n_items):
        msg = f"distances must have shape (n_items, n_items), got {data.shape}"
        raise ValueError(msg)
    labels = encode_labels(y, n_items)
    names = {name: code for code, name in enumerate(labels.classes.tolist())}
    scores, bounds = [], []
    number = len(descriptions) if isinstance(descriptions, Sized) else None
    with one_bar(progress, "description", known=number is not None):
        for description in counted(descriptions, number or 0):
            if not isinstance(description, Mapping):
                msg = f"every description must map labels to numbers of supports, got {description!r}"
                raise TypeError(msg)
            unknown = [name for name in description if name not in names]
            if unknown or len(description) < 2:
                what = f"{unknown[0]!r}, which is not in y" if unknown else repr(dict(description))
                msg = f"every description must have at least two labels of y, got {what}"
                raise ValueError(msg)
            rows = np.flatnonzero(np.isin(labels.codes, [names[name] for name in description]))
            part = data[rows][:, rows] if precomputed else data[rows]
            episodes = Episodes(len(description), description)
            found = expected_episodes(
                part, labels.classes[labels.codes[rows]], episodes, n_neighbors,
                metric=metric, metric_params=metric_params, ties=ties, all_ways=False, n_jobs=n_jobs,
            )  # fmt: skip
            scores.append(found.score)
            bounds.append(found.error_bound)
    if not scores:
        msg = "descriptions must hold at least one description, got none"
        raise ValueError(msg)
    return DescribedEpisodes(np.array(scores), max(bounds))
