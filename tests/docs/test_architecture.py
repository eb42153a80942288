"""The page on the architecture, and CONTRIBUTING.md: the picture and rules hold, and every name exists."""

import ast
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGE = (DOCS / "architecture.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
TEXTS = pytest.mark.parametrize("text", [PAGE, CONTRIBUTING], ids=["architecture", "contributing"])
DRAWING = runpy.run_path(str(DOCS / "_ext" / "architecture.py"))
LINKS = runpy.run_path(str(DOCS / "_ext" / "source_links.py"))
PAGES = (DOCS / "architecture.md", DOCS / "mathematics.md", ROOT / "CONTRIBUTING.md")


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


def test_every_function_that_is_named_exists():
    missing = []
    for page in PAGES:
        for path, name in LINKS["references"](page.read_text(encoding="utf-8")):
            try:
                LINKS["line_of"](path, name)
            except LookupError as error:
                missing.append(f"{page.name}: {error}")
    assert missing == []


def test_references_that_lead_nowhere_are_found():
    for path, name in [
        ("knnccv/driver/_nowhere.py", None),
        ("knnccv/driver/_rows.py", "no_such_function"),
        ("knnccv/results/_result.py", "CompleteCV.no_such_method"),
    ]:
        with pytest.raises(LookupError):
            LINKS["line_of"](path, name)


@TEXTS
def test_every_path_that_is_named_exists(text):
    named = re.findall(r"`((?:knnccv|registry|tests|datasets|docs|asv_benchmarks)/[\w./*<>-]*)`", text)
    assert len(named) > 5
    for path in set(named) - {"asv_benchmarks/results/"}:  # written by asv
        pattern = re.sub(r"<\w+>", "*", path).rstrip("/")
        assert list(ROOT.glob(pattern)), path


def test_every_line_of_complete_cv_is_explained():
    """The table names every function that the body calls."""
    source = (ROOT / "knnccv" / "results" / "_complete_cv.py").read_text(encoding="utf-8")
    (function,) = (node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef))
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    called = {call.id for call in calls if isinstance(call, ast.Name)} - {"isinstance", "ValueError"}
    (section,) = re.findall(r"^## From X to A_x\n(.*?)^## ", PAGE, re.DOTALL | re.MULTILINE)
    assert called <= set(re.findall(r"`(\w+)`", section))


@TEXTS
def test_names_without_a_path_exist(text):
    words = {"fastmath", "parallel", "main"}  # options that no kernel uses, and a branch
    folders = ("knnccv", "registry") if text == PAGE else ("knnccv", "registry", "tests")
    files = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    source = "\n".join(path.read_text(encoding="utf-8") for path in files if path != Path(__file__))
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    for name in set(re.findall(r"`(\w+)(?:\(\))?`", text)) - words:
        assert re.search(rf"\b{re.escape(name)}\b", source), name


def test_no_file_is_long():
    (limit,) = re.findall(r"^- No Python file .* has more than (\d+) lines\.$", PAGE, re.MULTILINE)
    for folder in ("knnccv", "registry"):
        for path in (ROOT / folder).rglob("*.py"):
            assert len(path.read_text(encoding="utf-8").splitlines()) <= int(limit), path


def imports(folder):
    """Pairs of a file below a folder of the repository and a module that it imports, with full names."""
    for path in sorted((ROOT / folder).rglob("*.py")):
        package = path.relative_to(ROOT).parts[:-1]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from ((path, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                within = package[: len(package) - node.level + 1] if node.level else ()
                yield path, ".".join([*within, *filter(None, [node.module])])


def test_rules_import_what_the_page_says():
    used = {module.split(".")[1] for _, module in imports("registry") if module.startswith("knnccv.")}
    (sentence,) = re.findall(r"^The built-in rules .*?They use (.*?) only", PAGE, re.DOTALL | re.MULTILINE)
    assert used == set(re.findall(r"`(\w+)`", sentence))
    importers = {path for path, module in imports("knnccv") if module.split(".")[0] == "knnccv_variants"}
    assert importers == {ROOT / "knnccv" / "reproduce" / "_catalog.py"}


def test_other_packages_import_from_packages_with_the_exceptions_on_the_page():
    exceptions = set()
    for path, module in imports("knnccv"):
        owner = path.relative_to(ROOT / "knnccv").parts[0]
        parts = module.split(".")
        if parts[0] == "knnccv" and len(parts) > 2 and parts[1] != owner:
            exceptions.add((owner.removesuffix(".py"), "/".join(parts[:3])))
    assert exceptions == {
        ("runs", "knnccv/kernel/words"),
        ("tuning", "knnccv/kernel/words"),
        ("curves", "knnccv/kernel/simd"),
        ("neighbors", "knnccv/kernel/simd"),
        ("reproduce", "knnccv/plot/_canvas"),
        ("__main__", "knnccv/_cli/commands"),
    }
    for owner, module in exceptions:
        assert re.search(rf"exceptions:.*`{owner}`.*From the bottom up", PAGE, re.DOTALL), owner
        assert f"`{module}/`" in PAGE or f"`{module}.py`" in PAGE
