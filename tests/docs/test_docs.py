"""Code in documents runs: the blocks of the README and of every page, and every docstring's example."""

import doctest
import importlib
import inspect
import io
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import pytest
from problems import BUILT_IN

import knnccv
import knnccv_variants

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text(encoding="utf-8")
SCRIPTS = ("approximate.md", "variants_example.md")
"""Pages whose blocks are scripts of their own, or tested with the registry."""
DOWNLOADS = ("guide/data_sets.md",)
"""Pages whose blocks fetch data."""
PAGES = [page.relative_to(DOCS).as_posix() for page in sorted(DOCS.rglob("*.md"))]
PAGES = [name for name in PAGES if not re.match("_build|auto_gallery|mathematics/", name)]
FURTHER = re.findall(r"\((mathematics/\w+\.md)\)\n", (DOCS / "mathematics.md").read_text("utf-8"))
"""Pages whose blocks continue those of the page before, from `mathematics.md` on."""
LONG = (
    "_cli.warm",
    "testing",
    "reporting._report",
    "selection._search",
    "plot._results",
    "plot._curves",
    "reporting._charts",
)
"""Modules whose examples take seconds."""


def blocks(text, language="python"):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


def page(name):
    names = [name, *FURTHER] if name == "mathematics.md" else [name]
    return "\n".join((DOCS / name).read_text(encoding="utf-8") for name in names)


def run_page(text, name):
    """Run the blocks of a page in order; sessions must show what they return."""
    scope = {"__name__": "page"}
    outputs = io.StringIO()
    runner = doctest.DocTestRunner()
    n_blocks = 0
    for found in re.finditer(r"^```(python|pycon)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE):
        line = text[: found.start()].count("\n") + 1
        n_blocks += 1
        if found[1] == "python":
            exec(compile("\n" * line + found[2], name, "exec"), scope)
        else:
            session = doctest.DocTestParser().get_doctest(found[2], scope, name, name, line)
            runner.run(session, out=outputs.write, clear_globs=False)
            scope.update(session.globs)
    assert not runner.failures, outputs.getvalue()
    return n_blocks


def test_the_readme_runs_and_prints_what_it_says(capsys):
    with pytest.raises(AssertionError, match=r"Expected:\s+2\s+Got:\s+1"):
        run_page("```python\nx = 1\n```\n\n```pycon\n>>> x\n2\n```\n", "page.md")
    assert "fetch_" not in "".join(blocks(README))
    run_page(README, "README.md")
    by_runs, compared, first, *_ = capsys.readouterr().out.splitlines()
    assert f"```text\n{by_runs}\n{compared}\n```" in README
    score, bound, number = first.split()
    assert f"The first line is `{score[:8]}…`, `{float(bound):.1e}` and `{number}`" in README
    started = (DOCS / "getting_started.md").read_text(encoding="utf-8")
    for name in BUILT_IN:
        assert f'"{name}"' in started, name


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PAGES if name not in SCRIPTS + DOWNLOADS])
def test_the_pages_of_the_site_run(name):
    assert run_page(page(name), name) > 0 or ">>>" not in page(name)


def test_the_pages_that_fetch_data_run(mirror, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("KNNCCV_DATA_URL", mirror.url)
    monkeypatch.setenv("KNNCCV_DATA_DIR", str(tmp_path))
    for name in DOWNLOADS:
        assert run_page(page(name), name) > 0
    assert (
        "CompleteCV score=0.606935, measure=accuracy, variant=nn, design=Subsample(train_size=172)"
        in capsys.readouterr().out
    )


def run_script(block, folder):
    """What a block prints as a script, which its processes import."""
    script = folder / "page.py"
    script.write_text(block, encoding="utf-8")
    how = {"capture_output": True, "text": True, "timeout": 300, "check": False}
    done = subprocess.run([sys.executable, str(script)], **how)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "block", [block for block in blocks(page("guide/performance.md")) if "__main__" in block]
)
def test_the_page_on_clusters_runs(block, tmp_path):
    if "dask" in block:
        pytest.importorskip("distributed", reason="dask's distributed is not installed")
    assert [line[:8] for line in run_script(block, tmp_path).split()].count("0.712135") == 1


