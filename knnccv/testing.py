"""`check_variant`: compare a variant with the enumeration of all training sets, for its authors."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from ._base.typing import Array
from ._core.driver import ScoringProblem, validate_problem
from ._core.luck.runs import draw_runs
from ._core.scores.results import complete_cv, monte_carlo_cv
from .designs import Design, StratifiedSubsample, Subsample
from .kernel import Variant, compile_kernel
from .kernel.registry import get_variant
from .neighbors import Neighbors

__all__ = ["check_variant"]

Scorer: TypeAlias = Callable[..., Any]


def check_variant(
    variant: str | Variant | type[Variant],
    score: Scorer,
    *,
    parameters: Sequence[Mapping[str, Any]] = ({},),
    n_cases: int = 40,
    random_state: int = 0,
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
        independent of the kernel. Integers and Fractions keep the check exact. For a rule that only decides
        (scored by sampling) it is ``score(near, own, distances, **parameters)``, with the distances of the
        training samples; the rule is compared on some training sets, with ties in the order of the rows.
    parameters : sequence of mappings
        The parameters to try, completed by the defaults. A setting that the variant's `check` refuses for
        a training set is skipped there.
    n_cases : int, default 40
        Number of random problems.
    random_state : int, default 0
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
        If every setting was refused, or the variant has neither a kernel without distances nor a function
        `decide`, so that nothing was compared.

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
    decides = not found.kernels() and type(found).decide is not None
    if not found.kernels() and not decides:
        msg = (
            f"variant {found.name!r} has neither a kernel without distances nor a function decide: "
            "there is nothing to compare"
        )
        raise ValueError(msg)
    for kernel in found.kernels():
        compile_kernel(kernel, f"variant {found.name!r}")
    method = "sampled" if decides else None
    rng = np.random.default_rng(random_state)
    compared = 0
    for _ in range(n_cases):
        distances, y = _problem(rng, found.target)
        for setting in parameters:
            full = found.settings(setting)
            for design, sets in _designs(found, y):
                for ties in ("index",) if decides else found.tie_rules:
                    try:
                        problem = validate_problem(y, len(y), found, design, ties, "item", full, method)
                    except ValueError:
                        continue
                    case = _Case(problem, score, distances, y, sets, full, decides)
                    compared += _compare_decisions(case) if decides else _compare(case, exact)
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
    if "fixed" in has or not variant.kernels():
        for size in range(1, n_items):
            yield Subsample(size), list(itertools.combinations(range(n_items), size))
    if "stratified" in has:
        members = [np.flatnonzero(y == c).tolist() for c in range(int(y.max()) + 1)]
        for sizes in itertools.product(*[range(len(group) + 1) for group in members]):
            if 0 < sum(sizes) < n_items:
                choices = map(itertools.combinations, members, sizes)
                sets = [sum(parts, ()) for parts in itertools.product(*choices)]
                yield StratifiedSubsample(per_class=dict(enumerate(sizes))), sets


@dataclass(frozen=True)
class _Case:
    """A problem under one design, tie rule and setting of the variant, with all its training sets."""

    problem: ScoringProblem
    score: Scorer
    distances: Array
    y: Array
    sets: list[tuple[int, ...]]
    setting: dict[str, Any]
    decides: bool = False

    def __str__(self) -> str:
        problem = self.problem
        return (
            f"variant {problem.variant.name!r} with {self.setting} under {problem.design!r}, "
            f"ties={problem.ties!r}; distances {self.distances.tolist()}, "
            f"{problem.variant.target} {self.y.tolist()}"
        )

    def ask(self, compute: Callable[..., Any], average: str, **options: Any) -> Any:
        """The result of `complete_cv` or `monte_carlo_cv`."""
        problem, neighbors = self.problem, Neighbors.from_distances(self.distances)
        options |= {"ties": problem.ties, "average": average, "n_jobs": 1, **self.setting}
        return compute(neighbors, self.y, problem.variant, problem.design, **options)

    def naive(self, training: tuple[int, ...], x: int) -> Fraction:
        """The mean score of sample x over the tie orders of a training set."""
        orders = _orders(training, self.distances[x], self.problem.ties)
        return _mean([self._score_order(order, x) for order in orders])

    def _score_order(self, order: tuple[int, ...], x: int) -> Fraction:
        own = int(self.y[x])
        near = [int(self.y[item]) for item in order]
        n_nearest = self.problem.variant.n_nearest(**self.setting)
        far = ([self.distances[x, item] for item in order],) if self.decides else ()

        def score(n: int | None = None) -> Fraction:
            return Fraction(self.score(near[:n], own, *(each[:n] for each in far), **self.setting))

        value = score()
        if score(n_nearest) != value:
            msg = f"n_nearest returns {n_nearest}, but samples farther away change the score of {near}"
            raise AssertionError(msg)
        declared, number = self.problem.score, float(value)  # a double, as the bounds are
        if not declared.low <= number <= declared.high or abs(number) > self.problem.largest:
            limits = f"{declared.low:g} to {declared.high:g}, at most {self.problem.largest:g}"
            msg = f"score() declares {limits}, but {near} scores {value}"
            raise AssertionError(msg)
        return value


def _compare(case: _Case, exact: bool) -> int:
    """Compare the score of every sample with its mean over the training sets without it."""
    result = case.ask(complete_cv, "item")
    rational = case.ask(complete_cv, "item", exact=True).per_item_fraction if exact else None
    compared = 0
    for x in range(len(case.y)):
        scores = [case.naive(training, x) for training in case.sets if x not in training]
        if not scores:
            continue
        expected = _mean(scores)
        _check("A_x is", float(result.per_item[x]), "enumeration", expected, f": sample {x}, {case}")
        if rational is not None and rational[x] != expected:
            msg = f"exact A_x is {rational[x]}, enumeration gives {expected}: sample {x}, {case}"
            raise AssertionError(msg)
        compared += 1
    _compare_run(case)
    return compared


def _compare_decisions(case: _Case) -> int:
    """Compare `decide` with the naive scorer for some training sets, each drawn whole from a pool."""
    n_compared = 0
    for training in case.sets[:: -(-len(case.sets) // 3)]:
        tested = [x for x in range(len(case.y)) if x not in training]
        D, y = case.distances[np.ix_(tested, training)], case.y[list(training)]
        rule, design = case.problem.variant, Subsample(len(training))
        how = case.setting | {"metric": "precomputed", "method": "sampled", "n_draws": 2, "n_jobs": 1}
        found = complete_cv(D, y, rule, design, test=case.y[tested], ties="index", **how).per_item
        for x, value in zip(tested, found.tolist(), strict=True):
            where = f": sample {x}, trained on samples {training}, {case}"
            _check("decide returns", value, "the naive scorer", case.naive(training, x), where)
        n_compared += len(tested)
    return n_compared


def _compare_run(case: _Case) -> None:
    """Compare the kernel with the naive scorer for one random training set."""
    found = case.ask(monte_carlo_cv, "pooled", n_runs=1, random_state=0).score
    fold = draw_runs(case.problem, 1, np.random.default_rng(0)).all_folds()[0]
    training = tuple(np.flatnonzero(fold < 0).tolist())
    expected = _mean([case.naive(training, x) for x in np.flatnonzero(fold >= 0).tolist()])
    where = f"; does the kernel read constraints.held_out? Trained on samples {training}: {case}"
    _check("one split scores", found, "the naive scorer", expected, where)


def _mean(scores: list[Fraction]) -> Fraction:
    return sum(scores, Fraction(0)) / len(scores)


def _check(what: str, found: float, other: str, expected: Fraction, where: str) -> None:
    if not abs(found - float(expected)) <= 1e-12 * max(1.0, abs(float(expected))):
        msg = f"{what} {found!r}, {other} gives {float(expected)!r}{where}"
        raise AssertionError(msg)


def _orders(training: tuple[int, ...], row: Array, ties: str) -> Iterator[tuple[int, ...]]:
    """The orders of the training samples that the tie rule allows."""
    ranked = sorted(training, key=lambda item: (row[item], item))
    if ties == "index":
        yield tuple(ranked)
        return
    groups = [list(group) for _, group in itertools.groupby(ranked, key=lambda item: row[item])]
    for parts in itertools.product(*[itertools.permutations(group) for group in groups]):
        yield tuple(itertools.chain(*parts))
