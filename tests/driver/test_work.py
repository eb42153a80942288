"""What is computed, and what is said of it: equal samples once, light kernels, long questions announced."""

import gc
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from problems import blobs, copies
from scipy import sparse

import knnccv
from knnccv import KFold, Neighbors, StratifiedKFold, Subsample, complete_cv, monte_carlo_cv, surface
from knnccv._core.driver import SlowComputationWarning
from knnccv.kernel import JOINT, chain_of, jit
from knnccv.neighbors.hvdm import HEOM
from knnccv_variants.votes import KNN

RULES = [
    ("nn", {}),
    ("nn", {"loss": np.array([[0, 1, 3], [1, 0, 2], [5, 1, 0]])}),
    ("knn", {"n_neighbors": 4}),
    ("knn", {"n_neighbors": 3, "vote_ties": "random"}),
    ("rank", {"rank": 3}),
    ("confidence", {"n_neighbors": 3, "score": "brier"}),
    ("regression", {"n_neighbors": 3}),
]


@pytest.fixture
def scored(monkeypatch):
    """The rows that the scorer was asked for; no answer tells how many were."""
    rows = []
    scorer = sys.modules["knnccv._core.driver._scores"].BlockScorer
    call = scorer.__call__

    def spied(self, lists, block):
        rows.extend(block.tolist())
        return call(self, lists, block)

    monkeypatch.setattr(scorer, "__call__", spied)
    return rows


def each_by_itself(X, metric="euclidean", depth=None, **more):
    """Neighbors that do not know which samples have equal features."""
    near = Neighbors.from_data(X, metric, **more)
    return Neighbors.from_lists(*near.kneighbors(depth or len(X) - 1))


def check_alike(found, expected):
    np.testing.assert_allclose(found.per_item, expected.per_item, rtol=1e-12, atol=1e-13)
    assert found.score == pytest.approx(expected.score, rel=1e-12)
    assert found.error_bound == pytest.approx(expected.error_bound, rel=1e-9)
    assert found.n_tied == expected.n_tied


def test_equal_samples_are_scored_once(scored):
    X, y = copies(120, 6)
    apart = each_by_itself(X)
    for rule, parameters in RULES:
        for design, tol in ((KFold(4), 1e-3), (Subsample(0.6), 0.0), (StratifiedKFold(3), 1e-3)):
            if rule == "regression" and isinstance(design, StratifiedKFold):
                continue
            scored.clear()
            result = complete_cv(X, y, rule, design, tol=tol, n_jobs=1, **parameters)
            assert 6 <= len(set(scored)) <= 18
            expected = complete_cv(apart, y, rule, design, tol=tol, n_jobs=1, **parameters)
            assert len(set(scored)) == 120
            check_alike(result, expected)


def test_equal_samples_of_every_metric_and_of_short_lists(scored):
    X, y = copies(120, 9)
    X = np.column_stack([X, X[:, ::-1] * [1, -1] + 1]).astype(np.float32)
    for metric in ("cosine", "manhattan", "jaccard", "mahalanobis", "hamming"):
        more = {"metric_params": {"V": np.diag([1.0, 2.0, 3.0, 4.0])}} if metric == "mahalanobis" else {}
        near = Neighbors.from_data(X, metric, **more)
        complete_cv(near, y, "knn", 5, n_neighbors=3)
        scored.clear()
        result = complete_cv(near, y, "knn", 5, n_neighbors=3)  # from lists that were kept
        assert len(set(scored)) <= 27
        check_alike(result, complete_cv(each_by_itself(X, metric, **more), y, "knn", 5, n_neighbors=3))
    for depth in (20, 60):  # the last tied group of a cut list is left out, for every copy alike
        short = complete_cv(Neighbors.from_data(X, n_neighbors=depth), y, "knn", KFold(4))
        check_alike(short, complete_cv(each_by_itself(X, depth=depth), y, "knn", KFold(4)))


