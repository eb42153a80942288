"""Light kernels answer as the full ones do, and nothing is compiled that a question does not need."""

import os
import subprocess
import sys

import numba
import numpy as np
import pytest

from knnccv import (
    KFold,
    StratifiedKFold,
    StratifiedSubsample,
    Subsample,
    complete_cv,
    monte_carlo_cv,
)
from knnccv.driver._problem import validate_problem
from knnccv.kernel import JOINT, Compiling, chain_of, jit
from knnccv_variants.votes import KNN

needs_compiler = pytest.mark.skipif(
    bool(getattr(numba.config, "DISABLE_JIT", False)), reason="nothing is compiled: NUMBA_DISABLE_JIT"
)
RULES = [
    ("nn", {}),
    ("knn", {"n_neighbors": 3}),
    ("knn", {"n_neighbors": 4, "vote_ties": "random"}),
    ("rank", {"rank": 3}),
    ("confidence", {"n_neighbors": 3}),
]
DESIGNS = [KFold(4), StratifiedKFold(3), Subsample(0.6), StratifiedSubsample(0.5)]


def data(kind, n_classes):
    """Items of which none tie, or some with other labels."""
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(50, 2))
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, 50 - n_classes)])
    return np.round(X, 0 if kind == "ties" else 15), y


@jit
def always_half(order, labels, target, constraints):  # noqa: ARG001
    return 0.5 * constraints.unit


def without_first_kernels(variant, tasks, parameters):
    """The chain without the kernels that are tried before the last one, except joint ones."""
    *first, last = chain_of(variant, tasks, parameters) or [None]
    return [link for link in (*first, last) if link is last or link.form == JOINT] if last else []


@needs_compiler
@pytest.mark.parametrize("n_classes", [1, 2, 4])
@pytest.mark.parametrize("kind", ["ties", "no ties"])
@pytest.mark.parametrize(("rule", "parameters"), RULES)
def test_first_kernels_agree_with_the_last(monkeypatch, rule, parameters, kind, n_classes):
    X, y = data(kind, n_classes)
    for design in DESIGNS:
        found = []
        for chain in (chain_of, without_first_kernels):
            monkeypatch.setattr("knnccv.driver._part.chain_of", chain)
            exact = complete_cv(X, y, rule, design, **parameters)
            runs = monte_carlo_cv(X, y, rule, design, n_repeats=3, random_state=0, **parameters)
            found.append((exact, runs))
        (one, few), (other, others) = found
        np.testing.assert_allclose(one.per_item, other.per_item, rtol=0, atol=1e-13)
        assert (one.error_bound, one.tied) == (other.error_bound, other.tied)
        assert one.score == pytest.approx(other.score, abs=one.error_bound)
        np.testing.assert_allclose(few.scores, others.scores, rtol=0, atol=1e-13)


@pytest.mark.parametrize("design", [KFold(4), StratifiedKFold(3)])
def test_a_subclass_with_kernels_of_its_own_has_no_light_ones(design):
    X, y = data("no ties", 3)
    own = "stratified" if isinstance(design, StratifiedKFold) else "fixed"
    changed = type("Changed", (KNN,), {"name": "changed", own: staticmethod(always_half)})
    assert (complete_cv(X, y, changed, design).per_item == 0.5).all()
    assert (monte_carlo_cv(X, y, changed, KFold(4), n_repeats=2).scores == 0.5).all() == (own == "fixed")


def test_a_light_kernel_leaves_what_it_cannot_do():
    """Each way in which one is chosen, and the rule for which there is none."""
    X, y = data("no ties", 4)
    chosen = {}
    for rule, parameters in RULES:
        for stratified, cv in enumerate((KFold(4), StratifiedKFold(3))):
            question = validate_problem(y, len(X), rule, cv, None, "pooled", parameters)
            task = question.task(question.training_sets[0])
            links = chain_of(question.variant, [task], question.parameters)
            plain = [link for link in links if link.form != JOINT]
            chosen[rule, parameters.get("vote_ties"), bool(stratified)] = len(plain) > 1
    assert chosen["nn", None, True]
    assert chosen["knn", None, False]
    assert chosen["knn", None, True]
    assert chosen["rank", None, False]
    assert chosen["rank", None, True]
    assert not chosen["knn", "random", True]
    assert not chosen["confidence", None, True]


NEEDS = """
import numpy as np
from knnccv import KFold, StratifiedKFold, complete_cv, get_variant
from knnccv.kernel import Task
rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 2)), np.arange(60) % 3
knn, nn, rank = (get_variant(name) for name in ("knn", "nn", "rank"))
task = Task((14, 14, 12), (20, 20, 20), True, held_out=1, n_classes=3)
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
def test_a_kernel_for_ties_is_compiled_when_items_tie():
    subprocess.run([sys.executable, "-W", "error", "-c", NEEDS], check=True, env=os.environ.copy())


# Saying so


def fresh_function():
    """A jitted function of two that no cache holds."""

    @numba.njit
    def inner(x):
        return x + 1

    @numba.njit
    def outer(x):
        return inner(x) * 2

    return outer


@needs_compiler
def test_compiling_is_said_once_and_only_if_something_is_compiled(capsys):
    one, other = fresh_function(), fresh_function()
    with Compiling("compiling") as compiling:
        assert one(1) == 4
        assert other(1) == 4
    assert capsys.readouterr().err == "compiling\n"
    assert compiling.functions == 4
    assert 0 < compiling.seconds < 600
    with Compiling("compiling") as compiling:
        assert one(2) == 6
    assert capsys.readouterr() == ("", "")
    assert (compiling.functions, compiling.seconds) == (0, 0.0)
    assert fresh_function()(1) == 4  # nobody listens any more
    assert capsys.readouterr() == ("", "")


@needs_compiler
def test_compiling_survives_that_nobody_reads(monkeypatch):
    class Closed:
        def write(self, _):
            raise BrokenPipeError

        def flush(self):
            raise BrokenPipeError

    for stream in (Closed(), None):
        monkeypatch.setattr(sys, "stderr", stream)
        with Compiling("compiling"):
            assert fresh_function()(1) == 4
