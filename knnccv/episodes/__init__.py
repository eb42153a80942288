"""Few-shot evaluation without sampling: the exact mean accuracy over all episodes.

- `_episodes` has `Episodes`, what an episode draws.
- `_expected` has `expected_episodes`; `_result` what it returns; `_problem` the tables of one problem.
- `_distances` has distances of blocks of rows; `_rows`, `_tied_rows` and `_symmetric` are compiled.
"""

from __future__ import annotations

from ._episodes import Episodes
from ._expected import expected_episodes
from ._result import EpisodeDifference, EpisodeScore

__all__ = [
    "EpisodeDifference",
    "EpisodeScore",
    "Episodes",
    "expected_episodes",
]
