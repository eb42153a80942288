"""The result of `CompleteCV.influence`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._formatting import frame_of_items
from .._typing import Array
from .._validation import lowest

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Influence:
    """How a score changes without each sample; from `CompleteCV.influence`.

    Sample j has two parts in the score: it is tested, and it trains the others. Let U be the score, A_x the
    expected score of sample x (``per_item``), U_j and w_x the score and the weights of the other N - 1
    samples, under the same design. Then ``total[j]`` is U - U_j, and with M_j the sum of w_x A_x over the
    others, U - M_j is ``as_tested[j]`` and M_j - U_j is ``as_training[j]``.

    Attributes
    ----------
    total : ndarray of shape (n_items,)
        The score minus the score of the other samples alone, by the same design. Positive for an accuracy:
        the sample helps. The design's numbers change with N - 1 samples: `KFold` has other fold sizes, a
        fraction may give a smaller training set.
    as_tested : ndarray of shape (n_items,)
        The change if the sample is no longer tested, but still trains the others, as in the full problem.
    as_training : ndarray of shape (n_items,)
        The change of the others' scores if the sample no longer trains, and the training sets are those of
        the design for the others. The two parts sum to the total. NaN if a sample is never tested in the
        full problem but is in the reduced one, so that its score is not defined in both.
    labels : ndarray of shape (n_items,), or (n_items, n_outputs)
        The label of every sample, or its targets.
    measure : str
        The name of the score.
    is_loss : bool
        True if a smaller score is better.
    error_bound : float
        Bound of the error of ``total``, from neighbor lists that end too early and from the rounding of the
        score. The score without a sample is rounded as well, to about 1e-15. Infinite for approximate
        neighbors.

    Examples
    --------
    >>> from knnccv import complete_cv
    >>> from knnccv.datasets import load_wine
    >>> wine = load_wine()
    >>> effect = complete_cv(wine.X, wine.y, "nn").influence()
    >>> effect.total.shape, len(effect.most_harmful(3))
    ((178,), 3)
    """

    total: Array
    as_tested: Array
    as_training: Array
    labels: Array
    measure: str = "score"
    is_loss: bool = False
    error_bound: float = 0.0

    def most_harmful(self, n: int = 10) -> Array:
        """Return the samples without which the score is best, the worst sample first.

        Parameters
        ----------
        n : int, default 10
            Number of samples, at least 1; all samples if there are fewer.

        Returns
        -------
        int64 ndarray of shape (min(n, n_items),)
            Indices of samples; equal changes in the order of the samples.

        Raises
        ------
        TypeError, ValueError
            If n is not a positive integer.
        """
        gain = self.total if self.is_loss else -self.total
        return lowest(-gain, n)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per sample: label and the three changes, as a pandas DataFrame.

        Several targets have a column each: label_0, label_1, …

        Raises
        ------
        ImportError
            If pandas is missing.
        """
        changes = {"total": self.total, "as_tested": self.as_tested, "as_training": self.as_training}
        return frame_of_items(self.labels, changes)

    def __repr__(self) -> str:
        worst = int(self.most_harmful(1)[0])
        return (
            f"<Influence of {len(self.total)} samples on the {self.measure}: from {self.total.min():.3g} "
            f"to {self.total.max():.3g}, most harmful: sample {worst} ({self.total[worst]:.3g})>"
        )