def test_who_needs_a_score_of_its_own(scored):
    """Other targets, ties in the order of the rows, groups; neighbors that do not know equal samples."""
    X, y = copies(120, 6)
    D = np.abs(X[:, None] - X).sum(axis=2)
    for own, asked in [
        (False, {"X": X, "y": y.astype(float), "variant": "regression"}),
        (False, {"X": X, "y": np.column_stack([y, y * y]), "variant": "regression"}),
        (True, {"X": X, "y": np.column_stack([y, np.arange(120)]), "variant": "regression"}),
        (True, {"X": X, "ties": "index"}),
        (True, {"X": Neighbors.from_distances(D)}),
        (True, {"X": Neighbors.from_data(sparse.csr_array(X))}),
        (True, {"X": Neighbors.from_data(X, lambda a, b: float(abs(a - b).sum()))}),
        (True, {"X": HEOM(nominal=[0]).fit(X).neighbors()}),
    ]:
        scored.clear()
        complete_cv(**{"y": y, "variant": "knn", "cv": KFold(4), **asked})
        assert (len(set(scored)) == 120) == own, asked
    apart, groups = each_by_itself(X), knnccv.LeaveGroupsOut(np.arange(120) % 10)
    check_alike(complete_cv(X, y, "knn", groups), complete_cv(apart, y, "knn", groups))
    result = complete_cv(X, y, "knn", KFold(4), ties="index")
    assert len(set(result.per_item)) > 18
    scored.clear()
    result.tie_report()
    assert len(set(scored)) == 120


needs_compiler = pytest.mark.skipif(
    bool(getattr(numba.config, "DISABLE_JIT", False)), reason="nothing is compiled: NUMBA_DISABLE_JIT"
)


@jit
def always_half(order, labels, target, constraints):  # noqa: ARG001
    return 0.5 * constraints.unit


def without_first_kernels(variant, tasks, parameters):
    """The chain without the kernels that are tried before the last one, except joint ones."""
    *first, last = chain_of(variant, tasks, parameters) or [None]
    return [link for link in (*first, last) if link is last or link.form == JOINT] if last else []


@needs_compiler
@pytest.mark.parametrize("n_classes", [1, 2, 4])
def test_first_kernels_agree_with_the_last(monkeypatch, n_classes):
    for rule, parameters in (RULES[0], RULES[2], RULES[4]):
        for decimals in (0, 15):
            X, y = blobs(n_classes, 50, n_classes)
            X = X.round(decimals)
            for design in (KFold(4), StratifiedKFold(3), Subsample(0.6), knnccv.StratifiedSubsample(0.5)):
                found = []
                for chain in (chain_of, without_first_kernels):
                    monkeypatch.setattr("knnccv._core.driver._rows.chain_of", chain)
                    exact = complete_cv(X, y, rule, design, **parameters)
                    runs = monte_carlo_cv(X, y, rule, design, n_runs=3, random_state=0, **parameters)
                    found.append((exact, runs))
                (one, few), (other, others) = found
                check_alike(one, other)
                np.testing.assert_allclose(few.scores, others.scores, rtol=0, atol=1e-13)


@pytest.mark.parametrize("design", [KFold(4), StratifiedKFold(3)])
def test_a_subclass_with_kernels_of_its_own_has_no_light_ones(design):
    X, y = blobs(3, 50, 3)
    own = "stratified" if isinstance(design, StratifiedKFold) else "fixed"
    changed = type("Changed", (KNN,), {"name": "changed", own: staticmethod(always_half)})
    assert (complete_cv(X, y, changed, design).per_item == 0.5).all()
    assert (monte_carlo_cv(X, y, changed, KFold(4), n_runs=2).scores == 0.5).all() == (own == "fixed")


NEEDS = """
import numpy as np
from knnccv import KFold, StratifiedKFold, bootstrap_score, complete_cv, get_variant
from knnccv.kernel import Task
rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 2)), np.arange(60) % 3
knn, nn, rank = (get_variant(name) for name in ("knn", "nn", "rank"))
task = Task((14, 14, 12), (20, 20, 20), True, held_out=1, n_classes=3)
bootstrap_score(X, y, n_neighbors=3)
for rule in (knn, nn, rank):
    complete_cv(X, y, rule, StratifiedKFold(3))
    assert not rule.stratified.signatures, rule
for rule in (knn, rank):
    complete_cv(X, y, rule, KFold(3))
    assert not rule.fixed.signatures, rule
chain = knn.chain([task], **knn.parameters)
assert not chain[-1].kernel.signatures
complete_cv(X.round(), y, knn, StratifiedKFold(3))
assert chain[-1].kernel.signatures
"""


