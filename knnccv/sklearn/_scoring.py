"""Conversion of scikit-learn's scorings to `Measure`, for those with an exact expectation."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._base.compat import MadeScorer, read_scorer
from .._base.typing import Array
from .._base.validation import as_reals, check
from .._core.driver import InexactError
from .._core.luck.scorings import ACCURACIES, positive_class

WHY_NOT = (
    "exact are 'accuracy', 'balanced_accuracy', 'recall', 'recall_macro', 'neg_brier_score', "
    "'neg_log_loss', 'neg_mean_squared_error', 'neg_mean_absolute_error', scorings equal to one of them "
    "('recall_micro', 'recall_weighted', 'precision_micro', 'f1_micro'; for n_neighbors=1 'roc_auc' and "
    "'roc_auc_ovo'), their losses (make_scorer), and a matrix of costs; for several outputs "
    "'mean_accuracy' and hamming_loss"
)
_REASONS = {
    "precision_score f1_score fbeta_score jaccard_score matthews_corrcoef cohen_kappa_score": (
        "it divides by a number of predictions, which depends on the training set"
    ),
    "roc_auc_score average_precision_score": ("it ranks the tested samples, so it is not a mean over them"),
    "r2_score explained_variance_score": (
        "it divides by the spread of the tested values, which depends on the split"
    ),
    "root_mean_squared_error": "the mean of roots is not the root of the mean",
    "median_absolute_error": "a median is not a mean",
}
# Arguments that change nothing.
_DEFAULTS = {"normalize": True, "adjusted": False, "multioutput": "uniform_average"}


_ERRORS = {"mean_squared_error": ("squared", 2), "mean_absolute_error": ("absolute", 1)}


@dataclass(frozen=True, eq=False)
class Measure:
    """A scoring as an affine function ``offset + factor * mean`` of a mean that knnccv computes.

    Attributes
    ----------
    name : str
        Text for messages.
    kind : {"accuracy", "together", "balanced", "squared", "absolute", "cost", "brier", "log_loss"}
        The averaged quantity: correct predictions (of every output), samples whose outputs are all correct,
        correct predictions within classes, squared or absolute errors, `costs`, or the Brier scores (0 to
        2) or log losses of the shares of the votes.
    costs : ndarray of shape (n_classes, n_classes), or None
        Rows: true class, columns: predicted class. "balanced" averages them within classes.
    every_class : bool
        Whether the mean is valid only for test sets with samples of every class.
    all_classes : bool
        Whether scikit-learn has no score if a class does not train or is not tested.
    """

    name: str
    kind: str
    offset: float = 0.0
    factor: float = 1.0
    costs: Array | None = None
    every_class: bool = False
    all_classes: bool = False

    @property
    def is_recall(self) -> bool:
        """Whether the costs are those of the recall of some classes."""
        return self.kind == "balanced" and self.costs is not None

    @property
    def is_named(self) -> bool:
        """Whether the score has another name than the mean: it is another number, or a recall."""
        return self.is_recall or (self.offset, self.factor) != (0.0, 1.0)

    def __call__(self, mean: Any) -> Any:
        """Convert the mean to the score."""
        return self.offset + self.factor * mean


def _mean_cost(true: Array, predicted: Array, *, costs: Array, classes: Array) -> float:
    """The mean of the costs (rows true, columns predicted) that belong to the sorted labels `classes`."""
    return float(costs[np.searchsorted(classes, true), np.searchsorted(classes, predicted)].mean())


def mean_accuracy(true: Any, predicted: Any) -> float:
    """The share of the correct predictions, over all samples and outputs."""
    return float((np.asarray(true) == np.asarray(predicted)).mean())


def _share(true: Any, predicted: Any, *, together: bool, is_loss: bool) -> float:
    """The share of correct predictions, or of samples with all outputs correct; or of the others."""
    right = np.asarray(true) == np.asarray(predicted)
    share = float((right.all(axis=1) if together else right).mean())
    return 1 - share if is_loss else share


def as_scorer(scorer: Any, *, regression: bool = False) -> Any:
    """The object that scores: by its name, the default of estimators for None, or what is given."""
    from sklearn.metrics import get_scorer

    if scorer is None or isinstance(scorer, str):
        return get_scorer(scorer or ("r2" if regression else "accuracy"))
    return scorer


def metric_name(made: MadeScorer | None) -> str:
    """The name of a scorer's function if ``sklearn.metrics`` has it, or if `mean_accuracy`; else ""."""
    if made is None:
        return ""
    return "mean_accuracy" if made.function is mean_accuracy else made.metric


