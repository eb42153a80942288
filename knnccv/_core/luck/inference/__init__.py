"""Standard errors, intervals and comparisons of scores, from halves of the data.

An exact score has no luck of the split. It keeps the luck of the data: other samples of the population
would have given another score. Two disjoint random halves of the samples, scored completely with the same
share of training samples, are independent samples of the population, so their difference shows that luck.

This package knows numbers only: it draws the halves and turns their scores into standard errors, intervals
and tests. `knnccv._core.luck.halves` and `knnccv.sklearn` compute the scores.

- `_halvings` draws the halves; it has their scores, the variance and its degrees of freedom.
- `_interval` has standard errors and intervals, `_kept_halves` the methods of results that return them. The
  jackknife's standard error, from scores without one unit at a time, is for few-shot and retrieval.
- `_comparison` compares two results on the same halves, or one with another classifier's predictions, which
  `_predictions` scores; `_ranking` compares several results.
"""

from __future__ import annotations

from ._comparison import Comparison, compare
from ._halvings import (
    LEAST_TRAIN_PER_NEIGHBOR,
    MOST_UNDEFINED,
    HalfScores,
    Halvings,
    InferenceWarning,
    degrees_of_freedom,
    difference_of,
    differences_over_runs,
    draw_halvings,
    few_groups,
    few_neighbors,
    mean_squared_difference,
    scores_over_runs,
)
from ._interval import (
    USUAL,
    ConfidenceInterval,
    Described,
    Jackknifed,
    StandardError,
    Terms,
    check_level,
    confidence_interval,
    has_one_bound,
    jackknife_error,
    student_interval,
    unequal_errors,
    unit_deviations,
)
from ._kept_halves import KeptHalves, ScoredByRuns, ScoredHalves
from ._predictions import PredictionScores, predictions_on
from ._ranking import Comparisons, compare_all
