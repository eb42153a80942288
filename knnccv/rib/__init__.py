"""CVC and LCV, the scores of leave-one-out votes, and `RIBClassifier`, which tunes its votes by them.

CVC, *cross-validation and confidence*, adds the mean confidence in the samples' true classes to the number
of samples that are correct when left out: the confidence breaks the many ties of leave-one-out accuracy.
RIB, *refined instance-based learning*, uses CVC to tune the weights of the votes of near neighbors.

- `_votes` has CVC, LCV and leave-one-out votes, and computes weighted votes from neighbor lists.
- `_search` computes the votes of many settings at once, and finds the best setting.
- `_classifier` has `RIBClassifier`. It needs scikit-learn and is loaded when it is first used.

Wilson, D. R. & Martinez, T. R. (1999). Combining cross-validation and confidence to measure fitness.
IJCNN'99.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._base.refusals import loaded_with_sklearn
from ._votes import cvc_score, lcv_score, loo_votes, vote_weights

if TYPE_CHECKING:
    from ._classifier import RIBClassifier

__all__ = ["RIBClassifier", "cvc_score", "lcv_score", "loo_votes", "vote_weights"]


__getattr__, __dir__ = loaded_with_sklearn(globals(), "._classifier", "RIBClassifier")
