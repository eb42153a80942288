"""Few-shot evaluation without sampling: the exact mean accuracy over all episodes.

- `_episodes` has `Episodes`, what an episode draws.
- `_expected` has `expected_episodes`, and what it returns.
- `_passes` has the tables of one problem, and goes over all samples; its compiled parts are in
  `_rows`, for the nearest support and for votes.
- `_sampled` has `sampled_episodes`.
"""

from __future__ import annotations

from ._episodes import Episodes
from ._expected import EpisodeDifference, EpisodeScore, expected_episodes
from ._sampled import SampledEpisodes, sampled_episodes

__all__ = [
    "EpisodeDifference",
    "EpisodeScore",
    "Episodes",
    "SampledEpisodes",
    "expected_episodes",
    "sampled_episodes",
]
