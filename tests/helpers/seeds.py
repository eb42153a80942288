"""Seeds of random problems, which differ from day to day."""

import datetime
import os
from collections.abc import Sequence
from typing import Any

import pytest

FIRST = int(os.environ.get("KNNCCV_SEED", 1009 * (datetime.date.today().toordinal() % 1000)))
"""The first seed of today; pytest shows it, and ``KNNCCV_SEED`` repeats the tests of another day.

A prime apart, so that the seeds of successive days come in turn from every residue class.
"""


def seeds(n: int) -> range:
    """Today's first `n` seeds, for a loop within a test: a failure must name its seed."""
    return range(FIRST, FIRST + n)


def over_seeds(n: int) -> pytest.MarkDecorator:
    """Run a test with an argument `seeds`: today's first `n`, and among the slow tests the next `n`."""
    more = pytest.param(range(FIRST + n, FIRST + 2 * n), id="more", marks=pytest.mark.slow)
    return pytest.mark.parametrize("seeds", [pytest.param(seeds(n), id="few"), more])


def of_today(cases: Sequence[Any], every: int) -> Sequence[Any]:
    """Every few of the cases, others every day, for a loop within a test: a failure must name its case."""
    return cases[FIRST % every :: every]
