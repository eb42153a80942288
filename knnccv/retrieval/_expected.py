"""`expected_retrieval`: exact means of retrieval scores over all random galleries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .._parallel import one_bar
from .._typing import Array
from .._validation import check_bool
from ._compiled.tables import Found
from ._draw import Draw
from ._exact import add_exact
from ._jackknife import check_groups, groups_of, scores_without
from ._pool import draws_of
from ._problem import Asked, check_problem, weights_of
from ._result import Retrieval, RetrievalScore
from ._scores import check_bracketed, errors_of, values_of

FEWEST_CHECKED = 20
SHARE_OF_SIMILARITIES = 0.95
NO_HAJEK = (
    'hajek is no option any more: sampled_retrieval(...).std("ap") estimates what one gallery that all '
    "queries share scatters, and cmc_std is exact for galleries of every query's own"
)


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
    ties: str = "index",
    tol: float = 1e-12,
    always: Any = None,
    average: str = "query",
    jackknife: str | None = None,
    n_groups: int | None = None,
    hajek: bool = False,
    exact: bool = False,
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
        How the gallery is drawn. Default: ``Gallery("all")``. A `Protocol` such as ``market1501()`` also
        sets the mask, `rank` and `ap`.
    query_cams, gallery_cams : array of shape (n_queries,) and (n_gallery,), optional
        Cameras, required by a `Protocol` and not used without one: masks have their own.
    exclude : mask, "self", callable or list of these, optional
        Gallery items that are removed for a query before anything is drawn: `SameIdentityAndCamera`,
        `SameCamera`, `CameraPairs`, `JunkIdentities`; a function of an int64 array of queries that returns
        a bool array (n, n_gallery), True = removed; "self": queries and gallery are the same items in the
        same order.
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
    ties : {"index", "random"}, default "index"
        Equally near gallery items: in the order of the gallery, or in random order, all equally likely.
    tol : float, default 1e-12
        Relative error that the quadrature may have. It is measured, and is part of `error_bound`.
    always : bool array of shape (n_gallery,), or identities, optional
        Items that are in every gallery, such as distractors under one identity.
    average : {"query", "identity"}, default "query"
        Mean over queries, or over the queries' identities of the mean of their queries.
    jackknife : {None, "identity"}, default None
        "identity": ``r["ap"].standard_error``, the luck of having these identities and no others. Each
        identity in turn is left out: its queries, and its gallery items before anything is drawn. Left out
        are identities with scored queries, and those without if a query may find one of their items;
        neither junk that a mask always removes, nor identities without queries whose items are all in
        `always`: these distractors are in every gallery.
    n_groups : int, optional
        With a jackknife: if there are more identities, they are left out in this many random groups, always
        the same. Default: 50, which gives the standard error to about 10 %. The jackknife costs about as
        much as `n_groups` scores.
    hajek : bool, default False
        Only False: `sampled_retrieval` tells what one random gallery scatters.
    exact : bool, default False
        Also compute every score as a rational number, ``r["ap"].exact`` and ``.per_item_exact``: slow, for
        small problems. The gains ``1 / log2(1 + r)`` of "ndcg@k" and the numbers of scores of your own are
        floats, taken as rational numbers; the persistence of "rbp@p" is the decimal number in the name.
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
        stratum has fewer items than are drawn, or a query fewer identities; right items of a query are in
        `always` where shared galleries have random identities; a distance is not finite; no
        query has a right item; the matrix seems to hold similarities; a jackknife has scored queries of
        fewer than 3 identities; or `exact` needs more than 100 million steps.

    Warns
    -----
    InferenceWarning
        If the jackknife leaves out as one identity what may be the distractors of many.

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
    problem = check_problem(near, query_ids, gallery_ids, gallery, cameras, asked, n_jobs, progress)
    check_bool("exact", exact)
    if hajek is not False:
        raise ValueError(NO_HAJEK)
    most_groups = check_groups(problem, jackknife, n_groups)
    with one_bar(progress):
        parts = [_scored(Draw(problem, *part), most_groups, exact, n_jobs) for part in problem.parts]
    found = {name: score for part in parts for name, score in part.scores.items()}
    shown = parts[0]  # of the drawn gallery, which the words describe
    return Retrieval(
        scores={score.name: found[score.name] for score in problem.asked.scores},
        valid=shown.valid,
        query_ids=problem.query_ids,
        protocol=problem.protocol,
        gallery=problem.drawn,
        mask=problem.mask,
        rank=problem.asked.rank,
        ap=problem.asked.ap,
        ties=ties,
        average="queries" if average == "query" else "identities of their queries' means",
        tied=shown.tied,
        truncated=shown.truncated,
        per_query=shown.draw.gallery.random and shown.draw.gallery.per_query,
        draws=draws_of(shown.draw.gallery, shown.draw.pool, shown.draw.draws),
        paired_by=(problem.items, shown.draw.pool.stratum, shown.relevant),
    )


class _Scored(NamedTuple):
    """Scores of one draw."""

    draw: Draw
    scores: dict[str, RetrievalScore]
    valid: Array  # queries with a right item
    relevant: Array  # number of right items that are drawn for every query
    tied: int  # queries with ties
    truncated: int  # queries with right items that are not listed


def _scored(draw: Draw, most_groups: int, exact: bool, n_jobs: int | None) -> _Scored:
    """Scores of one draw.

    Of lists of the nearest, they are the smallest that agree with the list, and the bounds reach to the
    largest.
    """
    problem, scores = draw.problem, draw.scores
    found = draw.found(n_jobs)
    valid = found.relevant > 0
    if not valid.any():
        msg = (
            "no query has a right item in the gallery: no identity occurs in both, or the mask removes "
            "all right items"
        )
        raise ValueError(msg)
    if problem.near.given:
        _refuse_similarities(found, valid)
    weights = weights_of(problem.codes, valid, problem.asked.average)
    ceiling = draw.ceiling(found)
    result, tied = {}, int((found.ties > 0).sum())
    for score in scores:
        if draw.open.any():
            check_bracketed(score, found.relevant)
        values = values_of(score, found, draw.columns)
        highest = np.maximum(values_of(score, ceiling, draw.columns), values)
        errors = errors_of(score, ceiling, draw.columns, draw.rule.error)
        width = np.inf if problem.near.approximate else np.max(weights @ (highest - values))
        per_item = values.copy()
        per_item[~valid] = np.nan
        mean = weights @ np.where(valid if values.ndim == 1 else valid[:, None], values, 0.0)
        result[score.name] = RetrievalScore(
            score.name,
            float(mean) if values.ndim == 1 else mean,
            per_item,
            weights,
            float(weights @ errors) + 4e-16 + float(width),
            tied,
            not problem.near.approximate,
        )
    if most_groups:
        groups = groups_of(draw, valid, most_groups)
        without = scores_without(draw, weights, groups, n_jobs)
        result = {
            name: replace(one, score_without=without[name], groups=groups) for name, one in result.items()
        }
    if exact:
        result = add_exact(result, draw)
    truncated = int((draw.open & valid).sum())
    return _Scored(draw, result, valid, found.relevant, tied, truncated)


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
