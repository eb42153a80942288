"""Builds and releases: the contents of sdist and wheel, their metadata, and the workflows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import knnccv

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
BUILD = PYPROJECT["tool"]["hatch"]["build"]["targets"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ALWAYS_IN_SDISTS = {"pyproject.toml", "README.md", "LICENSE", ".gitignore", "PKG-INFO"}
MAX_BYTES = {"wheel": 1_400_000, "sdist": 2_500_000}


def source_files(*folders: str) -> set[str]:
    """The files that git tracks; without git, all that are not caches."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", *folders], cwd=ROOT, capture_output=True, text=True, check=False
    )
    found = {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}
    if found:
        return found
    paths = [path for name in folders for path in [ROOT / name, *(ROOT / name).rglob("*")]]
    return {
        path.relative_to(ROOT).as_posix()
        for path in paths
        if path.is_file() and "__pycache__" not in path.parts and "_build" not in path.parts
    }


def run_module(folder, *command):
    """Run a module of Python in a folder; it must succeed."""
    asked = [sys.executable, "-m", *map(str, command)]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=600, check=False, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Build as a release does: the sdist from the clone, the wheel from the sdist."""
    for name in ("build", "hatchling", "twine"):
        pytest.importorskip(name, reason=f"{name} is not installed; the group release has it")
    folder = tmp_path_factory.mktemp("dist")
    run_module(folder.parent, "build", "--no-isolation", "--outdir", folder, ROOT)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return {"sdist": sdist, "wheel": wheel}


@pytest.mark.slow
def test_the_wheel_holds_the_packages_the_manifests_and_nothing_else(built):
    with zipfile.ZipFile(built["wheel"]) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    expected = set()
    for folder in BUILD["wheel"]["packages"]:
        for name in source_files(folder):
            expected.add(str(Path(name).relative_to(Path(folder).parent).as_posix()))
    for folder, target in BUILD["wheel"]["force-include"].items():
        for name in source_files(folder):
            expected.add(target + name.removeprefix(folder))
    assert names == expected
    assert {"knnccv/py.typed", "knnccv_variants/py.typed"} <= names


@pytest.mark.slow
def test_the_sdist_holds_what_tests_and_documents_need_and_nothing_else(built):
    with tarfile.open(built["sdist"]) as sdist:
        names = {member.name.partition("/")[2] for member in sdist.getmembers() if member.isfile()}
    assert names == source_files(*BUILD["sdist"]["only-include"]) | ALWAYS_IN_SDISTS
    assert not [name for name in names if name.endswith((".pyc", ".nbi", ".nbc"))]


@pytest.mark.slow
def test_the_metadata_name_license_extras_and_readme(built):
    for kind, path in built.items():
        run_module(path.parent, "twine", "check", "--strict", path)
        assert f"-{knnccv.__version__}" in path.name
        assert path.stat().st_size < MAX_BYTES[kind]
    with zipfile.ZipFile(built["wheel"]) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = wheel.read(name).decode()
        for license_file in PYPROJECT["project"]["license-files"]:
            assert [name for name in wheel.namelist() if name.endswith(f"licenses/{license_file}")]
    for extra in PYPROJECT["project"]["optional-dependencies"]:
        assert f"\nProvides-Extra: {extra}\n" in metadata
    assert f"\nLicense-Expression: {PYPROJECT['project']['license']}\n" in metadata
    assert "# knnccv" in metadata


@pytest.mark.slow
def test_a_project_that_uses_the_wheel_is_typed(built, tmp_path):
    """In an environment whose packages are those of this one, except knnccv, which is the wheel."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    venv.create(tmp_path, symlinks=os.name != "nt")
    site = Path(sysconfig.get_path("purelib", vars={"base": str(tmp_path), "platbase": str(tmp_path)}))
    with zipfile.ZipFile(built["wheel"]) as wheel:
        wheel.extractall(site)
    (site / "beside.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    python = tmp_path / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    options = ["--strict", "--python-executable", python, "--cache-dir", tmp_path / "cache"]
    run_module(tmp_path, "mypy", *options, ROOT / "tests" / "packaging" / "consumer.py")


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_there_is_one_version():
    version = knnccv.__version__
    assert re.search(r"^version: (\S+)$", text("CITATION.cff"), re.MULTILINE)[1] == version
    assert f"## {version} " in text("CHANGELOG.md")
    assert f"version = {{{version}}}" in text("docs/citation.md")
    assert f'  version: "{version}"\n' in text("recipe/recipe.yaml")
    assert f'\nversion = "{version}"\n' in text("papers/pyproject.toml")


def test_a_release_has_one_date_and_no_placeholders():
    """`CHANGELOG.md` decides whether this version is released."""
    dated = re.search(rf"^## {knnccv.__version__} \((\S+)\)$", text("CHANGELOG.md"), re.MULTILINE)[1]
    date = re.search(r"^date-released: (\S+)$", text("CITATION.cff"), re.MULTILINE)[1]
    assert date == dated.replace("unreleased", "1970-01-01")
    assert dated == "unreleased" or "//example.org" not in text("CITATION.cff")


def test_the_recipe_for_conda_asks_for_what_the_wheel_asks_for():
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    recipe, project = yaml.safe_load(text("recipe/recipe.yaml")), PYPROJECT["project"]
    needs = {
        kind: {need.replace(" ", "") for need in recipe["requirements"][kind]} for kind in ("host", "run")
    }
    assert needs["run"] == {*project["dependencies"], "python" + project["requires-python"]}
    assert set(PYPROJECT["build-system"]["requires"]) < needs["host"]
    commands = [f"{name} = {function}" for name, function in project["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == commands
    assert recipe["about"]["summary"] == project["description"]


def test_documents_and_workflows_name_only_extras_and_groups_that_exist():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *WORKFLOWS, *(ROOT / ".ci").iterdir()]
    named = "\n".join(map(text, pages))
    extras = ",".join(re.findall(r'"(?:\.|knnccv)\[([a-z,]+)\]"', named)).split(",")
    assert {"test", "report"} <= set(extras) <= set(PYPROJECT["project"]["optional-dependencies"])
    groups = re.findall(r"--group ([a-z]+)", named)
    assert {"dev", "docs", "release", "browser"} <= set(groups) <= set(PYPROJECT["dependency-groups"])


def test_workflows_can_be_read_and_run_what_the_documents_say():
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    loaded = {path.stem: yaml.safe_load(text(path)) for path in WORKFLOWS}
    assert set(loaded) == {"ci", "docs", "release", "weekly"}
    commands = {
        name: [step["run"] for job in flow["jobs"].values() for step in job["steps"] if "run" in step]
        for name, flow in loaded.items()
    }
    first = re.search(r"^```bash\n(.*?)\n```", text("README.md"), re.DOTALL | re.MULTILINE)[1]
    assert first == "pip install . && knnccv score"
    tested = re.search(r"<!-- test-command -->\s+```bash\n(.*?)\n```", text("README.md"), re.DOTALL)[1]
    assert tested.startswith('pip install ".[test]" && pytest')
    assert commands["ci"] == ["bash .ci/run", 'pip install nox uv && nox -s "$SESSION"', tested]
    tasks = [loaded[name]["jobs"]["tasks"]["strategy"]["matrix"]["session"] for name in ("ci", "weekly")]
    assert not [name for name in [*tasks[0], *tasks[1]] if f"def {name}(session" not in text("noxfile.py")]
    oldest = PYPROJECT["project"]["requires-python"].removeprefix(">=")
    newest = [line.rpartition(" ")[2] for line in PYPROJECT["project"]["classifiers"] if "3." in line][-1]
    for name in ("gate", "tests"):
        assert loaded["ci"]["jobs"][name]["strategy"]["matrix"]["python"] == [oldest, newest]
    assert "sphinx-build -W" in " ".join(commands["docs"])
    assert "twine check --strict dist/*" in commands["release"]
    publish = loaded["release"]["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write", "attestations": "write"}
    assert "secrets." not in text(".github/workflows/release.yml")
