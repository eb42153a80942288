"""Scikit-learn's scorings as functions of tables of counts: `table_scorer` and `TableScorer`.

Common metrics have a *form*: it takes tables float64 (n, C, C) or (n, C, C, K + 1) and returns the scores
(n,) of many folds at once. It is NaN where the metric is undefined or where scikit-learn goes another way;
there its own function is asked, for every distinct table. A form of votes also takes the shares (n or 1, C
or 1, K + 1) of the votes that the columns stand for, so that it serves shares of any weights, too.

Precision, recall, F-beta and Jaccard are one ratio, TP / (TP + x FP + y FN). ROC AUC and average precision
are sums over two histograms of votes, log loss and Brier score are sums of costs of votes.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from ...._base.compat import MadeScorer, read_scorer
from ...._base.labels import EncodedLabels, groups_by_class
from ...._base.typing import Array
from ..inference import HalfScores

Form = Callable[[Array], Array]
VoteForm = Callable[[Array, Array], Array]
Costs = Callable[[Array], Array]
"""From shares (n, C or 1, L) to the cost of a tested sample by its class, summed over classes and shares:
(n, C_true, C, L)."""
PREDICTS = "confusion"
MEDIANS = ("median_absolute_error", "d2_absolute_error_score", "d2_pinball_score")
"""Metrics whose weighted form is another one in some versions of scikit-learn."""
MEANS = {"accuracy_score", "log_loss", "brier_score_loss", "d2_log_loss_score", "d2_brier_score"}
"""Functions that are linear in their table, if all folds have the same shares of the classes."""
_NEEDS: dict[str, Literal["confusion", "votes"]] = {"predict": "confusion", "predict_proba": "votes"}


@dataclass(frozen=True, eq=False)
class TableScorer:
    """A scoring as a function of the table of a fold.

    Attributes
    ----------
    name : str
        The name of the scoring, or of its function.
    needs : {"confusion", "votes"}
        The table that it reads: counts of (true class, predicted class), or of (true class, class, votes
        for the class), 0 to K.
    """

    name: str
    needs: Literal["confusion", "votes"]
    _function: Callable[..., Any]
    _options: dict[str, Any]
    _sign: float
    _classes: Array
    _position: int
    _weighs: bool
    _form: Form | VoteForm | None = None

    @property
    def is_linear(self) -> bool:
        """Whether the score is a linear function of the table."""
        return self._form is not None and self._function.__name__ in MEANS

    def __call__(self, tables: Array) -> Array:
        """Compute the score of each fold of each run, as scikit-learn's scorer does.

        Where the scorer raises an error, as for folds that lack a class, the score is NaN. No warnings of
        undefined values are shown.

        Parameters
        ----------
        tables : int ndarray of shape (n_runs, n_folds, n_classes, n_classes) or (n_runs, n_folds, \
n_classes, n_classes, K + 1)

        Returns
        -------
        float64 ndarray of shape (n_runs, n_folds)
        """
        flat = tables.reshape(-1, *tables.shape[2:])
        scores = self._by_form(flat, np.arange(flat.shape[-1])[None, None] / max(flat.shape[-1] - 1, 1))
        open_ = np.flatnonzero(np.isnan(scores))
        if len(open_):
            rows, which = np.unique(flat[open_].reshape(len(open_), -1), axis=0, return_inverse=True)
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                found = [self._on_cells(row.reshape(flat.shape[1:])) for row in rows]
            scores[open_] = np.array(found)[which.ravel()]
        return scores.reshape(tables.shape[:2])

    def on_shares(self, shares: Array, codes: Array, folds: Array, n_folds: int) -> Array:
        """Compute the scores of shares of votes of any weights, where there is a formula.

        Parameters
        ----------
        shares : ndarray of shape (n_runs, n_items, n_classes)
            The shares of the votes.
        codes : int ndarray of shape (n_items,)
            The true classes.
        folds : int ndarray of shape (n_runs, n_items)
            The fold that tests a sample, negative for others.
        n_folds : int

        Returns
        -------
        float64 ndarray of shape (n_runs, n_folds)
            NaN where scikit-learn's function has to be asked.
        """
        if self._form is None or self.needs == PREDICTS:
            return np.full((len(folds), n_folds), np.nan)
        tested, first = folds >= 0, np.arange(len(folds))[:, None] * n_folds
        cell, known = (first + folds)[tested], shares[tested]
        true = np.broadcast_to(codes, folds.shape)[tested]
        tables, levels = ranked(known, true, cell, len(folds) * n_folds)
        scores = self._by_form(tables, levels)
        scores[cell[~np.isfinite(known).all(axis=1)]] = np.nan
        return scores.reshape(len(folds), n_folds)

    def _by_form(self, tables: Array, shares: Array) -> Array:
        if self._form is None:
            return np.full(len(tables), np.nan)
        more = () if self.needs == PREDICTS else (shares,)
        return np.asarray(self._sign * self._form(tables.astype(float), *more))

    def _on_cells(self, table: Array) -> float:
        """The score of one table by scikit-learn's function, which gets the cells that are not empty."""
        answers = self._classes
        if self.needs != PREDICTS:
            if len(answers) != 2:
                return np.nan
            table = table[:, self._position]
            answers = np.arange(table.shape[1]) / (table.shape[1] - 1)
        true, answer = np.nonzero(table)
        counts, options = table[true, answer], self._options
        if self._weighs and len(true) > 1:  # some functions refuse a single sample
            options = {**options, "sample_weight": counts}
        else:
            true, answer = np.repeat(true, counts), np.repeat(answer, counts)
        try:
            return self._sign * float(self._function(self._classes[true], answers[answer], **options))
        except ValueError:
            return np.nan

    def check(self) -> None:
        """Try the function once, so that what it refuses for any table is an error."""
        answers = true = np.repeat(self._classes, 2)
        if self.needs != PREDICTS:
            answers = np.repeat(np.eye(len(self._classes)), 2, axis=0)
            answers = answers[:, self._position] if len(self._classes) == 2 else answers
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                float(self._function(true, answers, **self._options))
        except Exception as error:
            shown = self._classes.tolist()
            msg = f"scoring {self.name!r} must serve the classes {shown}, but its function raises: {error}"
            if len(shown) > 2 and isinstance(error, ValueError):
                msg = f"take a scoring of several classes, such as 'roc_auc_ovr' or 'f1_macro': {msg}"
            raise ValueError(msg) from error


