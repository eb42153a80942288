"""Variants of other people: an installed distribution, broken ones, and the page that teaches them.

Everything runs in processes of its own, as entry points are looked up once per process. The distribution
in ``plugin_example/`` is built and installed by pip into a new virtual environment, which sees what is
installed beside this interpreter through a ``.pth`` file; so it works the same where knnccv is installed
editable and where it is not. Most distributions here are only a module and a ``.dist-info`` folder on
``PYTHONPATH``, which is all that `importlib.metadata` looks at, and much faster than pip.
"""

import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
import venv
from fractions import Fraction
from pathlib import Path
from textwrap import dedent, indent

import naive
import numba
import numpy as np
import pytest

import knnccv

HERE = Path(__file__).resolve().parent
EXAMPLE = HERE / "plugin_example"
GUIDE = HERE.parents[1] / "registry" / "README.md"

needs_compiler = pytest.mark.skipif(
    bool(getattr(numba.config, "DISABLE_JIT", False)), reason="nothing is compiled: NUMBA_DISABLE_JIT"
)


def run(code, *arguments, python=sys.executable, paths=(), cwd=None):
    """Run code in a new process in which warnings are errors; return what it printed, from JSON."""
    environment = dict(os.environ)
    inherited = environment.get("PYTHONPATH")
    environment["PYTHONPATH"] = os.pathsep.join([*map(str, paths), *([inherited] if inherited else [])])
    done = subprocess.run(
        [str(python), "-W", "error", "-c", dedent(code), *arguments],
        env=environment,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return json.loads(done.stdout) if done.stdout else None


def write_distribution(folder, name, variants, source):
    """Write an importable module and what makes it an installed distribution."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.py").write_text(dedent(source), encoding="utf-8")
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    points = "\n".join(f"{point} = {target}" for point, target in variants.items())
    (info / "entry_points.txt").write_text(f"[knnccv.variants]\n{points}\n")


def variant_source(name="half", kernel="", class_name="Rule"):
    """Source of a variant; its kernel gives every sample 0.5 unless another is written down."""
    kernel = kernel or "def kernel(order, labels, target, constraints):\n    return 0.5\n"
    return (
        "from knnccv.kernel import Variant, jit\n\n\n"
        f"@jit\n{dedent(kernel).strip()}\n\n\n"
        f"class {class_name}(Variant):\n"
        f"    name = {name!r}\n"
        "    fixed = kernel\n\n"
        "    def n_nearest(self, **parameters):\n"
        "        return 1\n"
    )


PROBLEM = """
import json, sys
import numpy as np
import knnccv
from knnccv import StratifiedSubsample, Subsample, complete_cv

rng = np.random.default_rng(5)
X = rng.normal(size=(60, 2))
y = rng.integers(0, 3, 60)
"""
"""The start of every process's script: tools and a problem."""


def in_environment(folder):
    """Make a virtual environment that sees this one's packages; return its interpreter."""
    has_pip = importlib.util.find_spec("pip") is not None
    venv.create(folder, with_pip=not has_pip, symlinks=os.name != "nt")
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    found = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    )
    # addsitedir, and no bare path, since the .pth files there (editable installs) count too.
    shared = [path for path in sys.path if Path(path).name in {"site-packages", "dist-packages"}]
    lines = [f"import site; site.addsitedir({path!r})" for path in shared]
    Path(found.stdout.strip(), "beside.pth").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return python


def pip_install(python, source):
    """Install a distribution, without a network where its build backend is at hand."""
    command = [str(python), "-m", "pip", "install", "--no-deps", "--no-input"]
    if importlib.util.find_spec("hatchling"):
        command += ["--isolated", "--no-index", "--no-build-isolation"]
    done = subprocess.run([*command, str(source)], capture_output=True, text=True, timeout=300, check=False)
    if done.returncode and not importlib.util.find_spec("hatchling"):
        pytest.skip(f"hatchling is neither installed nor can pip fetch it: {done.stderr[-500:]}")
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Interpreter of a new environment in which the example is installed."""
    folder = tmp_path_factory.mktemp("environment")
    found = in_environment(folder)
    pip_install(found, EXAMPLE)
    return found


@pytest.mark.slow
def test_an_installed_distribution_adds_its_variant(python):
    assert "unanimous" not in knnccv.variant_names()
    found = run(
        PROBLEM
        + """
