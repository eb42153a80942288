"""`surface`, all numbers of neighbors and all training sizes at once.

There are three ways. From a profile of the data (`_profile_surface`) every pair of K and training size is a
weighted sum, so that one pass over the neighbor lists serves all. All other problems (stratified training
sets, losses, votes tied at random, other rules) are computed cell by cell, by the kernels, from neighbor
lists that are kept; so are means of scikit-learn's scorings over random runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np

from ...._base.labels import encode_labels, single_class
from ...._base.parallel import ExecutorLike, check_pool, for_each
from ...._base.typing import Array
from ...._base.validation import check, check_bool, check_integer, check_tol, fixed_seed
from ....designs import Design, StratifiedSubsample, Subsample
from ....kernel import Variant
from ....kernel.registry import get_variant
from ....neighbors import warn_copies, warn_label_leakage
from ...driver import Jobs, callers_level, of_many, validate_problem
from ...luck.scorings import Wish, check_precision
from ..results import CompleteCV, scored_by_runs, warn_of_short_lists, with_test_set
from ._half_surface import SurfaceEvaluation
from ._profile_surface import SurfaceGrid, profile_kind, profile_surface
from ._surface_result import Surface

DEFAULT_MAX_K = 30
SIZES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
AXES = ("n_neighbors", "rank")


def surface(
    X: Any,
    y: Any,
    n_neighbors: Any = None,
    train_sizes: Any = None,
    variant: str | Variant | type[Variant] = "knn",
    *,
    stratified: bool = False,
    metric: Any = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    ties: str | None = None,
    average: Any = "pooled",
    tol: float = 1e-6,
    n_jobs: int | None = None,
    executor: ExecutorLike | None = None,
    progress: bool = False,
    scoring: Any = None,
    precision: float | None = None,
    n_runs: int | None = None,
    random_state: Any = 0,
    test: Any = None,
    **parameters: Any,
) -> Surface:
    """Mean score over all training sets, for many numbers of neighbors and many training sizes.

    Every cell equals ``complete_cv(X, y, variant, Subsample(size), n_neighbors=K).score`` to within the
    bounds (here `tol` is a millionth), but all cells are computed in one pass over one set of neighbor
    lists. Where given lists are too short, the unknown share counts as a score of 0, `error_bound` has it,
    and a warning says so if it is large.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_items, n_features), or Neighbors
        As for `complete_cv`.
    y : array of shape (n_items,)
        Class labels; real targets for "regression".
    n_neighbors : int or sequence of int, optional
        The K. Each must fit into every training set. Default: 1 to 30, or to the smallest training size.
        For "rank" the R (also accepted as ``rank=``). Not for "nn", which has one row.
    train_sizes : int, float or sequence of them, optional
        Training sizes as `Subsample` takes them: numbers of samples, or fractions in (0, 1) of all samples.
        With `stratified`, fractions of every class, or numbers of samples of every class: integers, the
        same from all, or mappings of label to number. ``n_items - 1`` is leave-one-out. Default: 0.1, 0.2,
        ..., 0.9.
    variant : str, Variant or subclass of it, default "knn"
        "knn", "nn", "rank", or another registered rule.
    stratified : bool, default False
        Training sets with the same fraction, or a fixed number, of every class (`StratifiedSubsample`).
        Slower: every cell is computed separately, from the same neighbor lists.
    metric, metric_params
        As for `complete_cv`.
    ties : {"random", "index"}, default "random"
        As for `complete_cv`.
    average : {"pooled", "item", "class"} or mapping of label to share, default "pooled"
        As for `complete_cv`.
    tol : float, default 1e-6
        Admissible error of every cell, relative to the largest absolute score. With 0 all neighbors are
        used.
    n_jobs, executor, progress
        As for `complete_cv`; the result does not depend on them.
    scoring : str or scorer, optional
        A scoring of scikit-learn that is no mean over samples, such as "f1_macro" or "roc_auc", for "knn"
        and "nn". Every cell is then a mean over random training sets, with a standard error: not exact.
    precision : float, optional
        The wanted standard error of every cell for `scoring`: a pilot of 512 runs tells how many there have
        to be, at most 20,000. Default: ``0.01 / sqrt(n_items)``, a fiftieth of what other data would
        change; of the log loss, times the score.
    n_runs : int, optional
        The number of random training sets of every size, whatever their error, in place of `precision`.
    random_state : int, numpy Generator or None, default 0
        Seed of these.
    test : pair (X_test, y_test), or array of shape (n_test,), optional
        As for `complete_cv`: a fixed test set, for training sets from the pool X and y. `train_sizes` are
        shares and numbers of the pool.
    **parameters
        Other parameters of the variant. With a `loss` every cell is computed separately.

    Returns
    -------
    Surface
        ``scores`` and ``error_bound`` of shape (n_K, n_sizes), `Surface.best`, `Surface.to_frame`,
        `Surface.plot`, and for the luck of the data `Surface.standard_error`,
        `Surface.confidence_interval`, `Surface.difference_to_best` and `Surface.not_worse`.

    Raises
    ------
    ValueError, TypeError
        If an argument is not allowed; the message says what is allowed.

    Warns
    -----
    CopiesWarning
        If many rows repeat another with the same label, as copies do.

    Notes
    -----
    Cost: the neighbor lists, whose depth depends on the smallest training size, and O(n_items * depth *
    K^2) for up to three classes. The profile generalizes the compactness profile of one nearest neighbor
    (Vorontsov) to votes.

    With `scoring`, each test set is scored as scikit-learn's scorer does. The exact confusion table of the
    cell is a control variate, as in `knnccv.sklearn.expected_score`; for scores of shares of votes it is
    the law of the votes, for two classes.

    Examples
    --------
    >>> import knnccv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> result = knnccv.surface(wine.X, wine.y, n_neighbors=[1, 5, 9], train_sizes=[40, 80, 160])
    >>> result.scores.round(3)
    array([[0.683, 0.709, 0.76 ],
           [0.684, 0.691, 0.692],
           [0.689, 0.69 , 0.704]])
    >>> k, score = result.best(160)
    >>> k, round(score, 3)
    (1, 0.76)
    """
    started = time.perf_counter()
    check_tol(tol)
    check_precision(precision, n_runs)
    if isinstance(scoring, (list, tuple, set, dict)):
        msg = f"take one scoring at a time, such as {next(iter(scoring), 'f1')!r}; got {scoring!r}"
        raise TypeError(msg)
    if n_runs is not None:
        check_integer("n_runs", n_runs, 2)
    wish, seed = Wish(len(y), precision, n_runs), fixed_seed(random_state)
    check_bool("stratified", stratified)
    check_pool(n_jobs, executor, progress)
    rule = get_variant(variant)
    axis, values = parse_axis(rule, n_neighbors, parameters)
    designs, per_class = parse_designs(train_sizes, stratified)
    trained = y
    neighbors, y, pool = with_test_set(X, y, test, metric, metric_params)
    n_items = neighbors.n_items if pool is None else pool.n_items
    labels = single_class(n_items) if rule.target == "values" else encode_labels(trained, n_items)
    labels = labels._replace(pool=pool is not None)
    sizes = [sum(kind.n_train) for design in designs for kind in design.training_sets(labels)]
    if values is None:
        values = list(range(1, min(DEFAULT_MAX_K, *sizes) + 1))
    grid = SurfaceGrid(axis, tuple(values), tuple(designs), tuple(sizes))
    others = {name: value for name, value in parameters.items() if name != axis}
    problem = validate_problem(
        y,
        neighbors.n_items,
        rule,
        grid.smallest,
        ties,
        average,
        others | grid.setting(max(values)),
        pool=pool,
    )
    warn_label_leakage(neighbors, min(sizes))
    if pool is None:
        warn_copies(neighbors, problem.targets, callers_level() + 1)
    evaluation = SurfaceEvaluation(problem, grid, neighbors, n_jobs, scoring)
    profile_of_rule = profile_kind(problem, grid) if scoring is None else None
    if profile_of_rule is not None:
        n_available = problem.training_sets[0].n_available
        profile = profile_of_rule(problem, grid, n_available, neighbors.max_depth, tol)
        jobs = Jobs(n_jobs, executor, progress)
        scores, bounds = profile_surface(profile, problem, neighbors, keep=X is neighbors, jobs=jobs)
    elif scoring is None:
        scores, bounds = _by_cells(evaluation, others, _exact, progress, tol=tol, executor=executor)
    else:  # the means are exact far below the standard errors
        asked = partial(_by_runs, scoring=scoring, wish=wish, seed=seed)
        scores, bounds = _by_cells(evaluation, others, asked, progress, tol=1e-12, executor=executor)
    fixed_parameters = {name: value for name, value in problem.parameters.items() if name != axis}
    described = replace(problem, parameters=fixed_parameters | grid.symbol).described()
    is_exact = scoring is None
    if is_exact:
        warn_of_short_lists(problem, neighbors, bounds, tol)
    is_certified = is_exact and not neighbors.approximate
    return Surface(
        scores=scores,
        error_bound=bounds if is_certified else bounds + np.inf,
        n_neighbors=np.array(values),
        train_sizes=np.array(sizes),
        truncation_bound=bounds,
        is_loss=problem.is_loss,
        stratified=stratified,
        per_class=per_class,
        symbol=grid.symbol.get(axis or "", "K"),
        **described | {"parameters": fixed_parameters} | ({} if is_exact else {"measure": str(scoring)}),
        certified=is_certified or not is_exact,
        std_error=None if is_exact else bounds,
        seconds=time.perf_counter() - started,
        _evaluation=evaluation,
    )


def _exact(result: CompleteCV) -> tuple[float, float]:
    return result.score, result.truncation_bound


def _by_runs(result: CompleteCV, scoring: Any, wish: Wish, seed: int) -> tuple[float, float]:
    found = scored_by_runs(result, scoring, wish, seed)
    return found.mean, found.std_error


def _by_cells(
    evaluation: SurfaceEvaluation,
    parameters: dict[str, Any],
    asked: Callable[[CompleteCV], tuple[float, float]],
    progress: bool,
    **options: Any,
) -> tuple[Array, Array]:
    """What is asked of the result of every cell, the one that needs the deepest lists first."""
    grid = evaluation.grid
    scores, bounds = np.empty((2, *grid.nearest.shape))
    columns, rows = np.argsort(grid.sizes, kind="stable"), np.argsort(grid.values, kind="stable")[::-1]
    cells = [(int(row), int(column)) for column in columns for row in rows]

    def fill(cell: tuple[int, int]) -> None:
        scores[cell], bounds[cell] = asked(evaluation.result(*cell, parameters, **options))

    with of_many(len(cells)):
        for_each(fill, cells, 1, progress, unit="cell")
    return scores, bounds


def parse_axis(
    rule: Variant, n_neighbors: Any, parameters: Mapping[str, Any]
) -> tuple[str | None, list[int] | None]:
    """The rule's parameter that counts neighbors, or None, and its values, or None if none are given."""
    axis = next((name for name in AXES if name in rule.parameters), None)
    if axis is None:
        msg = f"variant {rule.name!r} has no number of neighbors to vary; leave n_neighbors out"
        check(n_neighbors is None, msg, error=TypeError)
        return None, [1]
    name = "n_neighbors"
    given = n_neighbors
    if axis in parameters:
        if n_neighbors is not None:
            msg = f"give either n_neighbors or {axis}, got {n_neighbors!r} and {parameters[axis]!r}"
            raise TypeError(msg)
        name, given = axis, parameters[axis]
    if given is None:
        return axis, None
    return axis, [check_integer(name, value, 1) for value in as_list(name, given)]


