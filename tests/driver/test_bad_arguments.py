"""What is missing is named, and what the transcripts of refusals correct is accepted."""

import sys

import pytest
from bad_input import complete, sampled

import knnccv
from knnccv import Subsample


@pytest.mark.parametrize("function", [complete, sampled])
def test_progress_needs_tqdm(function, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match=r"a progress bar needs tqdm: pip install 'knnccv\[progress\]'"):
        function(cv=Subsample(6), progress=True)


def test_to_frame_needs_pandas(monkeypatch):
    result = complete(cv=Subsample(6))
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"needs pandas: pip install 'knnccv\[pandas\]'"):
        result.to_frame()


def test_the_corrected_inputs_are_accepted():
    """The inputs of the tables without their faults; the refused variants are not registered."""
    assert complete(cv=Subsample(6)).error_bound < 1e-12
    assert len(sampled(cv=Subsample(6)).scores) == 3
    assert "no-kernel" not in knnccv.variant_names()
