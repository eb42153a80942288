"""Random runs with a twin beside them: the same pipeline, whose steps are fitted once.

Steps that are fitted within the folds change a score little. So the scores of runs of the twin, whose
expectation is known without fits, are a good control variate.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .._core.driver import InexactError
from ._by_runs import Twin, folds_of, outputs_of, random_runs, score_outputs
from ._estimators import Prepared, prepare
from ._exact import closed_form
from ._request import ExpectedScore, Request
from ._runs import FITS, plain_runs
from ._splitters import Split

FEWEST_CONTROLLED = 10
"""The number of random runs from which a control variate pays."""
FINER = 4
"""How many times smaller the error of the twin's expectation is than the wanted one."""


def corrected_runs(asked: Sequence[Request], whys: Sequence[str]) -> list[ExpectedScore] | None:
    """Runs of scikit-learn, with the scores of steps that are fitted once as their control variates."""
    if asked[0].prepared.steps:
        whys = ["steps are fitted to every training set"] * len(asked)
    return plain_runs(asked, whys, twins_of(asked))


def runs_of_scaled(asked: Sequence[Request], whys: Sequence[str]) -> list[ExpectedScore | str] | None:
    """Random runs of knnccv, with twins where columns are scaled, and the score is no function of a table.

    The exact confusion table of the twin explains the others as well.
    """
    if asked[0].prepared.search is None:
        return random_runs(asked, whys)
    # Its neighbors are those of the other controls: other roundings would break ties in another way.
    once = asked[0].prepared.once
    # For all else the twin's runs take as long.
    return random_runs(asked, whys, [_twin(one, once) if _is_of_votes(one) else None for one in asked])


def _is_of_votes(request: Request) -> bool:
    """Whether a score is no function of a table of predictions, but one of votes that are counted."""
    rule, scorer = request.rule, request.scorer
    return rule.weights is None and not rule.by_distance and scorer is not None and scorer.needs == "votes"


def twins_of(asked: Sequence[Request]) -> list[Twin | None]:
    """A twin for every scoring of a pipeline; none for few runs, for steps that see labels, or as `_twin`.

    The steps are fitted, and the neighbors searched, once for all scorings.
    """
    request = asked[0]
    if not request.prepared.steps or (request.n_runs or FITS.pilot) < FEWEST_CONTROLLED:
        return [None] * len(asked)
    try:
        with warnings.catch_warnings(action="ignore"):
            prepared = prepare(request.prepared.estimator, request.X, request.y, transductive=True)
    except (InexactError, ValueError, TypeError):
        return [None] * len(asked)
    prepared = replace(prepared, n_tested=request.n_tested)
    return [_twin(one, prepared) for one in asked]


def _twin(request: Request, prepared: Prepared) -> Twin | None:
    """The twin of a scoring; None if the expectation of its score is unknown."""
    wish = request.wish._replace(n_runs=None, is_relative=False)
    once = request.asking(prepared=prepared, precision=wish.error(1.0) / FINER, n_runs=None)
    try:
        with warnings.catch_warnings(action="ignore"):
            found = _expected(once)
    except (InexactError, ValueError, TypeError):
        return None
    if found is None or once.rule.radius is not None:
        return None

    def score(splits: Sequence[Split]) -> float:
        folds = folds_of(splits, len(once.y))
        outputs = outputs_of(once, *once.nearest(folds, once.seed))
        folds = folds[:, : outputs.shape[1]]  # without a pool
        sizes = (folds >= 0).sum(axis=1) if once.pooled else None
        return float(np.average(score_outputs(once, folds, outputs, 1), weights=sizes))

    return Twin(found.score, found.std_error, score)


def _expected(request: Request) -> ExpectedScore | None:
    """The expected score, exact or by random runs of knnccv."""
    try:
        return closed_form(request)
    except InexactError as reason:
        found = random_runs([request], [str(reason)])
        return found[0] if found and not isinstance(found[0], str) else None
