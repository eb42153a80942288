"""Retrieval scores over random galleries, without sampling.

Person re-identification, face recognition and metric learning publish means over a few random galleries.
`expected_retrieval` computes the mean over all of them: CMC, average precision, reciprocal rank and others.

- `_expected` has `expected_retrieval`, `_result` what it returns; `_problem` checks their arguments.
- `_sampled` has `sampled_retrieval`, what one random gallery scatters, and `_trials` its compiled loop.
- `_gallery` has `Gallery` and the protocols by name, `_protocol` their class, and `_masks` the items that
  are removed for a query.
- `_strata` and `_identities` encode the gallery; `_scores` reads the names of scores.
- `_forms` has the four forms of scores, `_named` those of the built-in names and of installed packages,
  `_forms_plan` their arrays and `_forms_walk` their compiled code; `_check` has `check_score`.
- `_blocks` runs blocks of queries in threads. `_buckets` puts wrong items between the right ones. `_alone`
  walks along the right items of a query where nothing ties, `_walk` otherwise, where `_evaluate` adds what
  tied ones contribute; `_ranked` does it where nothing is random. `_nearer` and `_integrals` are parts.
- `_truncated` has the two rankings that bracket those of which only the nearest items are known.
- `_laws` has the laws of ranks, `_quadrature` integrals with a certified error, `_ratios` tables for them.
- `_errors` adds what scores are worth: `_jackknife` leaves out the groups of identities of
  `_identity_groups`, `_hajek` has a variance over galleries, with `_hajek_walk`, `_hajek_laws` and
  `_hajek_tables`. `_difference` compares two results.
- `_tables` names the arrays of the compiled code.
"""

from __future__ import annotations

from ._check import check_score
from ._difference import RetrievalDifference
from ._expected import expected_retrieval
from ._forms import AtRank, First, Reciprocal, Table
from ._gallery import Gallery, cuhk03, market1501
from ._identity_groups import IdentityGroups
from ._masks import CameraPairs, JunkIdentities, SameCamera, SameIdentityAndCamera
from ._protocol import Protocol
from ._result import Retrieval, RetrievalScore
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
