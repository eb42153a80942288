"""`Episodes`: which classes and supports an episode draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.labels import EncodedLabels
from .._base.typing import Array
from .._base.validation import check, check_integer

Numbers = int | tuple[int, ...]


@dataclass(frozen=True)
class Episodes:
    """Episodes of few-shot learning: N classes, K labeled samples of each, queries from the same classes.

    An episode draws `n_way` of the classes, and from each of them `n_shot` supports and some queries, all
    without replacement and all choices equally likely. Every query is given one of the drawn classes. The
    number of queries does not change the mean over all episodes, since each query of a class is equally
    likely to be any of its samples.

    Parameters
    ----------
    n_way : int or iterable of int, default 5
        Number of classes N, at least 2. Several numbers, such as ``range(5, 11)``, are drawn with equal
        probability, episode by episode.
    n_shot : int, iterable of int or mapping, default 1
        Number of supports of every class K, at least 1 and less than the size of the smallest class.
        Several numbers are drawn with equal probability, independently of N. A mapping of all labels, such
        as ``{"cat": 1, "dog": 5}``, has a number for each class.

    Attributes
    ----------
    ways, shots : tuple of int
        The numbers, sorted. Of a mapping, `shots` has the largest alone.

    Raises
    ------
    TypeError, ValueError
        If a number is not an integer, is too small or repeated, or there is none.

    Notes
    -----
    A description of an episode of Meta-Dataset, its classes and the shots of each, is
    ``Episodes(len(shots), shots)`` of the samples of these classes.

    Examples
    --------
    >>> from knnccv.episodes import Episodes
    >>> Episodes(n_way=5, n_shot=1)
    Episodes(n_way=5, n_shot=1)
    >>> Episodes(n_way=range(2, 5), n_shot=[1, 5]).ways
    (2, 3, 4)
    """

    n_way: Any = 5
    n_shot: Any = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_way", _numbers("n_way", self.n_way, 2))
        shots = self.n_shot
        shots = _by_class(shots) if isinstance(shots, Mapping) else _numbers("n_shot", shots, 1)
        object.__setattr__(self, "n_shot", shots)

    @property
    def ways(self) -> tuple[int, ...]:
        """The numbers of classes, sorted."""
        return self.n_way if isinstance(self.n_way, tuple) else (self.n_way,)

    @property
    def shots(self) -> tuple[int, ...]:
        """The numbers of supports of a class, sorted."""
        if isinstance(self.n_shot, dict):
            return (max(self.n_shot.values()),)
        return self.n_shot if isinstance(self.n_shot, tuple) else (self.n_shot,)

    def fewest_supports(self, n_way: int) -> int:
        """The smallest number of supports that an episode of so many ways can have."""
        if isinstance(self.n_shot, dict):
            return sum(sorted(self.n_shot.values())[:n_way])
        return n_way * self.shots[0]

    def shots_of(self, labels: EncodedLabels) -> Array:
        """The supports of every class, for every number of shots: int64 of shape (n_shots, n_classes).

        Raises
        ------
        ValueError
            If `n_shot` is a mapping of other labels.
        """
        names = labels.classes.tolist()
        if not isinstance(self.n_shot, dict):
            return np.repeat(np.array(self.shots)[:, None], len(names), axis=1)
        for name in (*names, *self.n_shot):
            if name not in self.n_shot or name not in names:
                where = "has no number in n_shot" if name in names else "of n_shot is not in y"
                msg = f"n_shot must map every label of y to a number, but {_shown(name)} {where}"
                raise ValueError(msg)
        return np.array([[self.n_shot[name] for name in names]])

    def __str__(self) -> str:
        if isinstance(self.n_shot, dict):
            low, high = min(self.n_shot.values()), self.shots[0]
            return f"{_span(self.ways)}-way episodes of {low} to {high} shots by class"
        return f"{_span(self.ways)}-way {_span(self.shots)}-shot"

    def check(self, labels: EncodedLabels, n_query: int = 1) -> None:
        """Raise ValueError unless these labels have enough classes, and every class enough samples."""
        n_classes = len(labels.classes)
        if n_classes < 2:
            msg = f"episodes need at least 2 classes; y has {n_classes}"
            if n_classes:
                msg += f", {_shown(labels.classes[0])}"
            raise ValueError(msg)
        msg = (
            f"pass Episodes(n_way=..., n_shot=...): n_way must be between 2 and {n_classes}, the "
            f"number of classes in y, got {self.ways[-1]}"
        )
        check(self.ways[-1] <= n_classes, msg)
        needed = self.shots_of(labels).max(axis=0)
        smallest = int((labels.counts - needed).argmin())
        size, largest = int(labels.counts[smallest]), int(needed[smallest])
        if size < largest + n_query:
            who = f"class {_shown(labels.classes[smallest])} has {size} sample{'s' * (size != 1)}"
            what = f"n_shot={largest} and {'a query' if n_query == 1 else f'{n_query} queries'}"
            msg = f"{who}, which are too few for {what}: n_shot must be at most {size - n_query}"
            if size <= n_query:
                msg = f"{who}; every class needs at least {largest + n_query}: {what}"
            raise ValueError(msg)


def given_episodes(episodes: Any) -> Episodes:
    """The episodes; 5-way 1-shot for None, TypeError for anything else."""
    found: Episodes = Episodes() if episodes is None else episodes
    must = "episodes must be an Episodes object, such as Episodes(n_way=5, n_shot=1)"
    check(isinstance(found, Episodes), must, found, TypeError)
    return found


def _numbers(name: str, value: Any, least: int) -> Numbers:
    if isinstance(value, (str, bytes, Mapping)) or not np.iterable(value):
        return check_integer(name, value, least)
    numbers = [check_integer(f"every number in {name}", one, least) for one in value]
    check(numbers, f"{name} must hold at least one number", value)
    check(len(set(numbers)) == len(numbers), f"{name} must hold different numbers", value)
    return tuple(sorted(numbers)) if len(numbers) > 1 else numbers[0]


def _by_class(shots: Mapping[Any, Any]) -> dict[Any, int]:
    check(shots, "n_shot must hold at least one number, got {}")
    return {name: check_integer(f"n_shot[{name!r}]", shot, 1) for name, shot in shots.items()}


def _span(numbers: tuple[int, ...]) -> str:
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]}..{numbers[-1]}"
    return ",".join(map(str, numbers))


def _shown(label: Any) -> str:
    return repr(label.item() if hasattr(label, "item") else label)
