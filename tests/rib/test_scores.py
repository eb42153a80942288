"""RIB on tables: leave-one-out scores, the searches, unusual tables, and the leakage of labels."""

import itertools
import warnings
import zlib
from dataclasses import astuple
from types import SimpleNamespace

import naive
import naive_rib
import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils import check_random_state

from knnccv import Neighbors
from knnccv.hvdm import HVDM, IdentifierWarning
from knnccv.rib import RIBClassifier, _search, lcv_score, loo_votes
from knnccv.rib._search import Evaluator, Setting, greedy, grid
from knnccv.rib._votes import VoteLists, decide

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


def pairs(items, distances):
    rows = zip(distances.tolist(), items.tolist(), strict=True)
    return [list(zip(d, i, strict=True)) for d, i in rows]


def as_setting(best_params):
    return tuple(best_params[name] for name in ("n_neighbors", "kernel", "w_k", "avgk"))


def chosen_by(rng):
    """Return the random choices of the search, as `choose` of the reference."""
    return lambda names: names[int(rng.integers(len(names)))]


def choices(random_state):
    """Return the random choices of an estimator with this `random_state`."""
    return chosen_by(
        np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    )


def agrees(rib, lists, y, setting, vote_ties="nearest"):
    right, confidence = naive_rib.evaluate(lists, y, setting, vote_ties)
    assert as_setting(rib.best_params_) == setting
    assert rib.lcv_ == right / len(y)
    assert rib.confidence_ == pytest.approx(confidence, abs=1e-11)
    assert rib.cvc_ == pytest.approx(naive_rib.cvc_of_all(right, confidence, len(y)), abs=1e-11)


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize(
    "ks",
    [(1, 2, 3, 8, 17, 30), pytest.param(range(1, 31), marks=pytest.mark.slow)],
    ids=["some", "all"],
)
def test_majority_votes_are_those_of_scikit_learn(load, ks):
    """All samples agree, except for some whose k-th and next neighbor tie: there scikit-learn uses either.

    Its k-d tree keeps the neighbor that it finds first. Its brute-force search keeps the one that the
    rounding of matrix products makes nearer.
    """
    X, y = load(return_X_y=True)
    near = Neighbors.from_data(X)
    distances = near.kneighbors(31)[1]
    n_differing = np.zeros(2, int)
    for k in ks:
        votes = loo_votes(near, y, k)
        rib = RIBClassifier(
            "euclidean", search=None, kernel="majority", n_neighbors=k, vote_ties="smallest"
        )
        rib.set_params(max_k=1 + k % 3).fit(X, y)
        assert rib.lcv_ == lcv_score(y, votes)
        assert as_setting(rib.best_params_) == (k, "majority", None, None)
        tied = np.isclose(distances[:, k - 1], distances[:, k], rtol=1e-12, atol=0)
        for at, algorithm in enumerate(("auto", "brute")):
            peer = KNeighborsClassifier(k, algorithm=algorithm).fit(X, y)
            np.testing.assert_allclose(peer.kneighbors()[0], distances[:, :k], rtol=1e-9)
            differing = peer.predict(None) != votes.argmax(axis=1)
            assert not differing[~tied].any()
            n_differing[at] += differing.sum()
            if not differing.any():
                assert rib.lcv_ == peer.score(None, y)
    assert max(n_differing) <= (0 if load is load_wine else 12)


@pytest.mark.parametrize("fitness", ["cvc", "lcv"])
@pytest.mark.parametrize("seed", range(10))
def test_greedy_is_figure_2(seed, fitness):
    rows, y = table(seed, n_items=11 + 2 * seed)
    vote_ties = ("nearest", "smallest")[seed % 2]
    settings = {"nominal": [1, 3], "fitness": fitness, "vote_ties": vote_ties, "random_state": seed}
    if seed % 3 == 0:
        settings |= {"n_neighbors": 5, "kernel": "gaussian", "w_k": 0.123, "avgk": True, "patience": 4}
    rib = RIBClassifier(**settings).fit(rows, y)
    start = rib.n_neighbors, rib.kernel, rib.w_k, rib.avgk
    lists = pairs(*rib.neighbors_.kneighbors(rib.neighbors_.max_depth))
    measure = naive_rib.Fitness(lists, y, use_confidence=fitness == "cvc", vote_ties=vote_ties)
    assert measure.maxk == min(30, len(y) - 1)
    best, chosen = naive_rib.figure_2(measure, choices(seed), start, rib.patience)
    steps = [step["parameter"] for step in rib.search_path_]
    assert steps == ["start", *(NAMES.get(name, name) for name in chosen), "majority"]
    agrees(rib, lists, y, best, vote_ties)


