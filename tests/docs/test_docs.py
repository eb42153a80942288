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

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SCRIPTS = ("approximate.md", "cluster.md")
"""Pages whose blocks are scripts of their own."""
DOWNLOADS = ("guide/data_sets.md",)
"""Pages whose blocks fetch data."""
BUILT = ("_build", "auto_gallery")
PAGES = [page.relative_to(DOCS) for page in sorted(DOCS.rglob("*.md"))]
PAGES = [page.as_posix() for page in PAGES if page.parts[0] not in BUILT]


def blocks(name, language="python"):
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


def test_the_readme_runs(capsys):
    assert "fetch_" not in "".join(blocks("README.md"))
    run_page((ROOT / "README.md").read_text(encoding="utf-8"), "README.md")
    shown = capsys.readouterr().out
    score, bound, number = shown.split()[:3]
    told = f"This prints about `{score[:8]}…`, `{float(bound):.1e}` and `{number}`"
    assert told in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "n_neighbors" in shown


def test_the_readme_is_short_and_its_first_blocks_are_the_main_uses():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count("\n") <= 200
    first, second, *_ = blocks("README.md")
    assert "complete_cv(" in first
    assert "expected_score(" in second
    order = ["](docs/spread.png)", "## Install", first, second, "## Literature"]
    assert sorted(order, key=text.index) == order


@pytest.mark.slow
@pytest.mark.parametrize("block", blocks("docs/cluster.md"))
def test_the_page_on_clusters_runs(block, tmp_path):
    """Each block as a script, which its processes import."""
    if "dask" in block:
        pytest.importorskip("distributed", reason="dask's distributed is not installed")
    script = tmp_path / "page.py"
    script.write_text(block, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [line[:8] for line in done.stdout.split()].count("0.712135") == 1


@pytest.mark.slow
def test_the_page_on_approximate_neighbors_runs(tmp_path):
    pytest.importorskip("faiss", reason="faiss is not installed")
    (block,) = blocks("docs/approximate.md")
    script = tmp_path / "page.py"
    script.write_text(block, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    recalls = [float(found) for found in re.findall(r"recall (\d\.\d+)", done.stdout)]
    off = [float(found) for found in re.findall(r"off by ([+-]\d\.\d+)", done.stdout)]
    assert recalls[0] > 0.95 > recalls[-1]
    assert len(off) == 4
    assert max(map(abs, off)) < 0.02
    assert "neighbors approximate" in done.stdout
    assert "False inf " in done.stdout


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


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PAGES if name not in SCRIPTS + DOWNLOADS])
def test_the_pages_of_the_site_run(name):
    text = (DOCS / name).read_text(encoding="utf-8")
    assert run_page(text, name) > 0 or ">>>" not in text


@pytest.mark.parametrize("name", DOWNLOADS)
def test_the_pages_that_fetch_data_run(name, mirror, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("KNNCCV_DATA_URL", mirror.url)
    monkeypatch.setenv("KNNCCV_DATA_DIR", str(tmp_path))
    assert run_page((DOCS / name).read_text(encoding="utf-8"), name) > 0
    assert "CompleteCV 0.606935: nn over Subsample(train_size=172)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("```python\nx = 1\n```\n\n```python\nassert x == 2, 'x'\n```\n", "x"),
        ("```python\nx = 1\n```\n\n```pycon\n>>> x\n2\n```\n", r"Expected:\s+2\s+Got:\s+1"),
        ("```pycon\n>>> x = 1\n```\n\n```python\nassert x == 2, 'x'\n```\n", "x"),
    ],
)
def test_a_page_that_is_wrong_is_found(text, error):
    with pytest.raises(AssertionError, match=error):
        run_page(text, "page.md")


def test_the_statements_of_the_mathematics_are_checked():
    """After the last displayed formula of a section there is a block that asserts something."""
    text = (DOCS / "mathematics.md").read_text(encoding="utf-8")
    sections = [section for section in re.split(r"^## ", text, flags=re.MULTILINE) if "$$\n" in section]
    assert len(sections) > 5
    for section in sections:
        last = section[section.rindex("$$\n") :]
        found = re.findall(r"^```python\n(.*?)^```$", last, flags=re.DOTALL | re.MULTILINE)
        assert any("assert " in block for block in found), section


