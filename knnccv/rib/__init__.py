"""Instance-based learning that tunes itself: CVC, LCV and the RIB classifier (needs scikit-learn).

CVC, *cross-validation and confidence*, is the number of samples that are right when left out, plus the
mean confidence in the samples' own classes: leave-one-out accuracy whose many ties confidence breaks.
RIB, *refined instance-based learning*, uses it to tune how the votes of near neighbors are weighted.

- `_scores` has CVC, LCV and leave-one-out votes; `_votes` computes weighted votes from neighbor lists.
- `_search` finds the best settings; `_classifier` has `RIBClassifier`.

Wilson, D. R. & Martinez, T. R. (1999). Combining cross-validation and confidence to measure fitness.
IJCNN'99.
"""

from __future__ import annotations

from ._scores import cvc_score, lcv_score, loo_votes, vote_weights
from ._search import Evaluator as Evaluator
from ._search import Setting as Setting
from ._search import greedy as greedy
from ._votes import VoteLists as VoteLists
from ._votes import decide as decide

try:
    from ._classifier import RIBClassifier
except ImportError as error:  # pragma: no cover - tested where scikit-learn is hidden
    if (error.name or "").partition(".")[0] != "sklearn":
        raise
    msg = "knnccv.rib needs scikit-learn: pip install 'knnccv[sklearn]'"
    raise ImportError(msg) from error

__all__ = ["RIBClassifier", "cvc_score", "lcv_score", "loo_votes", "vote_weights"]