def table_scorer(scoring: Any, classes: Any) -> TableScorer | None:
    """Return a scoring as a function of confusion tables or of histograms of votes.

    Parameters
    ----------
    scoring : str, scorer or None
        A name of ``sklearn.metrics.get_scorer_names()``, a result of ``make_scorer``, or None for accuracy.
    classes : array-like of shape (n_classes,)
        The sorted labels.

    Returns
    -------
    TableScorer or None
        None if the score is not a function of these tables: callables without ``make_scorer``, metrics of
        probabilities of several classes that look at all of them together.

    Raises
    ------
    ValueError
        If scikit-learn's scorer does not serve these classes.

    Notes
    -----
    The common metrics are computed for all folds at once. For any other metric, scikit-learn's function
    gets the cells of every distinct table, with the counts as ``sample_weight`` or else repeated.

    Examples
    --------
    >>> import numpy as np
    >>> scorer = table_scorer("f1_macro", [0, 1])
    >>> scorer.needs
    'confusion'
    >>> scorer(np.array([[[[3, 1], [0, 4]]]])).round(4)  # one run of one fold
    array([[0.873]])
    """
    from sklearn import metrics

    made = read_scorer(metrics.get_scorer("accuracy" if scoring is None else scoring))
    if made is None:
        return None
    needs = next((_NEEDS[response] for response in made.responses if response in _NEEDS), None)
    if needs is None:
        return None
    labels = np.asarray(classes)
    name = scoring if isinstance(scoring, str) else made.name or repr(made.function)
    defaults = {key: each.default for key, each in inspect.signature(made.function).parameters.items()}
    options = {**defaults, **made.options}
    of_all = defaults.get("average") == "binary" != options["average"]  # averages heed no positive class
    position = positive_class(None if of_all else options.get("pos_label"), labels, name)
    weighs = "sample_weight" in defaults and made.name not in MEDIANS
    found = TableScorer(name, needs, made.function, made.options, made.sign, labels, position, weighs)
    found.check()
    form: Form | VoteForm | None = None
    if made.metric and needs == PREDICTS:
        form = confusion_form(made.metric, options, labels)
    elif made.metric and len(labels) > 1:
        form = votes_form(made.metric, options, len(labels), position)
    return replace(found, _form=form) if form or needs == PREDICTS or len(labels) == 2 else None


