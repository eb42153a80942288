"""`check_score`: compare a score with the enumeration of all galleries, for its authors."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from .._typing import Array
from .._validation import check_integer
from ._forms import Form, parse
from ._gallery import Gallery
from ._retrieval import expected_retrieval

LARGEST = 7


def check_score(
    score: str | Form,
    naive: Callable[[list[bool]], Any],
    *,
    ap: str = "rectangle",
    n_cases: int = 40,
    seed: int = 0,
) -> int:
    """Compare a score with a naive function of one ranking, over all galleries of small random problems.

    The problems have 1 to 7 gallery items, 1 or more of them right, with and without ties. 1 to 3 items, or
    all, are drawn from every stratum, after a random mask; every gallery and, with ``ties="random"``, every
    order of tied items is enumerated. Small problems come first, so that the counter-example is as small as
    one that was found.

    Parameters
    ----------
    score : str, Reciprocal, AtRank, First or Table
        A score of one number for each query; not a curve.
    naive : callable
        ``naive(relevant)`` returns the score of one ranking: ``relevant[r - 1]`` tells whether the item at
        rank r is right, for all gallery items that are drawn, at least one of them right. It should be as
        simple as possible and independent of the form. Integers and Fractions make the enumeration exact.
    ap : {"rectangle", "trapezoid"}, default "rectangle"
        As in `expected_retrieval`; it matters for the score "ap".
    n_cases : int, default 40
        Number of random problems of every number of gallery items.
    seed : int, default 0
        Their seed.

    Returns
    -------
    int
        The number of rankings enumerated.

    Raises
    ------
    AssertionError
        At the first difference of more than 1e-12, relative to values above 1; the message has the
        problem, the expected and the found score.
    ValueError, TypeError
        If `score` is none, or a curve; or an argument is not as above.

    Examples
    --------
    >>> from knnccv.retrieval import First, check_score
    >>> def half_life(relevant):
    ...     rank = relevant.index(True) + 1
    ...     return {1: 1, 2: 0.5, 3: 0.25}.get(rank, 0)
    >>> check_score(First([1, 0.5, 0.25], name="half-life"), half_life, n_cases=3) > 10
    True
    """
    (found,) = parse((score,))
    if found.curve:
        msg = f"{found.name!r} is a curve, check one of its values: First([1] * r) is the CMC at rank r"
        raise ValueError(msg)
    n_cases = check_integer("n_cases", n_cases, 1)
    rng = np.random.default_rng(check_integer("seed", seed, 0))
    compared = 0
    for n_items in range(1, LARGEST + 1):
        for _ in range(n_cases):
            compared += _compare(score, naive, ap, rng, n_items)
    return compared


def _compare(
    score: str | Form, naive: Callable[[list[bool]], Any], ap: str, rng: np.random.Generator, n_items: int
) -> int:
    """One random problem; the number of its rankings."""
    ids = rng.integers(0, int(rng.integers(1, 4)), n_items)
    cams = rng.integers(0, 2, n_items)
    distances = rng.integers(0, int(rng.choice([2, 4, 1000])), n_items).astype(float)
    masked = rng.random(n_items) < (0.2 if rng.integers(2) else 0.0)
    at = int(rng.integers(n_items))
    ids[at], masked[at] = 0, False
    shots, fine = int(rng.integers(0, 4)), bool(rng.integers(2))
    gallery, strata = Gallery("all"), ids
    if shots:
        strata = ids * 2 + cams if fine else ids
        gallery = Gallery(shots=shots, strata=(ids, cams) if fine else None, mask="before", short="all")
    left = np.flatnonzero(~masked)
    n_rankings = 0
    for ties in ("index", "random"):
        total, n_galleries = Fraction(0), 0
        for drawn in _galleries(left, strata, shots):
            rankings = list(_rankings(drawn, distances, ties))
            values = [_number(naive, [bool(ids[i] == 0) for i in ranking]) for ranking in rankings]
            total += sum(values, Fraction(0)) / len(rankings)
            n_galleries += 1
            n_rankings += len(rankings)
        expected = total / n_galleries
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # of ties
            result = expected_retrieval(
                distances[None], [0], ids, gallery, exclude=lambda _: masked[None], scores=(score,), ap=ap,
                ties=ties, n_jobs=1,
            )  # fmt: skip
        (name,) = result
        got = result[name].score
        if abs(got - float(expected)) <= 1e-12 * max(1.0, abs(float(expected))):
            continue
        msg = (
            f"the score {name!r} is {got!r}, but enumeration gives {float(expected)!r} ({expected}) for "
            f"{n_items} gallery items at the distances {distances.tolist()}, right: {(ids == 0).tolist()}, "
            f"identities {ids.tolist()}, removed: {masked.tolist()}; drawn: {shots or 'all'} of each "
            f"stratum in {strata.tolist()}, in {n_galleries} ways; ties={ties!r}"
        )
        if n_galleries == 1 and len(rankings) == 1:
            msg += f"; the ranking is {[bool(ids[i] == 0) for i in rankings[0]]}"
        raise AssertionError(msg)
    return n_rankings


def _number(naive: Callable[[list[bool]], Any], relevant: list[bool]) -> Fraction:
    value = naive(list(relevant))
    try:
        return Fraction(value.item() if isinstance(value, np.generic) else value)
    except (TypeError, ValueError, OverflowError) as error:
        msg = f"naive must return a finite number, got {value!r} for {relevant}"
        raise TypeError(msg) from error


def _galleries(left: Array, strata: Array, shots: int) -> Iterator[list[int]]:
    """All galleries that may be drawn, equally likely."""
    choices = []
    for stratum in np.unique(strata[left]):
        members = left[strata[left] == stratum].tolist()
        choices.append(itertools.combinations(members, min(shots, len(members)) if shots else len(members)))
    for parts in itertools.product(*choices):
        yield list(itertools.chain(*parts))


def _rankings(items: list[int], distances: Array, ties: str) -> Iterator[list[int]]:
    """All orders that the tie rule allows, equally likely."""
    ranked = sorted(items, key=lambda i: (distances[i], i))
    if ties == "index":
        yield ranked
        return
    groups = [list(group) for _, group in itertools.groupby(ranked, key=lambda i: distances[i])]
    for parts in itertools.product(*[itertools.permutations(group) for group in groups]):
        yield list(itertools.chain(*parts))