NAMES = {
    "_mean_cost": "expected loss",
    "f1_score": "F1",
    "fbeta_score": "F-beta",
    "jaccard_score": "Jaccard",
    "roc_auc_score": "ROC AUC",
    "matthews_corrcoef": "Matthews correlation",
    "cohen_kappa_score": "Cohen's kappa",
    "r2_score": "R2",
}
"""Names that are not those of scikit-learn's functions."""


def name_of(scorer: Any) -> str:
    """The name of a scoring, for people; scikit-learn's for negated errors; "score" if it has none."""
    made = read_scorer(scorer)
    if made is None:
        return "score"
    if made.sign < 0:
        return f"neg_{made.metric or made.name}"
    name = NAMES.get(made.metric or made.name, made.name.removesuffix("_score").replace("_", " "))
    average = made.options.get("average")
    return f"{average} {name}" if average in ("macro", "micro", "weighted") else name or "score"


def for_outputs(scorer: Any) -> Any:
    """The scorer of predictions of several outputs; scikit-learn's own refuse three classes and more."""
    from sklearn.metrics import make_scorer

    made = read_scorer(as_scorer(scorer))
    if made is None or made.metric not in ACCURACIES or made.options:
        return scorer
    options = {"together": ACCURACIES[made.metric] == "together", "is_loss": made.metric.endswith("_loss")}
    return make_scorer(_share, greater_is_better=made.sign > 0, **options)


def is_costs(scoring: Any) -> bool:
    """Check whether `scoring` is a matrix of costs."""
    if isinstance(scoring, np.ndarray):
        return True
    return isinstance(scoring, (list, tuple)) and any(isinstance(row, (list, tuple)) for row in scoring)


def several(scoring: Any) -> dict[str, Any] | None:
    """Return names and scorings if `scoring` is a collection of scorings; None if it is a single one.

    Raises
    ------
    ValueError, TypeError
        If the collection is empty, or a scoring has no name.
    """
    if not isinstance(scoring, (Mapping, list, tuple, set, frozenset)) or is_costs(scoring):
        return None
    check(scoring, "scoring must name at least one scoring", scoring)
    must = "several scorings must be a list of names, or a mapping of names to scorings"
    must += " (None, names, scorers or matrices of costs)"
    check(all(isinstance(name, str) for name in scoring), must, scoring, TypeError)
    found = dict(scoring) if isinstance(scoring, Mapping) else {name: name for name in scoring}
    check(len(found) == len(scoring), "several scorings must have different names", scoring)
    return found


def for_sklearn(scoring: Any, y: Array) -> Any:
    """Convert `scoring` to a form that ``cross_val_score`` accepts.

    Raises
    ------
    ValueError, TypeError
        If it is not a scoring, or a matrix of the wrong shape.
    """
    from sklearn.metrics import get_scorer, make_scorer

    if is_costs(scoring):
        classes = np.unique(y)
        return make_scorer(_mean_cost, costs=_costs(scoring, len(classes)), classes=classes)
    if scoring is None or callable(scoring):
        return scoring
    must = "scoring must be None, a name, a scorer or a matrix of costs (rows true, columns predicted)"
    check(isinstance(scoring, str), must, scoring, TypeError)
    if scoring == "mean_accuracy":
        return make_scorer(mean_accuracy)
    made = read_scorer(get_scorer(scoring))  # raises an error for an unknown name
    if made is not None and made.metric == "brier_score_loss" and len(classes := np.unique(y)) == 2:
        # Any of two classes may be the positive one, but the function takes only 1 by itself.
        return _of_class(scoring, classes[1])
    return scoring


