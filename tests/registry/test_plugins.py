"""Rules of other people: an installed distribution, broken ones, and the page that teaches them.

Everything runs in processes of its own, as entry points are looked up once per process. The project that
``knnccv new-rule kth`` writes is built and installed by pip into a new virtual environment, which sees what
is installed beside this interpreter through a ``.pth`` file; so it works the same where knnccv is installed
editable and where it is not. Most distributions here are only a module and a ``.dist-info`` folder on
``PYTHONPATH``, which is all that `importlib.metadata` looks at, and much faster than pip.
"""

import contextlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import venv
from pathlib import Path
from textwrap import dedent, indent

import numba
import pytest
from command_line import run as command

import knnccv

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("registry/README.md", "docs/variants_example.md")
COMPILED = not numba.config.DISABLE_JIT


def run(code, *arguments, python=sys.executable, paths=()):
    """Run code in a new process in which warnings are errors; return what it printed, from JSON."""
    environment = dict(os.environ)
    inherited = environment.get("PYTHONPATH")
    environment["PYTHONPATH"] = os.pathsep.join([*map(str, paths), *([inherited] if inherited else [])])
    asked = [str(python), "-W", "error", "-c", dedent(code), *arguments]
    done = subprocess.run(asked, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return json.loads(done.stdout) if done.stdout else None


def write_distribution(folder, name, points, source):
    """Write an importable module and what makes it an installed distribution."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.py").write_text(dedent(source), encoding="utf-8")
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    listed = "\n".join(f"{point} = {target}" for point, target in points.items())
    (info / "entry_points.txt").write_text(f"[knnccv.variants]\n{listed}\n")


def variant_source(name="half", arguments="order, labels, target, constraints", body="return 0.5"):
    """Source of a variant; its kernel gives every sample 0.5 unless another is written down."""
    return (
        "from knnccv.kernel import Variant, jit\n\n\n"
        f"@jit\ndef kernel({arguments}):\n{indent(body, '    ')}\n\n\n"
        "class Rule(Variant):\n"
        f"    name = {name!r}\n"
        "    fixed = kernel\n\n"
        "    def n_nearest(self, **parameters):\n"
        "        return 1\n"
    )


PROBLEM = """
import json, sys
import numpy as np
import knnccv
from knnccv import Subsample, complete_cv

rng = np.random.default_rng(5)
X = rng.normal(size=(60, 2))
y = rng.integers(0, 3, 60)
"""
"""The start of every process's script: tools and a problem."""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """The folder of a new rule."""
    folder = tmp_path_factory.mktemp("project")
    with contextlib.chdir(folder):
        assert command("new-rule kth").status == 0
    return folder / "knnccv-kth"


@pytest.fixture(scope="module")
def python(tmp_path_factory, project):
    """Interpreter of a new environment, which sees this one's packages and has the project installed."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=importlib.util.find_spec("pip") is None, symlinks=os.name != "nt")
    found = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    purelib = run("import json, sysconfig; print(json.dumps(sysconfig.get_path('purelib')))", python=found)
    # addsitedir, and no bare path, since the .pth files there (editable installs) count too.
    shared = [path for path in sys.path if Path(path).name in {"site-packages", "dist-packages"}]
    lines = [f"import site; site.addsitedir({path!r})" for path in shared]
    Path(purelib, "beside.pth").write_text("\n".join(lines) + "\n", encoding="utf-8")
    install = [str(found), "-m", "pip", "install", "--no-deps", "--no-input"]
    has_backend = importlib.util.find_spec("hatchling") is not None
    if has_backend:  # no network is needed
        install += ["--isolated", "--no-index", "--no-build-isolation"]
    done = subprocess.run(
        [*install, str(project)], capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode and not has_backend:
        pytest.skip(f"hatchling is neither installed nor can pip fetch it: {done.stderr[-500:]}")
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return found


@pytest.mark.slow
def test_an_installed_rule_is_found_by_its_name(python):
    """The tests that ``new-rule`` writes compare its scores with the enumeration."""
    found = run(
        PROBLEM
        + """
names, imported = knnccv.variant_names(), "knnccv_kth" in sys.modules
from knnccv import KFold
from knnccv_kth import Kth

def refused(**parameters):
    try:
        complete_cv(X, y, "kth", KFold(5), **parameters)
    except (TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"

scores = [complete_cv(X, y, rule, KFold(5), n_neighbors=1).score for rule in ("kth", Kth, Kth())]
print(json.dumps({
    "names": names,
    "imported": imported,
    "home": knnccv.get_variant("kth").__class__.__module__,
    "scores": [*scores, complete_cv(X, y, "nn", KFold(5)).score],
    "refused": [refused(n_neighbors=49), refused(k=3)],
}))
""",
        python=python,
    )
    assert "kth" not in knnccv.variant_names(), "the example must not be installed beside the tests"
    assert {"kth", "nn", "knn", "rank"} <= set(found["names"])
    assert found["imported"] is False, "a plugin is imported when it is asked for, not before"
    assert found["home"] == "knnccv_kth"
    assert found["scores"] == pytest.approx([found["scores"][0]] * 4, abs=1e-14)
    too_many, unknown = found["refused"]
    assert too_many.startswith("ValueError: n_neighbors must be between 1 and 48")
    assert unknown == "TypeError: variant 'kth' has no parameter 'k'; it takes: n_neighbors"


RAISING = "if target == 37:\n    raise ValueError('item 37 is not to my taste')\nreturn 0.5"
DISTRIBUTIONS = {
    # module: (entry points, source)
    "import_error": ({"importing": "import_error:Rule"}, "import a_module_that_nobody_has\n"),
    "syntax_error": ({"parsing": "syntax_error:Rule"}, "def (:\n"),
    "missing_attribute": ({"absent": "missing_attribute:Other"}, variant_source("absent")),
    "no_variant": ({"thing": "no_variant:thing"}, "thing = {'n_neighbors': 3}\n"),
    "three_arguments": (
        {"three": "three_arguments:Rule"},
        variant_source("three", "order, labels, target"),
    ),
    "tuple_kernel": ({"tuple": "tuple_kernel:Rule"}, variant_source("tuple", body="return (0.5, 0.5)")),
    "raising_kernel": ({"raising": "raising_kernel:Rule"}, variant_source("raising", body=RAISING)),
    "other_name": ({"alias": "other_name:Rule"}, variant_source("its_own_name")),
    "raises_at_import": ({"angry": "raises_at_import:Rule"}, "raise RuntimeError('not today')\n"),
    "good": ({"half": "good:Rule"}, variant_source("half")),
    "first": ({"both": "first:Rule"}, variant_source("both")),
    "second": (
        {"both": "second:Rule", "alone": "second:alone"},
        variant_source("alone") + "\nalone = Rule()",
    ),
}
"""Broken ones; a good one, which stands on the path twice; and two that offer one name."""
ANSWERS = {
    "importing": ("ImportError", "'importing'", "package import_error", "a_module_that_nobody_has"),
    "parsing": ("ImportError", "'parsing'", "package syntax_error", "invalid syntax"),
    "angry": ("ImportError", "'angry'", "package raises_at_import", "not today"),
    "absent": ("ImportError", "'absent'", "package missing_attribute", "Other"),
    "thing": ("TypeError", "no_variant:thing", "package no_variant", "knnccv.kernel.Variant"),
    "three": ("TypeError", "'three'", "package three_arguments", "must take 4 arguments", "got 3"),
    "alias": ("TypeError", "'alias'", "package other_name", "calls itself 'its_own_name'"),
    "tuple": ("TypeError", "'tuple'", "tuple_kernel.kernel", "does not fit the signature"),
    "raising": ("ValueError", "item 37 is not to my taste"),
    "both": ("ValueError", "'both'", "first:Rule", "package first", "second:Rule", "package second"),
    "imprting": ("ValueError", "there is no variant 'imprting'", "did you mean 'importing'?"),
    "half": ("0.5",),
    "alone": ("0.5",),
}
"""What stands in the answers of a process that asks for these rules."""
ASK_EACH = (
    PROBLEM
    + """
import threading
from concurrent.futures import ThreadPoolExecutor

def ask(name, **arguments):
    try:
        return str(complete_cv(X, y, name, Subsample(40), **arguments).score)
    except Exception as error:
        return f"{type(error).__name__}: {error} {error.__cause__}"

view = knnccv.registered_variants()
names = json.loads(sys.argv[1])
report = {"names": knnccv.variant_names(), "nn": ask("nn"), "contained": [name in view for name in names]}
with ThreadPoolExecutor(3) as pool:
    for name in [*names, "imprting"]:
        report[name] = [ask(name), ask(name, n_jobs=2), ask(name, executor=pool), ask("nn", n_jobs=2)]
# With several blocks at work, in which many samples raise.
X, y = rng.normal(size=(1500, 1)), rng.integers(0, 2, 1500)
report["large"] = [ask("half", n_jobs=4)]
before = threading.active_count()  # some wait for the next work
report["large"] += [ask("raising", n_jobs=4) for _ in range(3)]
report["threads"] = threading.active_count() - before
import second
report["object"] = knnccv.get_variant("alone") is second.alone
print(json.dumps(report))
"""
)


@pytest.mark.slow
def test_broken_distributions_are_named_and_do_not_disturb_the_others(tmp_path):
    """From the calling thread, from threads of our own, and from an executor's."""
    for module, (points, source) in DISTRIBUTIONS.items():
        write_distribution(tmp_path / "one", module, points, source)
    write_distribution(tmp_path / "two", "good", *DISTRIBUTIONS["good"])
    names = sorted({name for points, _ in DISTRIBUTIONS.values() for name in points})
    found = run(ASK_EACH, json.dumps(names), paths=[tmp_path / "one", tmp_path / "two"])
    assert set(names) <= set(found["names"])
    assert found["names"] == sorted(found["names"])
    assert all(found["contained"]), "to ask whether a name exists must import nothing"
    assert found["object"], "an entry point may name an instance"
    assert found["large"] == ["0.5"] + [found["raising"][0]] * 3
    assert found["threads"] <= 4  # one call starts so many at most, and the next one takes them
    for name, parts in ANSWERS.items():
        *answers, after = found[name]
        assert after == found["nn"], f"after asking for {name!r}"
        for answer in answers:
            if COMPILED or name != "tuple":
                assert answer.startswith(parts[0])
                assert all(part in answer for part in parts), answer
                assert parts[0] != "ImportError" or not answer.endswith("None")


def guide_blocks(language):
    """Blocks of code of the pages, in their order."""
    text = "".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES)
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.slow
def test_the_pages_teach_what_new_rule_writes_and_it_works_when_installed(python, project):
    short, check, ask, _, decides = guide_blocks("python")
    texts = {path.name: path.read_text(encoding="utf-8") for path in project.iterdir()}
    assert check.splitlines()[-1] in texts["test_kth.py"]
    assert guide_blocks("toml")[0] in texts["pyproject.toml"]
    assert len(texts["README.md"].splitlines()) <= 15
    run("\n".join([ask, decides, short]), python=python)
    tested = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "."]
    how = {"capture_output": True, "text": True, "timeout": 300, "check": False}
    assert "2 passed" in subprocess.run(tested, cwd=project, **how).stdout


@pytest.mark.slow
def test_the_example_is_what_the_page_says(python, project, tmp_path):
    """With an error put into one of the kernels its check, which the project's tests repeat, fails."""
    _, check, ask, named, _ = guide_blocks("python")
    module = (project / "knnccv_kth.py").read_text(encoding="utf-8")
    run("\n".join([ask, named]), python=python)
    code = f"try:\n{indent(check, '    ')}\nexcept (AssertionError, ValueError):\n    print('\"found\"')\n"
    for kernel, right in (("fixed", " / (end - start)"), ("stratified", ".sum() / h")):
        wrong = module.replace(right, right.split(" /")[0])
        assert wrong != module
        (tmp_path / kernel).mkdir()
        (tmp_path / kernel / "knnccv_kth.py").write_text(wrong, encoding="utf-8")
        assert run(code, paths=[tmp_path / kernel]) == "found", kernel
