"""Exact mode: expected scores as rational numbers, for small problems.

A score follows from the joint law of the numbers of right and of wrong items before a right one.
Laws are lists of integers, the numbers of ways, so that a law divided by its sum has the probabilities.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import accumulate, product
from typing import Any, NamedTuple

import numpy as np

from .._parallel import counted, expect
from .._typing import Array
from ..sampling import tie_times
from ._compiled import PRECISIONS, Pool
from ._draw import Draw
from ._forms import AtRank, First, Form, Geometric, Reciprocal, Score, Table, Within
from ._gallery import others_of
from ._scores import ranked

MOST_STEPS = 100_000_000
Law = list[int]
Worth = Callable[[int, int], Fraction]
"""``worth(a, b)``: what a right item adds if a right and b wrong ones are before it."""


class _Joint(NamedTuple):
    """Expected numbers of right items by (right, wrong) items before them.

    Of "every" one; of the "first", and of "each" as if it were the only one, by (0, those ahead).
    """

    laws: dict[str, dict[tuple[int, int], Fraction]]
    relevant: int


def exact_scores(draw: Draw) -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Every score and its values for the queries: a Fraction, or a tuple of them for "cmc".

    Queries without a right item have None.

    Raises
    ------
    ValueError
        If more than about `MOST_STEPS` steps are needed, or only the nearest items are known.
    """
    problem, gallery, pool, scores = draw.problem, draw.gallery, draw.pool, draw.scores
    if problem.near.truncated:
        msg = f"exact=True needs the distances of all gallery items; {problem.near!r} has the nearest only"
        raise ValueError(msg)
    found: dict[str, list[Any]] = {score.name: [] for score in scores}
    near, ties = problem.near, problem.asked.ties
    steps = 0.0
    expect(near.n_queries)
    for start, stop in draw.blocks(near.rows_at_once):
        masked, _ = draw.removed(start, stop)
        others = others_of(masked, problem.codes[start:stop], pool, gallery)
        rows = zip(near.block(start, stop), masked, problem.codes[start:stop], others, strict=True)
        for row, out, code, n_others in counted(rows, stop - start):
            joint = None
            if code >= 0 and not out[pool.identity[pool.stratum] == code].all():
                query = _Query(row, out, int(code), pool, ties, gallery.n_others, int(n_others))
                steps += query.steps()
                if steps > MOST_STEPS:
                    msg = (
                        f"exact=True serves small problems: more than {MOST_STEPS:,} steps are needed for "
                        f"{start + len(found[scores[0].name]) + 1} of {near.n_queries} queries; take fewer "
                        "queries or a smaller gallery, or the floats, whose error_bound is certified"
                    )
                    raise ValueError(msg)
                joint = query.joint(problem.asked.rank)
            for score in scores:
                value = None if joint is None else _value(score, joint, problem.asked.max_rank)
                found[score.name].append(value)
    average = problem.asked.average
    return {name: (_mean(problem.codes, average, all_), tuple(all_)) for name, all_ in found.items()}


def _mean(codes: Array, average: str, values: list[Any]) -> Any:
    """The mean over the queries, or over their identities of the mean of their queries."""
    kept = [q for q, value in enumerate(values) if value is not None]
    counts = Counter(int(codes[q]) for q in kept)
    weights = [
        Fraction(1, len(kept) if average == "query" else counts[int(codes[q])] * len(counts)) for q in kept
    ]
    if isinstance(values[kept[0]], tuple):
        columns = zip(*(values[q] for q in kept), strict=True)
        return tuple(_weighted(weights, column) for column in columns)
    return _weighted(weights, [values[q] for q in kept])


def _weighted(weights: list[Fraction], values: Any) -> Fraction:
    return sum((w * value for w, value in zip(weights, values, strict=True)), Fraction(0))