def _of_class(name: str, positive: Any) -> Any:
    """The scorer of this name with another positive class."""
    from sklearn.metrics import get_scorer, make_scorer

    made = read_scorer(get_scorer(name))
    assert made is not None
    options = {"response_method": made.responses, "greater_is_better": made.sign > 0}
    return make_scorer(made.function, **options, pos_label=positive)


def check_answers(estimator: Any, scorer: Any, scoring: Any, y: Array) -> None:
    """Raise ValueError if a classifier lacks the answers that a scorer needs, or y its positive class."""
    from sklearn.base import is_classifier

    made = read_scorer(as_scorer(scorer))
    needed = () if made is None or not is_classifier(estimator) else made.responses
    lacking = f"{' or '.join(needed)}, which {type(estimator).__name__} has not"
    msg = f"take a scoring of predictions, such as 'accuracy': scoring={scoring!r} needs {lacking}"
    check(not needed or any(hasattr(estimator, name) for name in needed), msg)
    if needed and y.ndim == 1 and isinstance(scoring, str) and scoring in OF_ONE_CLASS:
        positive_class(1, np.unique(y), scoring)


OF_ONE_CLASS = ("average_precision", "f1", "jaccard", "precision", "recall")
"""Names of scorings of a positive class, which is 1 unless it is named."""


def for_rarer(name: str, y: Array, *, always: bool = False) -> tuple[str, Any]:
    """A name and a scoring: of the rarer of two classes, if it scores one class and none of the two is 1.

    With `always` it does so also if one of them is 1.
    """
    classes, counts = np.unique(y, return_counts=True)
    rarer = classes[np.argmin(counts)]
    of_rarer = name in OF_ONE_CLASS and len(classes) == 2 and rarer != 1
    if not of_rarer or (1 in classes.tolist() and not always):
        return name, name
    return f"{name} of {rarer}", _of_class(name, rarer)


def neighbors_rule(regression: bool, **how: Any) -> Any:
    """scikit-learn's rule, KNeighborsRegressor or KNeighborsClassifier, with these parameters."""
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    return (KNeighborsRegressor if regression else KNeighborsClassifier)(**how)


def named_scorings(
    names: Sequence[Any], y: Array, *, regression: bool, rarer: bool = False
) -> dict[str, Any]:
    """Scorings by their names, see `for_rarer`; `rarer` is its `always`.

    Raises
    ------
    ValueError, TypeError
        If scikit-learn has no scoring of a name, or it does not suit the targets.
    """
    from sklearn.metrics import get_scorer_names

    found, X = {}, np.arange(len(y), dtype=float)[:, None]
    known = ["mean_accuracy", *get_scorer_names()]
    rule = neighbors_rule(regression, n_neighbors=1)
    for name in names:
        must = "scoring must be the names of scorings of scikit-learn"
        check(isinstance(name, str), must, name, TypeError)
        if name not in known:
            close = " or ".join(difflib.get_close_matches(name, known) or ["f1_macro", "roc_auc", "r2"])
            msg = f"scoring must be a name that scikit-learn has, such as {close}, got {name!r}"
            raise ValueError(msg)
        shown, scoring = for_rarer(name, y, always=rarer)
        try:
            as_scorer(for_sklearn(scoring, y))(rule.fit(X, y), X, y)
        except (ValueError, AttributeError, TypeError) as error:
            several = f"{name}_macro"
            remedy = f"take {several!r}" if several in known and not regression else f"leave out {name!r}"
            msg = f"{remedy}: the scoring {name!r} does not suit these targets: {error}"
            raise ValueError(msg) from error
        found[shown] = scoring
    return found


