"""RIB on tables: leave-one-out scores, the searches, unusual tables, and the leakage of labels."""

import itertools
import zlib

import naive_rib
import numpy as np
import pytest
from seeds import over_seeds, seeds
from sklearn.utils import check_random_state

from knnccv.rib import RIBClassifier

NAMES = {"k": "n_neighbors", "wk": "w_k"}  # the paper's, and ours


def table(seed, n_items):
    """Make a mixed table with missing values and labels that depend on it; columns 1 and 3 are nominal."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n_items)
    columns = [
        rng.normal(size=n_items) + 0.8 * labels,
        rng.integers(0, 2, n_items) + labels,
        rng.normal(size=n_items).round(1),
        rng.integers(0, 3, n_items),
    ]
    rows = [list(row) for row in zip(*(column.tolist() for column in columns), strict=True)]
    for row, column in itertools.product(rows, range(4)):
        row[column] = None if rng.random() < 0.06 else row[column]
        if column % 2 and row[column] is not None:
            row[column] = f"v{row[column]}"
    return rows, labels.tolist()


def lists_of(rib, depth=None):
    """The lists of a fitted estimator, as the reference takes them."""
    items, distances = rib.neighbors_.kneighbors(depth or rib.neighbors_.max_depth)
    rows = zip(distances.tolist(), items.tolist(), strict=True)
    return [list(zip(d, i, strict=True)) for d, i in rows]


def as_setting(best_params):
    return tuple(best_params[name] for name in ("n_neighbors", "kernel", "w_k", "avgk"))


def choices(rng):
    """Return the random choices of the search, as `choose` of the reference."""
    return lambda names: names[int(rng.integers(len(names)))]


def choices_of(random_state):
    """Return the random choices of an estimator with this `random_state`."""
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    return choices(np.random.default_rng(seed))


def agrees(rib, lists, y, setting, vote_ties="nearest"):
    right, confidence = naive_rib.evaluate(lists, y, setting, vote_ties)
    assert as_setting(rib.best_params_) == setting
    assert rib.lcv_ == right / len(y)
    assert rib.confidence_ == pytest.approx(confidence, abs=1e-11)
    assert rib.cvc_ == pytest.approx(naive_rib.cvc_of_all(right, confidence, len(y)), abs=1e-11)


@over_seeds(6)
def test_greedy_is_figure_2(seeds):
    for seed, fitness in itertools.product(seeds, ("cvc", "lcv")):
        rows, y = table(seed, n_items=11 + seed % 10)
        vote_ties = ("nearest", "smallest")[seed % 2]
        settings = {"nominal": [1, 3], "fitness": fitness, "vote_ties": vote_ties, "random_state": seed}
        if seed % 3 == 0:
            settings |= {"n_neighbors": 5, "kernel": "gaussian", "w_k": 0.123, "avgk": True, "patience": 4}
        rib = RIBClassifier(**settings).fit(rows, y)
        start = rib.n_neighbors, rib.kernel, rib.w_k, rib.avgk
        measure = naive_rib.Fitness(lists_of(rib), y, use_confidence=fitness == "cvc", vote_ties=vote_ties)
        assert measure.maxk == min(30, len(y) - 1)
        best, chosen = naive_rib.figure_2(measure, choices_of(seed), start, rib.patience)
        steps = [step["parameter"] for step in rib.search_path_]
        assert steps == ["start", *(NAMES.get(name, name) for name in chosen), "majority"], seed
        agrees(rib, measure.lists, y, best, vote_ties)
        highest = -1.0
        for step in rib.search_path_:
            assert step["lcv"] == step["n_correct"] / len(y), seed
            assert step["cvc"] == pytest.approx((step["n_correct"] + step["confidence"]) / (len(y) + 1)), (
                seed
            )
            value = step[fitness]
            assert step["improved"] == (value > highest), seed
            highest = max(value, highest)


class Landscape:
    """Meaningless fitness of settings, for the reference and as a `sweep`.

    Few values, so that many settings are equally fit, and w_k near 0.4567 the best here and there.
    """

    maxk = 9

    def __init__(self, seed, use_confidence):
        self.seed, self.use_confidence = seed, use_confidence

    def value(self, setting):
        number = zlib.crc32(repr((self.seed, *setting)).encode())
        peak = setting[2] == 0.4567 and number % 2
        return number // 7 % 3 + 5 + peak, (number // 77 % 4) / 4

    def __call__(self, setting):
        right, confidence = self.value(setting)
        return right, confidence if self.use_confidence else 0

    def sweep(self, lists, grid, **options):  # noqa: ARG002
        found = []
        for k, kernel, avgk, w_k in itertools.product(*(values.tolist() for values in grid)):
            plain = naive_rib.VOTE_WEIGHTINGS[kernel] == "majority"
            more = ("majority", None, None) if plain else (naive_rib.VOTE_WEIGHTINGS[kernel], w_k, avgk)
            found.append(self.value((k, *more)))
        shape = tuple(map(len, grid))
        right, confidence = np.array(found).T
        return right.astype(int).reshape(shape), confidence.reshape(shape)


def test_searches_of_any_landscape_are_the_reference(monkeypatch):
    X, y = np.arange(12.0)[:, None], [0, 1] * 6
    start = (5, "gaussian", 0.4567, True)
    settings = dict(zip(("n_neighbors", "kernel", "w_k", "avgk"), start, strict=True))
    for seed, fitness in itertools.product(seeds(20), ("cvc", "lcv")):
        landscape = Landscape(seed, fitness == "cvc")
        monkeypatch.setattr("knnccv.rib._search.sweep", landscape.sweep)
        rib = RIBClassifier(
            "euclidean", fitness=fitness, max_k=9, patience=6, n_w_k=6, **settings,
            random_state=np.random.default_rng(seed),
        ).fit(X, y)  # fmt: skip
        expected, chosen = naive_rib.figure_2(landscape, choices(np.random.default_rng(seed)), start, 6)
        assert as_setting(rib.best_params_) == expected, seed
        steps = [step["parameter"] for step in rib.search_path_[1:-1]]
        assert steps == [NAMES.get(name, name) for name in chosen], seed
        rib.set_params(search="grid").fit(X, y)
        assert [step["n_tried"] for step in rib.search_path_] == [8 * 3 * 2 * 6, 9]
        assert as_setting(rib.best_params_) == naive_rib.exhaustive(landscape, 6), seed


def is_sound(rib, X, y):
    """Check that everything is defined, and nothing is NaN."""
    assert 0 <= rib.lcv_ <= 1
    assert 0 <= rib.confidence_ <= 1 + 1e-12
    assert rib.cvc_ == pytest.approx((rib.lcv_ * len(y) + rib.confidence_) / (len(y) + 1))
    shares = rib.predict_proba(X)
    assert shares.shape == (len(y), len(set(y)))
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert (shares >= 0).all()
    assert set(rib.predict(X)) <= set(y)
    distances, items = rib.kneighbors(X)
    assert np.isfinite(distances).all()
    assert (np.diff(distances, axis=1) >= 0).all()
    assert ((items >= 0) & (items < len(y))).all()


ODD = {
    "two items": ([[1.0, "a"], [2.0, "b"]], [0, 1]),
    "two samples of a class": ([[1.0, "a"], [2.0, "b"]], [1, 1]),
    "three items": ([[1.0, "a"], [2.0, "b"], [3.0, "a"]], [0, 1, 0]),
    "constant columns": ([[1.5, "a"]] * 6 + [[1.5, "a"]], [0, 1, 0, 1, 2, 0, 0]),
    "one class": ([[float(i), "ab"[i % 2]] for i in range(7)], ["x"] * 7),
    "all unknown": ([[None, None]] * 5, [0, 1, 0, 1, 1]),
    "an unknown row": ([[1.0, "a"], [None, None], [3.0, "b"], [4.0, "b"]], [0, 1, 0, 1]),
    "an unknown number": ([[None, v] for v in "aabbab"], [0, 0, 1, 1, 0, 0]),
    "an unknown name": ([[float(i), None] for i in range(6)], [0, 0, 1, 1, 0, 0]),
    "one known number": ([[1.0 if i == 2 else None, "ab"[i % 2]] for i in range(6)], [0, 0, 1, 1, 0, 0]),
    "every label once": ([[float(i), "ab"[i % 2]] for i in range(5)], [4, 3, 2, 1, 0]),
    "almost the same": ([[1 + 2e-16 * (i % 3), "ab"[i % 2]] for i in range(8)], [0, 0, 1, 1] * 2),
    "far and near": ([[1e300 * (i == 0) + 1e-300 * i, "ab"[i % 2]] for i in range(8)], [0, 0, 1, 1] * 2),
}


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["hvdm", "hvdm fixed", "heom"])
def test_unusual_tables(metric):
    metric, *kind = metric.split()
    settings = {"metric": metric, "leave_one_out": kind[0] if kind else "exact"}
    for (case, (rows, y)), search in itertools.product(ODD.items(), ("greedy", "grid", None)):
        rib = RIBClassifier(nominal=[1], search=search, n_w_k=11, random_state=0, **settings).fit(rows, y)
        for X in (rows, [[None, None]] * len(y), [[-1e300, "new"]] * len(y)):
            is_sound(rib, X, y)
        agrees(rib, lists_of(rib), y, as_setting(rib.best_params_))
        assert rib.cvc_ == 1 or len(set(y)) > 1, case
        assert case != "two items" or (rib.lcv_, rib.confidence_) == (0, 0)


def test_one_column_and_all_others_vote():
    X, y = np.array([[0.0], [1.0], [3.0], [7.0], [8.0]]), ["a", "a", "b", "b", "b"]
    for metric, kernel in itertools.product(("hvdm", "heom", "euclidean"), naive_rib.VOTE_WEIGHTINGS):
        setting = (4, kernel, None, None) if kernel == "majority" else (4, kernel, 0.25, False)
        for n_neighbors in (4, 99):  # or more than there are
            rib = RIBClassifier(metric, search=None, n_neighbors=n_neighbors, kernel=kernel, w_k=0.25)
            agrees(rib.fit(X, y), lists_of(rib, 4), y, setting)
            is_sound(rib, X, y)


def test_lists_are_limited_by_the_samples():
    for n_items, search, max_k in itertools.product((2, 3, 30, 31, 32), ("greedy", "grid"), (1, 2, 30, 99)):
        rows, y = table(n_items, n_items)
        rib = RIBClassifier(nominal=[1, 3], search=search, n_w_k=5, max_k=max_k, random_state=0)
        deepest = min(max_k, n_items - 1)
        assert rib.fit(rows, y).neighbors_.max_depth == deepest
        assert rib.search_path_[-1]["n_tried"] == deepest
        assert rib.best_params_["n_neighbors"] <= deepest
        if deepest == 1:  # nothing to weigh
            assert len(rib.search_path_) == 1
            assert as_setting(rib.best_params_) == (1, "majority", None, None)


def test_the_stored_lists_are_the_evaluated_ones():
    """In the first three tables two distances at rank k are equal, their squares differ in the last bit."""
    for seed, leave_one_out, k in (
        (3273, "exact", 1),
        (1668, "fixed", 6),
        (3502, "exact", 5),
        (1, "exact", 3),
    ):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(0, 4, (40, 6)).astype(float), rng.integers(0, 3, 40).tolist()
        settings = {"nominal": [0, 1, 2, 3], "leave_one_out": leave_one_out, "n_neighbors": k, "max_k": 12}
        rib = RIBClassifier(**settings, random_state=0).fit(X, y)
        right, confidence = naive_rib.evaluate(lists_of(rib, 12), y, (k, "linear", 0.5, False))
        step = rib.search_path_[0]
        assert (step["parameter"], step["n_correct"]) == ("start", right)
        assert step["confidence"] == pytest.approx(confidence, abs=1e-11)
