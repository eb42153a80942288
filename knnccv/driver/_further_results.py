"""Methods of `CompleteCV` in a base class: further results from the data, and the table of notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._formatting import _listed, error_line, html_table

if TYPE_CHECKING:
    from ._influence_result import Influence


class FurtherResults:
    """A base of `CompleteCV`; `influence` needs the data."""

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
            If the design or the rule is impossible without some sample, or a class with target priors is
            then not tested; if several groups are left out, the score is no mean (regression's variance),
            or the result was pickled or copied.

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

    def _repr_html_(self) -> str:
        """Return the score, what it means and how sure it is as a small table, for notebooks."""
        found: Any = self
        error = getattr(found, "std_error", None)
        measured = error_line(found) if error is None else f"standard error {error:.2g} (luck of the draws)"
        drawn = "" if error is None else f", {found.n_draws} drawn for each sample"
        number = found._magnitude() if found.kinds else "unknown"
        rows = [
            (found.measure, f"{found.score:.6g}"),
            ("error", measured),
            ("rule", f"{found.variant}{_listed(found.parameters)}"),
            ("design", found.design),
            ("training sets", f"{number}{drawn}"),
            ("samples", f"{len(found.per_item)}, {found.tied} tied (ties={found.ties!r})"),
        ]
        return html_table(type(self).__name__, rows)
