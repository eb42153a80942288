"""The page on the architecture: its picture shows the contract, and everything that it names exists."""

import ast
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGE = (DOCS / "architecture.md").read_text(encoding="utf-8")
DRAWING = runpy.run_path(str(DOCS / "_ext" / "architecture.py"))
LINKS = runpy.run_path(str(DOCS / "_ext" / "source_links.py"))
REFERENCES = sorted(
    {
        (page.name, *found)
        for page in (DOCS / "architecture.md", DOCS / "mathematics.md")
        for found in LINKS["references"](page.read_text(encoding="utf-8"))
    },
    key=str,
)


def test_the_picture_shows_the_contract():
    drawn = DRAWING["draw"](DRAWING["layers"](ROOT / "pyproject.toml"))
    stored = (DOCS / "architecture.svg").read_text(encoding="utf-8")
    assert stored == drawn, "run: python docs/_ext/architecture.py"


def test_a_changed_contract_changes_the_picture():
    levels = DRAWING["layers"](ROOT / "pyproject.toml")
    assert DRAWING["draw"](levels[::-1]) != DRAWING["draw"](levels)


def test_every_package_has_a_paragraph():
    titles = set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\*\*(.+?)\.\*\*", PAGE, re.MULTILINE))))
    assert titles == {name for level in DRAWING["layers"]() for name in level}


@pytest.mark.parametrize(("page", "path", "name"), REFERENCES)
def test_every_function_that_is_named_exists(page, path, name):
    assert LINKS["line_of"](path, name) > 0, page
    assert (ROOT / path).is_file(), page


def test_references_that_lead_nowhere_are_found():
    for path, name in [
        ("knnccv/driver/_nowhere.py", None),
        ("knnccv/driver/_rows.py", "no_such_function"),
        ("knnccv/driver/_result.py", "CompleteCV.no_such_method"),
    ]:
        with pytest.raises(LookupError):
            LINKS["line_of"](path, name)


def test_every_path_that_is_named_exists():
    named = re.findall(r"`((?:knnccv|registry|tests|datasets|docs|asv_benchmarks)/[\w./*<>-]*)`", PAGE)
    assert len(named) > 5
    for path in named:
        pattern = path.replace("<name>", "*").rstrip("/")
        assert list(ROOT.glob(pattern)), path


def test_every_line_of_complete_cv_is_explained():
    """The list names every function that the body calls."""
    source = (ROOT / "knnccv" / "driver" / "_complete_cv.py").read_text(encoding="utf-8")
    (function,) = (node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef))
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    called = {call.id for call in calls if isinstance(call, ast.Name)} - {"isinstance", "ValueError"}
    (section,) = re.findall(r"^## complete_cv, line by line\n(.*?)^## ", PAGE, re.DOTALL | re.MULTILINE)
    assert called <= set(re.findall(r"`(\w+)`", section))


def test_names_without_a_path_exist():
    words = {"fastmath", "parallel"}  # options that no kernel uses
    source = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "knnccv").rglob("*.py")))
    for name in set(re.findall(r"`(\w+)(?:\(\))?`", PAGE)) - words:
        assert re.search(rf"\b{re.escape(name)}\b", source), name
