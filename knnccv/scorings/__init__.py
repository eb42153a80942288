"""Scores of runs from their tables of counts, and means over runs with honest standard errors.

Everything takes arrays of blocks of runs. The order of calls, for tables of `n_runs` runs of `n_folds`
folds::

    scorer = table_scorer("f1_macro", classes)       # None: score the predictions with scikit-learn
    scores = scorer(tables)                          # (n_runs, n_folds), from the tables scorer.needs
    controls = confusion_controls(confusion, n_tested, expected)  # expected shares, average="pooled"
    mean, std_error, ratio = controlled_mean(scores.mean(axis=1), *controls)

For two classes and votes that weigh alike, the neighbor lists give more::

    laws = [vote_laws(lists, codes, kind, K) for kind in training_sets]  # deep enough if the tails are tiny
    controls = area_controls(votes, laws, kinds)     # for "roc_auc": one column of coefficient 1
    controls = vote_controls(votes, laws, kinds)     # for other scores of votes
    mean, std_error, ratio = controlled_mean(scores.mean(axis=1), *controls)
    exact = expected_of_votes(laws, kinds, scorer.costs(K))  # log loss, Brier score: no runs needed

The last is exact only if all folds test both classes, as scikit-learn's score is undefined otherwise. The
laws hold for lists whose order decides ties; `mixed_ties` tells where ``ties="random"`` differs.

- `_scorers` has `table_scorer`, and asks scikit-learn's functions; `_forms` has the common metrics.
- `_controls` has the mean, `controlled_mean`, and the controls of confusion tables.
- `_vote_laws` has the law of the votes of a sample, and what follows from it.
"""

from __future__ import annotations

from ._controls import ControlledMean, confusion_controls, controlled_mean
from ._scorers import TableScorer, table_scorer
from ._vote_laws import VoteLaws, area_controls, expected_of_votes, mixed_ties, vote_controls, vote_laws

__all__ = [
    "ControlledMean",
    "TableScorer",
    "VoteLaws",
    "area_controls",
    "confusion_controls",
    "controlled_mean",
    "expected_of_votes",
    "mixed_ties",
    "table_scorer",
    "vote_controls",
    "vote_laws",
]
