"""Retrieval scores over random galleries, without sampling.

Person re-identification, face recognition and metric learning publish means over a few random galleries.
`expected_retrieval` computes the mean over all of them: CMC, average precision, reciprocal rank and others.

- `_retrieval` has `expected_retrieval` and `sampled_retrieval`, `_result` what they return, and
  differences of two results. `_problem` checks the arguments.
- `_gallery` has `Gallery`, the protocols by name, and the strata that galleries are drawn from; `_masks`
  the items that are removed for a query, and the codes of identities and cameras.
- `_forms` has the forms, and the names that stand for some of them; `_scores` their arrays for the compiled
  code, and how scores and errors follow from its results.
- `_draw` scores blocks of queries in threads, by the compiled code of `_compiled`, and brackets lists of
  the nearest items by two rankings; it also scores a draw without each group of identities.
"""

from __future__ import annotations

from ._draw import IdentityGroups
from ._forms import AtRank, First, Reciprocal, Table
from ._gallery import Gallery, Protocol, cuhk03, market1501
from ._masks import CameraPairs, JunkIdentities, SameCamera, SameIdentityAndCamera
from ._result import Retrieval, RetrievalDifference, RetrievalScore, SampledRetrieval
from ._retrieval import expected_retrieval, sampled_retrieval

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
    "cuhk03",
    "expected_retrieval",
    "market1501",
    "sampled_retrieval",
]
