"""Scores of the four forms equal their means over all galleries and orders of ties, in Fractions."""

from fractions import Fraction

import naive_retrieval as naive
import numpy as np
import pytest

from knnccv import Neighbors
from knnccv.retrieval import (
    AtRank,
    First,
    Gallery,
    Reciprocal,
    Table,
    _scores,
    cuhk03,
    expected_retrieval,
    market1501,
    sampled_retrieval,
)
from knnccv.retrieval._forms import parse

N_PROBLEMS = 160
NAMED = (
    "cmc", "cmc_all_shots", "ap", "rr", "inp", "r_precision", "map@r", "rbp@0.4", "precision@3", "recall@2",
    "ndcg@3", "ap@2/r", "ap@3/min",
)  # fmt: skip


def within(name):
    """Precisions, or hits, within the first k or R, over R or min(k, R)."""
    k = int(name[3]) if name.startswith("ap@") else None

    def phi(R):
        depth = k or R
        a, b = np.ogrid[:R, :depth]
        values = 1 if name == "r_precision" else (1 + a) / (1 + a + b)
        return np.where(a + b < depth, values, 0) / (min(depth, R) if name.endswith("min") else R)

    return Table(phi, name=name)


def forms_of(name, ap="rectangle", n_ranks=50):
    """Forms whose mean is the built-in score; the last of `n_ranks` values of a curve."""
    if name in ("cmc", "cmc_all_shots"):
        return (First([1] * n_ranks, "first" if name == "cmc" else "every", name=name),)
    if name == "ap":
        before = Reciprocal(0, constant=0, name="ap before")
        return (Reciprocal(1, name="ap"), *((before,) if ap == "trapezoid" else ()))
    if name in ("rr", "inp"):
        return (Reciprocal(1, of="first" if name == "rr" else "last", name=name),)
    if name in ("r_precision", "map@r") or name.startswith("ap@"):
        return (within(name),)
    if name.startswith("rbp"):
        p = float(name.removeprefix("rbp@"))
        return (AtRank((1 - p) * p ** np.arange(np.ceil(np.log(1e-18) / np.log(p))), name=name),)
    return parse((name,))[0].forms


def places(ranking, query):
    """Right and wrong items before every right item."""
    hits = naive.hits(ranking, query)
    return [(sum(hits[:r]), r - sum(hits[:r])) for r, hit in enumerate(hits) if hit]


def of_reciprocal(form, by_identity):
    def term(a, b):
        below = form.c + a + b
        return Fraction(form.constant + form.slope * a) / below if below else Fraction(form.at_top)

    def score(ranking, query):
        found = places(ranking, query)
        chosen = {"every": found, "first": found[:1], "last": found[-1:]}[form.of]
        if form.of == "first" and by_identity:
            chosen = places(naive.once(ranking), query)
        total = sum((term(a, b) for a, b in chosen), Fraction(0))
        return total / (len(found) if form.normalize == "R" else 1)

    return score


def of_at_rank(form, _):
    def score(ranking, query):
        weights = [Fraction(weight) for weight in form.weights]
        ranks = naive.right_ranks(ranking, query)
        n, k = len(ranks), len(weights)
        total = sum((weights[r - 1] for r in ranks if r <= k), Fraction(0))
        divisors = {"1": 1, "k": k, "R": n, "min(k,R)": min(k, n), "ideal": sum(weights[: min(k, n)])}
        return total / divisors[form.normalize]

    return score


def of_first(form, by_identity):
    def score(ranking, query):
        found = places(ranking, query)
        before = [b for _, b in found]
        if by_identity:
            wrong = [[i for i in ranking[: a + b] if i != query] for a, b in found]
            before = [len(set(some)) for some in wrong]
        if form.of == "first":
            before = before[:1]
        values = [Fraction(form.weights[b]) if b < len(form.weights) else Fraction(0) for b in before]
        return sum(values, Fraction(0)) / len(values)

    return score


def of_table(form, _):
    def score(ranking, query):
        found = places(ranking, query)
        phi = form.phi(len(found)) if callable(form.phi) else form.phi
        rows, columns = np.shape(phi)
        inside = [(a, b) for a, b in found if a < rows and b < columns]
        return sum((Fraction(float(phi[a][b])) for a, b in inside), Fraction(0))

    return score


SCORES = {Reciprocal: of_reciprocal, AtRank: of_at_rank, First: of_first, Table: of_table}