def positive_class(pos_label: Any, classes: Array, name: str) -> int:
    """The positive class of two, as scikit-learn's scorers choose it."""
    names = classes.tolist()
    if len(names) == 2 and pos_label is not None:
        if pos_label not in names:
            msg = (
                f"name the positive class, {names[0]!r} or {names[1]!r}, by "
                f"make_scorer(..., pos_label=...): scoring {name!r} is of {pos_label!r}"
            )
            raise ValueError(msg)
        return int(names.index(pos_label))
    return len(names) - 1


def confusion_form(metric: str, options: dict[str, Any], classes: Array) -> Form | None:
    """The form of a metric of predicted classes, or None."""
    if metric == "accuracy_score":
        return _ratio(0.0, 1.0, "micro", None, np.nan) if options["normalize"] else None
    if metric == "matthews_corrcoef":
        return _correlation
    if metric == "balanced_accuracy_score":
        mean = _ratio(0.0, 1.0, "macro", None, np.nan)
        return _adjusted(mean) if options["adjusted"] else mean
    if metric == "cohen_kappa_score" and options["labels"] is None:
        return _kappa(options["weights"])
    square = options.get("beta", 1.0) ** 2
    wrong = {
        "precision_score": (1.0, 0.0),
        "recall_score": (0.0, 1.0),
        "jaccard_score": (1.0, 1.0),
        "f1_score": (0.5, 0.5),
        "fbeta_score": (1 / (1 + square), square / (1 + square)),
    }.get(metric)
    if wrong is None or not np.isfinite(square):
        return None
    names, average, undefined = classes.tolist(), options["average"], options["zero_division"]
    labels = [options["pos_label"]] if average == "binary" else options["labels"]
    chosen = None
    if labels is not None:
        if not set(labels) <= set(names) or len(set(labels)) < len(labels):
            return None
        chosen = [names.index(label) for label in labels]
    return _ratio(*wrong, average, chosen, 0.0 if isinstance(undefined, str) else float(undefined))


def _ratio(x: float, y: float, average: str, chosen: list[int] | None, undefined: float) -> Form:
    """The form TP / (TP + x FP + y FN), averaged over the `chosen` classes, or over those that occur."""

    def form(tables: Array) -> Array:
        right, true, predicted = _right(tables), tables.sum(axis=2), tables.sum(axis=1)
        if chosen is not None:
            right, true, predicted = (each[:, chosen] for each in (right, true, predicted))
        weights = true if average == "weighted" else np.ones_like(true)
        if average == "micro":
            right, true, predicted = (each.sum(axis=1, keepdims=True) for each in (right, true, predicted))
            weights = weights[:, :1]
        elif chosen is None:
            weights = np.where(true + predicted > 0, weights, 0.0)
        below = right + x * (predicted - right) + y * (true - right)
        ratio = np.where(below > 0, _over(right, below), undefined)
        weights = np.where(np.isnan(ratio), 0.0, weights)
        return _over((np.nan_to_num(ratio) * weights).sum(axis=1), weights.sum(axis=1))

    return form


def _adjusted(mean: Form) -> Form:
    """Balanced accuracy, scaled to 0 for chance."""

    def form(tables: Array) -> Array:
        chance = _over(1.0, (tables.sum(axis=2) > 0).sum(axis=1))
        return _over(mean(tables) - chance, 1 - chance)

    return form


def _correlation(tables: Array) -> Array:
    """Matthews' coefficient of several classes (Gorodkin 2004)."""
    true, predicted = tables.sum(axis=2), tables.sum(axis=1)
    n = true.sum(axis=1)
    covariance = _right(tables).sum(axis=1) * n - (true * predicted).sum(axis=1)
    squares = (n**2 - (predicted**2).sum(axis=1)) * (n**2 - (true**2).sum(axis=1))
    return _over(covariance, np.sqrt(squares))


