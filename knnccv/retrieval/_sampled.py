"""`sampled_retrieval`: what random galleries give, the counterpart of `expected_retrieval`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._parallel import for_each
from .._typing import Array
from .._validation import check_integer, check_random_state
from ._blocks import Draw
from ._forms import AtRank, First
from ._gallery import Gallery
from ._problem import Problem, check_problem, weights_of
from ._scores import Score, column_of, forms_in
from ._trials import choose_identities, draw_gallery, trial_rows


@dataclass(frozen=True, eq=False, repr=False)
class SampledRetrieval:
    """Scores of random galleries.

    Attributes
    ----------
    trials : dict of str to ndarray of shape (n_repeats,), or (n_repeats, max_rank) for "cmc"
        The score of every trial.
    protocol, gallery, mask : str
        What was evaluated, in words.
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
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> SampledRetrieval:
    """Scores of random galleries: what one trial, or the mean of ten, would scatter.

    One gallery of `Gallery(shots=...)` serves all queries of a trial, so that their luck is correlated. The
    standard deviation over trials contains this; a formula that takes the queries for independent does not.

    This estimates the luck of the gallery. For galleries of every query's own, that of the CMC is exact in
    `Retrieval.cmc_std`. For shared ones `Retrieval.hajek_std` is a lower bound without sampling. The luck
    of having these identities is another: ``expected_retrieval(..., jackknife="identity")``.

    Parameters
    ----------
    near, query_ids, gallery_ids, gallery, query_cams, gallery_cams, exclude, scores, rank, ap, max_rank
        As in `expected_retrieval`.
    ties, always, average, n_jobs
        As in `expected_retrieval`.
    n_repeats : int, default 200
        Number of trials. The standard deviation has a relative error of about ``1 / sqrt(2 n_repeats)``.
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
    problem = check_problem(
        near, query_ids, gallery_ids, gallery, query_cams, gallery_cams, exclude=exclude, scores=scores,
        rank=rank, ap=ap, max_rank=max_rank, ties=ties, tol=1e-6, always=always, average=average,
        n_jobs=n_jobs,
    )  # fmt: skip
    n_trials = check_integer("n_repeats", n_repeats, 2)
    rng = check_random_state(random_state)
    trials: dict[str, Array] = {}
    for draw, some in problem.parts:
        trials.update(_trials(problem, draw, some, n_trials, rng, n_jobs))
    return SampledRetrieval(
        {score.name: trials[score.name] for score in problem.scores},
        problem.protocol,
        problem.drawn,
        problem.mask,
    )


def _trials(
    problem: Problem,
    gallery: Gallery,
    scores: tuple[Score, ...],
    n_trials: int,
    rng: np.random.Generator,
    n_jobs: int | None,
) -> dict[str, Array]:
    draw = Draw(problem, gallery, scores)
    pool = draw.pool
    near, n_queries = problem.near, problem.near.n_queries
    seeds = rng.integers(1, 2**64, (n_queries, n_trials), dtype=np.uint64)
    galleries = np.zeros((0, near.n_gallery), np.bool_)
    if gallery.shared and near.same is None:
        galleries = np.zeros((n_trials, near.n_gallery), np.bool_)
        left, wanted = np.zeros_like(pool.sizes), np.zeros_like(pool.sizes)
        nothing = np.zeros(near.n_gallery, np.bool_)
        for v, seed in enumerate(rng.integers(1, 2**64, n_trials, dtype=np.uint64)):
            state = np.array([seed])
            draw_gallery(pool, nothing, state, left, wanted, galleries[v])
            if gallery.n_identities is not None:
                n_chosen = np.int64(gallery.n_identities)
                choose_identities(pool, nothing, -1, n_chosen, np.False_, state, galleries[v])
    linear = [*forms_in(scores, AtRank), *forms_in(scores, First)]
    trial, n_curve = draw.forms.for_trials(), draw.forms.curve
    firsts = np.full((n_trials, n_queries), -1, np.int64)
    singles = np.zeros((n_trials, n_queries, draw.n_single))
    columns = np.zeros((n_trials, n_queries, draw.forms.n_columns + len(linear)))
    curves = np.zeros((n_trials, n_queries, n_curve))

    def fill(block: tuple[int, int]) -> None:
        part = slice(*block)
        masked = draw.removed(*block)
        one, many = np.empty_like(firsts[:, part]), np.zeros_like(singles[:, part])
        more, shots = np.zeros_like(columns[:, part]), np.zeros_like(curves[:, part])
        codes = problem.codes[part]
        forms = draw.forms.for_block(masked, codes)
        trial_rows(
            near.block(*block), masked, codes, seeds[part], galleries, pool, draw.plan, forms, trial,
            np.bool_(problem.ties == "random"), np.int64(gallery.n_others), np.bool_(not gallery.shared),
            one, many, more, shots,
        )  # fmt: skip
        firsts[:, part], singles[:, part] = one, many
        columns[:, part], curves[:, part] = more, shots

    for_each(fill, draw.blocks(), n_jobs)
    valid = np.asarray((firsts >= 0).any(axis=0))
    if not valid.any():
        msg = "no query has a right item in the gallery"
        raise ValueError(msg)
    weights = weights_of(problem.codes, valid, problem.average)[:, None]
    if gallery.n_identities is not None and len(galleries):
        weights = _weights_of_trials(problem, firsts)
    result: dict[str, Array] = {}
    for score in scores:
        if score.family == "cmc":
            ranks = range(1, problem.max_rank + 1)
            hits = [_averages((firsts >= 0) & (firsts < r), weights) for r in ranks]
            result[score.name] = np.stack(hits, axis=1)
            continue
        if score.curve:
            means = [_averages(curves[:, :, r], weights) for r in range(curves.shape[2])]
            result[score.name] = np.stack(means, axis=1)
        elif isinstance(score.form, (AtRank, First)):
            at = next(at for at, form in enumerate(linear) if form is score.form)
            result[score.name] = _averages(columns[:, :, draw.forms.n_columns + at], weights)
        else:
            values = singles if score.form is None else columns
            result[score.name] = _averages(values[:, :, column_of(score, scores, problem.ap)], weights)
    return result


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
        weights[:, v] = weights_of(problem.codes, first >= 0, problem.average)
    return weights
