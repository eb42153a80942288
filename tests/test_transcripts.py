"""Every transcript of this folder: the words of answers and refusals, and that a transcript can fail."""

import os
from pathlib import Path

import pytest
from transcripts import answer, differences, pieces

HERE = Path(__file__).parent
LONG = ("reporting/conclusions.txt", "reporting/page.txt", "plot/pictures.txt")
NAMES = sorted(path.relative_to(HERE).as_posix() for path in HERE.rglob("*.txt"))
TRANSCRIPTS = [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in NAMES]


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_answers_are_those_recorded(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # what is refused leaves no file behind
    other = differences(HERE / name, record=os.environ.get("KNNCCV_RECORD") == "1")
    assert not other, "\n\n".join(other)
    assert not list(tmp_path.iterdir())


WORDS = """x = 3

# a comment
x + 1
= 4
x / 0
! ZeroDivisionError: ... zero
int("a")
= 5
"a\\n\\nb"
"""


def test_a_transcript_that_differs_is_told_and_recorded(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text(WORDS)
    assert len(pieces(WORDS)) == 5
    first, second = differences(path, record=True)
    assert ':8: int("a")' in first
    assert "found\n= a\n=\n= b" in second
    assert not differences(path)
    assert answer("None", {}) == answer("y = 2", {}) == []