def _kappa(weights: str | None) -> Form:
    def form(tables: Array) -> Array:
        true, predicted = tables.sum(axis=2), tables.sum(axis=1)
        steps = np.abs(np.subtract.outer(np.arange(true.shape[1]), np.arange(true.shape[1]))).astype(float)
        cost = {None: (steps > 0).astype(float), "linear": steps, "quadratic": steps**2}[weights]
        by_chance = np.einsum("nt,tp,np->n", true, cost, predicted) / np.maximum(true.sum(axis=1), 1)
        kappa = 1 - _over((tables * cost).sum(axis=(1, 2)), by_chance)
        if weights is not None:  # scikit-learn numbers the classes that occur in the fold
            kappa = np.where((true + predicted > 0).all(axis=1), kappa, np.nan)
        return kappa

    return form


def ranked(shares: Array, codes: Array, cell: Array, n_cells: int) -> tuple[Array, Array]:
    """Return the tables of shares of votes (n_tested, C), and the shares that their columns stand for.

    A column has the samples of a cell (a fold of a run) with the same share of a class, in rising order.
    """
    n_classes = shares.shape[1]
    shape = (n_cells, n_classes, n_classes, int(np.bincount(cell, minlength=n_cells).max()))
    places, levels = [], np.zeros(shape[:1] + shape[2:])
    for c in range(n_classes):
        order = np.lexsort((shares[:, c], cell))
        at, share = cell[order], shares[order, c]
        starts = np.r_[True, at[1:] != at[:-1]]
        rank = np.cumsum(starts | np.r_[True, share[1:] != share[:-1]])
        level = rank - np.maximum.accumulate(np.where(starts, rank, 0))
        levels[at, c, level] = share
        places.append(((at * n_classes + codes[order]) * n_classes + c) * shape[3] + level)
    return np.bincount(np.concatenate(places), minlength=int(np.prod(shape))).reshape(shape), levels


def votes_form(metric: str, options: dict[str, Any], n_classes: int, position: int) -> VoteForm | None:
    """The form of a metric of shares of votes, or None; `position` is the positive class of two."""
    costs = vote_costs(metric, options, n_classes)
    relative = {"d2_log_loss_score": "log_loss", "d2_brier_score": "brier_score_loss"}.get(metric)
    if relative is not None:
        costs = vote_costs(relative, {"normalize": True, "scale_by_half": False}, n_classes)
    form: VoteForm | None = None
    if costs is not None:
        form = _compared(metric, _mean_cost(costs)) if relative is not None else _mean_cost(costs)
    elif metric == "average_precision_score":
        form = _against_rest(average_precision, options["average"], n_classes, position)
    elif metric == "roc_auc_score" and options["max_fpr"] in (None, 1) and options["labels"] is None:
        average = options["average"]
        if n_classes == 2 or options["multi_class"] == "ovr":
            form = _against_rest(area, average, n_classes, position)
        else:
            form = _against_each(average)
    return None if form is None else _with_all_classes(form, options.get("labels") is not None)


def vote_costs(metric: str, options: dict[str, Any], n_classes: int) -> Costs | None:
    """The costs of a metric that is a mean over samples, or None."""
    own = np.eye(n_classes, dtype=bool)[:, :, None]
    if metric == "log_loss" and options["normalize"]:
        epsilon = np.finfo(float).eps  # scikit-learn's clipping of float64 probabilities
        return lambda shares: np.where(own, -np.log(np.clip(shares[:, None], epsilon, 1 - epsilon)), 0.0)
    if metric == "brier_score_loss":
        half = options.get("scale_by_half", "auto")
        scale = 0.5 if (n_classes < 3 if half == "auto" else half) else 1.0
        return lambda shares: scale * (own - shares[:, None]) ** 2
    if metric == "top_k_accuracy_score" and n_classes == 2 and options["normalize"]:

        def hits(shares: Array) -> Array:
            second, cost = shares[:, -1], np.zeros((len(shares), 2, 2, shares.shape[2]))
            cost[:, 0, 1], cost[:, 1, 1] = second <= 0.5, second > 0.5
            return np.maximum(cost, [[[0.0], [1.0]]]) if options["k"] > 1 else cost

        return hits
    return None


def _mean_cost(costs: Costs) -> VoteForm:
    def form(tables: Array, shares: Array) -> Array:
        tested, cost = _right(tables).sum(axis=(1, 2)), costs(shares)
        total = np.tensordot(tables, cost[0], 3) if len(cost) == 1 else (tables * cost).sum(axis=(1, 2, 3))
        return _over(total, tested)

    return form


