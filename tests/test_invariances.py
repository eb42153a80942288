"""What must not change an answer, over all entry points: threads, blocks, containers, names, order of rows.

``python tests/test_invariances.py`` prints a digest of the numbers of every entry point, so that two
commits can be compared bit for bit.
"""

import dataclasses
import hashlib
import importlib
import inspect
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier

import knnccv
from knnccv import (
    KFold,
    LeaveGroupsOut,
    LeaveOut,
    Neighbors,
    RebalancedLeaveOneOut,
    StratifiedKFold,
    StratifiedSubsample,
    Subsample,
    complete_cv,
    get_variant,
    rib,
)
from knnccv.episodes import Episodes, described_episodes, expected_episodes, sampled_episodes
from knnccv.hvdm import HEOM
from knnccv.retrieval import Gallery, expected_retrieval, sampled_retrieval
from knnccv.selection import condense, condensed_cv, search_weights, select_features
from knnccv.sklearn import ccv_scorer, expected_score

N_ITEMS = 61  # a prime: an array of this length has an entry for every sample
SHUFFLED = np.random.default_rng(1).permutation(N_ITEMS)
RULES = {
    "nn": {},
    "knn": {"n_neighbors": 4, "vote_ties": "random"},
    "confidence": {"n_neighbors": 3, "score": "log_loss"},
    "rank": {"rank": 2},
    "weighted": {"n_neighbors": 2},
    "regression": {},
    "weighted_regression": {"n_neighbors": 2},
}
DESIGNS = [
    *[Subsample(0.5), KFold(4), LeaveOut(2), LeaveGroupsOut(np.arange(N_ITEMS) // 3, 2)],
    *[StratifiedSubsample(0.6), StratifiedKFold(3), RebalancedLeaveOneOut()],
]
NAMES = {"labels", "classes", "query_ids", "identities", "paired_by", "seconds"}
"""Fields that are no answers: names of classes, and the time that it took."""


class Entry(NamedTuple):
    """A call, and what may change its answer.

    `ordered`: the order of the rows, as ties go by index or samples are drawn. `but`: checks that do not
    apply, with the reason beside them.
    """

    call: Any
    real: bool = False
    ordered: bool = False
    but: tuple[str, ...] = ()


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def strided(array):
    return np.repeat(array[::-1], 2, axis=0)[::-2]


CONTAINERS = {
    "lists": (lambda X: X.tolist(), lambda y: y.tolist()),
    "pandas": (lambda X: pd.DataFrame(X, columns=["a", "b", "c"]), lambda y: pd.Series(y)),
    "Fortran order": (np.asfortranarray, lambda y: y[:, None][:, 0]),
    "read only": (read_only, read_only),
    "strided": (strided, strided),
    "single precision": (lambda X: X.astype(np.float32), lambda y: y.astype(np.float32)),
    "integers": (lambda X: X.astype(np.int8), lambda y: y),
    "objects": (lambda X: X.astype(object), lambda y: y.astype(object)),
}


def retrieval(function, **more):
    """A call with every sample as a query of a gallery of the others."""

    def call(X, y, n_jobs):
        near = Neighbors.between(X, X, same=np.arange(N_ITEMS))
        return function(near, y, y, Gallery(per_identity=2), n_jobs=n_jobs, **more)

    return call


def result(X, y, n_jobs):
    return complete_cv(X, y, "knn", KFold(4), n_neighbors=3, n_jobs=n_jobs)


def of_estimator(X, y, **more):
    return expected_score(ESTIMATOR, X, y, **more)


def first_columns(X, _):
    return np.argsort(np.abs(np.asarray(X, float)).sum(axis=0), kind="stable")[:2].tolist()


def fitted(X, y, n_jobs):
    found = rib.RIBClassifier(random_state=0, n_w_k=11, n_jobs=n_jobs).fit(X, y)
    return found.predict_proba(X)


def partial(function, *arguments, **more):
    return lambda X, y, n_jobs: function(X, y, *arguments, **more, n_jobs=n_jobs)


ESTIMATOR = KNeighborsClassifier(3)
RUNS = {"n_repeats": 4, "random_state": 0}
EPISODES = Episodes(2, 2)
DESCRIBED = [{0: 1, 1: 2}, {0: 2, 1: 1, 2: 3}]
ENTRIES = {
    "complete_cv sampled": Entry(
        partial(complete_cv, "knn", KFold(3), method="sampled", n_draws=20), ordered=True
    ),
    "complete_cv exact": Entry(partial(complete_cv, "nn", Subsample(50), exact=True)),
    "CompleteCV.influence": Entry(lambda X, y, n_jobs: result(X, y, n_jobs).influence(n_jobs)),
    "CompleteCV.runs": Entry(
        lambda X, y, n_jobs: result(X, y, n_jobs).runs(200, n_jobs=n_jobs), ordered=True
    ),
    "CompleteCV.split_std": Entry(
        lambda X, y, n_jobs: complete_cv(X, y, "nn", KFold(4), ties="index").split_std(n_jobs=n_jobs),
        ordered=True,
    ),
    "CompleteCV.split_std sampled": Entry(
        lambda X, y, n_jobs: result(X, y, n_jobs).split_std("sampled", n_jobs=n_jobs), ordered=True
    ),
    "CompleteCV.tie_report": Entry(  # of three classes, whose range is not exact
        lambda X, y, n_jobs: result(X, y, n_jobs).tie_report(), ordered=True
    ),
    "CompleteCV.confusion": Entry(lambda X, y, n_jobs: result(X, y, n_jobs).confusion()),
    "CompleteCV.half_scores": Entry(lambda X, y, n_jobs: result(X, y, n_jobs).half_scores(9), ordered=True),
    "compare_all": Entry(
        lambda X, y, n_jobs: knnccv.compare_all(
            [complete_cv(X, y, rule, 4, n_jobs=n_jobs) for rule in ("nn", "knn")], n_halvings=9
        ),
        ordered=True,
    ),
    "complete_cv HEOM": Entry(
        lambda X, y, n_jobs: complete_cv(HEOM().fit(X).neighbors(), y, n_jobs=n_jobs)
    ),
    "monte_carlo_cv": Entry(partial(knnccv.monte_carlo_cv, **RUNS), ordered=True),
    "screened_cv": Entry(partial(knnccv.screened_cv, first_columns, **RUNS), ordered=True),
    "permutation_test": Entry(
        partial(knnccv.permutation_test, n_permutations=9, random_state=0), ordered=True
    ),
    "surface": Entry(partial(knnccv.surface, [1, 3], [0.3, 0.8])),
    "surface stratified": Entry(partial(knnccv.surface, [1, 3], [0.3, 0.8], stratified=True)),
    "surface nn": Entry(partial(knnccv.surface, None, [0.3, 0.8], "nn")),
    "surface confidence": Entry(partial(knnccv.surface, [2, 3], [0.3, 0.8], "confidence")),
    "surface regression": Entry(partial(knnccv.surface, [1, 3], [0.3, 0.8], "regression"), real=True),
    "loo_curve": Entry(partial(knnccv.loo_curve, [1, 3], "knn")),
    "loo_curve regression": Entry(partial(knnccv.loo_curve), real=True),
    "loo_identity": Entry(partial(knnccv.loo_identity, check=False), real=True, ordered=True),
    "bootstrap_score": Entry(partial(knnccv.bootstrap_score)),
    "item_values": Entry(partial(knnccv.item_values), but=("blocks",)),  # summed by blocks
    "item_values influence": Entry(partial(knnccv.item_values, "influence")),
    "tuned_score": Entry(partial(knnccv.tuned_score, [1, 3, 5], n_runs=20), ordered=True),
    "nested_cv": Entry(
        lambda X, y, _: knnccv.rivals.nested_cv(X, y, n_folds=4, n_repeats=2, random_state=0),
        ordered=True,
    ),
    "condense": Entry(partial(condense), ordered=True),
    "condensed_cv": Entry(partial(condensed_cv, outer=2, n_repeats=1, random_state=0), ordered=True),
    "select_features": Entry(partial(select_features)),
    "search_weights": Entry(partial(search_weights)),
    "expected_episodes": Entry(partial(expected_episodes, EPISODES, jackknife="class")),
    "described_episodes": Entry(partial(described_episodes, DESCRIBED), but=("names",)),  # given by name
    "sampled_episodes": Entry(
        partial(sampled_episodes, EPISODES, n_episodes=70, n_query=2, random_state=0), ordered=True
    ),
    "expected_retrieval": Entry(retrieval(expected_retrieval, ties="random")),
    "sampled_retrieval": Entry(retrieval(sampled_retrieval, n_repeats=5), ordered=True),
    "Neighbors.kneighbors": Entry(
        lambda X, _, n_jobs: Neighbors.from_data(X).kneighbors(5, n_jobs=n_jobs), ordered=True
    ),
    "rib.loo_votes": Entry(
        lambda X, y, n_jobs: rib.loo_votes(Neighbors.from_data(X), y, n_jobs=n_jobs), ordered=True
    ),
    "rib.RIBClassifier": Entry(fitted, ordered=True, but=("objects",)),  # scikit-learn refuses them
    "expected_score": Entry(partial(of_estimator), ordered=True),
    "expected_score runs": Entry(partial(of_estimator, scoring="f1_macro", n_runs=64), ordered=True),
    "ccv_scorer": Entry(
        lambda X, y, n_jobs: ccv_scorer(KFold(3), n_jobs=n_jobs)(ESTIMATOR, X, y), ordered=True
    ),
}
for name, setting in RULES.items():
    rule = get_variant(name)
    for cv in DESIGNS:
        strata = isinstance(cv, (StratifiedSubsample, StratifiedKFold, RebalancedLeaveOneOut))
        if rule.stratified is not None or not strata:
            for ties in ("index", "random"):
                call = partial(complete_cv, name, cv, ties=ties, **setting)
                ordered = ties == "index" or isinstance(cv, (StratifiedKFold, LeaveGroupsOut))
                entry = Entry(call, rule.target == "values", ordered, ("threads", *CONTAINERS))
                ENTRIES[f"complete_cv {name} {cv} {ties}"] = entry


def problem(real):
    """Samples with ties, exact in every container; three classes, or real targets."""
    rng = np.random.default_rng(0)
    y = np.arange(N_ITEMS) % 3
    X = rng.integers(-9, 9, (N_ITEMS, 3)) + 4.0 * y[:, None]
    X[-9:] = X[:9]
    return X, rng.integers(-40, 60, N_ITEMS) / 8 if real else rng.permuted(y)


def numbers(found):
    """All numbers of a result, as arrays; no names of classes."""
    if dataclasses.is_dataclass(found):
        fields = [f.name for f in dataclasses.fields(found)]
        found = [getattr(found, f) for f in fields if f not in NAMES and not f.startswith("_")]
    if isinstance(found, dict):
        found = [value for name, value in found.items() if name not in NAMES]
    if isinstance(found, tuple) and found and isinstance(found[0], Fraction):
        found = np.array(found, dtype=float)
    if isinstance(found, (list, tuple)):
        return [array for each in found for array in numbers(each)]
    if found is None or isinstance(found, (str, type)) or callable(found):
        return []
    array = np.asarray(float(found) if isinstance(found, Fraction) else found)
    return [array] if array.dtype.kind in "biuf" else []


def bits(found):
    arrays = numbers(found)
    assert arrays
    return [array.tobytes() for array in arrays]


CUT = {
    "rib._sweep.BLOCK": 17,
    "scorings._vote_laws.BLOCK": 17,
    "episodes._sampled.BLOCK": 17,
    "runs._random_runs.N_RUNS": 200,
}
"""What decides in which parts sums are added or numbers drawn, so that threads have something to do."""
BLOCKS = {
    "neighbors.Neighbors.rows_at_once": lambda *_: 7,
    "neighbors.Between.rows_at_once": property(lambda _: 7),
    "neighbors._engines.brute_force.FAST_BYTES": 1,
    "neighbors._engines.brute_force.FEWEST_ROWS": 7,
    "montecarlo._feature_selection.BLOCK_BYTES": 8 * 40 * 3,
    "curves._rank_surface.BLOCK_BYTES": 1,
    "episodes._passes.MOST_ROWS": 7,
    "episodes._passes.FEWEST_ROWS": 3,
    "selection._condense_scores.BLOCK": 7,
    "selection._scorer.FAST_BYTES": 8 * N_ITEMS * 7,
    "selection._scorer.SCORE_BYTES": 8 * N_ITEMS * 2,
    "halves._half_scores.BLOCK": 50,
}
"""What must not matter."""


@pytest.fixture(scope="module")
def answers():
    """The numbers of every entry point: one thread, arrays."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in CUT.items():
            patch.setattr(f"knnccv.{name}", value)
        yield {name: numbers(entry.call(*problem(entry.real), 1)) for name, entry in ENTRIES.items()}


def differing(answers, check, change=lambda X, y: (X, y), n_jobs=1):
    """The entry points that answer other bits if X and y are changed, or how they are asked."""
    found = []
    for name, entry in ENTRIES.items():
        if check not in entry.but:
            X, y = change(*problem(entry.real))
            try:
                if bits(entry.call(X, y, n_jobs)) != bits(answers[name]):
                    found.append(name)
            except Exception as error:
                found.append(f"{name}: {error}")
    return found


def test_threads(answers):
    assert not differing(answers, "threads", n_jobs=2)


def test_blocks(answers, monkeypatch):
    for name, value in BLOCKS.items():
        monkeypatch.setattr(f"knnccv.{name}", value)
    assert not differing(answers, "blocks", n_jobs=3)


@pytest.mark.parametrize("kind", CONTAINERS)
def test_containers(kind, answers):
    samples, labels = CONTAINERS[kind]
    assert not differing(answers, kind, lambda X, y: (samples(X), labels(y)))


@pytest.mark.slow
def test_the_report():
    X, y = problem(real=False)
    one = bits(knnccv.report(X, y, n_jobs=1).to_dict())
    for samples, labels in CONTAINERS.values():
        assert bits(knnccv.report(samples(X), labels(y), n_jobs=2).to_dict()) == one


@pytest.mark.parametrize("names", [["a", "b", "c"], [-5, 0, 7]])
def test_names_of_classes(names, answers):
    assert not differing(answers, "names", lambda X, y: (X, np.array(names)[y] if y.dtype == int else y))


def test_order_of_rows(answers):
    found = []
    for name, entry in ENTRIES.items():
        if not entry.ordered:
            X, y = problem(entry.real)
            moved = numbers(entry.call(X[SHUFFLED], y[SHUFFLED], 1))
            for one, other in zip(answers[name], moved, strict=True):
                expected = one[SHUFFLED] if np.shape(one)[:1] == (N_ITEMS,) else one
                if not np.allclose(other, expected, rtol=1e-12, atol=1e-13, equal_nan=True):
                    found.append((name, expected, other))
    assert not found


def test_no_entry_point_is_missing():
    homes = [knnccv, *map(importlib.import_module, ["knnccv.episodes", "knnccv.selection", "knnccv.rib"])]
    asked = {word for name in ENTRIES for word in name.replace(".", " ").split()}
    for home in (*homes, knnccv.retrieval, knnccv.sklearn):
        for name in home.__all__:
            value = getattr(home, name)
            if inspect.isfunction(value) and "n_jobs" in inspect.signature(value).parameters:
                assert name in {*asked, "report"}, name


if __name__ == "__main__":
    for name, entry in ENTRIES.items():
        print(hashlib.sha256(b"".join(bits(entry.call(*problem(entry.real), 1)))).hexdigest()[:16], name)