def read_scoring(scoring: Any, *, regression: bool, y: Array, is_nearest: bool = False) -> Measure:
    """Convert a scoring to a `Measure`.

    With `is_nearest`, a single neighbor decides, and the folds are scored.

    Raises
    ------
    InexactError
        If it is not a mean over the tested samples, or this is unknown.
    ValueError, TypeError
        If it does not fit the estimator, or is not a scoring.
    """
    if is_costs(scoring):
        msg = "a matrix of costs is for classifiers; use scoring='neg_mean_squared_error' for a regressor"
        check(not regression, msg)
        costs = _costs(scoring, len(np.unique(y)))
        msg = "a matrix of costs has no exact expectation for several outputs; pass them one by one"
        check(y.ndim != 2, msg, error=InexactError)
        return Measure("expected cost", "cost", costs=costs)
    scorer = for_sklearn(scoring, y)
    if scorer is None:
        msg = f"scoring=None means R² for a regressor, which {_inexact('r2_score')}"
        check(not regression, msg, error=InexactError)
        return Measure("accuracy", "accuracy" if y.ndim == 1 else "together")
    made = read_scorer(as_scorer(scorer))
    if made is None:
        msg = f"the function of the scorer {scoring!r} is unknown"
        raise InexactError(msg)
    name = scoring if isinstance(scoring, str) else made.name or repr(scoring)
    metric, found = metric_name(made), None
    msg = f"take an error of values for a regressor, such as 'neg_mean_squared_error', not {scoring!r}"
    check(not (regression and metric == "mean_accuracy"), msg)
    if metric and made.responses == ("predict",):
        found = _of_predictions(metric, made.options, name, made.sign, regression, y)
    elif metric and "predict_proba" in made.responses and not regression and y.ndim == 1:
        found = _of_shares(metric, made.options, name, made.sign, y, is_nearest)
    if found is not None:
        return found
    what = name
    if regression:
        what += " of a regressor"
    elif made.options and name is not scoring:
        what += f"({', '.join(f'{key}={value!r}' for key, value in made.options.items())})"
    msg = f"{what} {_inexact(made.name)}"
    raise InexactError(msg)


def _inexact(function: str) -> str:
    reason = "".join(f" ({why})" for names, why in _REASONS.items() if function in names.split())
    return f"has no exact expectation here{reason}; {WHY_NOT}"


def _of_predictions(
    function: str, options: dict[str, Any], name: str, sign: float, regression: bool, y: Array
) -> Measure | None:
    """Return the measure of a function of true and predicted labels or values, if it has one."""
    plain = all(key in _DEFAULTS and value == _DEFAULTS[key] for key, value in options.items())
    if function in _ERRORS and plain and (regression or y.ndim == 1):
        kind, power = _ERRORS[function]
        return Measure(name, kind, factor=sign) if regression else _off(name, sign, y, power)
    if regression:
        return None
    accuracy = Measure(name, "accuracy", factor=sign)
    if plain and function in ACCURACIES:
        if function.endswith("_loss"):
            accuracy = replace(accuracy, offset=sign, factor=-sign)
        return replace(accuracy, kind=ACCURACIES[function]) if y.ndim == 2 else accuracy
    if y.ndim == 2:
        return None
    if plain and function == "balanced_accuracy_score":
        return replace(accuracy, kind="balanced")
    whole = options.get("labels") is None and options.get("sample_weight") is None
    micro = ("precision_score", "recall_score", "f1_score", "fbeta_score")
    if function in micro and options.get("average") == "micro" and whole:
        return accuracy
    return _recall(options, name, sign, y) if function == "recall_score" else None


