"""The section of the acceptance script that measures how well wrong labels are found."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "asv_benchmarks" / "acceptance.py"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPT.parent))  # for its import of the benchmarks
    spec = importlib.util.spec_from_file_location("acceptance", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_has_a_row_for_every_data_set(script):
    head, row = script.labels(["wine"], repeats=1)
    assert head[:4] == ("data", "Shapley", "influence", "A_x")
    assert row[:2] == ("wine", "0.83, 0.96 (0.00)")


def test_measures_of_a_small_ranking(script):
    wrong = np.array([True, False, True, False, False])
    scores = np.array([-1.0, 0.0, 0.5, 0.5, 2.0])
    assert script.among_lowest(scores, wrong) == 0.5
    assert script.average_precision(scores, wrong) == (1 + 2 / 4) / 2
    codes, changed = script.flipped(np.repeat(["a", "b"], 10), seed=0)
    assert changed.sum() == 2
    assert (codes != np.repeat([0, 1], 10)).tolist() == changed.tolist()
