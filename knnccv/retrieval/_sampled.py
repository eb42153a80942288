"""`sampled_retrieval`: what random galleries give, the counterpart of `expected_retrieval`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._formatting import plain
from .._parallel import check_wanted, for_each, one_bar
from .._typing import Array
from .._validation import check_bool, check_integer, check_random_state
from ._compiled.tables import Galleries, Trials
from ._compiled.trials import choose_identities, draw_gallery, trial_rows
from ._draw import Draw
from ._problem import Asked, Problem, check_problem, weights_of
from ._scores import Score, column_of

AT_ONCE = 2**12
"""Galleries of one query after another that are scored before a thread looks whether to go on."""


@dataclass(frozen=True, eq=False, repr=False)
class SampledRetrieval:
    """Scores of random galleries.

    Attributes
    ----------
    trials : dict of str to ndarray of shape (n_repeats,), or (n_repeats, max_rank) for "cmc"
        The score of every trial.
    protocol, gallery, mask : str
        What was evaluated, in words.

    Examples
    --------
    >>> from knnccv.retrieval import Gallery, sampled_retrieval
    >>> found = sampled_retrieval([[0.1, 0.4, 0.2]], [7], [7, 7, 8], Gallery(per_identity=1), n_repeats=20)
    >>> found.trials["ap"].shape
    (20,)
    """

    trials: dict[str, Array]
    protocol: str
    gallery: str
    mask: str

    def mean(self, name: str) -> Any:
        """The mean over the trials."""
        return self.trials[name].mean(axis=0)

    def std(self, name: str) -> Any:
        """The standard deviation of one trial."""
        return self.trials[name].std(axis=0, ddof=1)

    def standard_error(self, name: str, n_repeats: int = 10) -> Any:
        """The standard deviation of a mean of `n_repeats` trials, such as that of published tables."""
        return self.std(name) / np.sqrt(check_integer("n_repeats", n_repeats, 1))

    def to_dict(self) -> dict[str, Any]:
        """Return the mean and the scatter of every score in types that JSON has.

        Numbers that are not finite are None, whole numbers beyond 2**53 and fractions are text.
        """
        return {
            name: {
                "mean": plain(self.mean(name)),
                "std_of_one": plain(self.std(name)),
                "std_of_mean_of_ten": plain(self.standard_error(name, 10)),
            }
            for name in self.trials
        }

    def __repr__(self) -> str:
        lines = [f"SampledRetrieval: {self.protocol}", f"  gallery: {self.gallery}", f"  mask: {self.mask}"]
        for name, values in self.trials.items():
            first = values.reshape(len(values), -1)[:, 0]
            spread = f"one of {len(first)} trials scatters by {100 * first.std(ddof=1):.2f} points"
            lines.append(
                f"  {name}{' at rank 1' * (values.ndim > 1)}: {100 * first.mean():.2f} %, {spread}"
            )
        return "\n".join(lines)


def sampled_retrieval(
    near: Any,
    query_ids: Any,
    gallery_ids: Any,
    gallery: Any = None,
    query_cams: Any = None,
    gallery_cams: Any = None,
    *,
    exclude: Any = None,
    scores: Any = ("cmc", "ap"),
    rank: str | None = None,
    ap: str | None = None,
    max_rank: int = 50,
    ties: str = "index",
    always: Any = None,
    average: str = "query",
    n_repeats: int = 200,
    per_query: bool | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: bool = False,
) -> SampledRetrieval:
    """Scores of random galleries: what one trial, or the mean of ten, would scatter.

    One gallery of `Gallery(shots=...)` serves all queries of a trial, so that their luck is correlated. The
    standard deviation over trials contains this; a formula that takes the queries for independent does not.

    This estimates the luck of the gallery. For galleries of every query's own, that of the CMC is exact in
    `Retrieval.cmc_std`. The luck of having these identities is another:
    ``expected_retrieval(..., jackknife="identity")``.

    Parameters
    ----------
    near, query_ids, gallery_ids, gallery, query_cams, gallery_cams, exclude, scores, rank, ap, max_rank
        As in `expected_retrieval`.
    ties, always, average, n_jobs, progress
        As in `expected_retrieval`.
    n_repeats : int, default 200
        Number of trials. The standard deviation has a relative error of about ``1 / sqrt(2 n_repeats)``.
    per_query : bool, optional
        Whether a trial draws a gallery for every query, or one for all of them. Default: as `gallery` does.
    random_state : None, int or numpy Generator, default 0
        Seed. The trials are the same to the last bit for any number of threads.

    Returns
    -------
    SampledRetrieval

    Raises
    ------
    ValueError, TypeError
        As `expected_retrieval`; or `n_repeats` is less than 2; or no query has its identity in the gallery
        of a trial.

    Notes
    -----
    Where one gallery of random identities serves all queries, ``Gallery(n_identities=...)``, the score of a
    trial is the mean over the queries whose identity is in it. The mean of these scores differs from
    `expected_retrieval`, a ratio of expectations, if identities have unequal numbers of queries.

    Examples
    --------
    >>> import numpy as np
    >>> from knnccv.retrieval import Gallery, sampled_retrieval
    >>> distances = np.array([[0.1, 0.4, 0.2, 0.9]])
    >>> s = sampled_retrieval(distances, [7], [7, 7, 8, 8], Gallery(per_identity=1), scores=("ap",))
    >>> sorted(set(s.trials["ap"].tolist()))
    [0.5, 1.0]
    """
    asked = Asked(exclude, scores, rank, ap, max_rank, ties, 1e-6, always, average)
    cameras = query_cams, gallery_cams
    problem = check_problem(near, query_ids, gallery_ids, gallery, cameras, asked, n_jobs, progress)
    parts, drawn = problem.parts, problem.drawn
    if per_query is not None:
        check_bool("per_query", per_query)
        parts = [(one.with_per_query(per_query), some) for one, some in parts]
        drawn = parts[0][0].words()
    n_trials = check_integer("n_repeats", n_repeats, 2)
    rng = check_random_state(random_state)
    trials: dict[str, Array] = {}
    with one_bar(progress):
        for part in parts:
            trials.update(_trials(Draw(problem, *part), n_trials, rng, n_jobs))
    return SampledRetrieval(
        {score.name: trials[score.name] for score in problem.asked.scores},
        problem.protocol,
        drawn,
        problem.mask,
    )


def _trials(draw: Draw, n_trials: int, rng: np.random.Generator, n_jobs: int | None) -> dict[str, Array]:
    """The scores of one draw in every trial."""
    problem = draw.problem
    found = _found(draw, n_trials, rng, n_jobs)
    valid = np.asarray((found.firsts >= 0).any(axis=0))
    if not valid.any():
        msg = "no query has a right item in the gallery"
        raise ValueError(msg)
    weights = weights_of(problem.codes, valid, problem.asked.average)[:, None]
    if draw.gallery.n_identities is not None and _one_serves_all(draw):
        weights = _weights_of_trials(problem, found.firsts)
    return {score.name: _scores_of_trials(score, draw, found, weights) for score in draw.scores}


def _one_serves_all(draw: Draw) -> bool:
    """Whether all queries have the same gallery in a trial."""
    return draw.gallery.shared and draw.problem.near.same is None


def _found(draw: Draw, n_trials: int, rng: np.random.Generator, n_jobs: int | None) -> Trials:
    """Draw the galleries and rank them, in blocks of queries."""
    problem, gallery, pool = draw.problem, draw.gallery, draw.pool
    near = problem.near
    seeds = rng.integers(1, 2**64, (near.n_queries, n_trials), dtype=np.uint64)
    shared = np.zeros((0, near.n_gallery), np.bool_)
    if _one_serves_all(draw):
        shared = _shared_galleries(draw, rng.integers(1, 2**64, n_trials, dtype=np.uint64))
    shape = n_trials, near.n_queries
    found = Trials(
        firsts=np.full(shape, -1, np.int64),
        values=np.zeros((*shape, len(draw.columns))),
        shots=np.zeros((*shape, draw.score_plan.curves["every"])),
    )
    n_chosen, before = np.int64(gallery.n_others), np.bool_(not gallery.shared)
    step = max(1, AT_ONCE // n_trials)

    def fill(block: tuple[int, int]) -> None:
        distances, masked, codes = near.block(*block), draw.removed(*block), problem.codes[slice(*block)]
        plan = draw.score_plan.for_block(draw.tabulated(np.zeros(0, np.int64)), masked, codes)
        for first in range(0, len(codes), step):
            check_wanted()
            some = slice(first, first + step)
            rows = slice(block[0] + first, min(block[0] + first + step, block[1]))
            part = Trials(*(np.zeros_like(values[:, rows]) for values in found))
            galleries = Galleries(seeds[rows], shared, n_chosen, before)
            trial_rows(distances[some], masked[some], codes[some], galleries, pool, plan, part)
            for values, filled in zip(found, part, strict=True):
                values[:, rows] = filled

    for_each(fill, draw.blocks(), n_jobs)
    return found


def _shared_galleries(draw: Draw, seeds: Array) -> Array:
    """One gallery of each seed for all queries, a bool array of shape (n_trials, n_gallery)."""
    pool, gallery, n_items = draw.pool, draw.gallery, draw.problem.near.n_gallery
    galleries = np.zeros((len(seeds), n_items), np.bool_)
    left, wanted = np.zeros_like(pool.sizes), np.zeros_like(pool.sizes)
    nothing = np.zeros(n_items, np.bool_)
    for drawn, seed in zip(galleries, seeds, strict=True):
        state = np.array([seed])
        draw_gallery(pool, nothing, state, left, wanted, drawn)
        if gallery.n_identities is not None:
            choose_identities(pool, nothing, -1, np.int64(gallery.n_identities), np.False_, state, drawn)
    return galleries


def _scores_of_trials(score: Score, draw: Draw, found: Trials, weights: Array) -> Array:
    """One score in every trial: (n_trials,), or (n_trials, max_rank) for a curve."""
    if score.curve == "first":
        ranks = range(1, draw.problem.asked.max_rank + 1)
        hits = [_averages((found.firsts >= 0) & (found.firsts < r), weights) for r in ranks]
        return np.stack(hits, axis=1)
    if score.curve:
        shots = found.shots
        return np.stack([_averages(shots[:, :, r], weights) for r in range(shots.shape[2])], axis=1)
    columns = [column_of(form, draw.columns) for form in score.forms]
    return _averages(found.values[:, :, columns].mean(axis=2), weights)


def _averages(values: Array, weights: Array) -> Array:
    """The score of every trial; `weights` has one column, or one for each trial."""
    found: Array = values @ weights[:, 0] if weights.shape[1] == 1 else (values * weights.T).sum(axis=1)
    return found


def _weights_of_trials(problem: Problem, firsts: Array) -> Array:
    """Weights of the queries whose identity is in the gallery of a trial."""
    weights = np.zeros(firsts.shape[::-1])
    for v, first in enumerate(firsts):
        if not (first >= 0).any():
            msg = (
                f"in trial {v} no query has its identity in the gallery, so that it has no score; draw "
                "more identities, or galleries anew for every query, Gallery(..., per_query=True)"
            )
            raise ValueError(msg)
        weights[:, v] = weights_of(problem.codes, first >= 0, problem.asked.average)
    return weights
