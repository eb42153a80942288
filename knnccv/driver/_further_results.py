"""Methods of `CompleteCV` that compute further results from the data, in `FurtherResults`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._influence_result import Influence


class FurtherResults:
    """A base of `CompleteCV`; its methods need the data."""

    def _reference(self) -> Any:
        """The evaluation that made this result; ValueError for a copy."""
        raise NotImplementedError

    def influence(self, n_jobs: int | None = None) -> Influence:
        """How the score changes without each sample: an `Influence`, computed at every call.

        Parameters
        ----------
        n_jobs : int, optional
            Number of threads, -1 for all processors; by default that of `complete_cv`.

        Raises
        ------
        ValueError
            If the design or the rule is impossible without some sample, several groups are left out, the
            score is no mean (regression's variance), or the result was pickled or copied.

        Examples
        --------
        >>> from knnccv import Subsample, complete_cv
        >>> from knnccv.datasets import load_wine
        >>> wine = load_wine()
        >>> complete_cv(wine.X, wine.y, "nn", Subsample(89)).influence().most_harmful(3)
        array([110,  98, 112])
        """
        found: Influence = self._reference().influence(self, n_jobs)
        return found