@needs_compiler
@pytest.mark.slow
def test_a_kernel_for_ties_is_compiled_when_items_tie():
    subprocess.run([sys.executable, "-W", "error", "-c", NEEDS], check=True)


@pytest.fixture
def impatient(monkeypatch):
    """Call a little work long, and keep the garbage collector out of the times that are compared."""
    monkeypatch.setattr("knnccv._core.driver._deepen.LONG", 1e-5)
    gc.disable()
    yield
    gc.enable()


def tied(n_items=200, n_classes=4, n_points=1):
    """Distinct rows that tie, as equal rows would share a score."""
    X = np.column_stack([np.repeat(np.arange(n_points), n_items // n_points), np.arange(n_items)])
    y = np.random.default_rng(0).permutation(np.arange(n_items) % n_classes)
    return Neighbors.from_data(X, "hamming"), y


def told_by(ask, way_out=""):
    """The only warning, and the answer; asked again if other work disturbs the times compared."""
    for _ in range(5):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            answer = ask()
        if caught and way_out in str(caught[0].message):
            break
    assert [each.category for each in caught] == [SlowComputationWarning]
    assert caught[0].filename == __file__
    return str(caught[0].message), answer


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
def test_a_long_question_is_announced_once_with_ways_out(monkeypatch):
    X, y = tied()
    told, answer = told_by(lambda: complete_cv(X, y, "knn", 5, n_jobs=2), "ties='index'")
    assert "with 2 workers: some 200 samples have up to 199 tied neighbors" in told
    assert "cv=KFold(5) or Subsample(160) fixes" in told
    told_by(lambda: monte_carlo_cv(X, y, "knn", 5, n_runs=2, random_state=0))
    told, _ = told_by(lambda: surface(X, y, [1, 3], [0.3, 0.5], stratified=True))
    assert "at most about" in told
    told_by(lambda: surface(X, y, [1, 3], [0.3, 0.5]))
    with ThreadPoolExecutor(3) as pool:
        told, one = told_by(lambda: complete_cv(X, y, "knn", 5, executor=pool))
        assert "with 3 workers" in told
        shy = SimpleNamespace(submit=pool.submit)  # an executor that does not tell how many workers it has
        told, other = told_by(lambda: complete_cv(X, y, "knn", 5, executor=shy))
        assert "of processor time" in told
    monkeypatch.setattr("knnccv._core.driver._deepen.LONG", 60.0)
    quiet = complete_cv(X, y, "knn", 5, n_jobs=1)
    for each in (answer, one, other):
        assert each.per_item.tobytes() == quiet.per_item.tobytes()
        assert each.error_bound == quiet.error_bound


@pytest.mark.usefixtures("impatient")
def test_nothing_is_announced_where_ties_cost_nothing():
    rng = np.random.default_rng(0)
    complete_cv(rng.normal(size=(600, 2)), np.arange(600) % 3, "knn", knnccv.StratifiedSubsample(0.05))
    complete_cv(*tied(), "knn", 5, ties="index")


def test_the_compiler_is_not_timed(monkeypatch):
    """A kernel that is compiled in a trial would make the forecast of all samples one of compilations."""
    forecast = sys.modules["knnccv._core.driver._deepen"]
    seconds = [61, 400, 3300, 50_000, 10**6]
    words = ["1 minute", "7 minutes", "55 minutes", "14 hours", "12 days"]
    assert [forecast.in_words(s) for s in seconds] == words
    scored, now = [], [0.0]

    def score(row):
        now[0] += 0.01 if scored else 20.0
        scored.append(row)

    monkeypatch.setattr(forecast.time, "thread_time", lambda: now[0])
    watch = forecast.Watch(None, tied()[0], score, times=3)
    assert watch._forecast(np.arange(100)) == (pytest.approx(100 * 3 * 0.01), 199)
    assert len(scored) == 17
