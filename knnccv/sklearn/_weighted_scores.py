"""Scores of weighted votes and means: exact where all training sets can be enumerated, else sampled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from .._typing import Array
from ..designs import Design
from ..driver import InexactError
from ..results import CompleteCV, SampledCV, complete_cv
from ._draws import Draws
from ._estimators import Rule
from ._scoring import Measure


def weighted_scores(
    rule: Rule, y: Array, measure: Measure, design: Design, draws: Draws | None, **options: Any
) -> tuple[CompleteCV, ...]:
    """Run `complete_cv` with the weights of the rule; once per column of y for a regression.

    Raises
    ------
    InexactError
        If there are too many training sets to enumerate, and no `draws`.
    """
    variant = "weighted_regression" if rule.regression else "weighted"
    columns = list(y.reshape(len(y), -1).T) if rule.regression else [y]
    if measure.costs is not None:
        options |= {"loss": measure.costs}
    options |= {"n_neighbors": rule.n_neighbors, "weights": rule.weights}
    found = []
    for number, column in enumerate(columns):
        score = partial(complete_cv, rule.neighbors, column, variant, design, **options)
        if draws is not None:
            found.append(score(n_draws=draws.n_draws, random_state=draws.seed(number)))
            continue
        try:
            found.append(score(method="exact"))
        except InexactError as error:
            score(method="sampled", n_draws=2)  # an error if these weights are not allowed
            raise InexactError(_why_inexact(rule)) from error
    return tuple(found)


def _why_inexact(rule: Rule) -> str:
    if callable(rule.weights):
        reason = "is a function, which the exact computation cannot call"
    else:
        reason = (
            f"with n_neighbors={rule.n_neighbors} is exact where all sets of the nearest training samples "
            "can be counted, but some samples have too many of them"
        )
    return f"{rule.weights_in_words} {reason}; method='auto' draws training sets for these samples"


def std_error_of(results: Sequence[CompleteCV], weights: Sequence[float]) -> tuple[float, int]:
    """The standard error of a weighted sum of results, and the number of draws; zeros if all are exact."""
    sampled = [
        (weight * result.std_error, result.n_draws)
        for weight, result in zip(weights, results, strict=True)
        if isinstance(result, SampledCV)
    ]
    if not sampled:
        return 0.0, 0
    return math.hypot(*(error for error, _ in sampled)), max(n_draws for _, n_draws in sampled)