class _Query:
    """One query: the sizes of its strata and the laws of drawn items before each right one."""

    def __init__(
        self, row: Array, out: Array, code: int, pool: Pool, ties: str, n_chosen: int, n_others: int
    ) -> None:
        kept = np.flatnonzero(~out)
        self.row, self.code, self.pool, self.fair = row, code, pool, ties == "random"
        self.strata: dict[int, list[int]] = {}
        for i in kept.tolist():
            self.strata.setdefault(int(pool.stratum[i]), []).append(i)
        shots = int(pool.shots)
        self.draws = {
            s: len(items) if shots == 0 or pool.always[s] else min(shots, len(items))
            for s, items in self.strata.items()
        }
        self.identities: dict[int, list[int]] = {}
        for s in self.strata:
            self.identities.setdefault(int(pool.identity[s]), []).append(s)
        self.own = self.identities.pop(code)
        self.relevant = sum(self.draws[s] for s in self.own)
        self.n_chosen, self.n_others = n_chosen, n_others

    def groups(self) -> Iterator[list[int]]:
        """The right items, equally near ones together if ties are fair."""
        items = sorted((i for s in self.own for i in self.strata[s]), key=lambda i: (self.row[i], i))
        for at, i in enumerate(items):
            if at == 0 or not self.fair or self.row[i] != self.row[items[at - 1]]:
                yield [i, *(j for j in items[at + 1 :] if self.fair and self.row[j] == self.row[i])]

    def steps(self) -> float:
        """About how many products of numbers are needed."""
        drawn = sum(self.draws.values())
        each = drawn * (len(self.strata) + self.relevant) * (max(self.n_chosen, 0) + 1)
        return float(sum(self._n_times(group[0]) for group in self.groups()) * each)

    def joint(self, rank: str) -> _Joint:
        """The joint law of the numbers of right and wrong items before a right one."""
        names = ("every", "first", "each")
        laws: dict[str, defaultdict[tuple[int, int], Fraction]] = {n: defaultdict(Fraction) for n in names}
        for group in self.groups():
            for time, share in zip(*tie_times(self._n_times(group[0]), Fraction(1)), strict=True):
                wrong, ahead = self._wrong(group[0], time)
                ahead = ahead if rank == "identity" else wrong
                for s, times in Counter(int(self.pool.stratum[i]) for i in group).items():
                    mine = self._mine(group[0], s, time)
                    weight = share * times * Fraction(self.draws[s], len(self.strata[s]))
                    for (a, p), (b, other) in product(enumerate(mine), enumerate(wrong)):
                        if p and other:
                            laws["every"][a, b] += weight * p * other
                    for b, other in enumerate(ahead):
                        laws["first"][0, b] += weight * mine[0] * other
                        laws["each"][0, b] += weight * other
        return _Joint({name: dict(law) for name, law in laws.items()}, self.relevant)

    def _nearer(self, s: int, item: int) -> tuple[int, int]:
        """Items of a stratum that are nearer than an item, and others at its distance."""
        row = self.row
        nearer = sum(
            bool(row[i] < row[item] or (not self.fair and row[i] == row[item] and i < item))
            for i in self.strata[s]
        )
        return nearer, sum(bool(self.fair and i != item and row[i] == row[item]) for i in self.strata[s])

    def _n_times(self, item: int) -> int:
        """Nodes that integrate the scores exactly over the time of an item in its tied group."""
        return 1 + sum(min(self._nearer(s, item)[1], self.draws[s]) for s in self.strata)

    def _mine(self, item: int, member: int, time: Fraction) -> list[Fraction]:
        law = [1]
        for s in self.own:
            n, drawn = len(self.strata[s]), self.draws[s]
            nearer, tied = self._nearer(s, item)
            own = s == int(self.pool.stratum[item])
            tied += own and self.fair  # now every item of the group counts
            if s == member:
                n, drawn, tied = n - 1, drawn - 1, tied - self.fair
            law = _product(law, _law(n, nearer, int(tied), drawn, time))
        return _shares(law)

    def _wrong(self, item: int, time: Fraction) -> tuple[list[Fraction], list[Fraction]]:
        """Laws of the numbers of nearer drawn wrong items, and of identities with one."""
        images: list[tuple[Law, Law | None]] = []
        for strata in self.identities.values():
            sure, rest = [1], [1]
            for s in strata:
                law = _law(len(self.strata[s]), *self._nearer(s, item), self.draws[s], time)
                if self.pool.always[s]:
                    sure = _product(sure, law)
                else:
                    rest = _product(rest, law)
            without = [sum(rest) * ways for ways in sure]
            choosable = self.n_chosen >= 0 and not all(self.pool.always[s] for s in strata)
            images.append((_product(sure, rest), without if choosable else None))
        ahead = [(_any(law), None if other is None else _any(other)) for law, other in images]
        return self._sum(images), self._sum(ahead)

    def _sum(self, parts: list[tuple[Law, Law | None]]) -> list[Fraction]:
        """The law of the sum over the identities that are chosen, `n_chosen` of those with two laws."""
        most = max(self.n_chosen, 0)
        laws: list[Law] = [[1], *([0] for _ in range(most))]
        n_choosable = sum(other is not None for _, other in parts)
        rest: list[tuple[Law, Law | None]] = [([1], [1])] * (self.n_others - n_choosable)
        for chosen, other in [*parts, *(rest if self.n_chosen >= 0 else [])]:
            if other is None:
                laws = [_product(law, chosen) for law in laws]
                continue
            for j in range(most, -1, -1):
                laws[j] = _product(laws[j], other)
                if j:
                    laws[j] = _added(laws[j], _product(laws[j - 1], chosen))
        return _shares(laws[min(most, self.n_others) if self.n_chosen >= 0 else 0])


