"""Standard errors, intervals and comparisons of exact scores, from halves of the data.

An exact score has no luck of the split. It keeps the luck of the data: other samples of the population
would have given another score. Two disjoint random halves of the samples, scored completely with the same
share of training samples, are independent samples of the population, so their difference shows that luck.

This package knows numbers only: it draws the halves and turns their scores into standard errors, intervals
and tests. `knnccv._core.luck.halves` and `knnccv.sklearn` compute the scores.

- `_halvings` draws the halves; it has their scores, the variance and its degrees of freedom.
- `_interval` has standard errors and intervals, `_kept_halves` the methods of results that return them. The
  jackknife's standard error, from scores without one unit at a time, is for few-shot and retrieval.
- `_comparison` compares two results on the same halves, or one with another classifier's predictions;
  `_ranking` compares several results.
"""

from __future__ import annotations

from ._comparison import Comparison as Comparison
from ._comparison import PredictionScores as PredictionScores
from ._comparison import compare as compare
from ._comparison import predictions_on as predictions_on
from ._halvings import HalfScores as HalfScores
from ._halvings import Halvings as Halvings
from ._halvings import InferenceWarning as InferenceWarning
from ._halvings import degrees_of_freedom as degrees_of_freedom
from ._halvings import draw_halvings as draw_halvings
from ._interval import ConfidenceInterval as ConfidenceInterval
from ._interval import Described as Described
from ._interval import Jackknifed as Jackknifed
from ._interval import StandardError as StandardError
from ._interval import Terms as Terms
from ._interval import check_level as check_level
from ._interval import confidence_interval as confidence_interval
from ._interval import has_one_bound as has_one_bound
from ._interval import jackknife_error as jackknife_error
from ._interval import student_interval as student_interval
from ._interval import unequal_errors as unequal_errors
from ._interval import unit_deviations as unit_deviations
from ._kept_halves import KeptHalves as KeptHalves
from ._kept_halves import ScoredHalves as ScoredHalves
from ._ranking import Comparisons as Comparisons
from ._ranking import compare_all as compare_all
