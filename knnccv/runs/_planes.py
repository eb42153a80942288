"""Random runs, 64 in a machine word: which fold tests which sample, in *bit planes*.

The code of a sample in a run, usually the fold that tests it, is written in binary; a plane has one digit
of all samples in 512 runs. Every sample gets random digits, independently of the others; then, as long as a
run has folds that are too full, a random one of their samples moves to a fold with room. Both steps treat
the samples of a stratum alike. So the outcome is exchangeable with fixed sizes: it is uniform over all ways
to fill the folds. Strata of few samples, or with many folds, are shuffled run by run.

A block of 512 runs has its own stream of random numbers: blocks can be drawn in any order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np

from .._parallel import for_each, one_blas_thread
from .._typing import Array
from ..designs import Allotment
from ..driver import ScoringProblem
from ..kernel import inner, jit
from ..kernel.words import (
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
from ..sampled import scramble

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
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
def random_word(state):
    """64 random bits; advances ``state[0]``."""
    state[0] += GOLDEN
    return scramble(state[0])


@inner
def random_below(state, n):
    """A random integer below n, for n up to 2**32."""
    return np.int64(((random_word(state) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@inner
def random_row(rows, r, state):
    """Fill a row of words with random bits."""
    for w in range(WORDS):
        rows[r, w] = random_word(state)


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
def draw_digits(bits, row, n_digits, sizes, folded, room, state):
    """Draw the code of one unit in all runs, about in proportion to the sizes."""
    if folded:
        open_runs = all_bits()
        for _ in range(ROUNDS):
            for d in range(n_digits):
                random_row(room, d, state)
            valid = both(open_runs, below(room, 0, n_digits, len(sizes)))
            for d in range(n_digits):
                store(bits, row + d, either(load(bits, row + d), both(valid, load(room, d))))
            open_runs = but_not(open_runs, valid)
            if not any_bit(open_runs):
                break
        return
    left = 0
    for size in sizes:
        left += size
    random_share(room, 0, sizes[1] / left, state)
    tested = load(room, 0)
    store(bits, row, tested)
    if n_digits > 1 and left > sizes[1]:
        random_share(room, 0, sizes[2] / (left - sizes[1]), state)
        store(bits, row + 1, but_not(load(room, 0), tested))


@inner
def repair(bits, members, n_digits, sizes, counts, state):
    """Move random units from folds that are too full to folds with room, in every run.

    The digits of 64 runs are copied, so that those of a unit are together.
    """
    column = np.empty((len(members), n_digits), np.uint64)
    excess, found = np.empty(len(sizes), np.int64), np.int64(0)
    for w in range(WORDS):
        for i in range(len(members)):
            for d in range(n_digits):
                column[i, d] = bits[members[i] * n_digits + d, w]
        for b in range(64):
            for code in range(len(sizes)):
                excess[code] = counts[code, w * 64 + b] - sizes[code]
            into = 0
            for code in range(len(sizes)):
                while excess[code] > 0:
                    i = random_below(state, len(members))
                    found = np.int64(0)
                    for d in range(n_digits):
                        found |= np.int64((column[i, d] >> np.uint64(b)) & np.uint64(1)) << d
                    if found != code:
                        continue
                    while excess[into] >= 0:
                        into += 1
                    for d in range(n_digits):
                        column[i, d] ^= np.uint64(((code ^ into) >> d) & 1) << np.uint64(b)
                    excess[code] -= 1
                    excess[into] += 1
        for i in range(len(members)):
            for d in range(n_digits):
                bits[members[i] * n_digits + d, w] = column[i, d]


@inner
def shuffle(bits, members, n_digits, sizes, state):
    """Shuffle the codes of few units, run by run."""
    one, codes = np.uint64(1), np.empty(len(members), np.int64)
    at = 0
    for code in range(len(sizes)):
        for _ in range(sizes[code]):
            codes[at] = code
            at += 1
    for r in range(BITS):
        w, b = r // 64, np.uint64(r % 64)
        for i in range(len(members)):
            j = i + random_below(state, len(members) - i)
            codes[i], codes[j] = codes[j], codes[i]
            for d in range(n_digits):
                if (codes[i] >> d) & 1:
                    bits[members[i] * n_digits + d, w] |= one << b


@jit
def draw_block(bits, members, starts, sizes, n_digits, folded, seed):
    """Draw 512 runs: the digits (n_units * n_digits, 8), all 0 before, for `members` sorted by stratum."""
    state = np.empty(1, np.uint64)
    state[0] = scramble(np.uint64(seed))
    room = word_rows(n_digits)
    n_codes = sizes.shape[1]
    for s in range(len(sizes)):
        some = members[starts[s] : starts[s + 1]]
        if len(some) == 0:
            continue
        if n_codes**3 > 6 * len(some):
            shuffle(bits, some, n_digits, sizes[s], state)
            continue
        n_levels = 1
        while len(some) >> n_levels:
            n_levels += 1
        counters = word_rows(n_codes * n_levels)
        for unit in some:
            draw_digits(bits, unit * n_digits, n_digits, sizes[s], folded, room, state)
            for code in range(n_codes):
                add_bits(counters, code * n_levels, n_levels, equals(bits, unit * n_digits, n_digits, code))
        counts = np.zeros((n_codes, BITS), np.int64)
        for code in range(n_codes):
            spread_bits(counters, code * n_levels, n_levels, counts[code])
        repair(bits, some, n_digits, sizes[s], counts, state)


def draw_planes(allotment: Allotment, seed: int, block: int) -> Planes:
    """Draw a block of 512 runs, the same for the same seed and block."""
    n_units, n_codes = len(allotment.strata), allotment.sizes.shape[1]
    n_digits = max(1, (n_codes - 1).bit_length())
    members = np.argsort(allotment.strata, kind="stable")
    starts = np.searchsorted(allotment.strata[members], np.arange(len(allotment.sizes) + 1))
    sizes = np.ascontiguousarray(allotment.sizes, dtype=np.int64)
    bits: Array = word_rows(n_units * n_digits)
    mixed = np.random.SeedSequence([seed, block]).generate_state(1, np.uint64)[0]
    with np.errstate(over="ignore"):  # without compilation, random numbers overflow
        draw_block(bits, members, starts, sizes, n_digits, allotment.folded, int(mixed >> np.uint64(1)))
    bits = bits.reshape(n_units, n_digits, WORDS)
    return Planes(bits if allotment.units is None else bits[allotment.units], allotment.folded)


def pack(codes: Array, folded: bool) -> Planes:
    """Planes of given runs, codes (at most 512, n_items)."""
    n_runs, n_items = codes.shape
    n_digits = max(1, int(codes.max(initial=0)).bit_length())
    digits = np.zeros((n_items, n_digits, BITS), bool)
    for d in range(n_digits):
        digits[:, d, :n_runs] = ((codes >> d) & 1).T
    packed = np.packbits(digits, axis=2, bitorder="little").view("<u8").astype(np.uint64)
    return Planes(np.ascontiguousarray(packed), folded)


def unpack(planes: Planes) -> Array:
    """The codes of all runs of a block, int32 (512, n_items)."""
    n_items, n_digits, _ = planes.bits.shape
    octets = np.ascontiguousarray(planes.bits.astype("<u8")).view(np.uint8)
    codes = np.zeros((BITS, n_items), np.int32)
    for d in range(n_digits):
        codes |= np.unpackbits(octets[:, d], axis=1, bitorder="little").T.astype(np.int32) << d
    return codes


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
    """

    n_runs: int
    kinds: Array
    planes: Callable[[int], Planes]
    seed: int = 0
    spare: int = -1

    @property
    def n_blocks(self) -> int:
        """The number of blocks."""
        return -(-self.n_runs // BITS)

    @property
    def n_folds(self) -> int:
        """The number of folds of a run."""
        return int(self.kinds.shape[-1])

    def rows(self, block: int) -> slice:
        """The runs of a block."""
        return slice(block * BITS, min((block + 1) * BITS, self.n_runs))

    def folds(self, block: int) -> Array:
        """The fold that tests every sample in the runs of a block, int32 (n_runs, n_items).

        -1: it trains in all folds. -2: it neither trains nor is tested.
        """
        planes, rows = self.planes(block), self.rows(block)
        codes = unpack(planes)[: rows.stop - rows.start]
        if planes.folded:
            return np.where(codes == self.spare, -1, codes)
        return np.where(codes == 2, -2, codes - 1)

    def all_folds(self) -> Array:
        """The fold that tests every sample in all runs, int32 (n_runs, n_items)."""
        return np.concatenate([self.folds(block) for block in range(self.n_blocks)])

    def for_each_fold(
        self, work: Callable[[int, int, Array, Array], None], n_jobs: int | None, progress: bool
    ) -> None:
        """Call ``work(run, fold, train, test)`` in threads, with the samples of each fold of each run."""
        fold_of = self.all_folds()

        def one(piece: tuple[int, int]) -> None:
            run, fold = piece
            tested = fold_of[run] == fold
            work(run, fold, np.flatnonzero(~tested), np.flatnonzero(tested))

        pieces = product(range(self.n_runs), range(self.n_folds))
        with one_blas_thread():  # also for n_jobs=1: sums must not depend on the threads
            for_each(one, list(pieces), n_jobs, progress, unit="training set")


def draw_runs(problem: ScoringProblem, n_runs: int, rng: np.random.Generator) -> Runs:
    """Random runs of a problem's design.

    Raises
    ------
    NotImplementedError
        If the design cannot be drawn.
    """
    allotment = problem.design.allotment(problem.labels)
    if allotment is None:
        return given_runs([problem.design.draw(problem.labels, rng) for _ in range(n_runs)])
    seed = int(rng.integers(2**63))
    return Runs(n_runs, allotment.kinds, partial(draw_planes, allotment, seed), seed)


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
