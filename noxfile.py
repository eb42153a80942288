#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2025.5"]
# ///
"""The tasks of development.

``nox --list`` names them, ``nox -s lowest -- tests/driver`` runs one on some of the tests. The complete
check, ``bash .ci/run``, runs the sessions of its stages, which share two environments: "tests" has what the
README installs, "tools" what all else needs.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nox

nox.needs_version = ">=2025.5"
nox.options.default_venv_backend = "uv|virtualenv"
PROJECT = nox.project.load_toml("pyproject.toml")
PYTHONS = nox.project.python_versions(PROJECT)
OLD_WARNINGS = ("-W", "default::DeprecationWarning", "-W", "default::FutureWarning")
"""What old packages say of new ones, and nightly builds of us, is no error."""
NIGHTLY = "https://pypi.anaconda.org/scientific-python-nightly-wheels/simple"
CHECK = Path(os.environ.get("KNNCCV_CHECK", ".nox/check")).absolute()
"""Where the stages of the complete check keep their environments, and what they make."""
MIRROR = Path("../shared/datasets").resolve()
"""The original data files, which are not part of the repository."""
LOCAL = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", "KNNCCV_CACHE_DIR": str(CHECK / "kept")}
UNJITTED = (
    "tests/driver/test_enumeration.py",
    "tests/montecarlo/test_monte_carlo.py::test_every_run_is_the_classification_of_its_split[few]",
    "tests/designs/test_designs.py",
    "tests/registry/test_registry.py",
)
"""Run once more without the compiler, so that the kernels' own source is tested."""
BENCHMARKS = r"""
    scores.*'wine', '(nn|rank)', 'Strat
    kernels.Score.*', 'KFold
    kernels.*'(knn|regression)', 'StratifiedK
    kernels.Groups.*[(]'nn
    start_up.FirstResult.track_cache
    start_up.Cold.*knn
    ^size
    neighbors.*[(]500, 64
    peers.*[(]500, 8
    peers.*'2000 x 8'(, 'float32'|, 2)
    surface.Surface.time.*[(]1000, 3
    inference.(StandardError|Influence).*(KFold|nn)
    rib.*[(]2000, .exact
    (votes.Votes|strata).*[(]5, 10[)]
    retrieval.Retrieval.time_scores.*1 per identity
    episodes.Exact.time.*[(]3000, 64, 1[)]
    memory.Score.*'nn', 'Subsample
    report.Report.time.*[(]1000, .two
    runs.Runs.time_runs.*[(]2000, .KFold
""".strip().split("\n    ")
"""Some of each benchmark once: that it runs, not how fast it is."""
stage = nox.session(venv_backend="none", default=False)
"""A session of the complete check, in an environment that it shares with others."""


def install(session: nox.Session, package: str, *groups: str) -> None:
    """Install the package and what the groups list."""
    session.install(package, *nox.project.dependency_groups(PROJECT, *groups))


def programs(session: nox.Session, name: str) -> Path:
    """The folder of the programs of an environment of the complete check, which is made, empty."""
    if not (CHECK / name).exists():
        session.run(sys.executable, "-m", "venv", str(CHECK / name), external=True)
    return CHECK / name / ("Scripts" if os.name == "nt" else "bin")


def run_in(session: nox.Session, name: str, *command: str, **more: str) -> None:
    """Run a command in an environment of the complete check, with more variables."""
    place = programs(session, name)
    found = shutil.which(command[0], path=place) or command[0]
    path = os.pathsep.join([str(place), os.environ["PATH"]])
    session.run(found, *command[1:], external=True, env={"PATH": path, **more})


def tools(session: nox.Session, *command: str, **more: str) -> None:
    """Run a command beside the tests, with an environment for all that is not a test of knnccv itself."""
    installed = CHECK / "tools/installed"
    if not installed.exists():
        needed = nox.project.dependency_groups(PROJECT, "lint", "bench", "docs", "release")
        needed = [each for each in needed if not each.startswith("knnccv")]
        run_in(session, "tools", "pip", "install", "--quiet", ".[test]", "./papers", *needed)
        installed.touch()
    run_in(session, "tools", *command, **more)


