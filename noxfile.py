#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2025.5"]
# ///
"""The tasks of development.

``nox --list`` names them, ``nox -s lowest -- tests/driver`` runs one on some of the tests. The complete
check, ``bash .ci/run``, runs the same commands.
"""

import os

import nox

nox.needs_version = ">=2025.5"
nox.options.default_venv_backend = "uv|virtualenv"
PROJECT = nox.project.load_toml("pyproject.toml")
PYTHONS = nox.project.python_versions(PROJECT)
OLD_WARNINGS = ("-W", "default::DeprecationWarning", "-W", "default::FutureWarning")
"""What old packages say of new ones, and nightly builds of us, is no error."""
NIGHTLY = "https://pypi.anaconda.org/scientific-python-nightly-wheels/simple"


def install(session: nox.Session, package: str, *groups: str) -> None:
    """Install the package and what the groups list."""
    session.install(package, *nox.project.dependency_groups(PROJECT, *groups))


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the fast tests, under every Python that is here."""
    install(session, ".[test]")
    session.run("pytest", "-n", "2", *session.posargs)


@nox.session(default=False)
def slow(session: nox.Session) -> None:
    """Run the tests that the fast ones leave out."""
    install(session, ".[test]")
    session.run("pytest", "-n", "2", "-m", "slow", *session.posargs)


@nox.session(default=False)
def papers(session: nox.Session) -> None:
    """Run all tests of the reproductions, which take minutes."""
    install(session, ".[test]")
    session.install("./papers")
    session.run("pytest", "-m", "", "papers/tests", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check the style, the types, the imports, the words and the workflows."""
    install(session, ".[test]", "lint")
    session.install("./papers")
    session.run("bash", ".ci/lint", external=True)


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """Build the site, with warnings as errors."""
    install(session, ".", "docs")
    session.run(
        "sphinx-build", "-W", "--keep-going", "-b", "html", "docs", "docs/_build/html", *session.posargs
    )


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
