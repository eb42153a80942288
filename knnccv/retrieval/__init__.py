"""Retrieval scores over random galleries, without sampling.

Person re-identification, face recognition and metric learning publish means over a few random galleries.
`expected_retrieval` computes the mean over all of them: CMC, average precision, reciprocal rank and others.

- `_expected` has `expected_retrieval`, `_sampled` the twin that draws galleries, `_result` what the first
  returns, and differences of two results. `_problem` checks the arguments.
- `_gallery` has `Gallery` and the protocols by name, `_masks` the items that are removed for a query.
  `_identities` encodes identities and cameras, `_pool` the gallery, with what can be drawn from it.
- `_scores` reads the scores and takes them from what was computed. Each is the mean of some forms of
  `_forms`, or a curve; `_plan` has their arrays. `_check` has `check_score`.
- `_draw` scores blocks of queries in threads, by the compiled code of `_compiled`, and brackets lists of
  the nearest items by two rankings. `_jackknife` leaves out groups of identities.
- `_exact` has scores as rational numbers.
"""

from __future__ import annotations

from ._check import check_score
from ._expected import expected_retrieval
from ._forms import AtRank, First, Reciprocal, Table
from ._gallery import Gallery, Protocol, cuhk03, market1501
from ._jackknife import IdentityGroups
from ._masks import CameraPairs, JunkIdentities, SameCamera, SameIdentityAndCamera
from ._result import Retrieval, RetrievalDifference, RetrievalScore
from ._sampled import SampledRetrieval, sampled_retrieval

__all__ = [
    "AtRank",
    "CameraPairs",
    "First",
    "Gallery",
    "IdentityGroups",
    "JunkIdentities",
    "Protocol",
    "Reciprocal",
    "Retrieval",
    "RetrievalDifference",
    "RetrievalScore",
    "SameCamera",
    "SameIdentityAndCamera",
    "SampledRetrieval",
    "Table",
    "check_score",
    "cuhk03",
    "expected_retrieval",
    "market1501",
    "sampled_retrieval",
]
