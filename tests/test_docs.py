"""What the documents show must run: the README's blocks in order, and every docstring's example."""

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import pytest

import knnccv

ROOT = Path(__file__).resolve().parents[1]


def blocks(name, language="python"):
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


def test_the_readme_runs(mirror, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("KNNCCV_DATA_URL", mirror.url)
    monkeypatch.setenv("KNNCCV_DATA_DIR", str(tmp_path))
    scope = {}
    for block in blocks("README.md"):
        exec(compile(block, "README.md", "exec"), scope)
    shown = capsys.readouterr().out
    assert "0.712135" in shown
    assert "CompleteCV 0.606935: nn over Subsample(train_size=172)" in shown


def test_the_readme_runs_without_downloads(capsys):
    scope = {}
    for block in blocks("README.md"):
        if "fetch_" not in block:
            exec(compile(block, "README.md", "exec"), scope)
    assert "0.712135" in capsys.readouterr().out


@pytest.mark.parametrize("block", blocks("docs/cluster.md"))
def test_the_page_on_clusters_runs(block, tmp_path):
    """Each block as a script, which its processes import."""
    if "dask" in block:
        pytest.importorskip("distributed", reason="dask's distributed is not installed")
    script = tmp_path / "page.py"
    script.write_text(block, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [line[:8] for line in done.stdout.split()].count("0.712135") == 1


def test_the_page_on_approximate_neighbours_runs(tmp_path):
    pytest.importorskip("pynndescent", reason="pynndescent is not installed")
    (block,) = blocks("docs/approximate.md")
    script = tmp_path / "page.py"
    script.write_text(block, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=150, check=False
    )
    assert done.returncode == 0, done.stderr
    recalls = [float(found) for found in re.findall(r"recall (\d\.\d+)", done.stdout)]
    off = [float(found) for found in re.findall(r"off by ([+-]\d\.\d+)", done.stdout)]
    assert recalls[0] > 0.95 > recalls[-1]
    assert len(off) == 4
    assert max(map(abs, off)) < 0.02
    assert "neighbours approximate" in done.stdout
    assert "False inf " in done.stdout


@pytest.mark.parametrize("block", blocks("docs/cluster.md", "py"))
def test_what_needs_a_cluster_can_at_least_be_read(block):
    compile(block, "docs/cluster.md", "exec")


def test_the_readme_shows_the_two_commands():
    commands = blocks("README.md", "bash")
    assert commands[0] == "pip install . && python -m knnccv score\n"
    assert commands[1] == 'pip install ".[test]" && pytest\n'


def test_links_of_the_readme_lead_somewhere():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / target).exists(), target


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
