# mypy: allow-untyped-defs
"""Scalings of columns: `scaled` by all samples, and weights of columns that are scaled within the folds.

A scaling is None, a word of `SCALERS`, or a transformer.

`StandardScaler`, `MinMaxScaler`, `MaxAbsScaler` and `RobustScaler` shift and multiply columns. Shifts
change no difference between samples, so a training set only changes the factor of every column, its
*weight*. `scaling_of` recognizes such steps of a pipeline; `ColumnScaling.weights` has the weights of many
training sets at once, as scikit-learn computes them, except for rounding.

A chain of scalers needs statistics of the raw columns only: spreads are multiplied by the weights of the
earlier steps. `MaxAbsScaler` depends on shifts, so it is recognized as the first step of a chain only.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from ...._base.typing import Array
from ...._base.validation import as_reals
from ....kernel import inner, jit
from ._planes import NEITHER, train_sizes

SCALERS = {
    "standard": "StandardScaler",
    "minmax": "MinMaxScaler",
    "maxabs": "MaxAbsScaler",
    "robust": "RobustScaler",
}
"""The words for scalings, and the scalers of scikit-learn that they name."""
EPS = np.finfo(float).eps
CANCELED = 1e-4
"""Share of the mean square below which a variance is computed again, from deviations from its own mean."""


def read_scaling(scaling: Any) -> Any:
    """Return the argument `scaling`, which is None, a word of `SCALERS` or a transformer.

    Raises
    ------
    ValueError
        If it is something else.
    """
    named = scaling is None or (isinstance(scaling, str) and scaling in SCALERS)
    if not named and (isinstance(scaling, str | type) or not hasattr(scaling, "transform")):
        msg = f"scaling must be None, {', '.join(map(repr, SCALERS))} or a transformer, got {scaling!r}"
        raise ValueError(msg)
    return scaling


def scaled(X: Any, scaling: Any) -> Any:
    """The columns of a table, scaled by all samples, which do not need labels for it.

    Parameters
    ----------
    X : array or pandas.DataFrame of shape (n_items, n_features)
        Finite numbers; for a transformer what it takes.
    scaling : {None, "standard", "minmax", "maxabs", "robust"} or transformer
        As given; as scikit-learn's `StandardScaler`, `MinMaxScaler`, `MaxAbsScaler` or `RobustScaler`
        scale by default, which need not be installed; or by a copy of the transformer that is fitted
        without labels, with a fixed seed unless it has an integer `random_state`.

    Returns
    -------
    float64 ndarray of shape (n_items, n_features)
        Or what the transformer returns.

    Raises
    ------
    ValueError
        If a value is not a finite number, or the scaling is not as above.

    Examples
    --------
    >>> from knnccv.reporting import scaled
    >>> scaled([[1.0, 5.0], [3.0, 5.0]], "standard")
    array([[-1.,  0.],
           [ 1.,  0.]])
    """
    if not isinstance(read_scaling(scaling), str | None):
        return refitted(scaling, X)
    numbers = as_reals("X", X, "X must hold real numbers, (n_items, n_features)")
    if numbers.ndim != 2:
        msg = f"X must be a table of shape (n_items, n_features), got shape {numbers.shape}"
        raise ValueError(msg)
    if scaling is None:
        return numbers
    # Powers of two change no digit, and keep the squares of large and small values within range.
    exponents = np.frexp(np.abs(numbers).max(axis=0))[1]
    columns = np.ldexp(numbers, -exponents)
    low, high = columns.min(axis=0), columns.max(axis=0)
    center, width = low, high - low
    if scaling == "standard":
        center, width = columns.mean(axis=0), columns.std(axis=0)
    elif scaling == "maxabs":
        center, width = np.zeros_like(low), np.maximum(-low, high)
    elif scaling == "robust":
        first, center, third = np.quantile(columns, [0.25, 0.5, 0.75], axis=0)
        width = third - first
    if scaling != "maxabs":  # rounding of the mean can make constants seem to vary
        center = np.where(low < high, center, low)
    unit = np.ldexp(1.0, np.minimum(-exponents, 1023))  # scikit-learn shifts a column without spread
    return (columns - center) / np.where(width > 0, width, unit)


def refitted(transformer: Any, X: Any, y: Any = None, seed: int = 0) -> Any:
    """The output of a copy of a transformer of scikit-learn that is fitted to X (and y).

    Copies with the same `seed` draw the same random numbers, so their outputs differ only by the data.
    """
    from sklearn.base import clone

    copy = clone(transformer)
    states = [
        name
        for name, value in copy.get_params().items()
        if name.rpartition("__")[2] == "random_state" and not isinstance(value, Integral)
    ]
    copy.set_params(**dict.fromkeys(states, seed))
    world = np.random.get_state()  # noqa: NPY002 - it may draw from this state
    np.random.seed(seed)  # noqa: NPY002
    try:
        return (copy.fit(X) if y is None else copy.fit(X, y)).transform(X)
    finally:
        np.random.set_state(world)  # noqa: NPY002


class Stage(NamedTuple):
    """One scaler: it divides a column by its spread, and multiplies it by `factor`.

    The spread is the standard deviation (``"deviation"``), the range between the quantiles `low` and `high`
    (``"range"``), or the largest magnitude (``"largest"``).
    """

    spread: str
    factor: float = 1.0
    low: float = 0.0
    high: float = 1.0


Chain = tuple[Stage, ...]
STAGES: dict[str, Chain] = {
    "standard": (Stage("deviation"),),
    "minmax": (Stage("range"),),
    "maxabs": (Stage("largest"),),
    "robust": (Stage("range", 1.0, 0.25, 0.75),),
}
"""What the words of `SCALERS` do."""


@jit
def fill_sums(table, folds, sums):
    """Sums and sums of squares of the columns in every fold: (n_runs, n_folds + 1, 2, n_columns).

    Samples that train in all folds, of fold -1, come last.
    """
    for r in range(len(folds)):
        for i in range(len(table)):
            fold = folds[r, i]
            if fold > NEITHER:
                for f in range(table.shape[1]):
                    sums[r, fold, 0, f] += table[i, f]
                    sums[r, fold, 1, f] += table[i, f] * table[i, f]


@jit
def refine(table, folds, places, means, variances):
    """Compute the moments of some (run, fold, column) again, by two passes."""
    for at in range(len(places)):
        r, fold, f = places[at]
        column = table[:, f][(folds[r] > NEITHER) & (folds[r] != fold)]
        n = max(len(column), 1)
        mean = column.sum() / n
        column -= mean
        means[r, fold, f], variances[r, fold, f] = mean, ((column**2).sum() - column.sum() ** 2 / n) / n


def moments(table: Array, folds: Array, sizes: Array) -> tuple[Array, Array]:
    """Means and variances (n_runs, n_folds, n_columns) of training sets: those of all without a fold."""
    center, n = table.mean(axis=0), np.maximum(sizes, 1)[:, :, None]
    sums = np.zeros((len(folds), sizes.shape[1] + 1, 2, table.shape[1]))
    fill_sums(table - center, folds, sums)
    total = sums.sum(axis=1, keepdims=True)
    left = total - sums[:, :-1]
    means, squares = left[:, :, 0] / n, left[:, :, 1] / n
    variances = squares - means**2
    canceled = np.ascontiguousarray(np.argwhere(variances <= CANCELED * total[:, :, 1] / n))
    means += center
    refine(table, folds, canceled, means, variances)
    return means, variances


@inner
def next_place(place, order, fold_of, fold):
    """The next place of a training sample."""
    place += 1
    while fold_of[order[place]] == NEITHER or fold_of[order[place]] == fold:
        place += 1
    return place


@jit
def fill_quantiles(values, orders, folds, sizes, level, quantiles):
    """Quantiles (n_runs, n_folds, n_columns) of training sets, from sorted columns and their orders.

    They are interpolated as `numpy.quantile` does by default. All folds start at the first place that one
    needs, and pass as many further places as they test before: O(n_items) for a column of a run, if they
    are of similar size.
    """
    n_runs, n_folds, n_columns = quantiles.shape
    before = np.empty(n_folds, np.int64)
    for r in range(n_runs):
        first = len(folds[r])
        for fold in range(n_folds):
            if sizes[r, fold] > 0:
                first = min(first, int((sizes[r, fold] - 1) * level))
        for f in range(n_columns):
            before[:], start = 0, -1
            for _ in range(min(first + 1, sizes[r].max())):
                start = next_place(start, orders[f], folds[r], NEITHER)
                own = folds[r, orders[f, start]]
                if own >= 0:
                    before[own] += 1
            for fold in range(n_folds):
                n, place = sizes[r, fold], start
                if n == 0:
                    continue
                rank = np.int64((n - 1) * level)
                part = (n - 1) * level - rank
                for _ in range(rank - first + before[fold]):
                    place = next_place(place, orders[f], folds[r], fold)
                low = high = values[f, place]
                if part > 0.0:
                    high = values[f, next_place(place, orders[f], folds[r], fold)]
                gap = high - low
                quantiles[r, fold, f] = high - gap * (1 - part) if part >= 0.5 else low + gap * part


@dataclass(frozen=True)
class ColumnScaling:
    """What a distance sees of samples whose columns are scaled within the folds.

    Attributes
    ----------
    table : float64 ndarray of shape (n_items, n_columns)
        The columns that the distance compares, not scaled.
    chains : tuple of tuples of Stage
        The scalers of every column, in their order.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> from knnccv._core.luck.runs import scaling_of
    >>> scaling = scaling_of([MinMaxScaler()], np.array([[0.0], [1.0], [2.0], [4.0]]))
    >>> scaling.weights(np.array([[0, 1, 1, 0]]))  # training sets {1, 2} and {0, 3}
    array([[[1.  ],
            [0.25]]])
    """

    table: Array
    chains: tuple[Chain, ...]

    @cached_property
    def _sorted(self) -> tuple[Array, Array]:
        """The sorted columns as rows, and the samples in this order."""
        orders = np.ascontiguousarray(np.argsort(self.table, axis=0, kind="stable").T)
        return np.take_along_axis(np.ascontiguousarray(self.table.T), orders, axis=1), orders

    def weights(self, folds: Array) -> Array:
        """The weights of the columns under every training set.

        Parameters
        ----------
        folds : int ndarray of shape (n_runs, n_items)
            The fold that tests a sample, which trains in all others; -1: it trains in all folds, -2: in
            none. For masks of training sets: ``np.where(mask, -1, 0)``.

        Returns
        -------
        float64 ndarray of shape (n_runs, n_folds, n_columns)
            Finite and positive, also for empty training sets.
        """
        folds = np.ascontiguousarray(folds, dtype=np.int32)
        sizes = train_sizes(folds)
        weights = np.ones((*sizes.shape, len(self.chains)))
        for chain in dict.fromkeys(self.chains):
            columns = np.array([f for f, other in enumerate(self.chains) if other == chain])
            weight = np.ones((*sizes.shape, len(columns)))
            for stage in chain:
                spread, is_constant = self._spread(stage, columns, folds, sizes, weight)
                weight *= stage.factor / np.where(is_constant, 1.0, spread)
            weights[:, :, columns] = weight
        return weights

    def _spread(
        self, stage: Stage, columns: Array, folds: Array, sizes: Array, weight: Array
    ) -> tuple[Array, Array]:
        """The spreads of columns times their weights, and which of them scikit-learn takes for constant."""
        if stage.spread == "deviation":
            mean, variance = moments(np.ascontiguousarray(self.table[:, columns]), folds, sizes)
            mean, variance, n = mean * weight, variance * weight**2, sizes[:, :, None]
            return np.sqrt(np.abs(variance)), variance <= n * EPS * variance + (n * mean * EPS) ** 2
        low, high = np.zeros((2, *weight.shape))
        for level, quantiles in ((stage.low, low), (stage.high, high)):
            fill_quantiles(*(part[columns] for part in self._sorted), folds, sizes, level, quantiles)
        largest = np.maximum(np.abs(low), np.abs(high))
        spread = weight * (largest if stage.spread == "largest" else high - low)
        return spread, spread < 10 * EPS


def scaling_of(steps: Sequence[Any], X: Any) -> ColumnScaling | None:
    """The scaling of columns by the steps of a pipeline before its last, if they do nothing else.

    Parameters
    ----------
    steps : sequence
        Transformers, a word of `SCALERS`, or ``"passthrough"``: scikit-learn's scalers that shift and
        multiply, one after another, also in a `Pipeline` or in a `ColumnTransformer`. Clipping is more.
    X : array, list or DataFrame of shape (n_items, n_features)
        The columns that are compared must be integers, booleans or doubles, without missing values.

    Returns
    -------
    ColumnScaling or None
        None if a step or the data are not as above; scikit-learn itself must then run.
    """
    if isinstance(X, list) or (isinstance(X, np.ndarray) and X.dtype == object):
        with suppress(ValueError, TypeError):  # scikit-learn says what is wrong
            X = np.asarray(X, dtype=float)
    if not (hasattr(X, "iloc") or isinstance(X, np.ndarray)) or len(X.shape) != 2:
        return None
    found = _chained(steps, X)
    if not found:
        return None
    part = _take(X, [column for column, _ in found])
    kinds = list(part.dtypes) if hasattr(part, "iloc") else [part.dtype]
    if not all(
        isinstance(kind, np.dtype) and (kind.kind in "biu" or kind.name == "float64") for kind in kinds
    ):
        return None
    table = np.array(part, dtype=float, order="C")
    return ColumnScaling(table, tuple(chain for _, chain in found)) if np.isfinite(table).all() else None


def _take(X: Any, columns: Any) -> Any:
    return X.iloc[:, columns] if hasattr(X, "iloc") else X[:, columns]


Read = list[tuple[int, Chain]] | None
"""Of every column of a step's output: the column of its input, and the scalers that it passes."""


