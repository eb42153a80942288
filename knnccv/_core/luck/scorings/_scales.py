"""How scores are bounded, for their intervals: `scale_of`; and where these are doubtful."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...._base.compat import MadeScorer
from ...._base.labels import EncodedLabels, groups_by_class
from ...._base.typing import Array
from ..inference import HalfScores
from ._scorers import TableScorer

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
