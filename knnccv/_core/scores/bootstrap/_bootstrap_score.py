"""`bootstrap_score`, which checks its arguments and combines the scores, and its result."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...._base.formatting import Result, item_frame
from ...._base.parallel import check_pool, one_bar
from ...._base.typing import Array
from ...._base.validation import check, check_integer, check_tol
from ....designs import LeaveOut
from ....kernel import Variant, profile_of
from ....kernel.registry import get_variant
from ....kernel.sampling import rounding_allowance
from ....neighbors import as_neighbors, warn_label_leakage
from ...driver import ScoringProblem, validate_problem
from ._samples import PROFILES, RULES, out_of_bag, resubstitution

if TYPE_CHECKING:
    import pandas as pd

OUT_OF_BAG_SHARE = 0.632  # 1 - 1 / e, the share of samples in a bootstrap sample, as the papers round it


@dataclass(frozen=True, eq=False, repr=False)
class BootstrapScore(Result):
    """Exact bootstrap scores of a nearest-neighbor rule; see `bootstrap_score`.

    Scores are accuracies, shares or losses, as `measure` says; errors are 1 - score, or the loss itself.

    Attributes
    ----------
    oob : float
        The expected out-of-bag score: of every sample over all bootstrap samples that leave it out. Its
        error is the leave-one-out bootstrap of Efron & Tibshirani.
    resubstitution : float
        The apparent score: all samples are the training set, and each is its own nearest neighbor, at
        distance 0. Other samples at distance 0 tie with it; with neighbor lists that have no distances,
        none do.
    no_information : float
        The score of the predictions of the apparent score if labels did not depend on the samples: its
        error is gamma, for accuracy the sum over the classes of p_c (1 - q_c), with the shares p of the
        labels and q of the predictions.
    per_item : ndarray of shape (n_items,)
        The expected out-of-bag score of every sample.
    per_item_resubstitution : ndarray of shape (n_items,)
        The apparent score of every sample.
    weights : ndarray of shape (n_items,)
        The weights of the samples in all scores; they sum to 1.
    error_bound : float
        Bound of ``|oob - exact value|``: lists that end too early, and rounding. Infinite for approximate
        neighbors.
    resubstitution_error_bound : float
        The same of the apparent score.
    sample_size : int
        Draws of a bootstrap sample.
    depth : int
        The longest neighbor lists that were used.
    variant, ties, average : str
        The arguments; `average` may be a mapping.
    parameters : dict
        The variant's parameters.
    measure : str
        The name of the score.
    is_loss : bool
        Whether a smaller score is better.
    labels : ndarray of shape (n_items,), or (n_items, n_outputs)
        Labels or targets.
    certified : bool
        False for approximate neighbors.
    seconds : float
        Wall time.

    Examples
    --------
    >>> from knnccv import bootstrap_score
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> found = bootstrap_score(wine.X, wine.y, "nn")
    >>> round(found.oob, 4), round(found.score_632, 4)
    (0.7306, 0.8297)
    """

    _json = (
        "oob resubstitution no_information overfitting_rate score_632 score_632_plus error_bound "
        "sample_size variant parameters ties average measure is_loss seconds"
    )

    oob: float
    resubstitution: float
    no_information: float
    per_item: Array
    per_item_resubstitution: Array
    weights: Array
    error_bound: float
    resubstitution_error_bound: float
    sample_size: int
    depth: int
    variant: str
    parameters: dict[str, Any]
    ties: str
    average: Any
    measure: str
    is_loss: bool
    labels: Array
    certified: bool
    seconds: float
    _slack: float  # as `resubstitution_error_bound`, finite for approximate neighbors as well

    @property
    def score_632(self) -> float:
        """The .632 estimate: 0.632 of the out-of-bag score and 0.368 of the apparent one."""
        return OUT_OF_BAG_SHARE * self.oob + (1 - OUT_OF_BAG_SHARE) * self.resubstitution

    @property
    def overfitting_rate(self) -> float:
        """The relative overfitting rate R, from 0 to 1 (Efron & Tibshirani 1997, eq. 28, clipped as in 31).

        The share of the way from the apparent error to the error without information that the out-of-bag
        error is. 0 if the out-of-bag error is not the larger one, or the one without information is not by
        more than the error bounds of both.
        """
        apparent, left_out, uninformed = self._errors()
        if left_out <= apparent or uninformed - apparent <= 2 * self._slack:
            return 0.0
        return (min(left_out, uninformed) - apparent) / (uninformed - apparent)

    @property
    def score_632_plus(self) -> float:
        """The .632+ estimate, which gives the out-of-bag score the more weight the more the rule overfits.

        The weight is 0.632 / (1 - 0.368 R) with R = `overfitting_rate`. Where the out-of-bag error is
        above that without information, the correction of the .632 estimate takes the latter (eq. 32).
        """
        apparent, left_out, uninformed = self._errors()
        rest = 1 - OUT_OF_BAG_SHARE
        rate = self.overfitting_rate
        more = (min(left_out, uninformed) - apparent) * rest * OUT_OF_BAG_SHARE * rate / (1 - rest * rate)
        return self.score_632 + (more if self.is_loss else -more)

    def _errors(self) -> tuple[float, ...]:
        scores = (self.resubstitution, self.oob, self.no_information)
        return tuple(score if self.is_loss else 1 - score for score in scores)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per sample: label, out-of-bag and apparent score, weight, as a pandas DataFrame.

        Several targets have a column each: label_0, label_1, …

        Raises
        ------
        ImportError
            If pandas is missing.
        """
        known = self.per_item_resubstitution
        return item_frame(self.labels, oob=self.per_item, resubstitution=known, weight=self.weights)


