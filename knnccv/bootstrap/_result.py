"""The result of `bootstrap_score`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._formatting import _listed, data_frame, error_phrase
from .._typing import Array

if TYPE_CHECKING:
    import pandas as pd

OUT_OF_BAG_SHARE = 0.632  # 1 - 1 / e, the share of samples in a bootstrap sample, as the papers round it


@dataclass(frozen=True, eq=False, repr=False)
class BootstrapScore:
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
    n_draws : int
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
    """

    oob: float
    resubstitution: float
    no_information: float
    per_item: Array
    per_item_resubstitution: Array
    weights: Array
    error_bound: float
    resubstitution_error_bound: float
    n_draws: int
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
        labels = {"label": self.labels}
        if self.labels.ndim == 2:
            labels = {f"label_{output}": column for output, column in enumerate(self.labels.T)}
        columns = {
            **labels,
            "oob": self.per_item,
            "resubstitution": self.per_item_resubstitution,
            "weight": self.weights,
        }
        frame = data_frame(columns)
        frame.index.name = "item"
        return frame

    def __repr__(self) -> str:
        bound = error_phrase(self)
        return (
            f"<BootstrapScore of {len(self.per_item)} samples, {self.n_draws} draws, {self.variant}"
            f"{_listed(self.parameters)}: {self.measure} out of bag {self.oob:.4g} ({bound}), apparent "
            f"{self.resubstitution:.4g}, .632 {self.score_632:.4g}, .632+ {self.score_632_plus:.4g}>"
        )