def _compared(metric: str, mean: VoteForm) -> VoteForm:
    """One minus the cost over the cost of the shares of the classes in the fold."""

    def form(tables: Array, shares: Array) -> Array:
        tested = _right(tables).sum(axis=2)
        share = _over(tested, tested.sum(axis=1, keepdims=True))
        if metric == "d2_brier_score":
            null = 1 - (share**2).sum(axis=1)
        else:
            null = -(share * np.log(np.maximum(share, np.finfo(float).eps))).sum(axis=1)
        return 1 - _over(mean(tables, shares), null)

    return form


def _with_all_classes(form: VoteForm, labels_known: bool) -> VoteForm:
    """NaN where a class is not tested: scikit-learn's functions do not know then that it exists."""
    if labels_known:
        return form
    return lambda tables, shares: np.where(
        (_right(tables).sum(axis=2) > 0).all(axis=1), form(tables, shares), np.nan
    )


def area(positive: Array, negative: Array) -> Array:
    """The area under the ROC curve of two histograms (..., K + 1) of votes; ties count half."""
    below = np.cumsum(negative, axis=-1) - negative / 2
    return _over((positive * below).sum(axis=-1), positive.sum(axis=-1) * negative.sum(axis=-1))


def average_precision(positive: Array, negative: Array) -> Array:
    """Average precision of two histograms (..., K + 1) of votes."""
    true, all_found = (
        np.cumsum(each[..., ::-1], axis=-1)[..., ::-1] for each in (positive, positive + negative)
    )
    precision = true / np.maximum(all_found, 1)
    return _over((positive * precision).sum(axis=-1), positive.sum(axis=-1))


def _against_rest(
    measure: Callable[[Array, Array], Array], average: str, n: int, position: int
) -> VoteForm | None:
    """The measure of a class against the others: of one of two, or averaged over the classes."""
    if n > 2 and average not in ("macro", "weighted", "micro"):
        return None

    def form(tables: Array, _shares: Array) -> Array:
        own = _right(tables)
        rest = tables.sum(axis=1) - own
        if n == 2:
            return measure(own[:, position], rest[:, position])
        if average == "micro":
            return measure(own.sum(axis=1), rest.sum(axis=1))
        weights = own.sum(axis=2) if average == "weighted" else np.ones(own.shape[:2])
        return _over((measure(own, rest) * weights).sum(axis=1), weights.sum(axis=1))

    return form


def _against_each(average: str) -> VoteForm:
    """The area of every class against every other (Hand and Till 2001), averaged over the pairs."""

    def form(tables: Array, _shares: Array) -> Array:
        own = _right(tables)
        areas = area(own[:, :, None], tables.transpose(0, 2, 1, 3))  # of class a by its votes, against b
        tested = own.sum(axis=2)
        weights = tested[:, :, None] + tested[:, None] if average == "weighted" else np.ones_like(areas)
        weights = weights * (1 - np.eye(tables.shape[1]))
        return _over((areas * weights).sum(axis=(1, 2)), weights.sum(axis=(1, 2)))

    return form


def _right(tables: Array) -> Array:
    """The diagonals of the tables, (n, C) or (n, C, K + 1)."""
    own = np.arange(tables.shape[1])
    return tables[:, own, own]