def random_forms(rng):
    """Forms of all kinds with random parameters."""
    c = int(rng.choice([0, 1, 2, 61]))
    constant = 0.0 if c == 0 else float(rng.integers(0, 3)) / 2
    slope = float(rng.integers(1 if constant == 0 else 0, 4))
    options = {"constant": constant, "slope": slope, "at_top": float(rng.random())}
    for of in ("every", "first", "last"):
        yield Reciprocal(c, of, normalize=str(rng.choice(["1", "R"])), name=f"reciprocal {of}", **options)
    weights = rng.integers(-4, 9, int(rng.integers(1, 6))) / 4
    for normalize in ("1", "k", "R", "min(k,R)"):
        yield AtRank(weights, normalize=normalize, name=f"at rank {normalize}")
    yield AtRank(np.abs(weights) + 0.25, normalize="ideal", name="at rank ideal")
    yield First(rng.random(int(rng.integers(1, 6))), name="first of first")
    yield First(rng.integers(-3, 4, int(rng.integers(1, 6))), "every", name="first of every")
    table = rng.integers(-4, 9, rng.integers(1, 5, 2)) / 8
    yield Table(table, name="table")
    more = rng.random((4, 5))
    yield Table(lambda R: more[: R % 3 + 1, : (R + 2) % 5 + 1] / R, name="table of R")


