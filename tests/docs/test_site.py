"""The site: its reference, gallery and links; the pages on architecture and speed say what is there."""

from __future__ import annotations

import ast
import functools
import importlib
import os
import re
import runpy
import subprocess
import sys
import types
from collections import Counter
from pathlib import Path

import pytest
from seeds import FIRST

import knnccv

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
EXAMPLES = sorted((DOCS / "gallery").glob("*/plot_*.py"))
BUILT = {"_build", "auto_gallery", "generated"}
PAGES = [ROOT / "README.md", *(page for page in sorted(DOCS.rglob("*.md")) if not BUILT & set(page.parts))]
MODULES = {name for name in knnccv.__all__ if isinstance(getattr(knnccv, name), types.ModuleType)}
MODULES |= {"kernel", "kernel.sampling", "neighbors.hvdm"}
"""Public modules; the page of one has the last part of its name."""
ARCHITECTURE = (DOCS / "architecture.md").read_text("utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
DRAWING = runpy.run_path(str(DOCS / "_ext" / "architecture.py"))
LINKS = runpy.run_path(str(DOCS / "_ext" / "source_links.py"))


def listed(page: str, option: str = "   :toctree: generated\n") -> set[str]:
    """The names that the lists of a page of the reference give pages of their own."""
    text = (DOCS / "reference" / f"{page}.md").read_text(encoding="utf-8")
    found = re.findall(rf"^\.\. autosummary::\n{option}\n((?:   \w+\n)+)", text, re.MULTILINE)
    return set("".join(found).split())


def public(module: types.ModuleType) -> set[str]:
    """The names of `__all__` that are no modules."""
    own = {name for name in module.__all__ if not isinstance(getattr(module, name), types.ModuleType)}
    return own - {"__version__"}


def test_every_public_name_has_a_page_and_is_in_the_index():
    assert listed("knnccv") == public(knnccv)
    index = (DOCS / "reference" / "index.md").read_text(encoding="utf-8")
    for name in MODULES:
        found, page = public(importlib.import_module(f"knnccv.{name}")), name.rpartition(".")[2]
        assert found <= listed(page) | listed("knnccv"), name
        text = (DOCS / "reference" / f"{page}.md").read_text(encoding="utf-8")
        assert f".. automodule:: knnccv.{name}\n" in text
        assert f"\n{page}\n" in index
        assert f"]({page}.md)" in index
    assert listed("index", "") == listed("knnccv").union(
        *(listed(name.rpartition(".")[2]) for name in MODULES)
    )


def test_the_contents_name_every_page_of_the_guide_and_cards_only_link():
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    contents = "\n".join(re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    guide = {f"guide/{page.stem}" for page in (DOCS / "guide").glob("*.md")}
    assert guide <= set(contents.splitlines())
    cards = re.findall(r"^:::\{grid-item-card\} .*\n((?:.+\n)*?)\n", text, re.MULTILINE)
    assert len(cards) > 3
    for options in cards:
        assert re.fullmatch(r":link: \S+\n:link-type: doc\n", options), options


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_figure_of_the_gallery_is_drawn_in_one_block(path):
    """The page shows a figure as it is at the end of the block that makes it."""
    made = set()
    for block in re.split(r"^# %%.*$", path.read_text(encoding="utf-8"), flags=re.MULTILINE):
        nodes = list(ast.walk(ast.parse(block)))
        names = [node for node in nodes if isinstance(node, ast.Name)]
        bound = {name.id for name in names if isinstance(name.ctx, ast.Store)}
        assert not (made - bound) & {name.id for name in names}
        new = [
            node for node in nodes if isinstance(node, ast.Assign) and "plt.subplots" in ast.unparse(node)
        ]
        made |= {
            name.id for node in new for name in ast.walk(node.targets[0]) if isinstance(name, ast.Name)
        }


def test_the_gallery_shows_every_example_in_its_group():
    groups = runpy.run_path(str(DOCS / "_ext" / "gallery_style.py"))["GROUPS"]
    shown = {f"{group}/plot_{name}.py" for group, names in groups.items() for name in names}
    assert shown == {path.relative_to(DOCS / "gallery").as_posix() for path in EXAMPLES}
    assert len(shown) >= 14
    for group in groups:
        assert (DOCS / "gallery" / group / "GALLERY_HEADER.rst").is_file(), group


@pytest.mark.slow
def test_an_example_runs_offline(tmp_path):
    """Another one every day; building the site runs all."""
    script = EXAMPLES[FIRST % len(EXAMPLES)]
    settings = {**os.environ, "MPLBACKEND": "Agg", "MPLCONFIGDIR": str(tmp_path), "TMPDIR": str(tmp_path)}
    settings.pop("DISPLAY", None)
    settings |= dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")  # where nothing listens
    how = {"capture_output": True, "text": True, "timeout": 300, "check": False, "cwd": tmp_path}
    done = subprocess.run([sys.executable, "-W", "error", str(script)], env=settings, **how)
    assert done.returncode == 0, (script, done.stderr)


LONG = {"sklearn.md": 1600, "trust.md": 2000}
"""Words of pages that answer several questions."""


def test_pages_are_short_and_their_links_lead_somewhere():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert len(text.split()) <= LONG.get(page.name, 1500), page
        targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
        for target in targets + re.findall(r"^:link: (\S+)$", text, re.MULTILINE):
            path = (page.parent / target).resolve()
            if (DOCS / "auto_gallery") in path.parents:
                path = DOCS / "gallery" / path.relative_to(DOCS / "auto_gallery").with_suffix(".py")
                path = path if path.name != "index.py" else path.with_name("GALLERY_HEADER.rst")
            assert path.exists() or path.with_suffix(".md").exists(), (page, target)


def test_the_picture_of_the_architecture_shows_the_contract_and_the_page_explains_it():
    levels = DRAWING["layers"](ROOT / "pyproject.toml")
    stored = (DOCS / "architecture.svg").read_text(encoding="utf-8")
    assert stored == DRAWING["draw"](levels), "run: python docs/_ext/architecture.py"
    assert stored != DRAWING["draw"](levels[::-1])
    titles = re.findall(r"^\*\*(.+?)\.\*\*", ARCHITECTURE, re.MULTILINE)
    drawn = {name for level in levels for name in level}
    assert drawn | {"luck", "scores"} == set(re.findall(r"`(\w+)`", " ".join(titles)))


@pytest.mark.slow
def test_every_path_and_every_name_on_the_pages_exists():
    for page in (*PAGES, ROOT / "CONTRIBUTING.md"):
        for path, name in LINKS["references"](page.read_text(encoding="utf-8")):
            assert LINKS["line_of"](path, name), (page, path, name)
    for path, name in [
        ("knnccv/_core/driver/_nowhere.py", None),
        ("knnccv/_core/driver/_rows.py", "no_such_function"),
        ("knnccv/_core/scores/results/_result.py", "CompleteCV.no_such_method"),
    ]:
        with pytest.raises(LookupError):
            LINKS["line_of"](path, name)
    words = {"fastmath", "parallel", "main", "zizmor", "warn_unreachable"}  # options, a branch, a tool
    for text, folders in (
        (ARCHITECTURE, ("knnccv", "registry")),
        (CONTRIBUTING, ("knnccv", "registry", "tests", "papers")),
    ):
        parts = "knnccv|registry|tests|papers|datasets|docs|asv_benchmarks"
        named = re.findall(rf"`((?:{parts})/[\w./*<>-]*)`", text)
        assert len(named) > 5
        for path in set(named) - {"asv_benchmarks/results/"}:  # written by asv
            assert list(ROOT.glob(re.sub(r"<\w+>", "*", path).rstrip("/"))), path
        files = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
        source = "\n".join(path.read_text(encoding="utf-8") for path in files if path != Path(__file__))
        known = set(re.findall(r"\w+", source)).union(*(path.with_suffix("").parts for path in files))
        text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
        assert set(re.findall(r"`(\w+)(?:\(\))?`", text)) - words <= known


def test_every_line_of_complete_cv_is_explained():
    """The table names every function that the body calls."""
    source = (ROOT / "knnccv/_core/scores/results/_complete_cv.py").read_text(encoding="utf-8")
    definitions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    (function,) = (node for node in definitions if node.name == "complete_cv")
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    called = {call.id for call in calls if isinstance(call, ast.Name)} - {"isinstance", "ValueError"}
    (section,) = re.findall(r"^## From X to A_x\n(.*?)^## ", ARCHITECTURE, re.DOTALL | re.MULTILINE)
    assert called <= set(re.findall(r"`(\w+)`", section))


@functools.cache
def imports(folder):
    """Pairs of a file below a folder of the repository and a module that it imports, with full names."""
    found = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        package = path.relative_to(ROOT).parts[:-1]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found += [(path, alias.name) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                within = package[: len(package) - node.level + 1] if node.level else ()
                found.append((path, ".".join([*within, *filter(None, [node.module])])))
    return found


@pytest.mark.slow
def test_modules_are_as_long_and_import_what_the_page_says():
    ((lines, files),) = re.findall(r"at most (\d+) lines; a room has at most (\d+)\s+files", ARCHITECTURE)
    rooms = Counter()
    for path in {path for folder in ("knnccv", "registry") for path, _ in imports(folder)}:
        assert path.read_bytes().count(b"\n") <= int(lines), path
        rooms[path.parent] += 1
    assert max(rooms.values()) == int(files)
    used = {module.split(".")[1] for _, module in imports("registry") if module.startswith("knnccv.")}
    (sentence,) = re.findall(r"The built-in rules .*?They import (.*?) only", ARCHITECTURE, re.DOTALL)
    assert used == set(re.findall(r"`(\w+)`", sentence))
    assert "knnccv_variants" not in {module.split(".")[0] for _, module in imports("knnccv")}
