"""Whole surfaces of K and training size against enumeration and against single answers."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import matplotlib as mpl
import naive
import numpy as np
import pytest
import scipy.sparse as sp
from problems import problem

import knnccv
from knnccv import Neighbors, StratifiedSubsample, Subsample, complete_cv, surface

AXIS = {"knn": "n_neighbors", "rank": "rank", "nn": None}
RNG = np.random.default_rng(7)
X3 = RNG.normal(size=(90, 2)).round(1)  # with ties
Y3 = RNG.integers(0, 3, 90)


def setting(variant, k):
    """The parameter that counts neighbors, as `complete_cv` and naive take it."""
    return {AXIS[variant]: int(k)} if AXIS[variant] else {}


def assert_cells_agree(result, X, y, variant, design=Subsample, **kwargs):
    """Every cell is what `complete_cv` says, within the bounds of both."""
    for row, k in enumerate(result.n_neighbors):
        for column, size in enumerate(result.train_sizes):
            single = complete_cv(X, y, variant, design(int(size)), **setting(variant, k), **kwargs)
            off = abs(single.score - result.scores[row, column])
            assert off <= single.error_bound + result.error_bound[row, column]


@pytest.mark.parametrize("average", ["pooled", "item", "class"])
@pytest.mark.parametrize("variant", AXIS)
@pytest.mark.parametrize("seed", range(8))
def test_enumeration(seed, variant, average):
    case = problem(seed)
    ties = ("index", "random")[(seed // 4 + len(variant)) % 2]
    n_items = len(case.y)
    for size in range(1, n_items):
        counts = {"knn": range(1, size + 1), "rank": range(1, n_items + 2), "nn": [None]}[variant]
        asked = {} if variant == "nn" else {"n_neighbors": counts}
        result = surface(
            case.distances,
            case.y,
            train_sizes=[size],
            variant=variant,
            metric="precomputed",
            average=average,
            tol=0,
            ties=ties,
            **asked,
        )
        for row, k in enumerate(counts):
            design = naive.subsample(n_items, size)
            expected = naive.complete(
                case.distances, case.y, variant, design, average, ties, **setting(variant, k)
            )
            assert abs(result.scores[row, 0] - float(expected)) <= result.error_bound[row, 0] < 1e-12


@pytest.mark.parametrize("n_classes", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("variant", AXIS)
def test_every_cell_is_complete_cv(variant, n_classes):
    rng = np.random.default_rng(n_classes)
    X, y = rng.integers(0, 9, (70, 2)).astype(float), rng.integers(0, n_classes, 70)
    asked = {} if variant == "nn" else {"n_neighbors": [1, 2, 3, 6, 7, 14]}
    sizes = [14, 15, 30, 0.5, 69]
    for tol in (0, 1e-9, 1e-3):
        result = surface(X, y, train_sizes=sizes, variant=variant, tol=tol, **asked)
        assert result.error_bound.max() <= tol + 1e-11
        assert_cells_agree(result, X, y, variant)


def test_exact_mode():
    result = surface(X3[:25], Y3[:25], [1, 2, 5, 8], [8, 12, 24], tol=0)
    for row, k in enumerate(result.n_neighbors):
        for column, size in enumerate(result.train_sizes):
            exact = complete_cv(
                X3[:25], Y3[:25], "knn", Subsample(int(size)), n_neighbors=int(k), exact=True
            )
            assert abs(result.scores[row, column] - exact.score) <= result.error_bound[row, column] < 1e-12


def test_many_neighbors_and_far_positions():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 1))
    for n_classes, counts in ((2, [1, 40, 300]), (3, [1, 24])):
        y = rng.integers(0, n_classes, 500)
        assert_cells_agree(surface(X, y, counts, [300, 490], tol=0), X, y, "knn")


def test_two_items():
    for labels, expected in (([0, 0], 1.0), ([0, 1], 0.0)):
        result = surface([[0.0], [1.0]], labels, train_sizes=1)
        assert result.scores.tolist() == [[expected]]
        assert (result.n_neighbors.tolist(), result.train_sizes.tolist()) == ([1], [1])


def test_larger_training_sets_than_the_rank():
    result = surface(X3, Y3, train_sizes=[2, 4, 50], variant="rank", rank=[1, 3, 60])
    assert_cells_agree(result, X3, Y3, "rank")
    assert result.scores[2, 0] == pytest.approx(result.scores[1, 0])  # both look at both


@pytest.mark.parametrize("variant", AXIS)
def test_short_lists_show_in_the_bound(variant):
    whole = Neighbors.from_data(X3, "sqeuclidean")  # of which no square root merges two
    indices, distances = whole.kneighbors(12)
    rows = np.repeat(np.arange(90), 12)
    kept = np.arange(90 * 12) % 12 < 3 + rows % 10  # lists of different lengths
    graph = sp.csr_matrix((distances.ravel()[kept], (rows[kept], indices.ravel()[kept])), shape=(90, 90))
    asked = {} if variant == "nn" else {"n_neighbors": [1, 2, 5]}
    for near in (
        Neighbors.from_lists(indices),
        Neighbors.from_lists(indices, distances),
        Neighbors.from_graph(graph),
    ):
        asked = {"train_sizes": [5, 20, 60], "variant": variant, "ties": "index", **asked}
        result = surface(near, Y3, **asked)
        full = surface(whole, Y3, **asked)
        assert (np.abs(result.scores - full.scores) <= result.error_bound + full.error_bound).all()
        for row, k in enumerate(result.n_neighbors):
            for column, size in enumerate(result.train_sizes):
                design = Subsample(int(size))
                single = complete_cv(near, Y3, variant, design, ties="index", **setting(variant, k))
                bound = result.error_bound[row, column]
                assert bound == pytest.approx(single.error_bound, abs=1e-6)
                # Of rank scoring the kernel also counts what is right before R neighbors are known.
                assert abs(result.scores[row, column] - single.score) <= (
                    bound if variant == "rank" else 1e-6
                )


def test_fractions_are_rounded_down_as_in_subsample():
    result = surface(X3, Y3, 3, (0.1, 0.99, np.float64(0.5), np.int32(7)))
    assert result.train_sizes.tolist() == [9, 89, 45, 7]


def test_defaults():
    result = surface(X3, Y3)
    assert result.n_neighbors.tolist() == list(range(1, 10))  # the smallest training set has 9 samples
    assert result.train_sizes.tolist() == [int(share / 10 * 90) for share in range(1, 10)]
    assert surface(X3, Y3, train_sizes=0.5).n_neighbors.tolist() == list(range(1, 31))


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_threads_and_blocks_change_nothing(n_classes, monkeypatch):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(500, 3)), rng.integers(0, n_classes, 500)
    asked = {"n_neighbors": [1, 4, 9], "train_sizes": [50, 200, 450]}
    one = surface(X, y, n_jobs=1, **asked)
    answers = [surface(X, y, n_jobs=2, **asked)]
    with ThreadPoolExecutor(3) as executor:
        answers.append(surface(X, y, executor=executor, **asked))
    near = Neighbors.from_data(X, algorithm="brute")
    answers += [surface(near, y, **asked), surface(near, y, **asked)]  # searched, and from what was kept
    monkeypatch.setattr("knnccv.neighbors._engines.brute_force.FAST_BYTES", 1)
    monkeypatch.setattr("knnccv.neighbors._engines.brute_force.FEWEST_ROWS", 7)
    answers.append(surface(X, y, n_jobs=2, **asked))
    for other in answers:
        assert one.scores.tobytes() == other.scores.tobytes()
        assert one.error_bound.tobytes() == other.error_bound.tobytes()


def test_losses_go_cell_by_cell():
    loss = [[0, 1, 2], [3, 0, 1], [1, 2, 0]]
    for variant in ("knn", "nn"):
        asked = {"n_neighbors": [3, 1]} if variant == "knn" else {}
        result = surface(X3, Y3, train_sizes=[40, 10], variant=variant, loss=loss, **asked)
        assert_cells_agree(result, X3, Y3, variant, loss=loss)
        assert result.is_loss
    assert result.best(40).score == pytest.approx(result.scores[:, 0].min())


def test_stratified_goes_cell_by_cell():
    result = surface(X3, Y3, [1, 2, 5], [0.2, 0.6], stratified=True)
    for row, k in enumerate(result.n_neighbors):
        for column, share in enumerate((0.2, 0.6)):
            single = complete_cv(X3, Y3, "knn", StratifiedSubsample(share), n_neighbors=int(k))
            assert result.scores[row, column] == pytest.approx(single.score, abs=1e-6)
            assert result.train_sizes[column] == sum(single.kinds[0].n_train)


def test_fair_ties_go_cell_by_cell():
    result = surface(X3, Y3, train_sizes=[10, 80], variant="nn", ties="random")
    assert_cells_agree(result, X3, Y3, "nn", ties="random")


def test_more_neighbors_than_the_profile_serves(monkeypatch):
    asked = (X3, Y3, [1, 4, 6], [20, 70])
    expected = surface(*asked, tol=0)
    monkeypatch.setattr("knnccv.curves._profile_surface.MAX_NEIGHBORS", 5)
    np.testing.assert_allclose(surface(*asked, tol=0).scores, expected.scores, rtol=0, atol=1e-13)


def test_read_only_data_are_enough_and_stay_as_they_are():
    X, y = X3.copy(), Y3.copy()
    X.flags.writeable = y.flags.writeable = False
    assert surface(X, y, [3], [20]).scores.tobytes() == surface(X3, Y3, [3], [20]).scores.tobytes()


@pytest.mark.parametrize("vote_ties", ["smallest", "random"])
def test_tied_votes_are_decided_as_asked(vote_ties):
    result = surface(X3, Y3, [2, 4], [40, 80], vote_ties=vote_ties)
    for row, k in enumerate((2, 4)):
        for column, size in enumerate((40, 80)):
            alone = complete_cv(X3, Y3, "knn", Subsample(size), n_neighbors=k, vote_ties=vote_ties).score
            assert abs(result.scores[row, column] - alone) < 1e-5


def test_best():
    result = surface(X3, Y3, [5, 1, 3], [80, 20])
    best = result.best()
    np.testing.assert_allclose(best.score, result.scores.max(axis=0), rtol=0, atol=1e-5)
    for column, size in enumerate((80, 20)):
        k, score = result.best(size)
        assert (k, score) == (best.n_neighbors[column], best.score[column])
        assert 0 <= result.best(size).regret < 1e-5
        assert score == result.scores[result.n_neighbors.tolist().index(k), column]
    assert pickle.loads(pickle.dumps(best)).regret.tolist() == best.regret.tolist()
    alike = surface(X3, np.zeros(90, int), [5, 1, 3], [20])
    assert alike.best(20).n_neighbors == 1
    with pytest.raises(ValueError, match=r"train_size must be one of .*\(80, 20\), got 21"):
        result.best(21)


def test_the_table_is_tidy():
    frame = surface(X3, Y3, [1, 3], [20, 40, 80]).to_frame()
    assert list(frame.columns) == ["n_neighbors", "train_size", "score", "error_bound"]
    result = surface(X3, Y3, [1, 3], [20, 40, 80])
    table = frame.pivot_table(index="n_neighbors", columns="train_size", values="score")
    np.testing.assert_array_equal(table.to_numpy(), result.scores)


@pytest.mark.parametrize("x", ["train_size", "n_neighbors"])
def test_plots(x):
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    result = surface(X3, Y3, [5, 1, 3], [80, 20])
    axes = result.plot(x)
    assert len(axes.lines) == (3 if x == "train_size" else 2)
    assert [line.get_label() for line in axes.lines] == (
        ["1", "3", "5"] if x == "train_size" else ["20", "80"]
    )
    first = axes.lines[0].get_ydata()
    np.testing.assert_array_equal(
        first, result.scores[1, ::-1] if x == "train_size" else result.scores[[1, 2, 0], 1]
    )
    _, given = plt.subplots()
    assert surface(X3, Y3).plot(x, ax=given, linewidth=1) is given
    plt.close("all")
    with pytest.raises(ValueError, match="x must be 'train_size' or 'n_neighbors', got 'k'"):
        result.plot("k")


def test_what_is_shown():
    shown = repr(surface(X3, Y3, [1, 3], [20, 80]))
    assert shown.startswith(
        "<Surface of 'knn': 2 numbers of neighbors (1 to 3) by 2 training sizes (20 to 80)"
    )


def test_a_pickled_answer_is_the_same():
    result = surface(X3, Y3, [1, 3], [20, 80])
    assert pickle.loads(pickle.dumps(result)).scores.tobytes() == result.scores.tobytes()


WRONG = [
    ({"n_neighbors": [3, 25], "train_sizes": [20, 80]}, ValueError, "n_neighbors must be between 1 and 20"),
    ({"n_neighbors": [0]}, ValueError, "n_neighbors must be at least 1, got 0"),
    ({"n_neighbors": [2.5]}, TypeError, "n_neighbors must be an integer, got 2.5"),
    ({"n_neighbors": "3"}, TypeError, "n_neighbors must be a number or a sequence of numbers, got '3'"),
    ({"n_neighbors": []}, ValueError, "n_neighbors must hold at least one number"),
    ({"train_sizes": []}, ValueError, "train_sizes must hold at least one number"),
    ({"train_sizes": [90]}, ValueError, "train_size must be between 1 and 89 for 90 samples, got 90"),
    (
        {"train_sizes": [0.001]},
        ValueError,
        r"between 1 and 89 for 90 samples, got 0.001 \(0 samples",
    ),
    ({"train_sizes": [1.5]}, ValueError, r"train_size as a fraction must be in \(0, 1\), got 1.5"),
    ({"train_sizes": [True]}, TypeError, "train_size must be a number of samples or a fraction"),
    ({"train_sizes": [10, 0.5], "stratified": True}, TypeError, r"fractions in \(0, 1\) .* not both; got"),
    (
        {"train_sizes": [99], "stratified": True},
        ValueError,
        "per_class must be at most the size of the class",
    ),
    (
        {"train_sizes": {0: 1}},
        TypeError,
        "without stratified=True train_sizes must be numbers or fractions",
    ),
    ({"stratified": 1}, TypeError, "stratified must be True or False, got 1"),
    ({"variant": "nn", "n_neighbors": [1]}, TypeError, "variant 'nn' has no number of neighbors to vary"),
    ({"variant": "rank", "n_neighbors": 1, "rank": 2}, TypeError, "give either n_neighbors or rank"),
    ({"variant": "knn", "rank": 2}, TypeError, "variant 'knn' has no parameter 'rank'"),
    ({"variant": "kn"}, ValueError, "kn"),
    ({"tol": 1}, ValueError, r"tol must be in \[0, 1\), got 1"),
    ({"average": "mean"}, ValueError, "average must be one of"),
    ({"ties": "fair"}, ValueError, "ties must be one of"),
    ({"n_jobs": 0}, ValueError, "n_jobs"),
    ({"los": 3}, TypeError, "variant 'knn' has no parameter 'los'"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), WRONG)
def test_bad_input(arguments, error, message):
    with pytest.raises(error, match=message):
        surface(X3, Y3, **arguments)


def test_names_are_functions_however_they_are_imported():
    assert callable(knnccv.surface)
    assert knnccv.Surface is type(surface(X3, Y3, 1, 20))


@pytest.mark.slow
def test_short_lists_show_in_the_regret_of_the_best():
    near = Neighbors.from_data(X3)
    short = surface(Neighbors.from_lists(*near.kneighbors(12)), Y3, [1, 9], [9, 80])
    best = short.best()
    assert best.regret[0] > 0.1 > best.regret[1]
    assert (surface(near, Y3, [1, 9], [9, 80]).best().regret < 1e-5).all()


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize(("variant", "axis"), [("knn", "n_neighbors"), ("rank", "rank"), ("nn", None)])
def test_fair_ties(n_classes, variant, axis):
    """Cell for cell what the kernels say, on data most of which tie."""
    compared = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n_items = int(rng.integers(12, 60))
        X = rng.integers(0, int(rng.integers(2, 7)), (n_items, 2)).astype(float)
        y = rng.integers(0, n_classes, n_items)
        y[:n_classes] = np.arange(n_classes)
        ks = [1, 2, 3, 5, 8] if axis else None
        sizes = [8, n_items // 2 + 3, n_items - 1]
        near = Neighbors.from_data(X)
        found = surface(near, y, ks, sizes, variant, tol=1e-12)
        assert found.ties == "random"
        for row, k in enumerate(ks or [1]):
            for column, size in enumerate(sizes):
                setting = {axis: k} if axis else {}
                cell = complete_cv(near, y, variant, Subsample(size), **setting)
                assert found.scores[row, column] == pytest.approx(cell.score, abs=1e-11)
                assert abs(found.scores[row, column] - cell.score) <= (
                    found.error_bound[row, column] + cell.error_bound
                )
                compared += 1
    assert compared >= 18


@pytest.mark.parametrize("variant", ["regression", "confidence"])
def test_other_rules_are_complete_cv(variant):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 3, 40)
    found = surface(X, y, [1, 4], [10, 30], variant)
    for row, k in enumerate([1, 4]):
        for column, size in enumerate([10, 30]):
            cell = complete_cv(X, y, variant, Subsample(size), n_neighbors=k)
            assert found.scores[row, column] == pytest.approx(cell.score, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("average", ["pooled", "item", "class"])
@pytest.mark.parametrize("seed", range(8))
def test_stratified_ranks_equal_the_enumeration(seed, average):
    case = problem(seed)
    y = case.y.tolist()
    rng = np.random.default_rng(seed)
    sizes = [{c: int(rng.integers(0, y.count(c) + 1)) for c in case.classes} for _ in range(4)]
    sizes = [size for size in sizes if 0 < sum(size.values()) < len(y)]
    for ties in ("index", "random"):
        asked = {"stratified": True, "metric": "precomputed", "average": average, "ties": ties, "tol": 0}
        result = surface(case.distances, y, range(1, len(y) + 1), sizes, "rank", **asked)
        assert result.per_class == tuple(sizes)
        assert result.train_sizes.tolist() == [sum(size.values()) for size in sizes]
        for column, size in enumerate(sizes):
            listed = naive.stratified(y, size)
            for row, rank in enumerate(result.n_neighbors.tolist()):
                expected = naive.complete(case.distances, y, "rank", listed, average, ties, rank=rank)
                off = abs(result.scores[row, column] - float(expected))
                assert off <= result.error_bound[row, column] < 1e-12


def whole_lists(X):
    """Lists of all neighbors, found by another program."""
    return Neighbors.from_lists(*Neighbors.from_data(X, "sqeuclidean").kneighbors(len(X) - 1))


@pytest.mark.slow
@pytest.mark.parametrize("source", ["compared", "products", "lists", "matrix"])
@pytest.mark.parametrize("decimals", [None, 0])
def test_stratified_ranks_are_complete_cv(source, decimals):
    """Every source of neighbors, with ties and without, for equal classes and others."""
    rng = np.random.default_rng(5)
    n_items, n_features = (1100, 12) if source == "products" else (160, 2)
    y = rng.integers(0, 9, n_items)
    y[:72] = np.repeat(np.arange(9), 8)
    X = rng.normal(size=(n_items, n_features)) + rng.normal(size=(9, n_features))[y]
    X = X if decimals is None else X.round(decimals)
    near = {
        "compared": Neighbors.from_data,
        "products": Neighbors.from_data,
        "lists": whole_lists,
        "matrix": lambda X: Neighbors.from_distances(((X[:, None] - X) ** 2).sum(axis=-1)),
    }[source](X)
    assert (near.proposer() is not None) == (source == "products")
    for ties in ("index", "random") if source != "products" or decimals is None else ("index",):
        for sizes in ([1, 4], [0.3]):
            result = surface(near, y, [1, 2, 7, 30], sizes, "rank", stratified=True, ties=ties, tol=1e-9)
            assert result.error_bound.max() < 2e-9
            for column, size in enumerate(sizes):
                design = StratifiedSubsample(**{"train_size" if size < 1 else "per_class": size})
                for row, rank in enumerate((1, 2, 7, 30)):
                    single = complete_cv(near, y, "rank", design, rank=rank, ties=ties)
                    off = abs(single.score - result.scores[row, column])
                    assert off <= single.error_bound + result.error_bound[row, column]


@pytest.mark.slow
def test_short_lists_show_in_the_bound_of_stratified_ranks():
    whole = Neighbors.from_data(X3, "sqeuclidean")
    near = Neighbors.from_lists(whole.kneighbors(20)[0])
    asked = {"variant": "rank", "stratified": True, "ties": "index"}
    result = surface(near, Y3, [1, 3, 12], [1, 5], **asked)
    full = surface(whole, Y3, [1, 3, 12], [1, 5], **asked)
    assert 1 > result.error_bound.max() > 0.1
    assert (np.abs(result.scores - full.scores) <= result.error_bound + full.error_bound).all()


@pytest.mark.slow
def test_threads_change_nothing_in_stratified_ranks():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(1200, 12)), np.arange(1200) % 60
    asked = {"n_neighbors": [1, 4, 60], "train_sizes": [1, 5], "variant": "rank", "stratified": True}
    one = surface(X, y, n_jobs=1, **asked)
    answers = [surface(X, y, n_jobs=3, **asked)]
    with ThreadPoolExecutor(2) as executor:
        answers.append(surface(X, y, executor=executor, **asked))
    for other in answers:
        assert one.scores.tobytes() == other.scores.tobytes()
        assert one.error_bound.tobytes() == other.error_bound.tobytes()


def test_numbers_of_every_class_serve_votes_too():
    result = surface(X3, Y3, [1, 5], [2, 9], stratified=True)
    assert result.per_class == (2, 9)
    assert result.train_sizes.tolist() == [6, 27]
    for column, number in enumerate((2, 9)):
        single = complete_cv(X3, Y3, "knn", StratifiedSubsample(per_class=number), n_neighbors=5)
        assert result.scores[1, column] == pytest.approx(single.score, abs=1e-6)
    assert result.to_frame()["per_class"].tolist() == [2, 9, 2, 9]
    assert surface(X3, Y3, [1], [0.2], stratified=True).per_class is None
