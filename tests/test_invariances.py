"""What must not change an answer, over all entry points: threads, blocks, containers, names, order of rows.

``python tests/test_invariances.py`` prints a digest of the numbers of every entry point, so that two
commits can be compared bit for bit.
"""

import dataclasses
import hashlib
import importlib
import inspect
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from report_check import quick_report
from sklearn import model_selection
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
from knnccv.episodes import Episodes, expected_episodes, sampled_episodes
from knnccv.neighbors.hvdm import HEOM
from knnccv.retrieval import Gallery, expected_retrieval, sampled_retrieval
from knnccv.selection import condense, search_weights, select_features
from knnccv.sklearn import KNeighborsClassifierCV, KNeighborsRegressorCV, ccv_scorer, expected_score

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
    "radius": {"outlier_label": "most_frequent"},
    "radius_regression": {},
}
DESIGNS = [
    *[Subsample(0.5), KFold(4), LeaveOut(2), LeaveGroupsOut(np.arange(N_ITEMS) // 6, 2)],
    *[StratifiedSubsample(0.6), StratifiedKFold(3), RebalancedLeaveOneOut()],
]
NAMES = {"labels", "classes", "query_ids", "identities", "paired_by", "seconds"}
"""Fields that are no answers: names of classes, and the time that it took."""


def strided(array):
    """A view that cannot be written to."""
    array = np.repeat(array[::-1], 2, axis=0)[::-2]
    array.flags.writeable = False
    return array


CONTAINERS = {
    "lists": (lambda X: X.tolist(), lambda y: y.tolist()),
    "pandas": (lambda X: pd.DataFrame(X, columns=["a", "b", "c"]), lambda y: pd.Series(y)),
    "Fortran order": (np.asfortranarray, lambda y: y[:, None][:, 0]),
    "strided, read only": (strided, strided),
    "single precision": (lambda X: X.astype(np.float32), lambda y: y.astype(np.float32)),
    "integers": (lambda X: X.astype(np.int8), lambda y: y),
    "objects": (lambda X: X.astype(object), lambda y: y.astype(object)),
    "polars": (lambda X: pl.DataFrame(X, schema=["a", "b", "c"]), lambda y: pl.Series(y)),
    "pyarrow": (lambda X: pa.table(dict(zip("abc", X.T, strict=True))), lambda y: pa.chunked_array([y])),
}
SLOW = ("lists", "Fortran order", "single precision", "integers", "objects", "polars", "pyarrow")


def retrieval(function, **more):
    """A call with every sample as a query of a gallery of the others."""

    def call(X, y, n_jobs):
        near = Neighbors.between(X, X, same=np.arange(N_ITEMS))
        return function(near, y, y, Gallery(per_identity=2), n_jobs=n_jobs, **more)

    return call


def of_result(ask, **more):
    """A call that asks a result, which has exact scores, for more."""

    def call(X, y, n_jobs):
        return ask(complete_cv(X, y, "nn", KFold(4), n_jobs=n_jobs, **more), n_jobs)

    return call


def compared(X, y, n_jobs):
    found = [complete_cv(X, y, rule, KFold(4), n_jobs=n_jobs) for rule in ("nn", "knn")]
    return knnccv.compare_all(found, n_halvings=9)


def of_estimator(X, y, **more):
    return expected_score(ESTIMATOR, X, y, cv=model_selection.KFold(4, shuffle=True), **more)


def fitted(X, y, n_jobs):
    found = rib.RIBClassifier(random_state=0, n_w_k=11, n_jobs=n_jobs).fit(X, y)
    return found.predict_proba(X)


def chosen(estimator, *arguments, **more):
    def call(X, y, n_jobs):
        found = estimator(*arguments, **more, n_jobs=n_jobs).fit(X, y).cv_results_
        return found["mean_test_score"], found["rank_test_score"]

    return call


def partial(function, *arguments, **more):
    return lambda X, y, n_jobs: function(X, y, *arguments, **more, n_jobs=n_jobs)


ESTIMATOR = KNeighborsClassifier(3)
RUNS = {"n_runs": 4, "random_state": 0}
FAIR = {
    "complete_cv exact": partial(complete_cv, "nn", Subsample(50), exact=True),
    "complete_cv HEOM": lambda X, y, n_jobs: complete_cv(HEOM().fit(X).neighbors(), y, n_jobs=n_jobs),
    "CompleteCV.influence": of_result(lambda found, n_jobs: found.influence(n_jobs)),
    "CompleteCV.tie_report": of_result(lambda found, _: found.tie_report()),
    "CompleteCV.confusion": of_result(lambda found, _: found.confusion()),
    "surface": partial(knnccv.surface, [1, 3], [0.3, 0.8]),
    "surface stratified": partial(knnccv.surface, [1, 3], [0.3, 0.8], stratified=True),
    "surface nn": partial(knnccv.surface, None, [0.3, 0.8], "nn"),
    "surface confidence": partial(knnccv.surface, [2, 3], [0.3, 0.8], "confidence"),
    "surface regression": partial(knnccv.surface, [1, 3], [0.3, 0.8], "regression"),
    "bootstrap_score": partial(knnccv.bootstrap_score),
    "item_values": partial(knnccv.item_values),
    "item_values influence": partial(knnccv.item_values, "influence"),
    "select_features": partial(select_features, "knn", KFold(4)),
    "search_weights": partial(search_weights, "knn", KFold(4)),
    "KNeighborsClassifierCV": chosen(KNeighborsClassifierCV, [1, 3], metric=["euclidean", "manhattan"]),
    "KNeighborsClassifierCV stratified": chosen(KNeighborsClassifierCV, [1, 3], cv=3),
    "KNeighborsRegressorCV": chosen(KNeighborsRegressorCV, [1, 3]),
    "expected_episodes": partial(expected_episodes, Episodes(2, 2), jackknife="class"),
    "expected_retrieval": retrieval(expected_retrieval, ties="random"),
}
DRAWN = {
    "complete_cv sampled": partial(complete_cv, "knn", KFold(3), method="sampled", n_draws=20),
    "complete_cv sampled strata": partial(
        complete_cv, "knn", StratifiedSubsample(0.5), ties="index", method="sampled", n_draws=20
    ),
    "CompleteCV.runs": of_result(lambda found, n_jobs: found.runs(200, n_jobs=n_jobs)),
    "CompleteCV.split_std": of_result(lambda found, n_jobs: found.split_std(200, n_jobs=n_jobs)),
    "CompleteCV.half_scores": of_result(lambda found, _: found.half_scores(9)),
    "compare_all": compared,
    "monte_carlo_cv": partial(knnccv.monte_carlo_cv, **RUNS),
    "permutation_test": partial(knnccv.permutation_test, n_permutations=9, random_state=0),
    "tuned_score": partial(knnccv.tuned_score, [1, 3, 5], n_runs=20),
    "condense": partial(condense),
    "sampled_episodes": partial(sampled_episodes, Episodes(2, 2), n_episodes=70, n_query=2, random_state=0),
    "sampled_retrieval": retrieval(sampled_retrieval, n_runs=5),
    "Neighbors.kneighbors": lambda X, _, n_jobs: Neighbors.from_data(X).kneighbors(5, n_jobs=n_jobs),
    "rib.loo_votes": lambda X, y, n_jobs: rib.loo_votes(Neighbors.from_data(X), y, n_jobs=n_jobs),
    "rib.RIBClassifier": fitted,
    "expected_score": partial(of_estimator),
    "expected_score runs": partial(of_estimator, scoring="f1_macro", n_runs=64, random_state=0),
    "ccv_scorer": lambda X, y, n_jobs: ccv_scorer(KFold(3), n_jobs=n_jobs)(ESTIMATOR, X, y),
}
"""What draws at random, or decides ties by index, so that the order of the rows may change it."""
BUT = {
    "item_values": ["blocks"],  # added up by blocks
    **dict.fromkeys(  # labels which scikit-learn refuses
        ("rib.RIBClassifier", "KNeighborsClassifierCV", "KNeighborsClassifierCV stratified"), ("objects",)
    ),
}
"""Checks that do not apply."""
REAL = {"KNeighborsRegressorCV", "surface regression"}
for rule, setting in RULES.items():
    for design in DESIGNS:
        strata = isinstance(design, (StratifiedSubsample, StratifiedKFold, RebalancedLeaveOneOut))
        if get_variant(rule).stratified is not None or not strata:
            for ties in ("index", "random"):
                name = f"complete_cv {rule} {design} {ties}"
                ordered = ties == "index" or isinstance(design, (StratifiedKFold, LeaveGroupsOut))
                (DRAWN if ordered else FAIR)[name] = partial(
                    complete_cv, rule, design, ties=ties, **setting
                )
                BUT[name] = [*CONTAINERS, *["names"] * (ties == "index" or design.leaves_groups)]
                REAL |= {name} if get_variant(rule).target == "values" else set()
ENTRIES = FAIR | DRAWN


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


def bits(arrays):
    assert arrays
    return [array.tobytes() for array in arrays]


CUT = {"rib._search.BLOCK": 17, "_core.luck.scorings._vote_laws.BLOCK": 17, "episodes._sampled.BLOCK": 17}
"""What decides in which parts sums are added or numbers drawn, so that threads have something to do."""
BLOCKS = {
    "neighbors.Neighbors.rows_at_once": lambda *_: 7,
    "neighbors.Between.rows_at_once": property(lambda _: 7),
    "neighbors._engines.brute_force.FAST_BYTES": 1,
    "neighbors._engines.engine.STORED_ROWS": 7,
    "neighbors._engines.brute_force.FEWEST_ROWS": 7,
    "episodes._passes.MOST_ROWS": 7,
    "episodes._passes.FEWEST_ROWS": 3,
    "selection._condense_scores.BLOCK": 7,
    "selection._scorer.FAST_BYTES": 8 * N_ITEMS * 7,
    "selection._scorer.SCORE_BYTES": 8 * N_ITEMS * 2,
    "rib._search.MAX_SUMS": 1,
    "_core.luck.halves._half_scores.BLOCK": 50,
}
"""What must not matter."""


def ask(name, change=lambda X, y: (X, y), n_jobs=1):
    """The numbers of an entry point, of samples and labels that are changed in this way."""
    return numbers(ENTRIES[name](*change(*problem(name in REAL)), n_jobs))


@pytest.fixture(scope="module")
def answers():
    """The numbers of every entry point: one thread, arrays."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in CUT.items():
            patch.setattr(f"knnccv.{name}", value)
        yield {name: ask(name) for name in ENTRIES}


def differing(answers, check, **asked):
    """The entry points that answer other bits if they are asked in another way."""
    found = []
    for name, answer in answers.items():
        try:
            if check not in BUT.get(name, ()) and bits(ask(name, **asked)) != bits(answer):
                found.append(name)
        except Exception as error:
            found.append(f"{name}: {error}")
    return found


def test_threads_and_blocks(answers, monkeypatch):
    assert not differing({"item_values": answers["item_values"]}, "threads", n_jobs=2)
    for name, value in BLOCKS.items():
        monkeypatch.setattr(f"knnccv.{name}", value)
    assert not differing(answers, "blocks", n_jobs=3)


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow) if kind in SLOW else kind for kind in CONTAINERS]
)
def test_containers(kind, answers):
    samples, labels = CONTAINERS[kind]
    assert not differing(answers, kind, change=lambda X, y: (samples(X), labels(y)))


@pytest.mark.slow
def test_the_report():
    X, y = problem(real=False)
    one = bits(numbers(quick_report(X, y, n_jobs=1).to_dict()))
    for kind in ("lists", "pandas", "polars", "pyarrow", "objects"):
        samples, labels = CONTAINERS[kind]
        assert bits(numbers(quick_report(samples(X), labels(y), n_jobs=2).to_dict())) == one


@pytest.mark.parametrize("names", [["a", "b", "c"], pytest.param([-5, 0, 7], marks=pytest.mark.slow)])
def test_names_of_classes(names, answers):
    def named(X, y):
        return X, np.array(names)[y] if y.dtype == int else y

    assert not differing(answers, "names", change=named)


LABELS = {
    "pandas": (
        pd.Series,
        lambda y: pd.Series(y).astype("category"),
        lambda y: pd.Series(y).convert_dtypes(),
    ),
    "polars": (pl.Series, lambda y: pl.Series(y.astype(str), dtype=pl.Categorical)),
    "pyarrow": (pa.array, lambda y: pa.array(y).dictionary_encode(), lambda y: pa.chunked_array([y])),
}


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize(
    "names", [["b", "a", "c"], pytest.param([True, False, False], marks=pytest.mark.slow)]
)
def test_labels_of_tables(kind, names):
    X, y = problem(real=False)
    y = np.array(names)[y]
    called = ENTRIES["complete_cv HEOM"], ENTRIES["surface"], ENTRIES["expected_score"]
    for call in called:
        answer = bits(numbers(call(X, y, 1)))
        for labels in LABELS[kind]:
            assert bits(numbers(call(CONTAINERS[kind][0](X), labels(y), 1))) == answer, call


def test_order_of_rows(answers):
    for name in FAIR:
        moved = ask(name, lambda X, y: (X[SHUFFLED], y[SHUFFLED]))
        for one, other in zip(answers[name], moved, strict=True):
            expected = one[SHUFFLED] if np.shape(one)[:1] == (N_ITEMS,) else one
            np.testing.assert_allclose(other, expected, rtol=1e-12, atol=1e-13, err_msg=name)


def test_no_entry_point_is_missing():
    homes = [knnccv, *map(importlib.import_module, ["knnccv.episodes", "knnccv.selection", "knnccv.rib"])]
    asked = {word for name in ENTRIES for word in name.replace(".", " ").split()}
    for home in (*homes, knnccv.retrieval, knnccv.sklearn):
        for name in home.__all__:
            value = getattr(home, name)
            if inspect.isfunction(value) and "n_jobs" in inspect.signature(value).parameters:
                assert name in {*asked, "report"}, name


if __name__ == "__main__":
    for name in ENTRIES:
        print(hashlib.sha256(b"".join(bits(ask(name)))).hexdigest()[:16], name)
