"""Scores of runs from their tables of counts, and means over runs with honest standard errors.

Everything takes arrays of blocks of runs. The order of calls, for tables of `n_runs` runs of `n_folds`
folds::

    scorer = table_scorer("f1_macro", classes)       # None: score the predictions with scikit-learn
    scores = scorer(tables)                          # (n_runs, n_folds), from the tables scorer.needs
    controls = confusion_controls(confusion, n_tested, expected)  # expected shares, average="pooled"
    found = controlled_mean(scores.mean(axis=1), *controls)

For two classes and votes that weigh alike, the neighbor lists give more::

    laws = [vote_laws(lists, codes, kind, K) for kind in training_sets]  # deep enough if the tails are tiny
    controls = vote_controls(votes, laws, kinds)
    found = controlled_mean(scores.mean(axis=1), *controls)

The laws hold for lists whose order decides ties; `mixed_ties` tells where ``ties="random"`` differs.

- `_scorers` has `table_scorer`, the common metrics, and asks scikit-learn's functions for all others;
  `scale_of` tells how scores are bounded, for intervals.
- `_controls` has the mean, `controlled_mean`, and the controls of confusion tables.
- `_vote_laws` has the law of the votes of a sample, and the controls of votes.
- `_precision` draws as many runs as a wanted standard error needs, `enough_runs`, or draws, `enough_draws`.
"""

from __future__ import annotations

from ._controls import ControlledMean, confusion_controls, controlled_mean, unseen_error
from ._precision import Budget, EnoughRuns, Wish, check_precision, enough_draws, enough_runs
from ._scorers import (
    ACCURACIES,
    Scale,
    TableScorer,
    is_near_floor,
    positive_class,
    rare_class,
    scale_of,
    table_scorer,
)
from ._vote_laws import mixed_ties, vote_controls, vote_laws
