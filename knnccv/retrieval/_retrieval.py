"""`expected_retrieval`: exact means over all random galleries; `sampled_retrieval`: what galleries give."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from .._base.parallel import check_wanted, for_each, one_bar
from .._base.typing import Array
from .._base.validation import check, check_bool, check_random_state
from .._core.driver import callers_level
from .._core.luck.scorings import check_precision, enough_draws
from ._compiled import Found, Galleries, Trials
from ._compiled.rankings import choose_identities, draw_gallery, trial_rows
from ._draw import Draw, check_groups, groups_of, scores_without
from ._forms import Score
from ._gallery import Gallery
from ._problem import Asked, Problem, blocks_of, check_problem, weights_of
from ._result import Retrieval, RetrievalScore, SampledRetrieval
from ._scores import check_bracketed

AT_ONCE = 2**12
"""Galleries of one query after another that are scored before a thread looks whether to go on."""
N_RUNS = 200
"""Trials, unless the arguments say how many, or how well; for a precision, so many at once."""
FEWEST_CHECKED = 20
SHARE_OF_SIMILARITIES = 0.95


def expected_retrieval(
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
    ties: str = "random",
    tol: float = 1e-12,
    always: Any = None,
    average: str = "pooled",
    jackknife: str | None = None,
    n_groups: int | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Retrieval:
    """Exact means of retrieval scores over all galleries that may be drawn.

    Parameters
    ----------
    near : Between, or array of shape (n_queries, n_gallery)
        Distances, small = near: from `Neighbors.between`, or a matrix (in memory or memory-mapped). Or
        lists of the nearest, from `Neighbors.between_lists`: right items that are not listed then count as
        the farthest, and the exact score lies between `score` and ``score + error_bound``.
    query_ids, gallery_ids : array of shape (n_queries,) and (n_gallery,)
        Identities, integers or text. A gallery item of the query's identity is right.
    gallery : Gallery or Protocol, optional
        How the gallery is drawn, without `n_identities`. Default: ``Gallery("all")``. A `Protocol` such as
        ``market1501()`` also sets the mask, `rank` and `ap`.
    query_cams, gallery_cams : array of shape (n_queries,) and (n_gallery,), optional
        Cameras, required by a `Protocol` and by masks that are given by name; other masks have their own.
    exclude : mask, "self", callable or list of these, optional
        Gallery items that are removed for a query before anything is drawn: `SameIdentityAndCamera`,
        `SameCamera`, `CameraPairs`, `JunkIdentities`; the names "same-identity-camera" and "same-camera" of
        masks with the cameras above; a function of an int64 array of queries that returns a bool array
        (n, n_gallery), True = removed; "self": queries and gallery are the same items in the same order.
        Without "self", features or distances that look like this give a UserWarning.
    scores : tuple of str or forms, default ("cmc", "ap")
        "cmc"; "ap", the average precision; "rr", the reciprocal rank of the first right item; "inp", the
        number of right items divided by the rank of the last one; "precision@k", "recall@k", "ndcg@k"
        (binary relevance); "r_precision"; "map@r"; "ap@k/r" and "ap@k/min", the precisions at the right
        items among the first k, divided by the number R of right items, or by min(k, R); "rbp" or "rbp@p",
        rank-biased precision with the persistence p (default 0.8); "cmc_all_shots", the CMC of every right
        item as if it were the only one. Or scores of your own: `Reciprocal`, `AtRank`, `First`, `Table`.
    rank : {"image", "identity"}, optional
        What "cmc", "cmc_all_shots" and "rr" count: every drawn image, or every identity once, at its
        nearest drawn image. Default: "image".
    ap : {"rectangle", "trapezoid"}, optional
        Average precision: the precision at each right item, or its mean with the precision just before.
        Default: "rectangle".
    max_rank : int, default 50
        Length of the CMC curves.
    ties : {"random", "index"}, default "random"
        Equally near gallery items: in random order, all equally likely, or in the order of the gallery.
    tol : float, default 1e-12
        Relative error that the quadrature may have. It is measured, and is part of `error_bound`.
    always : bool array of shape (n_gallery,), or identities, optional
        Items that are in every gallery, such as distractors under one identity.
    average : {"pooled", "identity"}, default "pooled"
        Mean over all queries, or over their identities of the mean of their queries.
    jackknife : {None, "identity"}, default None
        "identity": ``r["ap"].standard_error()``, the luck of having these identities and no others. Each
        identity in turn is left out: its queries, and its gallery items before anything is drawn. Left out
        are identities with scored queries, and those without if a query may find one of their items;
        neither junk that a mask always removes, nor identities without queries whose items are all in
        `always`: these distractors are in every gallery.
    n_groups : int, optional
        With a jackknife: if there are more identities, they are left out in this many random groups, always
        the same. Default: 50, which gives the standard error to about 10 %. The jackknife costs about as
        much as `n_groups` scores.
    n_jobs : int, optional
        Threads. Default: all processors. Results are the same to the last bit for any number.
    progress : bool, default False
        Show a progress bar (needs tqdm) over all stages; its total grows when a further stage begins.

    Returns
    -------
    Retrieval
        Queries without a right item are left out and counted.

    Raises
    ------
    ValueError, TypeError
        If an argument is not as above; the mask cuts a stratum of a gallery that all queries share; a
        stratum has fewer items than are drawn; identities of the gallery are random; a distance is not
        finite; no query has a right item; the matrix seems to hold similarities; or a jackknife has scored
        queries of fewer than 3 identities.

    Warns
    -----
    InferenceWarning
        If the jackknife leaves out as one identity what may be the distractors of many.
    UserWarning
        If ``ties="index"`` orders right and wrong items at equal distances.

    Notes
    -----
    Averaged over: the galleries drawn from these items. Not averaged over: the identities and queries that
    happen to be in the data; their luck is the standard error of ``jackknife="identity"``.

    Examples
    --------
    >>> import numpy as np
    >>> from knnccv.retrieval import Gallery, expected_retrieval
    >>> distances = np.array([[0.1, 0.4, 0.2, 0.9]])
    >>> r = expected_retrieval(distances, [7], [7, 7, 8, 8], Gallery(per_identity=1))
    >>> float(r.cmc[0]), round(float(r["ap"]), 12)
    (0.75, 0.875)
    """
    asked = Asked(exclude, scores, rank, ap, max_rank, ties, tol, always, average)
    cameras = query_cams, gallery_cams
    if isinstance(gallery, Gallery) and gallery.n_identities is not None:
        msg = (
            f"pass Gallery(n_identities={gallery.n_identities}, ...) to sampled_retrieval, which draws "
            "random identities: s.mean(name) has the standard error s.std_error(name, mean_of)"
        )
        raise ValueError(msg)
    problem = check_problem(near, query_ids, gallery_ids, gallery, cameras, asked, n_jobs, progress)
    most_groups = check_groups(problem, jackknife, n_groups)
    with one_bar(progress):
        draws = [Draw(problem, *part) for part in problem.parts]
        parts = [_scored(draw, most_groups, n_jobs) for draw in draws]
    scored = {name: score for scores, _ in parts for name, score in scores.items()}
    draw, found = draws[0], parts[0][1]  # of the drawn gallery, which the words describe
    valid, n_tied = found.relevant > 0, int((found.ties > 0).sum())
    if ties == "index" and n_tied:
        msg = (
            f"{n_tied} of {len(valid)} queries have right and wrong items at equal distances; "
            "ties='index' ranks them by their place in the gallery, ties='random' gives the mean of orders"
        )
        warnings.warn(msg, UserWarning, stacklevel=callers_level())
    return Retrieval(
        scores={score.name: scored[score.name] for score in problem.asked.scores},
        valid=valid,
        query_ids=problem.query_ids,
        protocol=problem.protocol,
        gallery=problem.drawn,
        mask=problem.mask,
        rank=problem.asked.rank,
        ap=problem.asked.ap,
        ties=ties,
        average="queries" if average == "pooled" else "identities of their queries' means",
        n_tied=n_tied,
        truncated=int((draw.open & valid).sum()),
        per_query=draw.gallery.random and bool(draw.gallery.per_query),
        draws=draw.what_is_drawn(),
        paired_by=(problem.items, draw.pool.stratum, found.relevant),
    )


def _scored(draw: Draw, most_groups: int, n_jobs: int | None) -> tuple[dict[str, RetrievalScore], Found]:
    """Scores of one draw, and what was found of its queries.

    Of lists of the nearest, they are the smallest that agree with the list, and the bounds reach to the
    largest.
    """
    problem = draw.problem
    low, high = draw.found(n_jobs)
    valid = low.relevant > 0
    if not valid.any():
        why = "no identity occurs in both"
        if (problem.codes >= 0).any():
            why = f"the mask ({problem.mask}) removes all right items; with one camera, use no mask"
        msg = f"no query has a right item in the gallery: {why}"
        raise ValueError(msg)
    if problem.near.given:
        _refuse_similarities(low, valid)
    if draw.open.any():
        for score in draw.scores:
            check_bracketed(score)
    weights = weights_of(problem.codes, valid, problem.asked.average)
    groups, without = None, {}
    if most_groups:
        groups = groups_of(draw, valid, most_groups)
        without = scores_without(draw, weights, groups, n_jobs)
    result, tied, certified = {}, int((low.ties > 0).sum()), not problem.near.approximate
    for score in draw.scores:
        values = draw.plan.values_of(score, low.values)
        highest = np.maximum(draw.plan.values_of(score, high.values), values)
        errors = draw.plan.errors_of(score, high)
        width = np.max(weights @ (highest - values)) if certified else np.inf
        mean, per_item = weights @ values, values.copy()
        per_item[~valid] = np.nan
        result[score.name] = RetrievalScore(
            name=score.name,
            score=mean if score.curve else float(mean),
            per_item=per_item,
            weights=weights,
            error_bound=float(weights @ errors) + 4e-16 + float(width),
            n_tied=tied,
            certified=certified,
            score_without=without.get(score.name),
            groups=groups,
        )
    return result, low


def _refuse_similarities(found: Found, valid: Array) -> None:
    """Raise ValueError if right items are farther than wrong ones nearly everywhere."""
    both = valid & (found.means[:, 1] != 0)
    own, wrong = found.means[both].T
    if len(own) >= FEWEST_CHECKED and (own > wrong).mean() >= SHARE_OF_SIMILARITIES:
        farther = int((own > wrong).sum())
        msg = (
            f"right items are farther than wrong ones for {farther} of {len(own)} queries, "
            "as if these were similarities; pass distances, such as 1 - S"
        )
        raise ValueError(msg)


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
    ties: str = "random",
    always: Any = None,
    average: str = "pooled",
    n_runs: int | None = None,
    precision: float | None = None,
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
    n_runs : int, optional
        Number of trials, default 200. The standard deviation has a relative error of about
        ``1 / sqrt(2 n_runs)``.
    precision : float, optional
        In place of `n_runs`: the wanted standard error of the mean of all trials, for every score and every
        rank of the CMC. 200 trials tell how many there have to be, at most 20,000; the further ones are
        others than those of `n_runs`.
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
        As `expected_retrieval`; or `n_runs` is less than 2; a query has fewer identities to draw from
        than `n_identities`; right items of a query are in `always` where shared galleries have random
        identities; or no query has its identity in the gallery of a trial.

    Warns
    -----
    UserWarning
        If 20,000 trials do not reach the `precision`: how many it would take.

    Notes
    -----
    Where one gallery of random identities serves all queries, ``Gallery(n_identities=...)``, the score of a
    trial is the mean over the queries whose identity is in it.

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
        parts = [(replace(one, per_query=per_query), some) for one, some in parts]
        drawn = parts[0][0].words()
    check_precision(precision, n_runs, least=2)
    rng, draws = check_random_state(random_state), [Draw(problem, *part) for part in parts]
    trials: dict[str, list[Array]] = {score.name: [] for score in problem.asked.scores}
    n_trials = 0

    def look(number: int) -> float:
        nonlocal n_trials
        while n_trials < number:
            some = number if precision is None else min(N_RUNS, number - n_trials)
            n_trials += some
            for draw in draws:
                for name, values in _trials(draw, some, rng, n_jobs).items():
                    trials[name].append(values)
        return max(float(found().std_error(name, number).max()) for name in trials)

    def found() -> SampledRetrieval:
        every = {name: np.concatenate(values) for name, values in trials.items()}
        return SampledRetrieval(every, problem.protocol, drawn, problem.mask)

    with one_bar(progress):
        enough_draws(look, N_RUNS, precision, n_runs, "n_runs")
    return found()


def _trials(draw: Draw, n_trials: int, rng: np.random.Generator, n_jobs: int | None) -> dict[str, Array]:
    """The scores of one draw in every trial."""
    problem = draw.problem
    found = _found(draw, n_trials, rng, n_jobs)
    valid = np.asarray((found.firsts >= 0).any(axis=0))
    check(valid.any(), "no query has a right item in the gallery")
    weights = weights_of(problem.codes, valid, problem.asked.average)[None]
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
        values=np.zeros((*shape, draw.plan.n_columns - int(draw.plan.plan.first))),
    )
    n_chosen, before = np.int64(gallery.n_others), np.bool_(not gallery.shared)
    step = max(1, AT_ONCE // n_trials)

    def fill(block: tuple[int, int]) -> None:
        distances, masked, codes = near.block(*block), draw.removed(*block)[0], problem.codes[slice(*block)]
        plan = draw.tabulated(np.zeros(0, np.int64))._replace(first=np.int64(0))
        for first in range(0, len(codes), step):
            check_wanted()
            some = slice(first, first + step)
            rows = slice(block[0] + first, min(block[0] + first + step, block[1]))
            part = Trials(*(np.zeros_like(values[:, rows]) for values in found))
            galleries = Galleries(seeds[rows], shared, n_chosen, before)
            trial_rows(distances[some], masked[some], codes[some], galleries, pool, plan, part)
            for values, filled in zip(found, part, strict=True):
                values[:, rows] = filled

    for_each(fill, blocks_of(near), n_jobs)
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
        hits = ((found.firsts >= 0) & (found.firsts < r) for r in ranks)
        return np.stack([(weights * hit).sum(axis=1) for hit in hits], axis=1)
    values = draw.plan.values_of(score, found.values)
    return np.asarray(((weights[..., None] if score.curve else weights) * values).sum(axis=1))


def _weights_of_trials(problem: Problem, firsts: Array) -> Array:
    """Weights of the queries whose identity is in the gallery of a trial."""
    weights = np.zeros(firsts.shape)
    for v, first in enumerate(firsts):
        msg = (
            f"in trial {v} no query has its identity in the gallery, so that it has no score; draw "
            "more identities, or galleries anew for every query, Gallery(..., per_query=True)"
        )
        check((first >= 0).any(), msg)
        weights[v] = weights_of(problem.codes, first >= 0, problem.asked.average)
    return weights
