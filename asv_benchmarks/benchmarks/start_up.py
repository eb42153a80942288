"""The time from the start of a process to its first score."""

import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

N_PROCESSES = 5
COMPILED = {"KNNCCV_TIER": "compiled"}
"""Nothing is interpreted, so that an earlier process leaves all kernels compiled."""

IMPORT = """
from time import perf_counter
start = perf_counter()
{before}
middle = perf_counter()
{statement}
print(middle - start, perf_counter() - middle)
"""

FIRST_RESULT = """
from time import perf_counter
start = perf_counter()
import numba
middle = perf_counter()
from knnccv import complete_cv
from knnccv.datasets import load_wine
wine = load_wine()
complete_cv(wine.X, wine.y)
print(middle - start, perf_counter() - middle)
"""


def seconds(code, **environment):
    """Run `code` in a new process, and return the two times that it prints."""
    # -P: the package must not be imported from the folder in which asv runs.
    command = [sys.executable, "-P", "-c", code]
    answer = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | COMPILED | environment
    )
    first, second = map(float, answer.stdout.split())
    return first, second


def repeated(code):
    """Return these times of several processes, after one that fills the caches."""
    seconds(code)
    return [seconds(code) for _ in range(N_PROCESSES)]


class Import:
    params = ("import knnccv", "from knnccv import complete_cv")
    param_names = ("statement",)
    timeout = 120

    def track_import_seconds(self, statement):
        code = IMPORT.format(before="", statement=statement)
        return median(whole for _, whole in repeated(code))

    def track_seconds_beyond_numba(self, statement):
        code = IMPORT.format(before="import numba", statement=statement)
        return median(beyond for _, beyond in repeated(code))

    def track_import_over_numba(self, statement):
        code = IMPORT.format(before="import numba", statement=statement)
        return median((numba + beyond) / numba for numba, beyond in repeated(code))

    track_import_seconds.unit = "seconds"
    track_seconds_beyond_numba.unit = "seconds"
    track_import_over_numba.unit = "ratio"


FIRST_CALL = """
from time import perf_counter
start = perf_counter()
from knnccv import StratifiedKFold, complete_cv
from knnccv.datasets import load_wine
wine = load_wine()
middle = perf_counter()
{call}
print(middle - start, perf_counter() - middle)
"""


class Cold:
    """The first result in a new process that finds no compiled code."""

    params = (
        "complete_cv(wine.X, wine.y)",
        "complete_cv(wine.X, wine.y, 'knn', StratifiedKFold(5))",
    )
    param_names = ("call",)
    timeout = 120

    def track_seconds(self, call):
        with TemporaryDirectory() as folder:
            return sum(seconds(FIRST_CALL.format(call=call), NUMBA_CACHE_DIR=folder, KNNCCV_TIER=""))

    track_seconds.unit = "seconds"


class FirstResult:
    """The first score on wine in a new process, with kernels compiled by an earlier process."""

    timeout = 120

    def track_first_result_seconds(self):
        return median(numba + rest for numba, rest in repeated(FIRST_RESULT))

    def track_first_result_over_numba(self):
        return median((numba + rest) / numba for numba, rest in repeated(FIRST_RESULT))

    def track_cold_over_warm(self):
        """The cost of compiling in the first process, as a ratio to the next one's time."""
        with TemporaryDirectory() as folder:
            cold, warm = (sum(seconds(FIRST_RESULT, NUMBA_CACHE_DIR=folder)) for _ in range(2))
        return cold / warm

    def track_cache_files_added(self):
        """By a second process, which should find all that it needs."""
        with TemporaryDirectory() as folder:
            counts = []
            for _ in range(2):
                seconds(FIRST_RESULT, NUMBA_CACHE_DIR=folder)
                counts.append(sum(path.is_file() for path in Path(folder).rglob("*")))
        return counts[1] - counts[0]

    track_cold_over_warm.unit = "ratio"
    track_cache_files_added.unit = "files"
    track_first_result_seconds.unit = "seconds"
    track_first_result_over_numba.unit = "ratio"