@pytest.mark.parametrize("name", PAGES)
def test_blocks_that_are_not_run_compile(name):
    for block in blocks(f"docs/{name}", "py"):
        compile(block, name, "exec")


def test_the_readme_names_every_built_in_variant():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in BUILT_IN:
        assert f'"{name}"' in text, name


@pytest.mark.parametrize("name", ["README.md", "docs/guide/ties.md", "docs/getting_started.md"])
def test_no_text_calls_another_tie_rule_the_default(name):
    """Texts that were right when ``"index"`` was the default."""
    text = " ".join((ROOT / name).read_text(encoding="utf-8").split())
    for outdated in ('`"index"` (default)', '`ties="random"` for', "Missing so far: `ties"):
        assert outdated not in text


def test_the_defaults_in_signatures_and_docstrings_agree():
    for function in (knnccv.complete_cv, knnccv.monte_carlo_cv, knnccv.surface):
        assert inspect.signature(function).parameters["ties"].default is None
        assert 'default "index"' not in function.__doc__
    for function in (knnccv.complete_cv, knnccv.surface):
        assert 'ties : {"random", "index"}, default "random"' in function.__doc__


def test_the_readme_shows_the_two_commands():
    assert blocks("README.md", "bash")[0] == "pip install . && knnccv score\n"
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (tested,) = re.findall(r"<!-- test-command -->\s+```bash\n(.*?)```", text, re.DOTALL)
    assert tested.startswith('pip install ".[test]" && pytest')


def test_links_of_the_readme_lead_somewhere():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / target).exists(), target


@pytest.mark.slow
def test_the_figure_can_be_drawn_again(mirror, monkeypatch, tmp_path):
    monkeypatch.setenv("KNNCCV_DATA_URL", mirror.url)
    monkeypatch.setenv("KNNCCV_DATA_DIR", str(tmp_path))
    mpl.use("Agg")
    scope = {"__name__": "drawn", "__file__": str(ROOT / "docs" / "spread.py")}
    exec(compile((ROOT / "docs" / "spread.py").read_text(encoding="utf-8"), "spread.py", "exec"), scope)
    scope["TARGET"] = tmp_path / "spread.png"
    scope["main"]()
    assert scope["TARGET"].read_bytes().startswith(b"\x89PNG")


def modules():
    import knnccv_variants

    for package in (knnccv, knnccv_variants):
        yield package.__name__
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if not found.name.endswith("__main__"):
                yield found.name


@pytest.mark.parametrize("name", list(modules()))
def test_examples_of_docstrings(name):
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


PUBLIC = ("datasets", "episodes", "hvdm", "plot", "retrieval", "rib", "rivals", "selection", "sklearn")


def referenced():
    """The public names: those of the reference, without helpers of kernels."""
    for page in sorted((DOCS / "reference").glob("*.md")):
        module = None
        for line in page.read_text(encoding="utf-8").splitlines():
            if found := re.match(r"\.\. (?:currentmodule|module):: (\S+)", line):
                module = found[1]
            elif (found := re.fullmatch(r"   ([A-Za-z_][\w.]+)", line)) and page.stem != "index":
                if module in ("knnccv.kernel", "knnccv.sampling"):  # their examples are in docs/variants.md
                    continue
                yield found[1] if found[1].startswith("knnccv.") else f"{module}.{found[1]}"


def test_every_public_docstring_has_a_description_and_an_example():
    names = list(referenced())
    assert len(names) > 120
    for name in names:
        module, _, attribute = name.rpartition(".")
        found = getattr(importlib.import_module(module), attribute)
        if not callable(found) or (inspect.isclass(found) and issubclass(found, BaseException)):
            continue
        text = inspect.cleandoc(found.__doc__)
        assert re.search(r"^Examples\n--------\n(.*\n)*>>> ", text, re.MULTILINE), name
        for section in re.findall(r"^(Parameters|Returns|Raises|References|Examples)$", text, re.MULTILINE):
            assert f"{section}\n{'-' * len(section)}\n" in text, name


@pytest.mark.parametrize("package", ["knnccv", *(f"knnccv.{name}" for name in PUBLIC)])
def test_the_reference_names_everything_that_a_package_exports(package):
    module = importlib.import_module(package)
    known = {name.rpartition(".")[2] for name in referenced()} | {"__version__"}
    assert {name for name in module.__all__ if not inspect.ismodule(getattr(module, name))} <= known