def shown(text: str) -> str:
    """The command that README.md shows after this text, so that it is tested as users type it."""
    page = Path("README.md").read_text(encoding="utf-8")
    return page.partition(text)[2].split("```")[1].removeprefix("bash")


def attempt(session: nox.Session, what: str, command: str) -> None:
    """Try to get what some tests need from outside; say why they are skipped without it."""
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=900, check=False)
    if done.returncode:
        session.warn(f"no {what}, tests are skipped: {(done.stdout + done.stderr)[-300:]}")


def find_browser(session: nox.Session) -> None:
    """Get Chromium and axe-core for the tests of the report's page."""
    needed = nox.project.dependency_groups(PROJECT, "browser")
    run_in(session, "tests", "pip", "install", "--quiet", *needed)
    names = (os.environ.get("KNNCCV_CHROMIUM", "chromium"), "chromium", "chromium-browser", "google-chrome")
    if not any(map(shutil.which, names)):
        is_root = os.name == "posix" and os.geteuid() == 0
        get = "apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y chromium"
        attempt(session, "Chromium", get if is_root else "echo it is installed for root alone; false")
    if not axe().exists():
        attempt(session, "axe-core", f"npm install --no-audit --prefix '{CHECK / 'axe'}' axe-core@4")


def axe() -> Path:
    """The file of axe-core."""
    return Path(os.environ.get("KNNCCV_AXE", CHECK / "axe/node_modules/axe-core/axe.min.js"))


@stage
def readme(session: nox.Session) -> None:
    """Run the fast tests by the command of the README, in a fresh environment, on what it installs."""
    find_browser(session)
    more = {"KNNCCV_FROM": str(CHECK / "tests"), "KNNCCV_AXE": str(axe())}
    run_in(session, "tests", "bash", "-euo", "pipefail", "-c", shown("<!-- test-command -->"), **more)


@stage
def slow(session: nox.Session) -> None:
    """Run the tests that the fast ones leave out; both are the whole suite, ``pytest -m ""``."""
    if not (CHECK / "tests").exists():
        run_in(session, "tests", "pip", "install", "--quiet", ".[test]")
    run_in(session, "tests", "pytest", "-n", "2", "-m", "slow", *session.posargs, KNNCCV_AXE=str(axe()))


@stage
def imports(session: nox.Session) -> None:
    """Check what is installed, and that importing it loads little."""
    run_in(session, "tests", "pip", "check")
    run_in(session, "tests", "python", "-P", ".ci/imports.py")


@stage
def first(session: nox.Session) -> None:
    """Run what a newcomer types, without extras; then the report of a table, with its extra."""
    run_in(session, "first", "bash", "-euo", "pipefail", "-c", shown("## Try it"))
    run_in(session, "first", "pip", "install", "--quiet", ".[report]")
    (CHECK / "table").mkdir(exist_ok=True)
    rows = "".join(f"{i * i % 17},{i % 2}\n" for i in range(1, 41))
    (CHECK / "table/data.csv").write_text(f"width,label\n{rows}", encoding="utf-8")
    with session.chdir(CHECK / "table"):
        run_in(session, "first", "knnccv", "report", "data.csv", "--target", "label")
        assert Path("report.html").stat().st_size > 0


@stage
def lint(session: nox.Session) -> None:
    """Check the style, the types, the imports, the words and the workflows."""
    tools(session, "bash", ".ci/lint", RUFF_NO_CACHE="true", MYPY_CACHE_DIR=str(CHECK / "mypy"))


@stage
def docs(session: nox.Session) -> None:
    """Build the site of a copy, which the gallery writes into, with warnings as errors."""
    site = CHECK / "site"
    shutil.rmtree(site, ignore_errors=True)
    made = shutil.ignore_patterns("_build", "auto_gallery")
    for name in ("docs", "registry", "knnccv/_cli/rule_template"):
        shutil.copytree(name, site / name, ignore=made)
    for name in ("CHANGELOG.md", "CITATION.cff"):
        shutil.copy(name, site)
    with session.chdir(site):
        options = ("-q", "-j", "auto", "-W", "--keep-going", "-b", "html", *session.posargs)
        tools(session, "sphinx-build", *options, "docs", str(CHECK / "html"))
    for page in ("index", "auto_gallery/index", "reference/generated/knnccv.complete_cv"):
        assert (CHECK / f"html/{page}.html").stat().st_size > 0