class Landscape:
    """Meaningless fitness of settings, for the reference and as a `sweep`.

    Few values, so that many settings are equally fit, and w_k near 0.4567 the best here and there.
    """

    maxk = 9

    def __init__(self, seed, use_confidence):
        self.seed, self.use_confidence = seed, use_confidence

    def number(self, setting):
        return zlib.crc32(repr((self.seed, *setting)).encode())

    def value(self, setting):
        number = self.number(setting)
        peak = setting[2] == 0.4567 and number % 2
        return number // 7 % 3 + 5 + peak, (number // 77 % 4) / 4

    def __call__(self, setting):
        right, confidence = self.value(setting)
        return right, confidence if self.use_confidence else 0

    def sweep(self, lists, ks, kernels, avgks, w_ks, **options):  # noqa: ARG002
        found = []
        for k, kernel, avgk, w_k in itertools.product(*(a.tolist() for a in (ks, kernels, avgks, w_ks))):
            plain = naive_rib.VOTE_WEIGHTINGS[kernel] == "majority"
            more = ("majority", None, None) if plain else (naive_rib.VOTE_WEIGHTINGS[kernel], w_k, avgk)
            found.append(self.value((k, *more)))
        shape = len(ks), len(kernels), len(avgks), len(w_ks)
        right, confidence = np.array(found).T
        return right.astype(int).reshape(shape), confidence.reshape(shape)