@pytest.mark.slow
def test_the_page_on_approximate_neighbors_runs(tmp_path):
    pytest.importorskip("faiss", reason="faiss is not installed")
    block = "".join(blocks(page("approximate.md")))
    shown = run_script(block, tmp_path)
    recalls = [float(found) for found in re.findall(r"recall (\d\.\d+)", shown)]
    off = [float(found) for found in re.findall(r"off by ([+-]\d\.\d+)", shown)]
    assert recalls[0] > 0.95 > recalls[-1]
    assert len(off) == 4
    assert max(map(abs, off)) < 0.02
    assert "neighbors approximate" in shown
    assert "False inf " in shown


def test_the_statements_of_the_mathematics_are_checked():
    """After the last displayed formula of a section there is a block that asserts something."""
    sections = re.split(r"^## ", page("mathematics.md"), flags=re.MULTILINE)
    sections = [section for section in sections if "$$\n" in section]
    assert len(sections) > 5
    for section in sections:
        assert any("assert " in block for block in blocks(section[section.rindex("$$\n") :])), section


def test_blocks_that_are_not_run_compile():
    for name in PAGES:
        for block in blocks(page(name), "py"):
            compile(block, name, "exec")


@pytest.mark.slow
def test_the_figure_can_be_drawn_again(mirror, monkeypatch, tmp_path):
    monkeypatch.setenv("KNNCCV_DATA_URL", mirror.url)
    monkeypatch.setenv("KNNCCV_DATA_DIR", str(tmp_path))
    mpl.use("Agg")
    scope = {"__name__": "drawn", "__file__": str(DOCS / "spread.py")}
    exec(compile((DOCS / "spread.py").read_text(encoding="utf-8"), "spread.py", "exec"), scope)
    scope["TARGET"] = tmp_path / "spread.png"
    scope["main"]()
    assert scope["TARGET"].read_bytes().startswith(b"\x89PNG")


def modules():
    """The names of all modules of both packages."""
    for package in (knnccv, knnccv_variants):
        yield package.__name__
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if not found.name.endswith("knnccv.__main__"):
                yield found.name


@pytest.mark.parametrize("takes_long", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_examples_of_docstrings(takes_long, monkeypatch):
    monkeypatch.setattr(doctest, "master", None)
    failed = []
    for name in modules():
        if (name.removeprefix("knnccv.") in LONG) == takes_long:
            failed += [name] * bool(doctest.testmod(importlib.import_module(name)).failed)
    assert not failed


def referenced():
    """The public names: those of the reference, without helpers of kernels."""
    for path in sorted((DOCS / "reference").glob("*.md")):
        module = None
        for line in path.read_text(encoding="utf-8").splitlines():
            if found := re.match(r"\.\. (?:currentmodule|module):: (\S+)", line):
                module = found[1]
            elif (found := re.fullmatch(r"   ([A-Za-z_][\w.]+)", line)) and path.stem != "index":
                if module in (
                    "knnccv.kernel",
                    "knnccv.kernel.sampling",
                ):  # their examples are in docs/variants.md
                    continue
                yield found[1] if found[1].startswith("knnccv.") else f"{module}.{found[1]}"


def test_every_public_docstring_has_a_description_and_an_example():
    names = list(referenced())
    assert len(names) > 110
    for name in names:
        module, _, attribute = name.rpartition(".")
        found = getattr(importlib.import_module(module), attribute)
        if not callable(found) or (inspect.isclass(found) and issubclass(found, BaseException)):
            continue
        text = inspect.cleandoc(found.__doc__)
        assert re.search(r"^Examples\n--------\n(.*\n)*>>> ", text, re.MULTILINE), name
        for section in re.findall(r"^(Parameters|Returns|Raises|References|Examples)$", text, re.MULTILINE):
            assert f"{section}\n{'-' * len(section)}\n" in text, name