MAX_NEIGHBORS = 500
MAX_DRAWS = 2**53  # larger integers are no doubles


def bootstrap_score(
    X: Any,
    y: Any,
    variant: str | Variant | type[Variant] = "knn",
    *,
    sample_size: int | None = None,
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

    A bootstrap sample has `sample_size` draws with replacement from all samples; those that it leaves out
    test it. A simulation takes the mean over some hundred bootstrap samples; this is the exact mean over
    all of them, without luck of the draw.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_items, n_features), or Neighbors
        The samples, as for `complete_cv`.
    y : array of shape (n_items,), or (n_items, n_outputs) for "regression"
        Class labels; for "regression" real targets.
    variant : {"nn", "knn", "rank", "confidence", "regression"}, default "knn"
        The rule, with the parameters of `complete_cv`. K (or R) is at most `sample_size`, 500, and N - 1.
    sample_size : int, optional
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
    sample_size = _check_rule(problem, near.n_items, sample_size)
    warn_label_leakage(near, near.n_items - 1)
    weights = np.array([float(weight) for weight in problem.item_weights[0]])[problem.labels.codes]
    with one_bar(progress):
        found = out_of_bag(problem, near, sample_size, tol, n_jobs)
        apparent = resubstitution(problem, near, weights, n_jobs)
    (per_item,), of_item, by_label = found.scores, apparent.scores[0], apparent.scores[1:]
    rounding = rounding_allowance(
        problem.variant.n_nearest(**problem.parameters), 2.0 * found.depth, problem.largest
    )
    bound, known = (
        problem.largest * float(weights @ tails) + rounding for tails in (found.tails, apparent.tails)
    )
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
        sample_size=sample_size,
        depth=found.depth,
        **problem.described(),
        is_loss=problem.is_loss,
        labels=problem.targets,
        certified=not near.approximate,
        seconds=time.perf_counter() - started,
        _slack=known,
    )


def _check_rule(problem: ScoringProblem, n_items: int, sample_size: Any) -> int:
    name, parameters = problem.variant.name, problem.parameters
    known = name in RULES and type(problem.variant) is type(get_variant(name))
    if not known and profile_of(problem.variant, parameters) not in PROFILES:
        allowed = ", ".join(map(repr, RULES))
        msg = f"bootstrap_score knows the rules {allowed}, got {name!r}"
        raise ValueError(msg)
    if problem.score.is_loss is None or not problem.score.is_mean:
        msg = f"bootstrap_score knows the part 'error' of regression only, got {parameters['part']!r}"
        raise ValueError(msg)
    msg = "bootstrap_score needs score='share' or score='brier' for shares of votes, got 'log_loss'"
    check(parameters.get("score") != "log_loss", msg)
    n_nearest = problem.variant.n_nearest(**parameters)
    msg = f"bootstrap_score takes at most {MAX_NEIGHBORS} nearest neighbors, got {n_nearest}"
    check(n_nearest <= MAX_NEIGHBORS, msg)
    if sample_size is None:
        return n_items
    number = check_integer("sample_size", sample_size, 1)
    msg = f"sample_size must be at least the number of nearest neighbors, {n_nearest}, got {number}"
    check(number >= n_nearest, msg)
    check(number <= MAX_DRAWS, "sample_size must be at most 2**53", number)
    return number


def _uninformed(problem: ScoringProblem, weights: Array, by_label: Array) -> Array:
    """Scores (n_items,) of the predictions for all samples if the true labels are drawn independently."""
    if problem.variant.target == "values":  # the squared error of the mean target, and the variance
        values = problem.values
        centered = values - weights @ values
        return np.asarray(by_label[0] + float(weights @ (centered * centered).sum(axis=1)))
    shares = np.bincount(problem.labels.codes, weights, len(problem.labels.classes))
    return np.asarray(shares @ by_label)