@pytest.mark.parametrize("use_confidence", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_searches_of_any_landscape_are_the_reference(seed, use_confidence, monkeypatch):
    landscape = Landscape(seed, use_confidence)
    monkeypatch.setattr(_search, "sweep", landscape.sweep)
    lists = SimpleNamespace(distances=np.zeros((12, landscape.maxk)))
    start = (5, "gaussian", 0.4567, True)
    walker = Evaluator(lists, confident=use_confidence, nearest_first=True)
    greedy(walker, Setting(*start), 6, np.random.default_rng(seed))
    choose = chosen_by(np.random.default_rng(seed))
    expected, chosen = naive_rib.figure_2(landscape, choose, start, 6)
    assert astuple(walker.best[0]) == expected
    assert [step["parameter"] for step in walker.path[1:-1]] == [NAMES.get(name, name) for name in chosen]
    whole = Evaluator(lists, confident=use_confidence, nearest_first=True)
    grid(whole, 6)
    assert astuple(whole.best[0]) == naive_rib.exhaustive(landscape, 6)


@pytest.mark.parametrize("seed", range(3))
def test_from_the_table_to_the_parameters(seed):
    """Compute everything without the library: distances without the sample's own label, lists, search."""
    rows, y = table(50 + seed, n_items=14)
    nominal = [False, True, False, True]
    distances = []
    for i, row in enumerate(rows):
        left, left_y = rows[:i] + rows[i + 1 :], y[:i] + y[i + 1 :]
        squares = [naive.hvdm_squared(left, left_y, nominal, row, other) for other in rows]
        distances.append([float(square) ** 0.5 for square in squares])
    lists = naive_rib.neighbor_lists(distances, 30)
    best, _ = naive_rib.figure_2(naive_rib.Fitness(lists, y), choices(seed))
    rib = RIBClassifier(nominal=nominal, random_state=seed).fit(rows, y)
    agrees(rib, lists, y, best)


@pytest.mark.parametrize("n_w_k", [2, pytest.param(26, marks=pytest.mark.slow)])
@pytest.mark.parametrize("fitness", ["cvc", "lcv"])
def test_grid_is_the_best_of_all_settings(fitness, n_w_k):
    rows, y = table(3, n_items=34)
    rib = RIBClassifier(nominal=[1, 3], fitness=fitness, search="grid", n_w_k=n_w_k).fit(rows, y)
    assert [step["n_tried"] for step in rib.search_path_] == [29 * 3 * 2 * n_w_k, 30]
    lists = pairs(*rib.neighbors_.kneighbors(30))
    measure = naive_rib.Fitness(lists, y, use_confidence=fitness == "cvc")
    agrees(rib, lists, y, naive_rib.exhaustive(measure, n_w_k))
    assert len(measure.known) == 29 * 3 * 2 * n_w_k + 30


def test_grid_is_the_best_of_what_single_settings_achieve():
    """Compare with the votes of every single setting, for 120 samples."""
    rows, y = table(4, n_items=120)
    near = HVDM(nominal=[1, 3]).fit(rows, y).neighbors().kneighbors(30)
    codes = np.array(y)
    lists = VoteLists.of(*near, codes, codes)
    evaluator = Evaluator(lists, confident=True, nearest_first=True)
    grid(evaluator, 26)
    found = []
    kernels, w_ks = ("linear", "gaussian", "exponential"), np.arange(26) / 25
    settings = list(itertools.product(range(2, 31), kernels, (False, True), w_ks))
    for k, kernel, avgk, w_k in [*settings, *((k, "majority", False, None) for k in range(1, 31))]:
        shares, chosen = decide(lists, 3, k, kernel, w_k, avgk)
        found.append(((chosen == codes).sum(), shares[np.arange(120), codes].mean().round(12)))
    assert len(found) == 4524 + 30
    best = max(range(len(found)), key=lambda at: (*found[at], -at))
    setting, fitness = evaluator.best
    k, kernel, avgk, w_k = settings[best]
    assert (setting.n_neighbors, setting.kernel, setting.avgk, setting.w_k) == (k, kernel, avgk, w_k)
    assert (fitness.n_correct, fitness.confidence) == pytest.approx(found[best], abs=1e-12)


def uci(data_folder, name):
    """Return rows, labels and the indices of the nominal columns of a data set."""
    if name in ("iris", "wine"):
        X, y = {"iris": load_iris, "wine": load_wine}[name](return_X_y=True)
        return X, y, []
    path = {"glass": "glass/glass.data", "voting": "voting/house-votes-84.data"}[name]
    if not (data_folder / "uci31" / path).is_file():
        pytest.skip(f"the original data files have no uci31/{path}")
    lines = (data_folder / "uci31" / path).read_text().split()
    rows = [line.split(",") for line in lines]
    if name == "glass":
        numbers = np.array(rows, float)
        return numbers[:, 1:-1], numbers[:, -1].astype(int), []
    return (
        [[None if field == "?" else field for field in row[1:]] for row in rows],
        [row[0] for row in rows],
        range(16),
    )


SLOW_SETS = [pytest.param(name, marks=pytest.mark.slow) for name in ("glass", "voting")]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wine", "iris", *SLOW_SETS])
def test_greedy_never_beats_the_grid(name, data_folder):
    X, y, nominal = uci(data_folder, name)
    whole = RIBClassifier(nominal=nominal, search="grid").fit(X, y)
    assert whole.lcv_ > 0.7
    tuned = []
    for seed in range(5):
        rib = RIBClassifier(nominal=nominal, random_state=seed).fit(X, y)
        assert (rib.lcv_, rib.confidence_) <= (whole.lcv_, whole.confidence_ + 1e-11)
        static = RIBClassifier(nominal=nominal, search=None, kernel="majority").fit(X, y)
        assert rib.cvc_ >= static.cvc_
        assert rib.search_path_[0]["cvc"] <= rib.cvc_
        tuned.append(rib.cvc_)
    assert max(tuned) > whole.cvc_ - 0.02


def test_the_path_of_a_search():
    rows, y = table(1, 60)
    rib = RIBClassifier(nominal=[1, 3], random_state=3, patience=6).fit(rows, y)
    path = rib.search_path_
    parameters = [step["parameter"] for step in path]
    assert all(one != other for one, other in itertools.pairwise(parameters))
    best = -1.0
    idle = []
    for step in path:
        assert step["improved"] == (step["cvc"] > best)
        best = max(best, step["cvc"])
        idle.append(not step["improved"])
        assert step["lcv"] == step["n_correct"] / 60
        assert step["cvc"] == pytest.approx((step["n_correct"] + step["confidence"]) / 61)
    assert best == rib.cvc_
    assert all(idle[-7:-1])
    assert not idle[-8]
    tried = {"start": 1, "n_neighbors": 29, "kernel": 3, "avgk": 2, "w_k": 33, "majority": 30}
    assert [step["n_tried"] for step in path] == [tried[name] for name in parameters]


def test_a_seed_gives_one_answer_whatever_the_threads():
    rows, y = table(7, 300)
    settings = {"nominal": [1, 3], "random_state": 11}
    first = RIBClassifier(**settings, n_jobs=1).fit(rows, y)
    for n_jobs in (1, 2, 5, None):
        again = RIBClassifier(**settings, n_jobs=n_jobs).fit(rows, y)
        assert again.search_path_ == first.search_path_
        assert (again.predict_proba(rows) == first.predict_proba(rows)).all()
    whole = [RIBClassifier(nominal=[1, 3], search="grid", n_w_k=26, n_jobs=j).fit(rows, y) for j in (1, 3)]
    assert whole[0].search_path_ == whole[1].search_path_
    others = [RIBClassifier(**settings | {"random_state": seed}).fit(rows, y) for seed in range(4)]
    assert len({tuple(step["parameter"] for step in rib.search_path_) for rib in others}) > 1


def test_a_random_state_is_drawn_from_once_a_fit():
    rows, y = table(7, 30)
    state = np.random.RandomState(5)
    one, other = (RIBClassifier(nominal=[1, 3], random_state=state).fit(rows, y) for _ in range(2))
    first = RIBClassifier(nominal=[1, 3], random_state=5).fit(rows, y)
    assert one.search_path_ == first.search_path_ != other.search_path_


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


@pytest.mark.parametrize("search", ["greedy", "grid", None])
@pytest.mark.parametrize("metric", ["hvdm", "hvdm fixed", "heom"])
@pytest.mark.parametrize("case", ODD)
def test_unusual_tables(case, metric, search):
    rows, y = ODD[case]
    metric, *kind = metric.split()
    settings = {"metric": metric, "leave_one_out": kind[0] if kind else "exact"}
    rib = RIBClassifier(nominal=[1], search=search, n_w_k=11, random_state=0, **settings).fit(rows, y)
    is_sound(rib, rows, y)
    is_sound(rib, [[None, None]] * len(y), y)
    is_sound(rib, [[-1e300, "new"]] * len(y), y)
    # The choice agrees with the lists.
    lists = pairs(*rib.neighbors_.kneighbors(rib.neighbors_.max_depth))
    agrees(rib, lists, y, as_setting(rib.best_params_))
    if len(set(y)) == 1:
        assert rib.cvc_ == 1
    if case == "two items":
        assert (rib.lcv_, rib.confidence_) == (0, 0)


def test_equal_samples():
    """All distances are 0: all weights are 1, and the first samples are the neighbors of all others."""
    rows, y = [[1.0, "a"]] * 8, [0, 1, 1, 1, 1, 1, 1, 1]
    rib = RIBClassifier(nominal=[1], random_state=0).fit(rows, y)
    distances, items = rib.kneighbors(n_neighbors=3)
    assert (distances == 0).all()
    assert items[:4].tolist() == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]
    # With one neighbor no sample is correct; with three or more, all are correct except sample 0.
    assert rib.lcv_ == 7 / 8
    assert rib.predict([[1.0, "a"]]).tolist() == [1]
    one = RIBClassifier(nominal=[1], search=None, n_neighbors=1).fit(rows, y)
    assert one.lcv_ == 0
    assert one.predict([[1.0, "a"]]).tolist() == [0]


