"""The files of papers: what they tell is used, and told values are shown."""

from __future__ import annotations

import inspect
from importlib import import_module

import pytest

from knnccv.datasets import DatasetError
from knnccv.reproduce._paper import Missing, Paper, load

MODULES = ("_esl", "_icml2000", "_kanagawa", "_what_ccv_buys", "_wilson_martinez")


@pytest.mark.parametrize("module", MODULES)
def test_every_line_of_a_file_is_made(module):
    source = inspect.getsource(import_module(f"knnccv.reproduce.{module}"))
    keys = Paper.read(module.removeprefix("_"))["lines"]
    assert len(keys) > 1
    assert [key for key in keys if f'"{key}"' not in source] == []


def test_a_line_and_its_notes():
    told = {"quantity": "error of {n}", "note": "by {off:.1f}.", "paper": 3.0, "digits": 1}
    paper = Paper({"title": "T", "source": "S", "notes": ["{n} samples"], "lines": {"error": told}})
    line = paper.line("error", 2.96, allowed=(2.9, 3.1), part="P", n=7, off=0.04)
    assert (line.part, line.quantity, line.note) == ("P", "error of 7", "by 0.0.")
    assert line.cells() == ("error of 7", "3.0", "3.0", "2.9 to 3.1", "agrees")
    assert paper.line("error", 2.5, 2.0, part="P", n=7, off=0, digits=3).cells()[1:3] == ("2.000", "2.500")
    assert paper.line("error", holds=False, part="P", n=7, off=0).verdict == "does not hold"
    report = paper.comparison([line], paper.notes(n=7), failures=("gone",))
    assert (report.title, report.notes, report.failures) == ("T", ("7 samples",), ("gone",))
    with pytest.raises(KeyError, match="off"):
        paper.line("error", part="P", n=7)


def test_data_that_cannot_be_obtained_are_a_reason(monkeypatch):
    missing = Missing()
    with missing.noted("one"):
        assert load("load_wine").X.shape == (178, 13)
    assert missing.sentences() == ()
    monkeypatch.setenv("KNNCCV_DATA_URL", "http://127.0.0.1:9")
    with missing.noted("two"):
        load("fetch_abalone", n_classes=3)
    (sentence,) = missing.sentences()
    assert sentence.startswith("no data for two: ")
    assert "abalone" in sentence.lower()


def test_missing_data_are_listed_by_reason():
    missing = Missing()
    for part, reason in (("one", "gone\n  away"), ("three", "gone away"), ("four", "late")):
        with missing.noted(part):
            raise DatasetError(reason)
    assert missing.sentences() == ("no data for one; three: gone away", "no data for four: late")
