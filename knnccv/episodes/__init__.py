"""Few-shot evaluation without sampling: the exact mean accuracy over all episodes.

- `_episodes` has `Episodes`, what an episode draws.
- `_expected` has `expected_episodes`; `_result` what it returns; `_problem` the tables of one problem.
- `_exact` has the score as a rational number, of votes `_exact_votes`.
- `_described` has `described_episodes`, of given classes and shots.
- `_sampled` has `sampled_episodes`, and `_runs` its compiled loop.
- `_vote_rows` has votes of several supports; its compiled part is `_votes`.
- `_distances` has distances of blocks of rows; `_rows`, `_tied_rows` and `_symmetric` are compiled.
"""

from __future__ import annotations

from ._described import DescribedEpisodes, described_episodes
from ._episodes import Episodes
from ._expected import expected_episodes
from ._result import EpisodeDifference, EpisodeScore
from ._sampled import SampledEpisodes, sampled_episodes

__all__ = [
    "DescribedEpisodes",
    "EpisodeDifference",
    "EpisodeScore",
    "Episodes",
    "SampledEpisodes",
    "described_episodes",
    "expected_episodes",
    "sampled_episodes",
]