def _law(size: int, nearer: int, tied: int, drawn: int, time: Fraction) -> Law:
    """Ways to draw 0, 1, ... nearer ones of `size` items; tied ones are nearer with probability `time`."""
    hit, miss = time.numerator, time.denominator - time.numerator
    law = [0] * (drawn + 1)
    for more in range(tied + 1):
        share = math.comb(tied, more) * hit**more * miss ** (tied - more)
        g = nearer + more
        for b in range(min(drawn, g) + 1):
            law[b] += share * math.comb(g, b) * math.comb(size - g, drawn - b)
    return law


def _product(first: Law, second: Law) -> Law:
    result = [0] * (len(first) + len(second) - 1)
    for a, x in enumerate(first):
        if x:
            for b, y in enumerate(second):
                result[a + b] += x * y
    return result


def _added(first: Law, second: Law) -> Law:
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    return [x + (shorter[b] if b < len(shorter) else 0) for b, x in enumerate(longer)]


def _any(law: Law) -> Law:
    return [law[0], sum(law) - law[0]]


def _shares(law: Law) -> list[Fraction]:
    total = sum(law)
    return [Fraction(ways, total) for ways in law]


def _value(score: Score, joint: _Joint, max_rank: int) -> Any:
    """A score from the joint law."""
    if score.curve:
        shares = joint.laws["first" if score.curve == "first" else "each"]
        over = Fraction(1 if score.curve == "first" else joint.relevant)
        return tuple(accumulate(shares.get((0, r), Fraction(0)) / over for r in range(max_rank)))
    values = [_value_of(form, joint) for form in score.forms]
    return sum(values, Fraction(0)) / len(values)


def _value_of(form: Form, joint: _Joint) -> Fraction:
    of, last = getattr(form, "of", "every"), joint.relevant - 1
    if isinstance(form, First) and of == "every":
        of = "each"
    shares = joint.laws["every" if of == "last" else of].items()
    worth = _worth(form, joint.relevant)
    return sum((p * worth(a, b) for (a, b), p in shares if of != "last" or a == last), Fraction(0))


def _worth(form: Form, relevant: int) -> Worth:
    """What a right item adds."""
    if isinstance(form, Geometric):
        p = Fraction(form.text)
        return lambda a, b: (1 - p) * p ** (a + b)
    if isinstance(form, Reciprocal):
        constant, slope, at_top = Fraction(form.constant), Fraction(form.slope), Fraction(form.at_top)
        c, over = form.c, relevant if form.normalize == "R" else 1
        return lambda a, b: ((constant + slope * a) / (c + a + b) if c + a + b else at_top) / over
    if isinstance(form, Table):
        table = form.values(relevant)
        rows, columns = table.shape
        return lambda a, b: Fraction(float(table[a, b])) if a < rows and b < columns else Fraction(0)
    assert isinstance(form, AtRank | First | Within)
    one = ranked(form, relevant, Fraction)
    precise, over = one.law == PRECISIONS, one.divisors.tolist()[relevant]  # no integers of NumPy
    gains: list[Fraction] = [weight / over for weight in one.weights]
    return lambda a, b: gains[a + b] * (1 + a if precise else 1) if a + b < len(gains) else Fraction(0)