@pytest.mark.parametrize("seed", range(N_PROBLEMS))
def test_all_galleries(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 8))
    ids, cams, queries = rng.integers(0, 3, n), rng.integers(0, 2, n), rng.integers(0, 3, 3)
    ids[0] = queries[0]
    distances = rng.integers(0, (3, 5, 100)[seed % 3], (3, n)) / 4
    ties, rank = ("index", "random")[seed % 2], ("image", "identity")[seed // 2 % 2]
    shots, fine = seed // 4 % 4, bool(rng.integers(0, 2))
    masked = rng.random((3, n)) < 0.2 * rng.integers(0, 2)
    masked[:, 0] = False
    strata = (ids, cams) if fine and shots else None
    gallery = Gallery("all")
    if shots:
        gallery = Gallery(shots=shots, strata=strata, mask="before", short="all")
    names = list(zip(ids.tolist(), cams.tolist(), strict=True)) if fine else ids.tolist()
    forms = list(random_forms(rng))
    named = ("precision@2", "cmc", "rr", "cmc_all_shots", "ap@3/r", "ap@2/min")
    r = expected_retrieval(
        distances, queries, ids, gallery, exclude=lambda block: masked[block], scores=(*forms, *named),
        rank=rank, ties=ties, max_rank=4, n_jobs=1,
    )  # fmt: skip
    wanted = [(form.name, [form]) for form in forms]
    wanted += [(name, [forms_of(name, n_ranks=k)[0] for k in range(1, 5)]) for name in named]
    for name, some in wanted:
        for q in range(3):
            found = np.atleast_1d(r[name].per_item[q])
            for value, form in zip(found, some, strict=False):
                score = SCORES[type(form)](form, rank == "identity")
                pool = np.flatnonzero(~masked[q]).tolist()
                expected = naive.expected(
                    score, queries[q], distances[q], ids, names, shots, pool, ties=ties
                )
                if expected is None:
                    assert np.isnan(value)
                else:
                    assert abs(value - float(expected)) < 1e-13 * max(1, abs(expected)), (name, q)
        assert 0 < r[name].error_bound < 1e-10


def data(seed=0, n_queries=30, n_gallery=90, n_ids=7):
    rng = np.random.default_rng(seed)
    query_ids, ids = rng.integers(0, n_ids, n_queries), rng.integers(0, n_ids, n_gallery)
    distances = np.round(40 * (rng.random((n_queries, n_gallery)) + 0.3 * (query_ids[:, None] != ids)))
    return distances, query_ids, ids


@pytest.mark.parametrize("rank", ["image", "identity"])
@pytest.mark.parametrize("shots", [0, 1, 2])
def test_built_in_scores_equal_their_forms(shots, rank):
    distances, query_ids, ids = data()
    gallery = Gallery(shots=shots) if shots else Gallery("all")
    options = {"rank": rank, "max_rank": 6, "ties": "random" if shots == 2 else "index"}
    for ap in ("rectangle", "trapezoid"):
        for name in NAMED:
            forms = forms_of(name, ap, 6)
            renamed = [type(form)(**{**vars(form), "name": f"form {f}"}) for f, form in enumerate(forms)]
            r = expected_retrieval(
                distances, query_ids, ids, gallery, scores=(name, *renamed), ap=ap, **options
            )
            own = r[name].per_item
            mean = sum(r[form.name].per_item for form in renamed) / len(renamed)
            assert np.abs((own[:, -1] if own.ndim == 2 else own) - mean).max() < 1e-13, name
            bound = r[name].error_bound + sum(r[form.name].error_bound for form in renamed)
            mine = np.ravel(r[name].score)[-1]
            assert abs(mine - np.mean([r[form.name].score for form in renamed])) <= bound


@pytest.mark.parametrize("rank", ["image", "identity"])
@pytest.mark.parametrize("kind", ["shared", "own", "all"])
def test_the_mean_of_the_trials(kind, rank):
    distances, query_ids, ids = data(1)
    gallery = {"shared": Gallery(shots=2), "own": Gallery(per_identity=2), "all": Gallery("all")}[kind]
    forms = tuple(random_forms(np.random.default_rng(7)))
    scores = (*forms, "cmc_all_shots", "ap@4/r", "ap@4/min", "precision@3", "ndcg@5")
    options = {"scores": scores, "rank": rank, "max_rank": 5, "ties": "random"}
    r = expected_retrieval(distances, query_ids, ids, gallery, **options)
    s = sampled_retrieval(distances, query_ids, ids, gallery, n_repeats=500, **options)
    for name in r:
        error = np.maximum(s.standard_error(name, 500), 1e-6)
        assert np.all(np.abs(s.mean(name) - r[name].score) / error < 4.5), name
        assert s.mean(name).shape == np.shape(r[name].score)


def test_results_do_not_depend_on_blocks_or_threads():
    distances, query_ids, ids = data(2)
    forms = tuple(random_forms(np.random.default_rng(3)))
    runs = [
        expected_retrieval(
            near, query_ids, ids, Gallery(shots=2), scores=forms, ties="random", n_jobs=n_jobs
        )
        for near, n_jobs in ((distances, 1), (distances, 3))
    ]
    alone = [
        expected_retrieval(
            distances[q : q + 1], query_ids[q : q + 1], ids, Gallery(shots=2), scores=forms, ties="random"
        )
        for q in range(5)
    ]
    for form in forms:
        assert (runs[0][form.name].per_item == runs[1][form.name].per_item).all()
        for q in range(5):
            assert runs[0][form.name].per_item[q] == alone[q][form.name].score
    both = expected_retrieval(
        distances, query_ids, ids, Gallery(shots=2), scores=("ap", "cmc", "map@r", *forms[3:])
    )
    only = expected_retrieval(distances, query_ids, ids, Gallery(shots=2), scores=("ap", "cmc", "map@r"))
    for name in ("ap", "cmc", "map@r"):
        assert np.array_equal(both[name].per_item, only[name].per_item)


def test_large_tables_cut_the_blocks(monkeypatch):
    distances, query_ids, ids = data(2)
    form = Table(lambda R: np.ones((R, 4)) / R, name="table")
    for gallery in (Gallery("all"), Gallery(shots=2)):
        runs = []
        for most in (2**23, 1):
            monkeypatch.setattr(_scores, "MOST_NUMBERS", most)
            runs.append(
                expected_retrieval(distances, query_ids, ids, gallery, scores=(form, "ap"))["table"]
            )
            s = sampled_retrieval(distances, query_ids, ids, gallery, scores=form, n_repeats=20)
            runs.append(s.trials["table"])
        assert runs[0].score == runs[2].score
        assert (runs[0].per_item == runs[2].per_item).all()
        assert (runs[1] == runs[3]).all()


def test_far_items_are_left_out_within_the_bound():
    rng = np.random.default_rng(0)
    n_ids = 400
    ids = np.repeat(np.arange(n_ids), 3)
    distances = rng.random((4, len(ids)))
    distances[:, ids == 0] += 0.3
    forms = (
        Table(np.ones((3, 3)), name="table"), First([1, 0.5], "every", name="every"),
        AtRank([1, 1], name="at"), First([1], name="first"), Reciprocal(61, "first", slope=0),
    )  # fmt: skip
    for rank in ("image", "identity"):
        r = expected_retrieval(
            distances, [0] * 4, ids, Gallery(per_identity=2), scores=(*forms, "cmc_all_shots"), rank=rank
        )
        for form in forms[:4]:
            assert 0 <= r[form.name].score < 1e-15
            assert r[form.name].error_bound < 1e-14
        assert 1 / 1000 < r["reciprocal"].score < 1 / 150


def test_lists_of_the_nearest():
    distances, query_ids, ids = data(4)
    forms = (
        *[form for form in random_forms(np.random.default_rng(1)) if isinstance(form, Reciprocal)],
        AtRank([3, 2, 2, 1], normalize="ideal"), First([3, 2, 2, 1], "every"), forms_of("map@r")[0],
        First([1, 0.5], name="first of first"),
    )  # fmt: skip
    forms = tuple(type(form)(**{**vars(form), "name": f"form {f}"}) for f, form in enumerate(forms))
    scores = (*forms, "cmc_all_shots", "ap@5/r", "ap@5/min")
    options = {"scores": scores, "max_rank": 4}
    items = np.argsort(distances, axis=1, kind="stable")
    for gallery in (Gallery("all"), Gallery(shots=2)):
        full = expected_retrieval(distances, query_ids, ids, gallery, **options)
        for depth in (10, 30, 90):
            near = Neighbors.between_lists(items[:, :depth], None, 90)
            r = expected_retrieval(near, query_ids, ids, gallery, **options)
            for name in full:
                above = np.max(full[name].score - r[name].score)
                assert -1e-14 <= above <= r[name].error_bound
                assert depth < 90 or r[name].error_bound < 1e-10
    for form in (AtRank([1, 2]), First([-1]), Table([[1, 2]])):
        near = Neighbors.between_lists(items[:, :10], None, 90)
        with pytest.raises(ValueError, match="is not bracketed by lists of the nearest"):
            expected_retrieval(near, query_ids, ids, scores=form)


def test_protocols_and_other_results():
    distances, query_ids, ids = data(3)
    query_cams, cams = np.arange(30) % 3, np.arange(90) % 3
    fusion = Reciprocal(61, "first", slope=0, name="fusion")
    for protocol in (cuhk03(), market1501()):
        r = expected_retrieval(
            distances, query_ids, ids, protocol, query_cams, cams, scores=("ap", fusion, "cmc_all_shots")
        )
        assert 1 / 150 < r["fusion"].score < 1 / 61
        assert list(r.to_frame()[["fusion", "cmc_all_shots@1"]].shape) == [30, 2]
        assert "cmc_all_shots: rank-1" in repr(r)
        assert (np.diff(r["cmc_all_shots"].score) >= 0).all()
    alone = expected_retrieval(distances, query_ids, ids, scores=fusion)
    assert list(alone) == ["fusion"]


@pytest.mark.parametrize("c", [1, 61, 2000])
def test_the_bound_of_the_quadrature_holds(c):
    """Against double sums with one item per identity, where the law of the wrong items is a convolution."""
    rng = np.random.default_rng(c)
    ids = np.concatenate([[0] * 3, np.repeat(np.arange(1, 60), 5)])
    distances = rng.random(len(ids))
    own = np.sort(distances[ids == 0])
    expected = {"every": 0.0, "last": 0.0}
    for value in own:
        nearer = [(distances[ids == i] < value).mean() for i in range(1, 60)]
        law = np.ones(1)
        for share in nearer:
            law = np.convolve(law, [1 - share, share])
        term = law @ (1 / (c + np.arange(60)))  # one right item, none before it
        expected["every"] += term / 3
        expected["last"] += term / 3
    for tol in (1e-3, 1e-6, 1e-13):
        forms = [Reciprocal(c, of, slope=5, name=of) for of in expected]
        r = expected_retrieval(
            distances[None], [0], ids, Gallery(per_identity=1), scores=forms, tol=tol, n_jobs=1
        )
        for of, value in expected.items():
            assert abs(r[of].score - value) <= r[of].error_bound
            assert r[of].error_bound < 2 * tol * value + 1e-12


def test_a_large_gallery_without_a_draw():
    """All forms of one ranking, from the definition."""
    rng = np.random.default_rng(5)
    ids = rng.integers(0, 3, 3000)
    distances = rng.random((2, 3000))
    forms = tuple(random_forms(rng))
    r = expected_retrieval(distances, [0, 1], ids, scores=forms)
    s = sampled_retrieval(distances, [0, 1], ids, scores=forms, n_repeats=2)
    for form in forms:
        score = SCORES[type(form)](form, False)
        values = [float(score(ids[np.argsort(distances[q])].tolist(), q)) for q in range(2)]
        assert np.abs(r[form.name].per_item - values).max() < 1e-12 * max(1, np.abs(values).max())
        assert np.abs(s.trials[form.name] - np.mean(values)).max() < 1e-11 * max(1, np.abs(values).max())
