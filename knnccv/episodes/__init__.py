"""Few-shot evaluation without sampling: the exact mean accuracy over all episodes.

- `_episodes` has `Episodes`, what an episode draws.
- `_expected` has `expected_episodes`, and `described_episodes` of given classes and shots; `_result` has
  what they return.
- `_passes` has the tables of one problem, and goes over all samples; its compiled parts are `_rows`, for
  the nearest support, and `_votes`, also for rational scores.
- `_sampled` has `sampled_episodes`.
"""

from __future__ import annotations

from ._episodes import Episodes
from ._expected import described_episodes, expected_episodes
from ._result import DescribedEpisodes, EpisodeDifference, EpisodeScore
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