import importlib.metadata

names = knnccv.variant_names()
imported = "knnccv_unanimous" in sys.modules
print(json.dumps({
    "version": importlib.metadata.version("knnccv-unanimous"),
    "names": names,
    "imported": imported,
    "home": knnccv.get_variant("unanimous").__class__.__module__,
    "repr": repr(knnccv.registered_variants()),
}))
""",
        python=python,
    )
    assert found["version"] == "1.0"
    assert {"unanimous", "nn", "knn", "rank"} <= set(found["names"])
    assert found["imported"] is False, "a plugin is imported when it is asked for, not before"
    assert found["home"] == "knnccv_unanimous.rule"
    assert "unanimous" in found["repr"]


@pytest.mark.slow
def test_an_installed_variant_passes_check_variant(python):
    compared = run(
        """
        from knnccv.testing import check_variant

        def score(near, own, n_neighbors):
            return int(set(near[:n_neighbors]) == {own})

        settings = [{"n_neighbors": k} for k in (1, 2, 3)]
        print(check_variant("unanimous", score, parameters=settings, n_cases=12, seed=3))
        """,
        python=python,
    )
    assert compared > 500


def small_problem():
    """Distances with ties, and labels, for enumeration."""
    rng = np.random.default_rng(11)
    distances = rng.integers(0, 6, (8, 8))
    return distances.tolist(), [0, 1, 0, 1, 0, 0, 2, 0]


def enumerate_unanimous(design, distances, y, k):
    """A_x of every sample as a Fraction: the mean over all training sets without x."""
    answers = []
    for x in range(len(y)):
        order, _ = naive.neighbor_order(distances[x], x)
        found = []
        for (training,) in design.outcomes:
            if x not in training:
                near = [y[item] for item in order if item in training]
                found.append(int(near[:k] == [y[x]] * k))
        answers.append(Fraction(sum(found), len(found)))
    return answers


@pytest.mark.slow
def test_an_installed_variant_equals_enumeration(python):
    distances, y = small_problem()
    designs = {
        "Subsample(4)": naive.subsample(8, 4),
        "Subsample(7)": naive.subsample(8, 7),
        "StratifiedSubsample(per_class={0: 3, 1: 1, 2: 0})": naive.stratified(y, {0: 3, 1: 1, 2: 0}),
        "StratifiedSubsample(per_class={0: 4, 1: 1, 2: 0})": naive.stratified(y, {0: 4, 1: 1, 2: 0}),
    }
    found = run(
        """
        import json, sys
        import numpy as np
        from knnccv import StratifiedSubsample, Subsample, complete_cv

        distances, y, designs = json.loads(sys.argv[1])
        answers = {}
        for text in designs:
            for k in (1, 2, 3):
                asked = dict(metric="precomputed", n_neighbors=k)
                design = eval(text)
                floats = complete_cv(np.array(distances), y, "unanimous", design, **asked)
                exact = complete_cv(np.array(distances), y, "unanimous", design, exact=True, **asked)
                answers[f"{text} {k}"] = [floats.per_item.tolist(), list(map(str, exact.per_item_exact))]
        print(json.dumps(answers))
        """,
        json.dumps([distances, y, list(designs)]),
        python=python,
    )
    for text, design in designs.items():
        for k in (1, 2, 3):
            floats, rationals = found[f"{text} {k}"]
            expected = enumerate_unanimous(design, distances, y, k)
            assert [Fraction(value) for value in rationals] == expected, (text, k)
            np.testing.assert_allclose(floats, [float(a) for a in expected], rtol=1e-13, atol=1e-15)


@pytest.mark.slow
def test_an_installed_variant_serves_every_entrance(python):
    found = run(
        PROBLEM
        + """