def parse_designs(train_sizes: Any, stratified: bool) -> tuple[list[Design], tuple[Any, ...] | None]:
    """The designs, and the numbers of samples of every class, or None if fractions are given."""
    if isinstance(train_sizes, Mapping):
        train_sizes = [train_sizes]
    sizes = as_list("train_sizes", SIZES if train_sizes is None else train_sizes)
    if not stratified:
        for size in sizes:
            must = "without stratified=True train_sizes must be numbers or fractions"
            check(not isinstance(size, Mapping), must, size, TypeError)
        return [Subsample(size) for size in sizes], None
    numbers = [isinstance(size, Integral | Mapping) and not isinstance(size, bool) for size in sizes]
    if not any(numbers):
        return [StratifiedSubsample(size) for size in sizes], None
    if not all(numbers):
        msg = (
            "with stratified=True train_sizes must be fractions in (0, 1) of every class, or numbers of "
            f"samples of every class, not both; got {train_sizes!r}"
        )
        raise TypeError(msg)
    per_class = tuple(dict(size) if isinstance(size, Mapping) else int(size) for size in sizes)
    return [StratifiedSubsample(per_class=number) for number in per_class], per_class


def as_list(name: str, values: Any) -> list[Any]:
    """One value or several, as a list."""
    must = f"{name} must be a number or a sequence of numbers"
    check(not isinstance(values, (str, bytes, Mapping)), must, values, TypeError)
    several = isinstance(values, Iterable) and getattr(values, "ndim", 1) > 0
    listed = list(values) if several else [values]
    check(listed, f"{name} must hold at least one number", values)
    return listed
