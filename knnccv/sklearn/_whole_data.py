"""`WholeData`, the splitter for scorers that split the data themselves."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any

import numpy as np

from .._typing import Array
from ._estimators import length_of


class WholeData:
    """A splitter that trains on all samples and tests on all samples, for scorers that split the data.

    Use it with `ccv_scorer` only. An ordinary scorer, such as ``scoring="accuracy"``, would report training
    scores: every sample is then one of its own neighbors, and a single neighbor is always correct.
    scikit-learn's functions get an error if they would do so. Your own scoring functions are not checked.

    Examples
    --------
    >>> from knnccv.sklearn import WholeData
    >>> list(WholeData().split([[0.0], [1.0]]))
    [(array([0, 1]), array([0, 1]))]
    """

    def __repr__(self) -> str:
        return "WholeData()"

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Array, Array]]:  # noqa: ARG002
        """Return an iterator over one split: all samples for training and for testing.

        Raises
        ------
        ValueError
            If scikit-learn would score these splits by a scorer of its own, or predict from them.
        """
        # A splitter is not told the scorer, so it is looked up in the function of scikit-learn that calls.
        caller: FrameType | None = sys._getframe(1)
        while caller is not None and caller.f_globals.get("__name__", "").startswith("sklearn."):
            scorer = caller.f_locals.get("scorers", caller.f_locals.get("scorer"))
            if caller.f_code.co_name == "cross_val_predict" or _is_ordinary(scorer):
                msg = (
                    "pass scoring=ccv_scorer(...) with cv=WholeData(), or folds such as cv=5: an ordinary "
                    "scorer would test the samples that the estimator was fitted to"
                )
                raise ValueError(msg)
            if scorer is not None:
                break
            caller = caller.f_back
        rows = np.arange(length_of(X))
        return iter([(rows, rows.copy())])

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        """Return 1."""
        return 1


def _is_ordinary(scorer: Any) -> bool:
    """Return True for a scorer of scikit-learn's, and for several if there is one among them."""
    scorers = getattr(scorer, "_scorers", scorer)
    if isinstance(scorers, Mapping):
        return any(map(_is_ordinary, scorers.values()))
    return type(scorer).__module__.startswith("sklearn.")
