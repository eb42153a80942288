"""`check_variant`: compare a variant with the enumeration of all training sets, for its authors."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from ._typing import Array
from .designs import Design, StratifiedSubsample, Subsample
from .driver import ScoringProblem, validate_problem
from .kernel import Variant, compile_kernel
from .montecarlo import monte_carlo_cv
from .neighbors import Neighbors
from .results import complete_cv
from .runs import draw_runs
from .variants import get_variant

Scorer: TypeAlias = Callable[..., Any]


def check_variant(
    variant: str | Variant | type[Variant],
    score: Scorer,
    *,
    parameters: Sequence[Mapping[str, Any]] = ({},),
    n_cases: int = 40,
    seed: int = 0,
    exact: bool = True,
) -> int:
    """Compare a variant with a naive scorer over all training sets of small random problems.

    The problems have 3 to 7 samples in 1 to 3 classes, with and without ties. Every training size, every
    kernel of the variant and every tie rule that it offers is checked.

    Parameters
    ----------
    variant : str, Variant or subclass of it
        The variant to check; it need not be registered.
    score : callable
        ``score(near, own, **parameters)`` returns the score of one classification: `near` is the list of
        the class codes of ALL training samples, nearest first, and `own` the tested sample's code. For a
        variant of real targets they are targets, whole numbers. It should be as simple as possible and
        independent of the kernel. Integers and Fractions keep the check exact.
    parameters : sequence of mappings
        The parameters to try, completed by the defaults. A setting that the variant's `check` refuses for
        a training set is skipped there.
    n_cases : int, default 40
        Number of random problems.
    seed : int, default 0
        Their seed.
    exact : bool, default True
        Also run the kernels' source on Fractions, and require equality.

    Returns
    -------
    int
        The number of scores compared.

    Raises
    ------
    AssertionError
        At the first difference; the message contains the problem.
    TypeError
        If a kernel does not fit the signature, or the integers of `Variant.tables` do not fit
        `Variant.fields`.
    ValueError
        If every setting was refused, or the variant has no kernel without distances, so that nothing was
        compared.

    Examples
    --------
    >>> from knnccv.testing import check_variant
    >>> check_variant("nn", lambda near, own, loss: int(near[0] == own), n_cases=5) > 50
    True

    A variant of real targets, with one neighbor:

    >>> def squared_error(near, own, **parameters):
    ...     return (near[0] - own) ** 2
    >>> check_variant("regression", squared_error, parameters=[{"n_neighbors": 1}], n_cases=5) > 50
    True
    """
    found = get_variant(variant)
    if not found.kernels():
        msg = f"variant {found.name!r} has no kernel without distances: there is nothing to compare"
        raise ValueError(msg)
    for kernel in found.kernels():
        compile_kernel(kernel, f"variant {found.name!r}")
    rng = np.random.default_rng(seed)
    compared = 0
    for _ in range(n_cases):
        distances, y = _problem(rng, found.target)
        for setting in parameters:
            full = found.settings(setting)
            for design, sets in _designs(found, y):
                for ties in found.tie_rules:
                    compared += _compare(found, score, distances, y, design, sets, ties, full, exact)
    if compared == 0:
        msg = f"variant {found.name!r} refused every setting in {list(parameters)!r}"
        raise ValueError(msg)
    return compared


def _problem(rng: np.random.Generator, target: str) -> tuple[Array, Array]:
    n_items = int(rng.integers(3, 8))
    n_classes = int(rng.integers(1, 4))
    levels = int(rng.choice([2, 4, 1000]))
    distances = rng.integers(0, levels, (n_items, n_items)).astype(float)
    np.fill_diagonal(distances, 0)  # otherwise it could be mistaken for a matrix of similarities
    if target == "values":
        return distances, rng.integers(-4, 4 * n_classes, n_items)
    y = np.unique(rng.integers(0, n_classes, n_items), return_inverse=True)[1]
    return distances, y.reshape(-1)


def _designs(variant: Variant, y: Array) -> Iterator[tuple[Design, list[tuple[int, ...]]]]:
    """The designs, each with all its training sets."""
    n_items = len(y)
    has = {name for name in ("fixed", "stratified") if getattr(type(variant), name) is not None}
    if "fixed" in has:
        for size in range(1, n_items):
            yield Subsample(size), list(itertools.combinations(range(n_items), size))
    if "stratified" in has:
        members = [np.flatnonzero(y == c).tolist() for c in range(int(y.max()) + 1)]
        for sizes in itertools.product(*[range(len(group) + 1) for group in members]):
            if 0 < sum(sizes) < n_items:
                choices = [
                    itertools.combinations(group, size) for group, size in zip(members, sizes, strict=True)
                ]
                sets = [sum(parts, ()) for parts in itertools.product(*choices)]
                yield StratifiedSubsample(per_class=dict(enumerate(sizes))), sets


def _compare(
    variant: Variant,
    score: Scorer,
    distances: Array,
    y: Array,
    design: Design,
    sets: list[tuple[int, ...]],
    ties: str,
    setting: dict[str, Any],
    exact: bool,
) -> int:
    neighbors = Neighbors.from_distances(distances)
    asked = {"ties": ties, "average": "item", "n_jobs": 1, **setting}
    try:
        question = validate_problem(y, len(y), variant, design, ties, "item", setting)
    except ValueError:
        return 0
    result = complete_cv(neighbors, y, variant, design, **asked)
    rational = complete_cv(neighbors, y, variant, design, exact=True, **asked) if exact else None
    compared = 0
    for x in range(len(y)):
        expected = _expected(question, score, distances, y, x, sets, setting)
        if expected is None:
            continue
        case = (
            f"variant {variant.name!r} with {setting} under {design!r}, ties={ties!r}, sample {x}; "
            f"distances {distances.tolist()}, {variant.target} {y.tolist()}"
        )
        got = float(result.per_item[x])
        if not abs(got - float(expected)) <= 1e-12 * max(1.0, abs(float(expected))):
            msg = f"A_x is {got!r}, enumeration gives {float(expected)!r}: {case}"
            raise AssertionError(msg)
        if rational is not None and rational.per_item_exact is not None:
            value = rational.per_item_exact[x]
            if value != expected:
                msg = f"exact A_x is {value}, enumeration gives {expected}: {case}"
                raise AssertionError(msg)
        compared += 1
    _compare_run(question, score, distances, y, asked, setting)
    return compared


def _compare_run(
    question: ScoringProblem,
    score: Scorer,
    distances: Array,
    y: Array,
    asked: Mapping[str, Any],
    setting: Mapping[str, Any],
) -> None:
    """Compare the kernel with the naive scorer for one random training set."""
    neighbors = Neighbors.from_distances(distances)
    variant, design = question.variant, question.design
    pooled = {**asked, "average": "pooled"}
    found = monte_carlo_cv(neighbors, y, variant, design, n_repeats=1, random_state=0, **pooled).score
    fold = draw_runs(question, 1, np.random.default_rng(0)).all_folds()[0]
    training = tuple(np.flatnonzero(fold < 0).tolist())
    tested = np.flatnonzero(fold >= 0)
    total = Fraction(0)
    for x in tested:
        orders = list(_orders(training, distances[x], asked["ties"]))
        scores = [score([int(y[i]) for i in order], int(y[x]), **setting) for order in orders]
        total += sum(map(Fraction, scores), Fraction(0)) / len(orders)
    expected = float(total / len(tested))
    if not abs(found - expected) <= 1e-12 * max(1.0, abs(expected)):
        msg = (
            f"one split scores {found!r}, the naive scorer gives {expected!r}; does the kernel read "
            f"constraints.held_out? Variant {variant.name!r} with {setting}, trained on samples "
            f"{training}, ties={asked['ties']!r}; distances {distances.tolist()}, "
            f"{variant.target} {y.tolist()}"
        )
        raise AssertionError(msg)


def _expected(
    question: ScoringProblem,
    score: Scorer,
    distances: Array,
    y: Array,
    x: int,
    sets: list[tuple[int, ...]],
    setting: dict[str, Any],
) -> Fraction | None:
    """Mean score of sample x over the training sets without it, and over tie orders."""
    n_nearest = question.variant.n_nearest(**setting)
    largest = question.largest
    own = int(y[x])
    total, number = Fraction(0), 0
    for training in sets:
        if x in training:
            continue
        number += 1
        orders = list(_orders(training, distances[x], question.ties))
        for order in orders:
            near = [int(y[item]) for item in order]
            value = Fraction(score(near, own, **setting))
            if Fraction(score(near[:n_nearest], own, **setting)) != value:
                msg = f"n_nearest returns {n_nearest}, but samples farther away change the score of {near}"
                raise AssertionError(msg)
            if abs(value) > largest:
                msg = f"largest_score returns {largest}, but {near} scores {value}"
                raise AssertionError(msg)
            total += value / len(orders)
    return total / number if number else None


def _orders(training: tuple[int, ...], row: Array, ties: str) -> Iterator[tuple[int, ...]]:
    """The orders of the training samples that the tie rule allows."""
    ranked = sorted(training, key=lambda item: (row[item], item))
    if ties == "index":
        yield tuple(ranked)
        return
    groups = [list(group) for _, group in itertools.groupby(ranked, key=lambda item: row[item])]
    for parts in itertools.product(*[itertools.permutations(group) for group in groups]):
        yield tuple(itertools.chain(*parts))