def test_rows_of_missing_values_tie_with_all_others():
    rows, y = [[None, None], [1.0, "a"], [2.0, "b"], [3.0, "b"]], [0, 1, 0, 1]
    for metric in ("hvdm", "heom"):
        rib = RIBClassifier(metric, nominal=[1], search=None).fit(rows, y)
        distances, items = rib.kneighbors(n_neighbors=3)
        assert items[0].tolist() == [1, 2, 3]
        assert distances[0] == pytest.approx([2**0.5] * 3)
        found, items = rib.kneighbors([[None, None]], 4)
        assert items.tolist() == [[0, 1, 2, 3]]
        assert found[0] == pytest.approx([2**0.5] * 4)


@pytest.mark.parametrize("metric", ["hvdm", "heom", "euclidean"])
@pytest.mark.parametrize("kernel", naive_rib.VOTE_WEIGHTINGS)
def test_one_column_and_all_others_vote(kernel, metric):
    X = np.array([[0.0], [1.0], [3.0], [7.0], [8.0]])
    y = ["a", "a", "b", "b", "b"]
    rib = RIBClassifier(metric, search=None, n_neighbors=4, kernel=kernel, w_k=0.25).fit(X, y)
    setting = (4, kernel, None, None) if kernel == "majority" else (4, kernel, 0.25, False)
    agrees(rib, pairs(*rib.neighbors_.kneighbors(4)), y, setting)
    # n_neighbors is larger than the number of samples.
    many = RIBClassifier(metric, search=None, n_neighbors=99, kernel=kernel, w_k=0.25).fit(X, y)
    assert as_setting(many.best_params_) == setting
    assert many.lcv_ == rib.lcv_
    is_sound(many, X, y)


