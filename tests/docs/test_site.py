"""The site: its reference, its gallery, its links, and phrases that readers did not understand."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import runpy
import subprocess
import sys
import types
from pathlib import Path

import pytest

import knnccv

DOCS = Path(__file__).resolve().parents[2] / "docs"
EXAMPLES = sorted((DOCS / "gallery").glob("*/plot_*.py"))
BUILT = ("_build", "auto_gallery", "generated")
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if not set(BUILT) & set(page.parts)]
TEXTS = [*PAGES, *EXAMPLES, *sorted(DOCS.parent.glob("[A-Z]*.md"))]
TEXTS = [path for path in TEXTS if path.name != "CHANGELOG.md"]
MODULES = {name for name in knnccv.__all__ if isinstance(getattr(knnccv, name), types.ModuleType)}
MODULES |= {"kernel", "sampling"}
UNCLEAR = (
    "equally near",
    "equally similar",
    "rank scoring",
    "numbers, names and gaps",
    "however many fall ill",
    "Labels of a coin",
    "noise looks worse than a coin",
    "What is missing is named",
    "to the letter",
    "Random runs must do",
    "random runs must do",
    "as these hand the",
    "usually 0 of none",
    "for nothing",
    "nobody",
    "whoever",
    "Whoever",
    "eighbour",
    "tandardis",
)


def listed(page: str, option: str = "   :toctree: generated\n") -> set[str]:
    """The names that the lists of a page of the reference give pages of their own."""
    text = (DOCS / "reference" / f"{page}.md").read_text(encoding="utf-8")
    found = re.findall(rf"^\.\. autosummary::\n{option}\n((?:   \w+\n)+)", text, re.MULTILINE)
    return set("".join(found).split())


def public(module: types.ModuleType) -> set[str]:
    """The names of `__all__`, or the public names that a module defines."""
    own = getattr(module, "__all__", None)
    if own is None:
        own = [
            name
            for name, value in vars(module).items()
            if not name.startswith("_")
            and (inspect.isfunction(value) or inspect.isclass(value))
            and value.__module__.startswith(module.__name__)
        ]
    return {name for name in own if not isinstance(getattr(module, name), types.ModuleType)} - {
        "__version__"
    }


def test_the_contents_name_every_page_of_the_guide_and_cards_only_links():
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    contents = "\n".join(re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    guide = {f"guide/{page.stem}" for page in (DOCS / "guide").glob("*.md")}
    assert guide <= set(contents.splitlines())
    cards = re.findall(r"^:::\{grid-item-card\} .*\n((?:.+\n)*?)\n", text, re.MULTILINE)
    assert len(cards) > 3
    for options in cards:
        assert re.fullmatch(r":link: \S+\n:link-type: doc\n", options), options


def test_every_public_name_has_a_page():
    assert listed("knnccv") == public(knnccv)
    for name in MODULES:
        found = public(importlib.import_module(f"knnccv.{name}"))
        assert found <= listed(name) | listed("knnccv"), name
        text = (DOCS / "reference" / f"{name}.md").read_text(encoding="utf-8")
        assert f".. automodule:: knnccv.{name}\n" in text


def test_the_index_of_the_reference_describes_everything():
    text = (DOCS / "reference" / "index.md").read_text(encoding="utf-8")
    assert listed("index", "") == listed("knnccv").union(*(listed(name) for name in MODULES))
    for name in MODULES:
        assert f"\n{name}\n" in text
        assert f"]({name}.md)" in text


def test_what_the_reference_names_can_be_imported_and_has_a_description():
    for page in sorted({"knnccv"} | MODULES):
        module = knnccv if page == "knnccv" else importlib.import_module(f"knnccv.{page}")
        for name in listed(page):
            assert (inspect.getdoc(getattr(module, name)) or "").strip(), f"{page}: {name}"


def test_the_gallery_shows_every_example_in_its_group():
    groups = runpy.run_path(str(DOCS / "_ext" / "gallery_style.py"))["GROUPS"]
    shown = {f"{group}/plot_{name}.py" for group, names in groups.items() for name in names}
    assert shown == {path.relative_to(DOCS / "gallery").as_posix() for path in EXAMPLES}
    assert len(shown) >= 14
    for group in groups:
        assert (DOCS / "gallery" / group / "GALLERY_HEADER.rst").is_file(), group


@pytest.mark.slow
@pytest.mark.parametrize("script", EXAMPLES[::10], ids=[script.stem for script in EXAMPLES[::10]])
def test_examples_run_offline(script, tmp_path):
    """Some of them; building the site runs all."""
    settings = {**os.environ, "MPLBACKEND": "Agg", "MPLCONFIGDIR": str(tmp_path)}
    settings["TMPDIR"] = str(tmp_path)
    settings.pop("DISPLAY", None)
    for name in ("http_proxy", "https_proxy"):
        settings[name] = "http://127.0.0.1:9"  # where nothing listens
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=tmp_path,
        env=settings,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=[page.relative_to(DOCS).as_posix() for page in PAGES])
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text) + re.findall(
        r"^:link: (\S+)$", text, re.M
    ):
        path = (page.parent / target).resolve()
        if (DOCS / "auto_gallery") in path.parents:
            within = path.relative_to(DOCS / "auto_gallery").with_suffix(".py")
            path = DOCS / "gallery" / within
            path = path if path.name != "index.py" else path.with_name("GALLERY_HEADER.rst")
        assert path.exists() or path.with_suffix(".md").exists(), target


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.name)
def test_words_that_readers_did_not_understand_are_gone(page):
    if page.stem == "variants":
        pytest.skip("includes another folder's page")
    prose = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    prose = " ".join(re.sub(r"`[^`]*`", "", prose).split())
    for words in UNCLEAR:
        assert words not in prose, words


@pytest.mark.parametrize("name", ["logo-light.svg", "logo-dark.svg", "favicon.svg"])
def test_the_logo_is_small_and_needs_no_network(name):
    from xml.etree import ElementTree

    path = DOCS / "_static" / name
    assert path.stat().st_size < 5000
    root = ElementTree.parse(path).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert not [value for node in root.iter() for value in node.attrib.values() if "://" in value]


def test_the_versions_of_citations_agree():
    text = (DOCS / "citation.md").read_text(encoding="utf-8")
    assert f"version = {{{knnccv.__version__}}}" in text
