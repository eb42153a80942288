"""`bootstrap_score`, the public function: checks its arguments and combines the scores."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._parallel import check_pool, one_bar
from .._typing import Array
from .._validation import check_integer, check_tol
from ..designs import LeaveOut
from ..driver import ScoringProblem, validate_problem
from ..kernel import Variant
from ..neighbors import as_neighbors, warn_label_leakage
from ..sampling import rounding_allowance
from ._result import BootstrapScore
from ._samples import RULES, out_of_bag, resubstitution

MAX_NEIGHBORS = 500
MAX_DRAWS = 2**53  # larger integers are no doubles


def bootstrap_score(
    X: Any,
    y: Any,
    variant: str | Variant | type[Variant] = "knn",
    *,
    n_draws: int | None = None,
    metric: Any = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    ties: str | None = None,
    average: Any = "item",
    tol: float = 1e-12,
    n_jobs: int | None = None,
    progress: bool = False,
    **parameters: Any,
) -> BootstrapScore:
    """Exact bootstrap scores of a nearest-neighbor rule: out of bag, .632 and .632+.

    A bootstrap sample has `n_draws` draws with replacement from all samples, and those that it leaves out
    test it. A simulation takes the mean over some hundred bootstrap samples; this is the exact mean over
    all of them, without luck of the draw.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_items, n_features), or Neighbors
        The samples, as for `complete_cv`.
    y : array of shape (n_items,), or (n_items, n_outputs) for "regression"
        Class labels; for "regression" real targets.
    variant : {"nn", "knn", "rank", "confidence", "regression"}, default "knn"
        The rule, with the parameters of `complete_cv`. K (or R) is at most `n_draws`, 500, and N - 1.
    n_draws : int, optional
        Draws of a bootstrap sample, from K to 2**53. Default: n_items.
    metric, metric_params
        As for `complete_cv`.
    ties : {"random", "index"}, default "random"
        Samples at equal distances: the mean over all orders of the draws, as in a bootstrap sample that is
        not sorted; or in the order of the data. Draws of one sample are neighbors at equal distances.
    average : {"item", "pooled", "class"} or mapping of label to share, default "item"
        "item": all samples have equal weight, as in the paper; "pooled" is the same. "class" and a mapping
        are as for `complete_cv`.
    tol : float, default 1e-12
        Admissible error of the out-of-bag score, relative to the largest absolute score.
    n_jobs : int, optional
        Threads. Default: all processors. Results are the same to the last bit for any number.
    progress : bool, default False
        Show a progress bar (needs tqdm) over all stages; its total grows when a further stage begins.
    **parameters
        The variant's parameters.

    Returns
    -------
    BootstrapScore

    Raises
    ------
    ValueError, TypeError
        If an argument is not allowed; the message says what is allowed.

    Warns
    -----
    SlowComputationWarning
        If votes of many neighbors, or tied samples of several classes, take more than a minute.

    Notes
    -----
    Given that the tested sample is left out, the draws fall on the other N - 1 samples independently and
    with equal probabilities. Of the K nearest draws, those before the sample of the K-th are independent
    and uniform on the samples before it. So the vote of the K nearest is multinomial, and the score is a
    sum over the position of the K-th draw, with positive terms.

    Efron & Tibshirani, "Improvements on Cross-Validation: The .632+ Bootstrap Method", Journal of the
    American Statistical Association 92, 1997, eq. 17 (leave-one-out bootstrap), 24 (.632) and 27 to 32
    (.632+). Efron, "Estimating the Error Rate of a Prediction Rule", ibid. 78, 1983 (.632).

    For nearest-neighbor rules the .632 is too optimistic, as the resubstitution error of "nn" is 0; the
    .632+ was made for this.

    Examples
    --------
    >>> from knnccv import bootstrap_score
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> found = bootstrap_score(wine.X, wine.y, "knn", n_neighbors=3)
    >>> round(found.oob, 4), round(found.resubstitution, 4), round(found.score_632_plus, 4)
    (0.7002, 0.8708, 0.7486)
    """
    started = time.perf_counter()
    check_tol(tol)
    check_pool(n_jobs, None, progress)
    near = as_neighbors(X, metric, metric_params)
    problem = validate_problem(y, near.n_items, variant, LeaveOut(1), ties, average, parameters)
    n_draws = _check_rule(problem, near.n_items, n_draws)
    warn_label_leakage(near, near.n_items - 1)
    weights = np.array([float(weight) for weight in problem.item_weights[0]])[problem.labels.codes]
    with one_bar(progress):
        found = out_of_bag(problem, near, n_draws, tol, n_jobs)
        apparent = resubstitution(problem, near, weights, n_jobs)
    (per_item,), of_item, by_label = found.scores, apparent.scores[0], apparent.scores[1:]
    rounding = rounding_allowance(
        problem.variant.n_nearest(**problem.parameters), 2.0 * found.depth, problem.largest
    )
    bound, known = (
        problem.largest * float(weights @ tails) + rounding for tails in (found.tails, apparent.tails)
    )
    is_loss = problem.is_loss
    oob, resubstituted, uninformed = (
        float(weights @ scores) for scores in (per_item, of_item, _uninformed(problem, weights, by_label))
    )
    return BootstrapScore(
        oob=oob,
        resubstitution=resubstituted,
        no_information=uninformed,
        per_item=per_item,
        per_item_resubstitution=of_item,
        weights=weights,
        error_bound=np.inf if near.approximate else bound,
        resubstitution_error_bound=np.inf if near.approximate else known,
        n_draws=n_draws,
        depth=found.depth,
        variant=problem.variant.name,
        parameters=problem.parameters,
        ties=problem.ties,
        average=problem.average,
        measure=problem.measure,
        is_loss=is_loss,
        labels=problem.targets,
        certified=not near.approximate,
        seconds=time.perf_counter() - started,
        _slack=known,
    )


def _check_rule(problem: ScoringProblem, n_items: int, n_draws: Any) -> int:
    name, parameters = problem.variant.name, problem.parameters
    if name not in RULES:
        allowed = ", ".join(map(repr, RULES))
        msg = f"bootstrap_score knows the rules {allowed}, got {name!r}"
        raise ValueError(msg)
    if parameters.get("part", "error") != "error":
        msg = f"bootstrap_score knows the part 'error' of regression only, got {parameters['part']!r}"
        raise ValueError(msg)
    n_nearest = problem.variant.n_nearest(**parameters)
    if n_nearest > MAX_NEIGHBORS:
        msg = f"bootstrap_score takes at most {MAX_NEIGHBORS} nearest neighbors, got {n_nearest}"
        raise ValueError(msg)
    if n_draws is None:
        return n_items
    number = check_integer("n_draws", n_draws, 1)
    if number < n_nearest:
        msg = f"n_draws must be at least the number of nearest neighbors, {n_nearest}, got {number}"
        raise ValueError(msg)
    if number > MAX_DRAWS:
        msg = f"n_draws must be at most 2**53, got {number}"
        raise ValueError(msg)
    return number


def _uninformed(problem: ScoringProblem, weights: Array, by_label: Array) -> Array:
    """Scores (n_items,) of the predictions for all samples if the true labels are drawn independently."""
    if problem.variant.target == "values":  # the squared error of the mean target, and the variance
        values = problem.values
        centered = values - weights @ values
        spread: Array = by_label[0] + float(weights @ (centered * centered).sum(axis=1))
        return spread
    shares = np.bincount(problem.labels.codes, weights, len(problem.labels.classes))
    mixed: Array = shares @ by_label
    return mixed