def _over(above: Any, below: Any) -> Array:
    """The quotients, NaN where the denominator is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient: Array = np.where(below == 0, np.nan, np.divide(above, below))
    return quotient


ACCURACIES = {
    "accuracy_score": "together",
    "zero_one_loss": "together",
    "mean_accuracy": "accuracy",
    "hamming_loss": "accuracy",
}
"""What is averaged over the samples if they have several outputs."""
ERRORS = ("mean_squared_error", "root_mean_squared_error", "mean_absolute_error", "log_loss")
"""Functions from 0 on, without upper bound."""
OF_ONE_CLASS = {"f1_score", "fbeta_score", "precision_score", "recall_score", "jaccard_score"}
RANGES = {
    **dict.fromkeys((*OF_ONE_CLASS, *ACCURACIES, "balanced_accuracy_score", "roc_auc_score"), (0.0, 1.0)),
    **dict.fromkeys(("average_precision_score", "top_k_accuracy_score"), (0.0, 1.0)),
    **dict.fromkeys(("matthews_corrcoef", "cohen_kappa_score"), (-1.0, 1.0)),
    **dict.fromkeys(("r2_score", "explained_variance_score"), (-math.inf, 1.0)),
    **dict.fromkeys(ERRORS, (0.0, math.inf)),
}
"""Of scikit-learn's functions, with no other options than these."""
OPTIONS = {"average", "pos_label", "beta", "labels", "multi_class", "zero_division", "k"}
PLAIN = {*ACCURACIES, "roc_auc_score", "top_k_accuracy_score"}
"""Functions whose halves scatter alike, however near to a constant answer they are."""
FEWEST_OF_CLASS = 10
"""Samples of a class below which there is a warning."""
NEAR_FLOOR = 0.6
"""How far from a constant answer halves are to score, relative to all samples."""


class Scale(NamedTuple):
    """How a score is bounded: the range of one classification, and fields of `HalfScores`."""

    limits: tuple[float, float] | None = None
    scale: str = ""
    floor: float = math.nan
    floors: tuple[tuple[float, float, int], ...] = ()
    n_answers: float = 0.0

    def of(self, halves: HalfScores, **fields: Any) -> HalfScores:
        """The scores of halves with these bounds, and other fields."""
        floors = np.reshape(self.floors, (-1, 3))
        return replace(halves, scale=self.scale, floor=self.floor, floors=floors, **fields)


def scale_of(
    made: MadeScorer | None, labels: EncodedLabels, scorer: TableScorer | None, name: str | None = None
) -> Scale:
    """The scale of a scoring; that of a callable of users, or with other options, has no bounds.

    ``name`` is that of the function, if ``sklearn.metrics`` does not have it. ``scorer`` is None if the
    score is no function of tables of counts.
    """
    name = made.metric if name is None and made is not None else name
    options = {} if made is None else made.options
    limits = RANGES.get(name or "")
    if name == "brier_score_loss":
        limits = (0.0, 1.0 if len(labels.classes) == 2 else 2.0)
    if name is None or made is None or limits is None or not options.keys() <= OPTIONS:
        return Scale()
    if made.sign < 0:
        limits = (-limits[1], -limits[0])
    if name in ("r2_score", "explained_variance_score"):
        return Scale(limits, "log") if made.sign > 0 else Scale()
    if name in ERRORS:
        return Scale(limits, "root" if name == "root_mean_squared_error" else "")
    if name in PLAIN or name.endswith("_loss") or made.sign < 0:
        return Scale(limits)
    average = options.get("average", "binary")
    if name == "average_precision_score" or (name in OF_ONE_CLASS and average == "binary"):
        positive = int(labels.counts[labels.classes == options.get("pos_label", labels.classes[-1])].sum())
        share = positive / labels.counts.sum() if name == "average_precision_score" else 0.0
        return Scale(limits, floor=float(share), n_answers=float(positive))
    if average == "micro" or scorer is None:
        return Scale(limits)
    constant = np.zeros((1, 1, len(labels.counts), len(labels.counts)), np.int64)
    constant[..., labels.counts.argmax()] = labels.counts
    floor = float(scorer(constant)[0, 0])
    return Scale(limits, floor=floor, floors=((floor, 1.0, int(labels.counts[labels.counts > 0].min())),))


def rare_class(labels: EncodedLabels, few: int = 0, groups: Array | None = None) -> list[str]:
    """A warning if a class has fewer samples, or lies in fewer groups, than this or `FEWEST_OF_CLASS`."""
    counts, few, units = labels.counts, max(FEWEST_OF_CLASS, few), "samples"
    if groups is not None:
        counts, units = groups_by_class(labels, groups), "groups"
    smallest = int(counts[counts > 0].min())
    if smallest >= few:
        return []
    return [
        f"the smallest class has {smallest} {units}, fewer than {few}: 95% intervals were found to contain "
        "the true score in 83 to 100% of the data sets"
    ]


def is_near_floor(halves: HalfScores, score: Any) -> Any:
    """Whether halves score so near to a constant answer that they scatter too little."""
    return halves.mean - halves.floor < NEAR_FLOOR * (score - halves.floor)
