"""Seeds of random problems, which differ from day to day."""

import datetime
import os

FIRST = int(os.environ.get("KNNCCV_SEED", 1000 * (datetime.date.today().toordinal() % 1000)))
"""The first seed of today; pytest shows it, and ``KNNCCV_SEED`` repeats the tests of another day."""


def seeds(n: int) -> range:
    """Today's next `n` seeds, for a loop within a test: a failure must name its seed."""
    return range(FIRST, FIRST + n)
