"""The script that measures how well wrong labels are found."""

import importlib.util
from pathlib import Path

import numpy as np

SCRIPT = Path(__file__).parents[2] / "asv_benchmarks" / "noisy_labels.py"


def script():
    spec = importlib.util.spec_from_file_location("noisy_labels", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_has_a_row_for_every_data_set():
    head, _, row = script().table(["wine"], seeds=1)
    assert head.startswith("| data | Shapley | influence | A_x |")
    assert row.startswith("| wine | 0.83, 0.96 (0.00) |")


def test_measures_of_a_small_ranking():
    noisy = script()
    wrong = np.array([True, False, True, False, False])
    scores = np.array([-1.0, 0.0, 0.5, 0.5, 2.0])
    assert noisy.among_lowest(scores, wrong) == 0.5
    assert noisy.average_precision(scores, wrong) == (1 + 2 / 4) / 2
    codes, changed = noisy.flipped(np.repeat(["a", "b"], 10), seed=0)
    assert changed.sum() == 2
    assert (codes != np.repeat([0, 1], 10)).tolist() == changed.tolist()
