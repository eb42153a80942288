"""`Episodes`: which classes and supports an episode draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._labels import EncodedLabels
from .._validation import check_integer

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
    n_shot : int or iterable of int, default 1
        Number of supports of every class K, at least 1 and less than the size of the smallest class.
        Several numbers are drawn with equal probability, independently of N.

    Attributes
    ----------
    ways, shots : tuple of int
        The numbers, sorted.

    Raises
    ------
    TypeError, ValueError
        If a number is not an integer, is too small or repeated, or there is none.

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
        object.__setattr__(self, "n_shot", _numbers("n_shot", self.n_shot, 1))

    @property
    def ways(self) -> tuple[int, ...]:
        """The numbers of classes, sorted."""
        return self.n_way if isinstance(self.n_way, tuple) else (self.n_way,)

    @property
    def shots(self) -> tuple[int, ...]:
        """The numbers of supports of a class, sorted."""
        return self.n_shot if isinstance(self.n_shot, tuple) else (self.n_shot,)

    def __str__(self) -> str:
        return f"{_span(self.ways)}-way {_span(self.shots)}-shot"

    def check(self, labels: EncodedLabels, n_query: int = 1) -> None:
        """Raise ValueError unless these labels have enough classes, and every class enough samples."""
        n_classes, largest = len(labels.classes), self.shots[-1]
        if n_classes < 2:
            msg = f"episodes need at least 2 classes; y has {n_classes}"
            if n_classes:
                msg += f", {_shown(labels.classes[0])}"
            raise ValueError(msg)
        if self.ways[-1] > n_classes:
            msg = (
                f"n_way must be between 2 and {n_classes}, the number of classes in y, got {self.ways[-1]}"
            )
            raise ValueError(msg)
        smallest = int(labels.counts.argmin())
        size = int(labels.counts[smallest])
        if size < largest + n_query:
            name = _shown(labels.classes[smallest])
            queries = "a query" if n_query == 1 else f"{n_query} queries"
            msg = f"class {name} has {size} sample{'s' * (size != 1)}, which are too few for "
            msg += f"n_shot={largest} and {queries}: n_shot must be at most {size - n_query}"
            if size <= n_query:
                msg = f"class {name} has {size} sample{'s' * (size != 1)}; every class needs at least "
                msg += f"{largest + n_query}: n_shot={largest} and {queries}"
            raise ValueError(msg)


def _numbers(name: str, value: Any, least: int) -> Numbers:
    if isinstance(value, (str, bytes, Mapping)) or not np.iterable(value):
        return check_integer(name, value, least)
    numbers = [check_integer(f"every number in {name}", one, least) for one in value]
    if not numbers:
        msg = f"{name} must hold at least one number, got {value!r}"
        raise ValueError(msg)
    if len(set(numbers)) < len(numbers):
        msg = f"{name} must hold different numbers, got {value!r}"
        raise ValueError(msg)
    return tuple(sorted(numbers)) if len(numbers) > 1 else numbers[0]


def _span(numbers: tuple[int, ...]) -> str:
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]}..{numbers[-1]}"
    return ",".join(map(str, numbers))


def _shown(label: Any) -> str:
    return repr(label.item() if hasattr(label, "item") else label)