@stage
def packages(session: nox.Session) -> None:
    """Build an sdist and a wheel of it as a release does, and check what they contain."""
    tools(session, "pytest", "-q", "-m", "", "tests/packaging/test_packages.py")


@stage
def unjitted(session: nox.Session) -> None:
    """Run some tests without the compiler."""
    tools(session, "pytest", "-q", *UNJITTED, NUMBA_DISABLE_JIT="1")


@stage
def reproductions(session: nox.Session) -> None:
    """Compute the numbers of the papers again, and compare them with those stored."""
    if not MIRROR.is_dir():
        session.skip(f"the original data files are not at {MIRROR}")
    report = str(CHECK / "report")
    data = str(CHECK / "fetched")
    tools(session, "python", "-P", ".ci/reproduce.py", str(MIRROR), report, KNNCCV_DATA_DIR=data, **LOCAL)
    tools(session, "python", "papers/tests/compare.py", report)


@stage
def papers(session: nox.Session) -> None:
    """Run all tests of the reproductions, which take whole ones from those computed before."""
    tools(session, "pytest", "-q", "-m", "", "papers/tests", *session.posargs, **LOCAL)


@stage
def benchmarks(session: nox.Session) -> None:
    """Run a part of the benchmarks once."""
    # asv keeps the machine's name in the home folder. Without the original files the benchmarks of scores
    # are skipped; the dead proxy address keeps them from waiting for a network.
    (CHECK / "home").mkdir(exist_ok=True)
    more = {"HOME": str(CHECK / "home"), **dict.fromkeys(("NO_PROXY", "no_proxy"), "")}
    more |= dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
    more["KNNCCV_DATA_DIR"] = str(MIRROR if MIRROR.is_dir() else CHECK / "data")
    chosen = [option for pattern in BENCHMARKS for option in ("--bench", pattern)]
    tools(session, "asv", "--version")  # makes the environment, from the root
    with session.chdir("asv_benchmarks"):
        tools(session, "asv", "machine", "--yes", **more)
        tools(session, "asv", "check", "--python=same", **more)
        options = ("--quick", "--dry-run", "--show-stderr", "--python=same")
        tools(session, "asv", "run", *options, *chosen, **more)


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the fast tests, under every Python that is here."""
    install(session, ".[test]")
    session.run("pytest", "-n", "2", *session.posargs)


@nox.session(default=False)
def coverage(session: nox.Session) -> None:
    """Measure which lines the fast tests run or, of kernels, compile: the cache of kernels begins empty."""
    install(session, ".[test]", "coverage")
    session.run(
        "pytest", "-n", "2", "--cov", *session.posargs, env={"NUMBA_CACHE_DIR": session.create_tmp()}
    )
    session.run("coverage", "html")
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with open(summary, "a") as shown:
            session.run("coverage", "report", "--format=markdown", stdout=shown)


@nox.session(python=PYTHONS[0], venv_backend="uv", default=False)
def lowest(session: nox.Session) -> None:
    """Run the fast tests with the lowest declared version of every dependency."""
    session.install("--resolution", "lowest-direct", ".[test]")
    session.run("pytest", "-n", "2", *OLD_WARNINGS, *session.posargs)


@nox.session(default=False)
def nightly(session: nox.Session) -> None:
    """Run the fast tests with tonight's builds of what knnccv rests on; NumPy is as new as Numba allows."""
    packages = ("scipy", "scikit-learn", "pandas", "matplotlib")
    session.install("--pre", "--upgrade", "--extra-index-url", NIGHTLY, ".[test]", *packages)
    session.run("pytest", "-n", "2", *OLD_WARNINGS, *session.posargs)


@nox.session(default=False)
def faults(session: nox.Session) -> None:
    """Put faults into a copy, one at a time, and name the test that finds each."""
    install(session, ".[test]")
    session.install("./papers")
    session.run("python", "tests/faults/run.py", *session.posargs)


if __name__ == "__main__":
    nox.main()
