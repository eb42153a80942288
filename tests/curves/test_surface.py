"""Surfaces over K and training sizes, of exact scores and of scorings by runs, and leave-one-out curves."""

import pickle
from itertools import combinations, product

import naive
import numpy as np
import pytest
import scipy.sparse as sp
from problems import plain, problem
from seeds import FIRST, over_seeds
from sklearn.metrics import f1_score, get_scorer, make_scorer
from sklearn.neighbors import KNeighborsClassifier

import knnccv
from knnccv import Neighbors, StratifiedSubsample, Subsample, complete_cv, surface
from knnccv.datasets import load_wine

AXES = {"rank": "rank", "nn": None}
RULES = [
    ("nn", {}),
    ("knn", {}),
    ("rank", {}),
    ("knn", {"vote_ties": "random"}),
    ("knn", {"loss": True}),
    ("confidence", {}),
    ("confidence", {"score": "brier"}),
    ("regression", {}),
]
RNG = np.random.default_rng(7)
X3 = RNG.normal(size=(90, 2)).round(1)  # with ties
Y3 = RNG.integers(0, 3, 90)


def setting(variant, k):
    """The parameter that counts neighbors, as `complete_cv` and naive take it."""
    axis = AXES.get(variant, "n_neighbors")
    return {axis: int(k)} if axis else {}


def assert_cells_agree(found, X, y, designs, where="", **asked):
    """Every cell is what `complete_cv` says, within the bounds of both; return its answers."""
    scores, bounds = np.empty((2, *found.scores.shape))
    for (row, column), score in np.ndenumerate(found.scores):
        k = found.n_neighbors[row]
        single = complete_cv(X, y, found.variant, designs[column], **setting(found.variant, k), **asked)
        scores[row, column], bounds[row, column] = single.score, single.error_bound + 1e-14 * abs(score)
    assert (np.abs(scores - found.scores) <= bounds + found.error_bound).all(), where
    return scores, bounds


def sizes_of_classes(y, rng):
    """Three training sets of a number of samples of every class, as mappings."""
    counts = {c: y.count(c) for c in sorted(set(y))}
    every = product(*(range(count + 1) for count in counts.values()))
    allowed = [numbers for numbers in every if 0 < sum(numbers) < len(y)]
    return [dict(zip(counts, allowed[at], strict=True)) for at in rng.integers(0, len(allowed), 3)]