def _chained(steps: Sequence[Any], X: Any) -> Read:
    found: list[tuple[int, Chain]] = [(f, ()) for f in range(X.shape[1])]
    for at, step in enumerate(steps):
        columns = _read(step, X)
        if columns is None:
            return None
        found = [(found[f][0], found[f][1] + chain) for f, chain in columns]
        if at < len(steps) - 1 and not isinstance(step, str | None):
            from sklearn.base import clone

            X = clone(step).fit_transform(X.copy())
    late = any(stage.spread == "largest" for _, chain in found for stage in chain[1:])
    return None if late else found


def _read(step: Any, X: Any) -> Read:
    if isinstance(step, str | None):
        return [(f, STAGES.get(str(step), ())) for f in range(X.shape[1])]
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline

    if type(step) is Pipeline:
        return _chained([one for _, one in step.steps], X)
    if type(step) is ColumnTransformer:
        return _read_column_transformer(step, X)
    stages = _stages_of(step)
    return None if stages is None else [(f, stages) for f in range(X.shape[1])]


def _read_column_transformer(step: Any, X: Any) -> Read:
    """Columns are traced by their numbers, which pass a transformer of the same columns without scalers."""
    from sklearn.compose import ColumnTransformer

    if step.transformer_weights:
        return None
    bare = [(name, "drop" if one == "drop" else "passthrough", at) for name, one, at in step.transformers]
    rest = "drop" if step.remainder == "drop" else "passthrough"
    probe = ColumnTransformer(bare, remainder=rest).fit(X)
    every = np.arange(X.shape[1])[None]
    numbers = type(X)(every, columns=X.columns) if hasattr(X, "iloc") else every
    sources = np.asarray(probe.transform(numbers))[0].astype(int)
    scalers = {"remainder": step.remainder} | {name: one for name, one, _ in step.transformers}
    found: list[tuple[int, Chain]] = []
    for name, place in probe.output_indices_.items():
        columns = sources[place]
        inside = _read(scalers[name], _take(X, columns)) if len(columns) else []
        if inside is None:
            return None
        found += [(int(columns[f]), chain) for f, chain in inside]
    return found


def _stages_of(scaler: Any) -> Chain | None:
    """The stages of a scaler: one, or none if it only shifts."""
    from scipy.stats import norm
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

    if type(scaler) is StandardScaler:
        return (Stage("deviation"),) if scaler.with_std else ()
    if getattr(scaler, "clip", False):
        return None
    if type(scaler) is MaxAbsScaler:
        return (Stage("largest"),)
    if type(scaler) is MinMaxScaler:
        low, high = scaler.feature_range
        return (Stage("range", float(high - low)),) if low < high else None
    if type(scaler) is not RobustScaler:
        return None
    low, high = (percent / 100 for percent in scaler.quantile_range)
    factor = float(norm.ppf(high) - norm.ppf(low)) if scaler.unit_variance else 1.0
    if not 0 <= low <= high <= 1 or not 0 < factor < np.inf:
        return None
    return (Stage("range", factor, low, high),) if scaler.with_scaling else ()
