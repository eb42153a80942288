"""The transcripts of this folder, the examples of docstrings, and what is imported from knnccv."""

import ast
import doctest
import importlib
import os
import pkgutil
from pathlib import Path

import pytest
from transcripts import differences

import knnccv_papers

HERE = Path(__file__).parent
PACKAGE = Path(knnccv_papers.__file__).parent
MODULES = [
    one.name for one in pkgutil.walk_packages([str(PACKAGE)], "knnccv_papers.") if "__" not in one.name
]


@pytest.mark.parametrize("name", ["refused.txt", "words.txt"])
def test_answers_are_those_recorded(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    other = differences(HERE / name, record=os.environ.get("KNNCCV_RECORD") == "1")
    assert not other, "\n\n".join(other)


def test_the_examples_run(stored):  # noqa: ARG001
    run = [doctest.testmod(importlib.import_module(name)) for name in MODULES]
    assert sum(one.attempted for one in run) > 20
    assert not any(one.failed for one in run)


def test_only_public_names_of_knnccv_are_used():
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and not node.level and node.module.startswith("knnccv"):
                found |= {(node.module, one.name) for one in node.names}
            elif isinstance(node, ast.Import):
                found |= {(one.name, "") for one in node.names if one.name.startswith("knnccv")}
    assert len(found) > 20
    for module, name in found - {("knnccv", "")}:
        assert name in importlib.import_module(module).__all__, (module, name)
