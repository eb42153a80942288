"""What first calls compile: every function for one signature, so that nobody waits for needless ones."""

import json
import os
import subprocess
import sys

import numba
import pytest

CALLS = """
import gc, json, warnings
import numpy as np
from numba.core.dispatcher import Dispatcher
from knnccv import KFold, complete_cv
from knnccv.retrieval import expected_retrieval

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 3)), np.arange(60) % 3
complete_cv(X, y)
complete_cv(X.round(), y, "knn", KFold(5))
complete_cv(X.round(), X[:, 0], "regression")
expected_retrieval(rng.normal(size=(60, 60)), y, y)
found = [each for each in gc.get_objects() if isinstance(each, Dispatcher)]
own = {f"{each.__module__}.{each.__qualname__}": len(each.signatures) for each in found
       if each.__module__.startswith("knnccv")}
print(json.dumps({name: number for name, number in own.items() if number}))
"""


SEVERAL = {
    "knnccv.sampling.step_by_thinning": 4,
    "knnccv.voting._fixed_size.position_weights_at": 2,
    "knnccv_variants.regression.mean_inclusion": 2,
}


@pytest.fixture(scope="module")
def signatures(tmp_path_factory):
    if numba.config.DISABLE_JIT:
        pytest.skip("nothing is compiled while NUMBA_DISABLE_JIT is set")
    empty = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path_factory.mktemp("empty"))}
    command = [sys.executable, "-c", CALLS]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=empty)
    return json.loads(done.stdout)


@pytest.mark.slow
def test_functions_are_compiled_once(signatures):
    """Another signature is a literal in place of a number, or a slice in place of an array."""
    several = {name: number for name, number in signatures.items() if number > 1}
    assert several.items() <= SEVERAL.items()


@pytest.mark.slow
def test_few_signatures_are_compiled(signatures):
    assert 30 < sum(signatures.values()) <= 75