def _recall(options: dict[str, Any], name: str, sign: float, y: Array) -> Measure | None:
    """Return the measure of the recall of a class, of the mean over classes, or of all samples."""
    known = {"average", "pos_label", "labels", "zero_division"}
    average, labels = options.get("average", "binary"), options.get("labels")
    if not known.issuperset(options) or average not in ("binary", "macro", "weighted"):
        return None
    if average == "weighted":
        return None if labels is not None else Measure(name, "accuracy", factor=sign)
    if average == "macro" and labels is None:
        # A class that is predicted but not tested has a recall of 0; with nan, it is ignored.
        ignored = isinstance(nan := options.get("zero_division"), float) and np.isnan(nan)
        return Measure(name, "balanced", factor=sign, every_class=not ignored)
    classes = np.unique(y).tolist()
    chosen = [options.get("pos_label", 1)] if average == "binary" else list(labels or ())
    remedy = "use 'recall_macro', or labels=[...] with average='macro' for the recall of some classes"
    msg = f"{name} with average='binary' is for two classes, got {len(classes)}; {remedy}"
    check(average != "binary" or len(classes) <= 2, msg)
    must = f"{name} needs a class to measure the recall of, one of {', '.join(map(repr, classes[:10]))}"
    are_known = chosen and all(label in classes for label in chosen) and len(set(chosen)) == len(chosen)
    check(are_known, f"{must}, got {chosen}: make_scorer(recall_score, pos_label=...)")
    is_chosen = np.array([label in chosen for label in classes], dtype=float)
    costs = np.diag(is_chosen) * (len(classes) / len(chosen))
    return Measure(name, "balanced", factor=sign, costs=costs, every_class=True)


def _of_shares(
    function: str, options: dict[str, Any], name: str, sign: float, y: Array, is_nearest: bool
) -> Measure | None:
    """Return the measure of a function of true labels and shares of the votes, if it has one."""
    n_classes, labels = len(np.unique(y)), options.get("labels")
    if labels is not None and sorted(labels) != np.unique(y).tolist():
        return None
    if function == "brier_score_loss" and {"pos_label", "labels", "scale_by_half"} >= set(options):
        half = options.get("scale_by_half", "auto")
        half = n_classes < 3 if half == "auto" else half  # as scikit-learn does
        return Measure(name, "brier", factor=sign * (0.5 if half else 1.0))
    is_mean = options.get("normalize", True) and {"normalize", "labels"} >= set(options)
    if function == "log_loss" and is_mean:
        return Measure(name, "log_loss", factor=sign, all_classes=True)
    usual = {"average": "macro", "max_fpr": None, "labels": labels}
    by_pairs = {**usual, **options} == {**usual, "multi_class": "ovo"}
    whole = {*usual, "multi_class"} >= set(options) and options.get("max_fpr") in (None, 1)
    if function != "roc_auc_score" or not is_nearest or not (by_pairs or (n_classes == 2 and whole)):
        return None
    # With shares of 0 and 1 the area of two classes is the mean of their recalls; here of all pairs.
    scale = sign / max(2 * n_classes - 2, 1)
    found = Measure(name, "balanced", offset=sign / 2 - scale, factor=n_classes * scale)
    return replace(found, every_class=True, all_classes=True)


def _off(name: str, sign: float, y: Array, power: int) -> Measure:
    """Return the costs of numeric labels: the distance of the prediction to a power."""
    classes = np.unique(y)
    check(classes.dtype.kind in "iuf", f"{name} needs numbers for labels, got dtype {classes.dtype}")
    numbers = classes.astype(float)
    return Measure(name, "cost", factor=sign, costs=np.abs(numbers[:, None] - numbers) ** power)


def _costs(costs: Any, n_classes: int) -> Array:
    matrix = as_reals("scoring", costs, "scoring as a matrix of costs must hold real numbers")
    must = (
        f"scoring as a matrix of costs must have shape ({n_classes}, {n_classes}) for {n_classes} classes"
    )
    order = "rows true, columns predicted, in sorted label order"
    check(matrix.shape == (n_classes, n_classes), f"{must} ({order}), got shape {matrix.shape}")
    return matrix