@pytest.mark.parametrize("n_items", [2, 3, 29, 30, 31, 32])
def test_lists_are_limited_by_the_samples(n_items):
    rows, y = table(n_items, n_items)
    for search, max_k in itertools.product(("greedy", "grid"), (1, 2, 30, 99)):
        rib = RIBClassifier(nominal=[1, 3], search=search, n_w_k=5, max_k=max_k, random_state=0).fit(
            rows, y
        )
        deepest = min(max_k, n_items - 1)
        assert rib.neighbors_.max_depth == deepest
        assert rib.search_path_[-1]["n_tried"] == deepest
        assert rib.best_params_["n_neighbors"] <= deepest
        if deepest == 1:  # nothing to weigh
            assert len(rib.search_path_) == 1
            assert as_setting(rib.best_params_) == (1, "majority", None, None)


LEAVING = {"search": None, "kernel": "majority", "nominal": [0]}


def random_labels(seed, n_levels=None):
    """Make 200 samples with random labels: a nominal column of identifiers or levels, and noise."""
    rng = np.random.default_rng(seed)
    names = rng.permutation(200) if n_levels is None else rng.integers(0, n_levels, 200)
    noise = rng.normal(size=(200, 3))
    rows = [[f"id {name}", *numbers] for name, numbers in zip(names.tolist(), noise.tolist(), strict=True)]
    return rows, rng.permutation(np.arange(200) % 2).tolist()


@pytest.mark.parametrize("n_neighbors", [1, 3, 9])
def test_identifiers_do_not_predict_left_out_samples(n_neighbors):
    exact = []
    for seed in range(6):
        rows, y = random_labels(seed)
        for leave_one_out in ("exact", "fixed"):
            rib = RIBClassifier(leave_one_out=leave_one_out, n_neighbors=n_neighbors, **LEAVING)
            with pytest.warns(IdentifierWarning, match="nominal column 0 is close to an identifier: 100%"):
                rib.fit(rows, y)
            if leave_one_out == "fixed":
                assert rib.lcv_ == 1
            else:
                exact.append(rib.lcv_)
    assert 0.45 < np.mean(exact) < 0.55


def test_many_levels_look_better_than_they_are_when_left_in():
    scores = {"exact": [], "fixed": []}
    for seed, leave_one_out in itertools.product(range(6), scores):
        rows, y = random_labels(seed, n_levels=60)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IdentifierWarning)
            rib = RIBClassifier(leave_one_out=leave_one_out, n_neighbors=3, **LEAVING).fit(rows, y)
        scores[leave_one_out].append(rib.lcv_)
    assert np.mean(scores["fixed"]) > np.mean(scores["exact"]) + 0.08
    assert 0.42 < np.mean(scores["exact"]) < 0.55


@pytest.mark.parametrize(
    ("seed", "leave_one_out", "k"),
    [(3273, "exact", 1), (1668, "fixed", 6), (3502, "exact", 5), (1, "exact", 3)],
)
def test_the_stored_lists_are_the_evaluated_ones(seed, leave_one_out, k):
    """In the first three tables two distances at rank k are equal, their squares differ in the last bit."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 4, (40, 6)).astype(float), rng.integers(0, 3, 40).tolist()
    settings = {"nominal": [0, 1, 2, 3], "leave_one_out": leave_one_out, "n_neighbors": k, "max_k": 12}
    rib = RIBClassifier(**settings, random_state=0).fit(X, y)
    distances, items = rib.kneighbors(n_neighbors=12)
    right, confidence = naive_rib.evaluate(pairs(items, distances), y, (k, "linear", 0.5, False))
    step = rib.search_path_[0]
    assert (step["parameter"], step["n_correct"]) == ("start", right)
    assert step["confidence"] == pytest.approx(confidence, abs=1e-11)