import doctest
from knnccv import KFold, monte_carlo_cv
from knnccv_unanimous import Unanimous, rule

def close(design):
    exact = complete_cv(X, y, "unanimous", design, n_neighbors=2)
    drawn = monte_carlo_cv(X, y, "unanimous", design, n_repeats=400, random_state=1, n_neighbors=2)
    return abs(exact.score - drawn.score) / drawn.standard_error

def refused(**parameters):
    try:
        complete_cv(X, y, "unanimous", Subsample(10), **parameters)
    except (TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"

one = complete_cv(X, y, "unanimous", n_neighbors=1)
print(json.dumps({
    "sigmas": [close(design) for design in (Subsample(40), StratifiedSubsample(0.7), KFold(7), 4)],
    "doctest": doctest.testmod(rule),
    "as nn": abs(one.score - complete_cv(X, y, "nn").score),
    "class": complete_cv(X, y, Unanimous, n_neighbors=1).score == one.score,
    "object": complete_cv(X, y, Unanimous(), n_neighbors=1).score == one.score,
    "threads": [complete_cv(X, y, "unanimous", n_jobs=n).score for n in (1, 2, 5)],
    "refused": [refused(n_neighbors=11), refused(n_neighbors=1.5), refused(k=3), refused(ties="random")],
}))
""",
        python=python,
    )
    assert max(found["sigmas"]) < 4
    failed, attempted = found["doctest"][:2]
    assert (failed, attempted > 0) == (0, True)
    assert found["as nn"] < 1e-14
    assert found["class"]
    assert found["object"]
    assert len(set(found["threads"])) == 1
    too_many, no_integer, unknown, ties = found["refused"]
    assert too_many.startswith("ValueError: n_neighbors must be between 1 and 10")
    assert no_integer.startswith("TypeError: n_neighbors must be an integer")
    assert unknown == "TypeError: variant 'unanimous' has no parameter 'k'; it takes: n_neighbors"
    assert ties == "ValueError: variant 'unanimous' offers ties='index', got ties='random'"


CACHE_REPORT = (
    PROBLEM
    + """
from pathlib import Path
from knnccv import monte_carlo_cv
from knnccv.driver import score_rows
from knnccv.runs._trials import score_trials
from knnccv_unanimous import rule

for design in (Subsample(40), StratifiedSubsample(0.7)):
    complete_cv(X, y, "unanimous", design)
    monte_carlo_cv(X, y, "unanimous", design, n_repeats=2, random_state=0)

def report(function):
    stats = function.stats
    files = map(str, Path(stats.cache_path).glob(f"*.{function.__name__}-*.knnccv"))
    return {
        "hits": sum(stats.cache_hits.values()),
        "misses": sum(stats.cache_misses.values()),
        "files": sorted(files),
    }

functions = (rule.unanimous_fixed, rule.unanimous_stratified, score_rows, score_trials)
print(json.dumps({function.__name__: report(function) for function in functions}))
"""
)


@pytest.fixture(scope="module")
def cache_reports(python):
    """The cache statistics of two processes, one after the other."""
    return run(CACHE_REPORT, python=python), run(CACHE_REPORT, python=python)


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("kernel", ["unanimous_fixed", "unanimous_stratified"])
def test_a_second_process_takes_the_kernel_from_the_cache(cache_reports, kernel):
    first, second = (report[kernel] for report in cache_reports)
    assert first["files"], "the first process has written the kernel to the cache"
    assert second["hits"] == 1
    assert second["misses"] == 0
    assert second["files"] == first["files"]


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("driver", ["score_rows", "score_trials"])
def test_a_second_process_takes_the_driver_from_the_cache(cache_reports, driver):
    first, second = (report[driver] for report in cache_reports)
    assert second["hits"] >= 1
    assert second["misses"] == 0, "the driver must not be compiled again for every kernel"
    assert second["files"] == first["files"], "the files of the cache must not pile up"


RAISING = """
def kernel(order, labels, target, constraints):
    if target == 37:
        raise ValueError("item 37 is not to my taste")
    return 0.5
"""

BROKEN = {
    # module: (entry points, source)
    "import_error": ({"importing": "import_error:Rule"}, "import a_module_that_nobody_has\n"),
    "syntax_error": ({"parsing": "syntax_error:Rule"}, "def (:\n"),
    "missing_attribute": ({"absent": "missing_attribute:Other"}, variant_source("absent")),
    "no_variant": ({"thing": "no_variant:thing"}, "thing = {'n_neighbors': 3}\n"),
    "three_arguments": (
        {"three": "three_arguments:Rule"},
        variant_source("three", "def kernel(order, labels, target):\n    return 0.5\n"),
    ),
    "tuple_kernel": (
        {"tuple": "tuple_kernel:Rule"},
        variant_source("tuple", "def kernel(order, labels, target, constraints):\n    return (0.5, 0.5)\n"),
    ),
    "raising_kernel": ({"raising": "raising_kernel:Rule"}, variant_source("raising", RAISING)),
    "other_name": ({"alias": "other_name:Rule"}, variant_source("its_own_name")),
    "raises_at_import": ({"angry": "raises_at_import:Rule"}, "raise RuntimeError('not today')\n"),
    "good": ({"half": "good:Rule"}, variant_source("half")),
}

ASK_EACH = (
    PROBLEM
    + """
from concurrent.futures import ThreadPoolExecutor

def ask(name, **arguments):
    try:
        return {"score": complete_cv(X, y, name, Subsample(40), **arguments).score}
    except Exception as error:
        cause = type(error.__cause__).__name__ if error.__cause__ else None
        return {"type": type(error).__name__, "message": str(error), "cause": cause}

before = ask("nn")
report = {"names": knnccv.variant_names(), "before": before, "answers": {}, "after": {}}
try:
    view = knnccv.registered_variants()
    report["contained"] = [name in view for name in json.loads(sys.argv[1])]
except Exception as error:
    report["contained"] = repr(error)
with ThreadPoolExecutor(3) as pool:
    for name in json.loads(sys.argv[1]):
        report["answers"][name] = [ask(name), ask(name, n_jobs=2), ask(name, executor=pool)]
        report["after"][name] = ask("nn", n_jobs=2)
report["unknown"] = ask("imprting")
print(json.dumps(report))
"""
)


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """Answers of a process in which all of these distributions are installed."""
    folder = tmp_path_factory.mktemp("broken")
    for module, (points, source) in BROKEN.items():
        write_distribution(folder, module, points, source)
    names = [name for points, _ in BROKEN.values() for name in points]
    report = run(ASK_EACH, json.dumps(names), paths=[folder])
    report["asked"] = names
    return report


@pytest.mark.slow
def test_broken_distributions_are_listed(broken):
    assert set(broken["asked"]) <= set(broken["names"])
    assert broken["names"] == sorted(broken["names"])


def test_broken_distributions_do_not_disturb_the_others(broken):
    assert "score" in broken["before"]
    for name, answer in broken["after"].items():
        assert answer == broken["before"], f"after asking for {name!r}"
    assert broken["answers"]["half"] == [{"score": 0.5}] * 3
    assert broken["unknown"]["type"] == "ValueError"
    assert "did you mean 'importing'?" in broken["unknown"]["message"]


@pytest.mark.parametrize(
    ("name", "kind", "parts"),
    [
        ("importing", "ImportError", ["'importing'", "package import_error", "a_module_that_nobody_has"]),
        ("parsing", "ImportError", ["'parsing'", "package syntax_error", "invalid syntax"]),
        ("angry", "ImportError", ["'angry'", "package raises_at_import", "not today"]),
        ("absent", "ImportError", ["'absent'", "package missing_attribute", "Other"]),
        ("thing", "TypeError", ["no_variant:thing", "package no_variant", "knnccv.kernel.Variant"]),
        (
            "three",
            "TypeError",
            [
                "'three'",
                "package three_arguments",
                "must take 4 arguments",
                "got 3 (order, labels, target)",
            ],
        ),
        ("alias", "TypeError", ["'alias'", "package other_name", "calls itself 'its_own_name'"]),
    ],
)
def test_the_error_names_the_broken_distribution(broken, name, kind, parts):
    for answer in broken["answers"][name]:
        assert answer["type"] == kind
        for part in parts:
            assert part in answer["message"]
    if kind == "ImportError":
        assert broken["answers"][name][0]["cause"] is not None


@needs_compiler
def test_a_kernel_that_gives_no_number_is_refused(broken):
    for answer in broken["answers"]["tuple"]:
        assert answer["type"] == "TypeError"
        for part in ["'tuple'", "tuple_kernel.kernel", "does not fit the signature"]:
            assert part in answer["message"]


def test_the_error_of_a_kernel_reaches_the_caller(broken):
    """From the calling thread, from threads of our own, and from an executor's."""
    for answer in broken["answers"]["raising"]:
        assert answer["type"] == "ValueError"
        assert answer["message"] == "item 37 is not to my taste"


@pytest.mark.slow
def test_the_error_of_a_kernel_ends_the_threads(tmp_path):
    """With several blocks at work, in which many samples raise, and answers right ever after."""
    write_distribution(
        tmp_path, "raising_kernel", {"raising": "raising_kernel:Rule"}, BROKEN["raising_kernel"][1]
    )
    found = run(
        """
        import json, threading
        import numpy as np
        from knnccv import Subsample, complete_cv

        rng = np.random.default_rng(2)
        X, y = rng.normal(size=(1500, 1)), rng.integers(0, 2, 1500)
        before = complete_cv(X, y, "nn", Subsample(0.5), n_jobs=4).score
        messages = []
        for _ in range(5):
            try:
                complete_cv(X, y, "raising", Subsample(0.5), n_jobs=4)
            except ValueError as error:
                messages.append(str(error))
        after = complete_cv(X, y, "nn", Subsample(0.5), n_jobs=4).score
        print(json.dumps([messages, before == after, threading.active_count()]))
        """,
        paths=[tmp_path],
    )
    messages, same, threads = found
    assert messages == ["item 37 is not to my taste"] * 5
    assert same
    assert threads == 1


def test_asking_whether_a_name_exists_imports_nothing(broken):
    """`name in registered_variants()` must not fail for what cannot be imported."""
    assert broken["contained"] == [True] * len(broken["asked"])


CLASH = (
    PROBLEM
    + """
def ask(call, *arguments):
    try:
        return call(*arguments)
    except Exception as error:
        return f"{type(error).__name__}: {error}"

def score(name):
    return complete_cv(X, y, name, Subsample(40)).score

print(json.dumps({
    "nn": ask(score, "nn"),
    "alone": ask(score, "alone"),
    "both": ask(score, "both"),
    "both again": ask(score, "both"),
    "names": ask(knnccv.variant_names),
    "unknown": ask(score, "nonsense"),
}))
"""
)


@pytest.fixture(scope="module")
def clash(tmp_path_factory):
    """Answers of a process in which two distributions offer one name."""
    folder = tmp_path_factory.mktemp("clash")
    write_distribution(folder, "first", {"both": "first:Rule"}, variant_source("both"))
    source = variant_source("both") + variant_source("alone", class_name="Alone")
    write_distribution(folder, "second", {"both": "second:Rule", "alone": "second:Alone"}, source)
    return run(CLASH, paths=[folder])


@pytest.mark.slow
def test_a_clash_names_both_sides(clash):
    for answer in (clash["both"], clash["both again"]):
        assert answer.startswith("ValueError: ")
        for part in ("'both'", "first:Rule", "package first", "second:Rule", "package second"):
            assert part in answer


def test_a_clash_harms_only_those_who_ask_for_the_name(clash):
    assert isinstance(clash["nn"], float), clash["nn"]
    assert clash["alone"] == 0.5
    assert isinstance(clash["names"], list), clash["names"]
    assert {"nn", "alone", "both"} <= set(clash["names"])
    assert clash["unknown"].startswith("ValueError: there is no variant 'nonsense'")


@pytest.mark.slow
def test_a_distribution_found_twice_is_no_clash(tmp_path):
    """The same folder may stand on the path twice, as a checkout and as an installation do."""
    for folder in ("one", "two"):
        write_distribution(tmp_path / folder, "good", {"half": "good:Rule"}, variant_source("half"))
    code = PROBLEM + "print(complete_cv(X, y, 'half', Subsample(40)).score)"
    assert run(code, paths=[tmp_path / "one", tmp_path / "two"]) == 0.5


@pytest.mark.slow
def test_an_object_serves_as_well_as_a_class(tmp_path):
    """An entry point may name an instance, say one of several with different defaults."""
    source = variant_source("half") + "\n\nready = Rule()\n"
    write_distribution(tmp_path, "ready_made", {"half": "ready_made:ready"}, source)
    found = run(
        PROBLEM
        + """
score = complete_cv(X, y, "half", Subsample(40)).score
import ready_made
print(json.dumps([score, knnccv.get_variant("half") is ready_made.ready]))
""",
        paths=[tmp_path],
    )
    assert found == [0.5, True]


def guide_blocks(language):
    """Blocks of code of the page, in their order."""
    text = GUIDE.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def guide(tmp_path_factory):
    """Folder with the page's example, and its other blocks."""
    module, check, register, ask, *further = guide_blocks("python")
    folder = tmp_path_factory.mktemp("guide")
    (folder / "knnccv_kth.py").write_text(module, encoding="utf-8")
    return folder, check, register, ask, further


@pytest.mark.slow
def test_the_page_teaches_what_works_in_one_process(guide):
    folder, check, register, _, (named, *_) = guide
    run(f"{check}\n{register}\n{named}", paths=[folder])


def test_the_page_teaches_rules_that_only_decide(guide):
    folder, *_, (_, decides, prepares) = guide
    run(f"{decides}\n{prepares}", paths=[folder])


def test_the_page_teaches_what_works_when_installed(guide, tmp_path):
    folder, _, _, ask, _ = guide
    (packaging,) = guide_blocks("toml")
    project = tomllib.loads(packaging)["project"]
    points = project["entry-points"]["knnccv.variants"]
    module = (folder / "knnccv_kth.py").read_text(encoding="utf-8")
    write_distribution(tmp_path, "knnccv_kth", points, module)
    run(ask, paths=[tmp_path])


@pytest.mark.slow
def test_the_page_s_example_is_what_it_says(guide):
    """Its check passes; with an error put into the kernel, it does not."""
    folder, check, *_ = guide
    spoilt = folder / "spoilt"
    spoilt.mkdir()
    source = (folder / "knnccv_kth.py").read_text(encoding="utf-8")
    wrong = source.replace("weight * n_own / (end - start)", "weight * n_own")
    assert wrong != source
    (spoilt / "knnccv_kth.py").write_text(wrong, encoding="utf-8")
    code = f"try:\n{indent(check, '    ')}\nexcept AssertionError:\n    print('\"found\"')\n"
    assert run(code, paths=[spoilt]) == "found"


def test_the_example_declares_what_it_offers():
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["knnccv.variants"] == {"unanimous": "knnccv_unanimous.rule:Unanimous"}
    installed = {point.name for point in importlib.metadata.entry_points(group="knnccv.variants")}
    assert "unanimous" not in installed, "the example must not be installed beside the tests"
