"""Seeds of random problems, which differ from day to day."""

import datetime
import os

import pytest

FIRST = int(os.environ.get("KNNCCV_SEED", 1000 * (datetime.date.today().toordinal() % 1000)))
"""The first seed of today; pytest shows it, and ``KNNCCV_SEED`` repeats the tests of another day."""


def seeds(n: int) -> range:
    """Today's first `n` seeds, for a loop within a test: a failure must name its seed."""
    return range(FIRST, FIRST + n)


def over_seeds(few: int, many: int) -> pytest.MarkDecorator:
    """Run a test with an argument `seeds`: today's first `few`, and among the slow tests `many` more."""
    more = pytest.param(range(FIRST + few, FIRST + few + many), id="many", marks=pytest.mark.slow)
    return pytest.mark.parametrize("seeds", [pytest.param(seeds(few), id="few"), more])