@over_seeds(6)
def test_cells_are_those_of_the_enumeration(seeds):
    for seed in seeds:
        case, rng = problem(seed), np.random.default_rng(seed)
        y, n_items = case.y.tolist(), len(case.y)
        for r, (variant, options) in enumerate(RULES):
            targets = rng.integers(0, 9, n_items) if variant == "regression" else case.y
            average = ("pooled", "item", "class")[(seed + r) % (2 if variant == "regression" else 3)]
            ties = ("index", "random")[(seed // 2 + r) % 2]
            stratified = bool((seed // 3 + r) % 3 == 0 and variant != "regression")
            if stratified:
                sizes = sizes_of_classes(y, rng)
                listed = [naive.stratified(y, size) for size in sizes]
            else:
                sizes = list(range(int(rng.integers(1, n_items)), n_items))
                listed = [naive.subsample(n_items, size) for size in sizes]
            smallest = min(len(design.outcomes[0][0]) for design in listed)
            ks = {"nn": None, "rank": range(1, n_items + 2)}.get(variant, range(1, smallest + 1))
            parameters = case.parameters(options)
            asked = {"metric": "precomputed", "average": average, "ties": ties, "stratified": stratified}
            found = surface(case.distances, targets, ks, sizes, variant, tol=0, **asked, **parameters)
            assert found.per_class == (tuple(sizes) if stratified else None)
            for (row, column), score in np.ndenumerate(found.scores):
                more = setting(variant, found.n_neighbors[row]) | plain(parameters)
                inputs = case.distances.tolist(), targets.tolist(), variant, listed[column]
                expected = naive.complete(*inputs, average, ties, **more)
                allowed = found.error_bound[row, column] + 1e-14 * max(1, abs(expected))
                where = f"seed {seed}: {variant} {options} {sizes[column]} {asked}"
                assert abs(score - float(expected)) <= allowed < 1e-11, where


def tied_data(n_items=70):
    """Samples whose distances take few values; the rows of the second and third are all distinct."""
    rng = np.random.default_rng(1)
    bits = [np.column_stack([rng.integers(0, 2, (n_items, n)), np.arange(n_items)]) for n in (1, 9)]
    return [
        Neighbors.from_data(rng.integers(0, 9, (n_items, 2)).astype(float)),
        *(Neighbors.from_data(each, "hamming") for each in bits),
        Neighbors.from_data(rng.integers(0, 2, (n_items, 3)).astype(float)),
    ]


SLOW_RULES = [pytest.param(*rule, marks=pytest.mark.slow) for rule in RULES[3:]]


@pytest.mark.parametrize(("variant", "options"), [*RULES[:3], *SLOW_RULES], ids=str)
def test_cells_of_tied_data_are_complete_cv(variant, options):
    ks, sizes = (None if variant == "nn" else [1, 2, 3, 6, 7]), [8, 0.5, 69]
    by_cells = {"loss", "vote_ties"} & set(options)
    for d, near in enumerate(tied_data()[: 1 if by_cells else 4]):
        for n_classes in (3,) if by_cells else (1, 2, 3, 5):
            if not by_cells and (d + n_classes + FIRST) % 2:  # the others are those of tomorrow
                continue
            rng = np.random.default_rng(n_classes)
            if variant == "regression":
                y = rng.normal(size=(70, 2)).round(1) + 50
            else:
                y = rng.integers(0, n_classes, 70)
                y[:n_classes] = np.arange(n_classes)
            loss = {"loss": rng.integers(0, 4, (n_classes, n_classes))} if "loss" in options else {}
            ties = "index" if (d + n_classes) % 4 == 0 else None
            asked = {"ties": ties, "average": "item" if n_classes == 2 else "pooled"} | options | loss
            exact = surface(near, y, ks, sizes, variant, tol=0, **asked)
            where = f"data {d}, {n_classes} classes"
            scores, bounds = assert_cells_agree(exact, near, y, [*map(Subsample, sizes)], where, **asked)
            assert exact.error_bound.max() < 1e-9, where
            for tol in (1e-9, 1e-3):
                found = surface(near, y, ks, sizes, variant, tol=tol, **asked)
                assert found.error_bound.max() <= tol * max(1, np.abs(scores).max()) + 1e-9, where
                assert (np.abs(found.scores - scores) <= found.error_bound + bounds).all(), where


@pytest.mark.slow
def test_many_neighbors_and_far_positions(monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 1))
    designs = [Subsample(300), Subsample(490)]
    for n_classes, counts in ((2, [1, 40, 300]), (3, [1, 24])):
        y = rng.integers(0, n_classes, 500)
        assert_cells_agree(surface(X, y, counts, [300, 490], tol=0), X, y, designs)
    monkeypatch.setattr("knnccv._core.scores.curves._profile_surface.MAX_NEIGHBORS", 5)
    assert_cells_agree(surface(X3, Y3, [1, 4, 6], [70], tol=0), X3, Y3, [Subsample(70)])
    result = surface(X3, Y3, train_sizes=[2, 4, 50], variant="rank", rank=[1, 3, 60])
    assert_cells_agree(result, X3, Y3, [*map(Subsample, (2, 4, 50))])
    assert result.scores[2, 0] == pytest.approx(result.scores[1, 0])  # both look at both


def test_stratified_cells_are_complete_cv():
    rng = np.random.default_rng(5)
    y = rng.permutation(np.repeat(np.arange(9), np.arange(8, 17)))
    near = Neighbors.from_data((rng.normal(size=(len(y), 2)) + rng.normal(size=(9, 2))[y]).round())
    for variant, ks in (("rank", [1, 2, 7, 30]), ("knn", [1, 5])):
        for ties, sizes in (("index", [1, 4]), ("random", [0.3])):
            ks = [k for k in ks if k < 9 or variant == "rank"]
            found = surface(near, y, ks, sizes, variant, stratified=True, ties=ties, tol=1e-9)
            assert found.per_class == (tuple(sizes) if ties == "index" else None)
            designs = [StratifiedSubsample(**{"train_size" if s < 1 else "per_class": s}) for s in sizes]
            assert_cells_agree(found, near, y, designs, ties=ties)


@pytest.mark.parametrize(("variant", "ks"), [("knn", [1, 2, 5]), ("nn", None), ("rank", [1, 2, 5])])
def test_short_lists_show_in_the_bound(variant, ks):
    whole = Neighbors.from_data(X3, "sqeuclidean")  # of which no square root merges two
    indices, distances = whole.kneighbors(12)
    rows = np.repeat(np.arange(90), 12)
    kept = np.arange(90 * 12) % 12 < 3 + rows % 10  # lists of different lengths
    graph = sp.csr_matrix((distances.ravel()[kept], (rows[kept], indices.ravel()[kept])), shape=(90, 90))
    designs = [*map(Subsample, (5, 20, 60))]
    asked = {"train_sizes": [5, 20, 60], "variant": variant, "ties": "index"}
    full = surface(whole, Y3, ks, **asked)
    for near in (
        Neighbors.from_lists(indices),
        Neighbors.from_lists(indices, distances),
        Neighbors.from_graph(graph),
    ):
        result = surface(near, Y3, ks, **asked)
        assert (np.abs(result.scores - full.scores) <= result.error_bound + full.error_bound).all()
        assert 1 >= result.error_bound.max() > 0.1
        scores, bounds = assert_cells_agree(result, near, Y3, designs, ties="index")
        assert result.error_bound == pytest.approx(bounds, abs=1e-6)
        if variant != "rank":  # the kernel also counts what is right before R neighbors are known
            assert result.scores == pytest.approx(scores, abs=1e-6)


def test_the_best_is_told_with_its_regret():
    result = surface(X3, Y3, [5, 1, 3], [80, 20])
    best = result.best()
    np.testing.assert_allclose(best.score, result.scores.max(axis=0), rtol=0, atol=1e-5)
    for column, size in enumerate((80, 20)):
        k, score = result.best(size)
        assert (k, score) == (best.n_neighbors[column], best.score[column])
        assert 0 <= result.best(size).regret < 1e-5
        assert score == result.scores[result.n_neighbors.tolist().index(k), column]
    assert pickle.loads(pickle.dumps(best)).regret.tolist() == best.regret.tolist()
    costs = surface(X3, Y3, [5, 1], [40], loss=[[0, 1, 2], [3, 0, 1], [1, 2, 0]])
    assert costs.is_loss
    assert costs.best(40).score == pytest.approx(costs.scores.min())
    assert surface(X3, np.zeros(90, int), [5, 1, 3], [20]).best(20).n_neighbors == 1
    near = Neighbors.from_data(X3)
    with pytest.warns(UserWarning, match="longer neighbor lists.* 3 of 4 cells are uncertain"):
        short = surface(Neighbors.from_lists(*near.kneighbors(12)), Y3, [1, 9], [9, 80]).best()
    assert short.regret[0] > 0.1 > short.regret[1]


def test_tables():
    result = surface(X3, Y3, [5, 1, 3], [80, 20])
    frame = result.to_frame()
    assert list(frame.columns) == ["n_neighbors", "train_size", "score", "error_bound"]
    table = frame.pivot_table(index="n_neighbors", columns="train_size", values="score")
    np.testing.assert_array_equal(table.to_numpy(), result.scores[[1, 2, 0]][:, ::-1])
    numbers = surface(X3, Y3, [1, 5], [2, 9], stratified=True)
    assert numbers.train_sizes.tolist() == [6, 27]
    assert "[20, 21, ..., 31, 32]" in surface(X3, Y3, [1], range(20, 33))._repr_html_()
    assert numbers.to_frame()["per_class"].tolist() == [2, 9, 2, 9]
    assert pickle.loads(pickle.dumps(result)).scores.tobytes() == result.scores.tobytes()


def data(n_items=60, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n_items) % n_classes
    return rng.normal(size=(n_items, 2)) + 0.7 * y[:, None], y


def scores_of_splits(X, y, k, train_sets, scoring, test):
    """Scikit-learn's scores on the samples outside these training sets, or on a test set."""
    scorer, found = get_scorer(scoring), []
    for train in train_sets:
        rest = np.setdiff1d(np.arange(len(y)), train)
        fitted = KNeighborsClassifier(k, algorithm="kd_tree").fit(X[train], y[train])
        found.append(scorer(fitted, *(test or (X[rest], y[rest]))))
    return np.array(found)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize(
    ("scoring", "n_classes", "stratified", "test"),
    [
        ("f1_macro", 3, False, None),
        pytest.param("roc_auc", 2, True, None, marks=pytest.mark.slow),
        ("roc_auc_ovr", 3, True, None),
        ("f1_macro", 2, True, data(11, 2, seed=1)),
        ("roc_auc", 2, False, data(11, 2, seed=1)),
    ],
)
def test_cells_are_the_mean_of_all_training_sets(scoring, n_classes, stratified, test):
    X, y = data(9, n_classes)
    size = 2 if stratified else 7  # of every class, or in all
    found = surface(X, y, [1, 3], size, scoring=scoring, stratified=stratified, n_runs=5000, test=test)
    pools = [np.flatnonzero(y == c) for c in range(n_classes)] if stratified else [np.arange(9)]
    sets = [np.concatenate(parts) for parts in product(*(combinations(pool, size) for pool in pools))]
    for row, k in enumerate([1, 3]):
        scores, error = scores_of_splits(X, y, k, sets, scoring, test), found.std_error[row, 0]
        assert abs(scores.mean() - found.scores[row, 0]) < 4 * error + 1e-12
        # no worse than that of plain runs
        assert error < 1.1 * scores.std() / np.sqrt(5000)
        assert error < 0.01


def test_accuracy_by_runs_is_the_exact_surface():
    """The exact confusion tables explain it: what is left is rounding."""
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 6, (60, 1)).astype(float), rng.integers(0, 3, 60)  # ties
    for stratified, sizes in [(False, [0.5, 0.8]), (True, [0.5, 8])]:
        sizes = sizes[:1] if stratified else sizes
        found = surface(X, y, [1, 4], sizes, scoring="accuracy", stratified=stratified, n_runs=512)
        exact = surface(X, y, [1, 4], sizes, stratified=stratified, tol=0)
        np.testing.assert_allclose(found.scores, exact.scores, atol=1e-9)
        assert found.std_error.max() < 1e-9


def test_all_numbers_of_neighbors_see_the_same_runs():
    X, y = data()
    asked = {"train_sizes": [0.5, 0.7], "scoring": "f1_macro", "n_runs": 700}
    several = surface(X, y, [1, 5, 9], **asked, n_jobs=2)
    for row, k in enumerate([1, 5, 9]):
        alone = surface(X, y, k, **asked, n_jobs=1)
        assert alone.scores.tobytes() == several.scores[row : row + 1].tobytes()
        assert alone.std_error.tobytes() == several.std_error[row : row + 1].tobytes()
    assert (surface(X, y, 5, **asked, random_state=1).scores != several.scores[1]).all()


def test_the_surface_says_that_it_is_not_exact():
    X, y = data()
    found = surface(X, y, [1, 5], [0.5], scoring=make_scorer(f1_score, average="macro"), n_runs=600)
    named = surface(X, y, [1, 5], [0.5], scoring="f1_macro", n_runs=600)
    assert found.scores.tobytes() == named.scores.tobytes()
    assert not named.is_exact
    assert named.std_error.shape == named.scores.shape == (2, 1)
    assert np.isinf(named.error_bound).all()
    assert named.to_frame()["std_error"].tolist() == named.std_error.ravel().tolist()
    assert "std_error" not in surface(X, y, [1], [0.5]).to_frame()
    k, score = named.best(30)
    assert score == named.scores[[1, 5].index(k), 0]


@pytest.mark.parametrize("ties", ["index", "random"])
def test_leave_one_out_curves_are_its_scores(ties):
    """Coinciding samples, votes, several outputs, and the whole of small data."""
    wine = load_wine()
    near = Neighbors.from_lists(*Neighbors.from_data(wine.X).kneighbors(60))
    small = np.array([[0.0], [1.0], [1.0], [1.0]])
    for X, y, ks, variant in (
        (wine.X, wine.y, [3, 1, 8], "knn"),
        (near, wine.y, [3, 1, 8], "knn"),
        (wine.X[:, [1]], np.column_stack([wine.y, wine.X[:, 0]]), [1, 5], "regression"),
        (small, np.array([0.0, 1.0, 2.0, 6.0]), [1, 2, 3], "regression"),
    ):
        found = surface(X, y, ks, len(y) - 1, variant, ties=ties)
        expected = [
            complete_cv(X, y, variant, knnccv.LeaveOut(1), n_neighbors=k, ties=ties).score
            for k in found.n_neighbors.tolist()
        ]
        np.testing.assert_allclose(found.scores[:, 0], expected, rtol=1e-12)
