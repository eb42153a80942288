# mypy: allow-untyped-defs
"""Random runs, 64 in a machine word: which fold tests which sample, in *bit planes*.

The code of a sample in a run, usually the fold that tests it, is written in binary; a plane has one digit
of all samples in 512 runs. Every sample gets random digits, independently of the others; then, as long as a
run has folds that are too full, a random one of their samples moves to a fold with room. Both steps treat
the samples of a stratum alike. So the outcome is exchangeable with fixed sizes: it is uniform over all ways
to fill the folds. Strata of few samples, or with many folds, are shuffled run by run.

A block of 512 runs has its own stream of random numbers: blocks can be drawn in any order. Its first runs
have the same folds however many are asked for; those that nobody asks for are copies of the first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from ...._base.labels import EncodedLabels, labels_of
from ...._base.typing import Array
from ....designs import Allotment, Design
from ....kernel import inner, jit
from ....kernel.sampling import random_below, random_word, scramble
from ....kernel.words import (
    BITS,
    WORDS,
    add_bits,
    all_bits,
    any_bit,
    both,
    but_not,
    either,
    load,
    no_bits,
    spread_bits,
    store,
    word_rows,
)
from ...driver import ScoringProblem, labels_of_pool
from ..inference import Halvings, differences_over_runs

NEITHER = -2
"""In place of a fold: the sample neither trains nor is tested. -1: it trains in all folds."""
ROUNDS = 8
"""Rounds in which digits that are no fold are drawn again; what is left is fold 0."""
SHARE_BITS = 12
"""Binary digits of the probability of a code, from which the sizes differ at random before the repair."""


class Planes(NamedTuple):
    """The codes of all samples in 512 runs.

    ``bits`` uint64 (n_items, n_digits, 8): bit ``r % 64`` of word ``r // 64`` belongs to run r. If
    ``folded``, the code is the fold that tests the sample, and it trains in the others; otherwise 0 trains,
    1 is tested, and 2 does neither.
    """

    bits: Array
    folded: bool


@inner
def random_share(rows, r, share, state):
    """Fill a row of words with bits that are set with this probability, rounded to `SHARE_BITS` digits."""
    digits = np.int64(share * (1 << SHARE_BITS) + 0.5)
    store(rows, r, all_bits() if digits >> SHARE_BITS else no_bits())
    if digits >> SHARE_BITS:
        return
    for digit in range(SHARE_BITS):
        for w in range(WORDS):
            word = random_word(state)
            rows[r, w] = rows[r, w] | word if (digits >> digit) & 1 else rows[r, w] & word


@inner
def below(rows, first, n_digits, number):
    """The bits of the runs in which the number of the digits from row `first` on is below `number`."""
    less, equal = no_bits(), all_bits()
    if number >> n_digits:
        return equal
    for d in range(n_digits - 1, -1, -1):
        digit = load(rows, first + d)
        if (number >> d) & 1:
            less = either(less, but_not(equal, digit))
            equal = both(equal, digit)
        else:
            equal = but_not(equal, digit)
    return less


@inner
def equals(rows, first, n_digits, number):
    """The bits of the runs in which the number of the digits from row `first` on is `number`."""
    equal = all_bits()
    for d in range(n_digits):
        digit = load(rows, first + d)
        equal = both(equal, digit) if (number >> d) & 1 else but_not(equal, digit)
    return equal


@inner
def draw_digits(bits, row, n_digits, sizes, n_units, folded, room, state):
    """Draw the code of one unit in all runs, about in proportion to the sizes."""
    if folded:
        open_runs = all_bits()
        for _ in range(ROUNDS):
            for d in range(n_digits):
                for w in range(WORDS):
                    room[d, w] = random_word(state)
            valid = both(open_runs, below(room, 0, n_digits, len(sizes)))
            for d in range(n_digits):
                store(bits, row + d, either(load(bits, row + d), both(valid, load(room, d))))
            open_runs = but_not(open_runs, valid)
            if not any_bit(open_runs):
                break
        return
    random_share(room, 0, sizes[1] / n_units, state)
    tested = load(room, 0)
    store(bits, row, tested)
    if n_digits > 1 and n_units > sizes[1]:
        random_share(room, 0, sizes[2] / (n_units - sizes[1]), state)
        store(bits, row + 1, but_not(load(room, 0), tested))


@inner
def repair(bits, members, n_digits, n_runs, excess, state):
    """Move random units from folds that are too full, by `excess`, to folds with room, in the first runs.

    The digits of 64 runs are copied to a column, so that those of a unit are together.
    """
    column, found = np.empty((len(members), n_digits), np.uint64), np.int64(0)
    for w in range(excess.shape[1] // 64):
        for i in range(len(members)):
            for d in range(n_digits):
                column[i, d] = bits[members[i] * n_digits + d, w]
        for b in range(min(64, n_runs - w * 64)):
            run, into = w * 64 + b, 0
            for code in range(len(excess)):
                while excess[code, run] > 0:
                    i = random_below(state, len(members))
                    found = np.int64(0)
                    for d in range(n_digits):
                        found |= np.int64((column[i, d] >> np.uint64(b)) & np.uint64(1)) << d
                    if found != code:
                        continue
                    while excess[into, run] >= 0:
                        into += 1
                    for d in range(n_digits):
                        column[i, d] ^= np.uint64(((code ^ into) >> d) & 1) << np.uint64(b)
                    excess[code, run] -= 1
                    excess[into, run] += 1
        for i in range(len(members)):
            for d in range(n_digits):
                bits[members[i] * n_digits + d, w] = column[i, d]


@jit
def fill_strata(bits, members, sizes, folded, n_digits, n_runs, words, state):
    """Draw the codes of the units of some strata in 512 runs, all 0 before; repair the first `n_runs`.

    Overwritten are `words`, rows for a code and a counter of each code.
    """
    n_codes, end = sizes.shape[1], 0
    excess, own = np.empty((n_codes, (n_runs + 63) // 64 * 64), np.int64), np.empty(1, np.uint64)
    for s in range(len(sizes)):
        begin, n_levels = end, 1
        for code in range(n_codes):
            end += sizes[s, code]
        while (end - begin) >> n_levels:
            n_levels += 1
        for row in range(n_digits, n_digits + n_codes * n_levels):
            store(words, row, no_bits())
        for unit in members[begin:end]:
            draw_digits(bits, unit * n_digits, n_digits, sizes[s], end - begin, folded, words, state)
            for code in range(n_codes):
                drawn = equals(bits, unit * n_digits, n_digits, code)
                add_bits(words, n_digits + code * n_levels, n_levels, drawn)
        for code in range(n_codes):
            excess[code, :] = -sizes[s, code]
            spread_bits(words, n_digits + code * n_levels, n_levels, excess[code])
        own[0] = random_word(state)
        repair(bits, members[begin:end], n_digits, n_runs, excess, own)


@jit
def shuffle_strata(bits, members, sizes, n_digits, n_runs, state):
    """Shuffle the codes of the units of some strata, which are few, in each of the first `n_runs`."""
    one, codes, end = np.uint64(1), np.empty(len(members), np.int64), 0
    own = np.empty(1, np.uint64)
    for s in range(len(sizes)):
        begin, own[0] = end, random_word(state)
        for code in range(sizes.shape[1]):
            for _ in range(sizes[s, code]):
                codes[end - begin] = code
                end += 1
        some = members[begin:end]
        for r in range(n_runs):
            w, b = r // 64, np.uint64(r % 64)
            for i in range(len(some)):
                j = i + random_below(own, len(some) - i)
                codes[i], codes[j] = codes[j], codes[i]
                for d in range(n_digits):
                    if (codes[i] >> d) & 1:
                        bits[some[i] * n_digits + d, w] |= one << b


def draw_planes(allotment: Allotment, seed: int, n_runs: int, block: int) -> Planes:
    """Draw a block of `n_runs` runs in all, the same for the same seed and block."""
    n_units, n_codes = len(allotment.strata), allotment.sizes.shape[1]
    n_digits = max(1, (n_codes - 1).bit_length())
    members = np.argsort(allotment.strata, kind="stable")
    sizes = np.ascontiguousarray(allotment.sizes, dtype=np.int64)
    counts, end, n_drawn = sizes.sum(axis=1), 0, min(n_runs - block * BITS, BITS)
    bits = word_rows(n_units * n_digits)
    words = word_rows(n_digits + n_codes * max(int(counts.max()).bit_length(), 1))
    are_few = n_codes**3 > 6 * counts
    with np.errstate(over="ignore"):  # without compilation, random numbers overflow
        mixed = np.random.SeedSequence([seed, block]).generate_state(1, np.uint64)
        state = scramble(mixed >> np.uint64(1))
        for strata in np.split(np.arange(len(sizes)), np.flatnonzero(np.diff(are_few)) + 1):
            begin, end = end, end + counts[strata].sum()
            some, of_each = members[begin:end], sizes[strata]
            if are_few[strata[0]]:
                shuffle_strata(bits, some, of_each, n_digits, n_drawn, state)
            else:
                fill_strata(bits, some, of_each, allotment.folded, n_digits, n_drawn, words, state)
    if n_drawn < BITS:
        drawn = np.packbits(np.arange(BITS) < n_drawn, bitorder="little").view("<u8").astype(np.uint64)
        bits[:] = np.where(bits[:, :1] & np.uint64(1), bits | ~drawn, bits & drawn)
    planes = bits.reshape(n_units, n_digits, WORDS)
    return Planes(planes if allotment.units is None else planes[allotment.units], allotment.folded)


def pack(codes: Array, folded: bool) -> Planes:
    """Planes of given runs, codes (at most 512, n_items)."""
    n_runs, n_items = codes.shape
    n_digits = max(1, int(codes.max(initial=0)).bit_length())
    digits = np.zeros((n_items, n_digits, BITS), bool)
    for d in range(n_digits):
        digits[:, d, :n_runs] = ((codes >> d) & 1).T
    packed = np.packbits(digits, axis=2, bitorder="little").view("<u8").astype(np.uint64)
    return Planes(np.ascontiguousarray(packed), folded)


def unpack(bits: Array) -> Array:
    """The numbers of all runs of a block, such as codes, int32 (512, n_numbers).

    Their binary digits are `bits`, (n_numbers, n_digits, 8).
    """
    n_numbers, n_digits, _ = bits.shape
    octets = np.ascontiguousarray(bits.astype("<u8")).view(np.uint8)
    numbers = np.zeros((BITS, n_numbers), np.int32)
    for d in range(n_digits):
        numbers |= np.unpackbits(octets[:, d], axis=1, bitorder="little").T.astype(np.int32) << d
    return numbers


@dataclass(frozen=True, eq=False)
class Runs:
    """Random runs of a design, drawn block by block when they are needed.

    Attributes
    ----------
    n_runs : int
        Their number. The last block may hold more.
    kinds : ndarray of shape (n_folds,), or (n_runs, n_folds) where it differs between runs
        The kind of training sets of every fold.
    planes : callable
        ``planes(block)`` returns the `Planes` of a block of 512 runs, the same at every call.
    seed : int
        Seed of what else is random in a run: the order of tied samples, tied votes.
    spare : int
        A code that trains in all folds; -1 if there is none.
    least_train : int
        The size of the smallest training set of runs that were given by their folds; of others 0.
    """

    n_runs: int
    kinds: Array
    planes: Callable[[int], Planes]
    seed: int = 0
    spare: int = -1
    least_train: int = 0

    @property
    def n_blocks(self) -> int:
        """The number of blocks."""
        return -(-self.n_runs // BITS)

    @property
    def n_folds(self) -> int:
        """The number of folds of a run."""
        return int(self.kinds.shape[-1])

    @property
    def kind_of(self) -> Array:
        """The kind of training sets of every fold of every run, (n_runs, n_folds)."""
        return np.broadcast_to(self.kinds, (self.n_runs, self.n_folds))

    def rows(self, block: int) -> slice:
        """The runs of a block."""
        return slice(block * BITS, min((block + 1) * BITS, self.n_runs))

    def folds(self, block: int) -> Array:
        """The fold that tests every sample in the runs of a block, int32 (n_runs, n_items).

        -1: it trains in all folds. `NEITHER`: it neither trains nor is tested.
        """
        planes, rows = self.planes(block), self.rows(block)
        codes = unpack(planes.bits)[: rows.stop - rows.start]
        if planes.folded:
            return np.where(codes == self.spare, -1, codes)
        return np.where(codes == 2, NEITHER, codes - 1)

    def all_folds(self) -> Array:
        """The fold that tests every sample in all runs, int32 (n_runs, n_items)."""
        return np.concatenate([self.folds(block) for block in range(self.n_blocks)])


def draw_runs(problem: ScoringProblem, n_runs: int, rng: np.random.Generator) -> Runs:
    """Random runs of a problem's design; with a pool, of one training set each.

    Raises
    ------
    NotImplementedError
        If the design cannot be drawn.
    """
    labels = problem.labels if problem.pool is None else labels_of_pool(problem.pool)
    allotment = problem.design.allotment(labels)
    if allotment is None:
        runs = given_runs([problem.design.draw(labels, rng) for _ in range(n_runs)])
    else:
        seed = int(rng.integers(2**63))
        runs = allotted_runs(allotment, n_runs, seed)
    return runs if problem.pool is None else from_pool(runs, len(problem.labels.codes), rng)


def allotted_runs(allotment: Allotment, n_runs: int, seed: int) -> Runs:
    """Random runs with the strata and sizes of an allotment."""
    return Runs(n_runs, allotment.kinds, partial(draw_planes, allotment, seed, n_runs), seed)


def from_pool(runs: Runs, n_tested: int, rng: np.random.Generator) -> Runs:
    """Runs in which other samples, numbered before those of the given runs, are tested.

    The training set of a run is that of one fold, drawn at random; the rest of the pool takes no part.
    """
    fold = rng.integers(runs.n_folds, size=runs.n_blocks * BITS)
    kinds = runs.kinds
    if runs.n_folds > 1:
        kinds = np.take_along_axis(runs.kind_of, fold[: runs.n_runs, None], axis=1)

    def planes(block: int) -> Planes:
        drawn, folded = runs.planes(block)
        own = pack(fold[block * BITS :][:BITS, None], folded).bits[0]
        drawn[:, : len(own)] ^= own
        differs = np.bitwise_or.reduce(drawn, axis=1)
        bits = np.zeros((n_tested + len(drawn), 2, WORDS), np.uint64)
        bits[:n_tested, 0] = ~np.uint64(0)  # tested
        bits[n_tested:, 1] = ~differs if folded else differs  # neither
        return Planes(bits, folded=False)

    return Runs(runs.n_runs, kinds, planes, runs.seed)


def single_splits(folds: Array, seed: int) -> Runs:
    """Runs of one split each, from their folds (n_runs, n_items), see `Runs.folds`."""
    codes = np.where(folds == NEITHER, 2, folds + 1)
    least, kinds = int((codes == 0).sum(axis=1).min()), np.zeros(1, np.int64)
    return Runs(
        len(codes), kinds, lambda block: pack(codes[BITS * block :][:BITS], False), seed, least_train=least
    )


def each_split(folds: Array) -> Array:
    """The splits of runs (n_runs, n_items) as runs of their own, (n_runs * n_folds, n_items)."""
    n_folds, n_items = int(folds.max()) + 1, folds.shape[1]
    each = np.where(folds[:, None] == np.arange(n_folds)[:, None], 0, -1)
    return np.where(folds[:, None] == NEITHER, NEITHER, each).reshape(-1, n_items)


def given_runs(drawn: list[tuple[Array, Array]]) -> Runs:
    """Runs that are listed as `Design.draw` returns them."""
    fold = np.array([fold for fold, _ in drawn], dtype=np.int32)
    kinds = np.array([kinds for _, kinds in drawn])
    n_folds = kinds.shape[1]
    spare = n_folds if n_folds > 1 and (fold < 0).any() else -1
    codes = fold + 1 if n_folds == 1 else np.where(fold < 0, spare, fold)

    def planes(block: int) -> Planes:
        return pack(codes[block * BITS : (block + 1) * BITS], n_folds > 1)

    return Runs(len(drawn), kinds, planes, spare=spare)


def train_sizes(folds: Array) -> Array:
    """Size of the training set of every fold, int64 (n_runs, n_folds)."""
    n_folds = int(folds.max(initial=0)) + 1
    tested = [np.bincount(row[row >= 0], minlength=n_folds) for row in folds]
    sizes: Array = (folds > NEITHER).sum(axis=1)[:, None] - np.array(tested).reshape(-1, n_folds)
    return sizes


FEWEST, MOST = 2, 16
"""Runs of a half: more where their noise is larger than the differences of halves."""
Draw = Callable[[Array, np.random.Generator], Array]
"""From the samples of a half to the folds that test them in a run: -1 for one that trains in all folds."""


def runs_of_halves(
    draw: Draw, halvings: Halvings, score: Callable[[Array, int], Array], rng: np.random.Generator
) -> tuple[Array, Array]:
    """The scores of all halves in random runs, (n_scorings, n_runs, n_halvings, 2), and training sizes.

    ``score(folds, n_before)`` returns the scores (n_scorings, n_folds) of further runs.
    """
    shape, parts, number = (-1, len(halvings.half_of), 2), list[Array](), 0
    while True:
        folds = half_folds(draw, halvings, max(number, FEWEST), rng)
        found = score(folds, number)
        parts.append(found.reshape(len(found), *shape))
        runs = np.concatenate(parts, axis=1)
        number = runs.shape[1]
        if number >= MOST or not any(map(is_noisy, runs)):
            return runs, train_sizes(folds)


def is_noisy(runs: Array) -> bool:
    """Whether the mean of the runs (n_runs, n_halvings, 2) differs more by chance than by its halves."""
    means, noise = differences_over_runs(runs)
    return bool(np.nansum(np.square(means)) < 2 * np.nansum(noise))


def half_folds(draw: Draw, halvings: Halvings, n_runs: int, rng: np.random.Generator) -> Array:
    """The folds of all samples in some runs of every half, int32; `NEITHER` outside the half.

    Their shape is (n_runs * n_halvings * 2, n_items).
    """
    n_halvings, n_items = halvings.half_of.shape
    folds = np.full((n_runs, n_halvings, 2, n_items), NEITHER, np.int32)
    for halving, half in np.ndindex(n_halvings, 2):
        rows = halvings.rows(halving, half)
        for run in range(n_runs):
            folds[run, halving, half, rows] = draw(rows, rng)
    return folds.reshape(-1, n_items)


def draw_by(design: Design, labels: EncodedLabels, n_tested: int = 0) -> Draw:
    """Runs of the halved design, which test a share `n_tested` of all samples, or all that do not train."""

    def draw(rows: Array, rng: np.random.Generator) -> Array:
        half, of_half = design.halved(labels, rows), labels_of(labels, rows)
        fold, _ = half.every_split(of_half) or half.draw(of_half, rng)
        tested = np.flatnonzero(fold >= 0)
        if n_tested:
            size = min(max(1, round(n_tested * len(rows) / len(labels.codes))), len(tested))
            fold[rng.permutation(tested)[size:]] = NEITHER
        return fold

    return draw


def pool_draw(draw: Draw, n_tested: int) -> Draw:
    """Runs that test samples before those of a pool, which a fold of a run of half the pool trains."""

    def of_pool(rows: Array, rng: np.random.Generator) -> Array:
        first = np.zeros(int((rows < n_tested).sum()), np.int32)
        fold = draw(rows[len(first) :] - n_tested, rng)
        left_out = rng.integers(fold.max() + 1)
        trains = (fold != left_out) & (fold != NEITHER)
        return np.concatenate([first, np.where(trains, -1, NEITHER)])

    return of_pool
