"""The command retrieval."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command_line import refused

from knnccv.retrieval import (
    Gallery,
    SameCamera,
    SameIdentityAndCamera,
    cuhk03,
    expected_retrieval,
    market1501,
    sampled_retrieval,
)

N_QUERIES, N_GALLERY = 24, 60
PIDS = np.arange(N_QUERIES) % 7, np.arange(N_GALLERY) % 6
CAMS = 3 * (np.arange(N_QUERIES) % 2) + 3, 1 + np.arange(N_GALLERY) // 6 % 2
IDS = {"q_pids": PIDS[0], "g_pids": PIDS[1]}
ARRAYS = IDS | {"q_camids": CAMS[0], "g_camids": CAMS[1]}


def distances(seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((N_QUERIES, N_GALLERY)) + 0.4 * (PIDS[0][:, None] != PIDS[1])


D = distances()


@pytest.fixture
def saved(tmp_path):
    """A file of distances, identities and cameras."""
    np.savez(tmp_path / "people.npz", distmat=D, **ARRAYS)
    return tmp_path / "people.npz"


@pytest.fixture
def answer(run):
    """The JSON of a command, which must be strict."""

    def answer(*argv):
        status, out, err = run("retrieval", *argv, "--json")
        assert status == 0, err

        def refuse(name):
            raise AssertionError(name)

        return json.loads(out, parse_constant=refuse)

    return answer


PROTOCOLS = [
    (("--protocol", "market1501"), (market1501(), *CAMS), {}),
    (("--protocol", "market1501", "--ap", "trapezoid"), (market1501("trapezoid"), *CAMS), {}),
    (("--protocol", "cuhk03"), (cuhk03(), *CAMS), {}),
    (("--protocol", "sysu-indoor", "--shots", 2), (Gallery.sysu("indoor-search", 2), *CAMS), {}),
    (("--protocol", "sysu-all"), (Gallery.sysu(), *CAMS), {}),
    pytest.param(
        ("--per-identity", 2, "--exclude", "same-identity-camera", "--ties", "random"),
        (Gallery(per_identity=2),),
        {"exclude": SameIdentityAndCamera(*CAMS), "ties": "random"},
        marks=pytest.mark.slow,
    ),
    (
        ("--shots", 1, "--per-camera", "--exclude", "same-camera", "--rank", "identity"),
        (Gallery(shots=1, strata=(PIDS[1], CAMS[1])),),
        {"exclude": SameCamera(*CAMS), "rank": "identity"},
    ),
    (
        ("--shots", 20, "--short", "all", "--average", "identity"),
        (Gallery("all"),),
        {"average": "identity"},
    ),
]


@pytest.mark.parametrize(("options", "gallery", "more"), PROTOCOLS)
def test_json_has_the_exact_scores(answer, saved, options, gallery, more):
    found = answer(saved, *options, "--scores", "cmc,ap,ndcg@3", "--max-rank", 6)
    exact = expected_retrieval(D, *PIDS, *gallery, scores=("cmc", "ap", "ndcg@3"), max_rank=6, **more)
    assert found["cmc"] == found["scores"]["cmc"]["score"]
    assert found["cmc"] == pytest.approx(exact.cmc.tolist(), abs=1e-12)
    for name in ("ap", "ndcg@3"):
        assert found["scores"][name]["score"] == pytest.approx(exact[name].score, abs=1e-12)
        assert 0 <= found["scores"][name]["error_bound"] < 1e-9
        assert found["scores"][name]["standard_error"] is None
    for name in ("protocol", "mask", "rank", "ap", "ties"):
        assert found[name] == getattr(exact, name)
    assert (found["data"], found["n_queries"], found["n_gallery"]) == ("people.npz", N_QUERIES, N_GALLERY)
    assert (found["n_scored"], found["left_out"]) == (exact.valid.sum(), exact.n_left_out)
    assert found["tied"] == exact.tied
    assert found["seconds"] >= 0
    assert (found["cmc_std"] is not None) == exact.per_query
    assert found["sampled"] is found["comparison"] is None


def test_random_galleries_beside_the_exact_scores(answer, run, saved):
    options = ("--per-identity", 1, "--scores", "cmc,ap", "--repeats", 40, "--seed", 3, "--jobs", 1)
    found = answer(saved, *options)
    exact = expected_retrieval(D, *PIDS, Gallery(per_identity=1))
    assert found["cmc_std"]["of_one"] == exact.cmc_std().tolist()
    assert found["cmc_std"]["of_mean_of_ten"] == exact.cmc_std(10).tolist()
    runs = sampled_retrieval(D, *PIDS, Gallery(per_identity=1), n_repeats=40, random_state=3)
    assert (found["sampled"]["n_repeats"], found["sampled"]["seed"]) == (40, 3)
    sampled = found["sampled"]["scores"]
    assert sampled["ap"]["std_of_one"] == runs.std("ap")
    assert sampled["ap"]["std_of_mean_of_ten"] == runs.standard_error("ap", 10)
    assert sampled["cmc"]["mean"] == runs.mean("cmc").tolist()
    assert found["n_galleries"] == 10**6
    _, out, err = run("retrieval", saved, *options)
    assert "the cameras are not used" in err
    for part in (
        "people.npz: 24 queries, 60 gallery items of 6 identities",
        "1.0e+6 different galleries, all of them averaged",
        "1 per identity, anew for every query",
        "21 scored, 3 left out (no right item)",
        f"rank-1 {100 * exact.cmc[0]:.2f} %, rank-5",
        f"{100 * exact['ap'].score:.4f} %  error at most",
        f"scatters by {100 * exact.cmc_std()[0]:.2f} points, of ten by",
        f"ap mean {100 * runs.mean('ap'):.2f}; one gallery scatters by {100 * runs.std('ap'):.2f}",
    ):
        assert part in out
    assert max(map(len, out.splitlines())) <= 108


def test_ties_are_told(answer, run, tmp_path):
    np.savez(tmp_path / "tied.npz", distmat=D.round(1), **IDS)
    found = answer(tmp_path / "tied.npz", "--ties", "random")
    exact = expected_retrieval(D.round(1), *PIDS, ties="random")
    assert found["tied"] == exact.tied > 0
    out = run("retrieval", tmp_path / "tied.npz")[1]
    assert f"{exact.tied} have right and wrong items at equal distances" in out
    assert "tied items in the order of the gallery" in out


def test_features_and_names_of_arrays(answer, tmp_path):
    rng = np.random.default_rng(1)
    X, Y = (
        rng.normal(size=(N_QUERIES, 3)) + PIDS[0][:, None],
        rng.normal(size=(N_GALLERY, 3)) + PIDS[1][:, None],
    )
    np.savez(tmp_path / "f.npz", query_features=X, gallery_features=Y, **IDS)
    apart = ((X[:, None] - Y) ** 2).sum(axis=2)
    exact = expected_retrieval(apart, *PIDS, scores=("ap",))
    found = answer(tmp_path / "f.npz", "--scores", "ap")
    assert found["scores"]["ap"]["score"] == pytest.approx(exact["ap"].score, abs=1e-12)
    assert (found["metric"], found["cmc"]) == ("euclidean", None)
    np.savez(tmp_path / "g.npz", q=X, g=Y, a=PIDS[0].astype(str), b=PIDS[1].astype(str))
    named = ("--query-features", "q", "--gallery-features", "g", "--query-ids", "a", "--gallery-ids", "b")
    assert answer(tmp_path / "g.npz", *named, "--scores", "ap")["scores"] == found["scores"]
    cosine = answer(tmp_path / "f.npz", "--scores", "ap", "--metric", "cosine")
    unit = X / np.linalg.norm(X, axis=1, keepdims=True), Y / np.linalg.norm(Y, axis=1, keepdims=True)
    exact = expected_retrieval(1 - unit[0] @ unit[1].T, *PIDS, scores=("ap",))
    assert cosine["scores"]["ap"]["score"] == pytest.approx(exact["ap"].score, abs=1e-12)


def text_files(folder, arrays):
    for name, values in arrays.items():
        (folder / f"{name}.txt").write_text("\n".join(map(str, values)) + "\n", encoding="utf-8")
    return [folder / f"{name}.txt" for name in arrays]


def test_a_matrix_on_disk(answer, saved, tmp_path, monkeypatch):
    np.save(tmp_path / "D.npy", D.astype(np.float32))
    modes, load = [], np.load
    monkeypatch.setattr(np, "load", lambda *a, **k: modes.append(k.get("mmap_mode")) or load(*a, **k))
    files = text_files(tmp_path, ARRAYS)
    market = ("--protocol", "market1501", "--scores", "cmc,ap")
    lists = answer("--distances", tmp_path / "D.npy", "--ids", *files[:2], "--cams", *files[2:], *market)
    assert modes == ["r"]
    assert lists["data"] == "D.npy"
    archive = answer("--distances", tmp_path / "D.npy", "--ids", saved, *market)
    exact = expected_retrieval(D.astype(np.float32), *PIDS, market1501(), *CAMS)
    assert lists["scores"]["ap"]["score"] == archive["scores"]["ap"]["score"] == exact["ap"].score
    assert lists["cmc"] == archive["cmc"] == exact.cmc.tolist()
    names = {"q": [f"0{p}" for p in PIDS[0]], "g": [f"0{p}" for p in PIDS[1]]}
    named = answer(
        "--distances", tmp_path / "D.npy", "--ids", *text_files(tmp_path, names), "--scores", "ap"
    )
    whole = expected_retrieval(D.astype(np.float32), *PIDS, scores=("ap",))
    assert named["scores"]["ap"]["score"] == whole["ap"].score


@pytest.mark.usefixtures("mirrored", "cache")
def test_faces_without_a_file(answer):
    """Five queries and five gallery images of each person, against a plain count of nearer images."""
    from knnccv.datasets import fetch_orl

    found = answer("--per-identity", 1, "--scores", "cmc,ap")
    assert (found["data"], found["n_queries"], found["n_gallery"]) == ("ORL faces", 200, 200)
    assert (found["n_identities"], found["left_out"]) == (40, 0)
    assert found == answer("--data", "orl", "--per-identity", 1, "--scores", "cmc,ap") | {
        "seconds": found["seconds"]
    }
    faces = fetch_orl()
    X = faces.X.reshape(40, 10, -1)
    queries, gallery = X[:, :5].reshape(200, -1), X[:, 5:].reshape(200, -1)
    right = 0.0
    for q, query in enumerate(queries):
        apart = ((gallery - query) ** 2).sum(axis=1).reshape(40, 5)
        own = q // 5
        for mine in apart[own]:
            nearer = (np.delete(apart, own, axis=0) < mine).sum(axis=1)
            right += np.prod(1 - nearer / 5) / 5 / 200
    assert found["cmc"][0] == pytest.approx(right, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--distmat", "D"), "needs 'D', or 'query_features' and 'gallery_features'; its arrays: distmat"),
        (("--query-ids", "pids"), "people.npz has no array 'pids'; its arrays: distmat, q_pids"),
        (
            ("--query-cams", "c"),
            "people.npz has cameras of one side only (see --query-cams and --gallery-cams)",
        ),
        (("--metric", "cosine"), "--metric cosine belongs to features, but people.npz has distances"),
        (("--query-ids", "g_pids"), "query_ids must have shape (24,), one for each query, got (60,)"),
        (("--scores", "ap@10"), "the hits in the top k, is random"),
        (("--per-identity", "1", "--shots", "1"), "are different galleries"),
        (("--per-identity", "11"), "has 10 items, but 11 are drawn"),
        (("--protocol", "cuhk03", "--per-identity", "1"), "cannot be given with --per-identity"),
        (("--protocol", "cuhk03", "--shots", "1"), "cannot be given with --shots"),
        (("--protocol", "market1501", "--rank", "identity"), "rank is 'image' in this protocol"),
        (("--short", "all"), "--short belongs to --per-identity or --shots"),
        (("--per-camera",), "--per-camera belongs to --shots"),
        (("--repeats", "20"), "--repeats needs a random gallery"),
        (("--repeats", "1", "--shots", "1"), "n_repeats must be at least 2"),
        (("--ids", "x.txt"), "--ids belongs to --distances"),
        (("--data", "orl"), "a file and --data are different data"),
        (("--exclude", "self"), "queries and gallery to be the same items"),
        (("--max-rank", "0"), "max_rank must be"),
    ],
)
def test_errors_are_one_line(run, saved, options, message):
    assert message in refused(run, "retrieval", saved, *options)


def test_similarities_and_missing_cameras(run, tmp_path):
    np.savez(tmp_path / "s.npz", distmat=1 - (PIDS[0][:, None] != PIDS[1]) + 0.1 * D, **IDS)
    assert "as if these were similarities; pass distances" in refused(run, "retrieval", tmp_path / "s.npz")
    for options in (
        ("--protocol", "sysu-all"),
        ("--exclude", "same-camera"),
        ("--shots", 1, "--per-camera"),
    ):
        message = refused(run, "retrieval", tmp_path / "s.npz", *options)
        assert f"{options[0] if len(options) == 2 else '--per-camera'}" in message
        assert "needs cameras, but s.npz has none (see --query-cams and --gallery-cams" in message


def test_files_that_are_none(run, saved, tmp_path):
    assert "No such file" in refused(run, "retrieval", tmp_path / "missing.npz")
    np.save(tmp_path / "one.npy", D)
    assert "is read by --distances" in refused(run, "retrieval", tmp_path / "one.npy")
    (tmp_path / "text.npz").write_text("x,y\n")
    assert "text.npz is not an .npz file" in refused(run, "retrieval", tmp_path / "text.npz")
    np.savez(tmp_path / "both.npz", distmat=D, query_features=D, gallery_features=D.T, **IDS)
    assert "has distances (distmat) and features" in refused(run, "retrieval", tmp_path / "both.npz")
    matrix = ("retrieval", "--distances", tmp_path / "one.npy")
    assert "--distances needs the identities" in refused(run, *matrix)
    assert "takes one .npz file or two text" in refused(run, *matrix, "--ids", "a", "b", "c")
    assert "is an .npz file" in refused(run, "retrieval", "--distances", saved, "--ids", saved)
    (tmp_path / "gap.txt").write_text("1\n\n2\n")
    gap = ("--ids", tmp_path / "gap.txt", tmp_path / "gap.txt")
    assert "gap.txt, line 2: nothing is there" in refused(run, *matrix, *gap)
    (tmp_path / "short.txt").write_text("1\n2\n")
    short = ("--ids", tmp_path / "short.txt", tmp_path / "short.txt")
    assert "query_ids must have shape (24,), one for each query, got (2,)" in refused(run, *matrix, *short)
    assert "--ids takes one .npz file" in refused(run, *matrix, "--ids", tmp_path / "short.txt")
    np.savez(tmp_path / "ids.npz", **IDS)
    cameras = ("--ids", tmp_path / "ids.npz", "--protocol", "cuhk03")
    assert "--cams for lists" in refused(run, *matrix, *cameras)
    assert "--metric cosine belongs to features" in refused(
        run, *matrix, "--ids", saved, "--metric", "cosine"
    )


def test_other_models_must_have_the_same_queries(run, saved, tmp_path):
    np.savez(tmp_path / "other.npz", distmat=D, **(IDS | {"q_pids": PIDS[0][::-1]}))
    message = "--compare needs the same queries and gallery: q_pids of other.npz differs"
    assert message in refused(run, "retrieval", saved, "--compare", tmp_path / "other.npz")
    np.save(tmp_path / "D.npy", D[:5])
    message = "D.npy has 5 queries and 60 gallery items, people.npz has 24 queries and 60"
    assert message in refused(run, "retrieval", saved, "--compare", tmp_path / "D.npy")


def test_luck_of_the_identities_and_another_model(answer, run, saved, tmp_path):
    np.savez(tmp_path / "other.npz", distmat=distances(1), **ARRAYS)
    np.save(tmp_path / "other.npy", distances(1))
    draw = ("--per-identity", 2, "--scores", "cmc,ap", "--max-rank", 5)
    options = (*draw, "--jackknife", "--compare")
    found = answer(saved, *options, tmp_path / "other.npz")
    question = {"gallery": Gallery(per_identity=2), "max_rank": 5, "jackknife": "identity"}
    ours, theirs = (expected_retrieval(distances(seed), *PIDS, **question) for seed in (0, 1))
    assert found["scores"]["ap"]["standard_error"] == ours["ap"].standard_error > 0
    assert found["scores"]["cmc"]["standard_error"] == ours["cmc"].standard_error.tolist()
    compared = found["comparison"]["scores"]
    assert found["comparison"]["data"] == "other.npz"
    assert compared["ap"]["other_score"] == theirs["ap"].score
    assert compared["ap"]["difference"] == pytest.approx(ours["ap"].score - theirs["ap"].score, abs=1e-14)
    assert compared["ap"]["standard_error"] == ours.difference(theirs, "ap").standard_error
    assert compared["cmc"]["difference"] == pytest.approx((ours.cmc - theirs.cmc).tolist(), abs=1e-14)
    assert 0 < compared["ap"]["error_bound"] < 1e-9
    assert answer(saved, *options, tmp_path / "other.npy")["comparison"]["scores"] == compared
    out = run("retrieval", saved, *options, tmp_path / "other.npz")[1]
    gain = 100 * (ours["ap"].score - theirs["ap"].score)
    for part in (
        f"standard error {100 * ours['ap'].standard_error:.2f} points for other identities (jackknife)",
        "with other.npz, in points (the first minus the second):",
        f"ap {gain:+.2f}, standard error",
        f"rank-1 {100 * (ours.cmc[0] - theirs.cmc[0]):+.2f}",
    ):
        assert part in out
    plain = answer(saved, *draw, "--compare", tmp_path / "other.npz")
    assert plain["comparison"]["scores"]["ap"]["standard_error"] is None
    assert plain["scores"]["ap"]["standard_error"] is None


def test_distractors_in_every_gallery(answer, run, tmp_path):
    """The note of a jackknife that leaves out distractors names an option, which does what it says."""
    rng = np.random.default_rng(2)
    ids = np.repeat([1, 2, 3, 4], 2), np.r_[np.repeat([1, 2, 3, 4], 3), np.zeros(200, int)]
    distances = rng.random((8, 212)) + 0.4 * (ids[0][:, None] != ids[1])
    path = tmp_path / "distractors.npz"
    np.savez(path, distmat=distances, q_pids=ids[0], g_pids=ids[1])
    status, _, error = run("retrieval", path, "--per-identity", 1, "--jackknife", "--compare", path)
    assert status == 0
    assert error.count("knnccv: note: identity 0 has 200 of 212") == 1
    assert "give --always 0," in error
    found = answer(path, "--per-identity", 1, "--jackknife", "--always", 0)
    kept = expected_retrieval(distances, *ids, Gallery(per_identity=1), always=[0], jackknife="identity")
    assert found["cmc"] == kept.cmc.tolist()
    assert found["scores"]["ap"]["standard_error"] == kept["ap"].standard_error
    assert "200 items in every gallery" in found["gallery"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--per-identity", 50), "--short all takes all items"),
        (("--always", "someone"), "--always must name different identities of the gallery, got 'someone'"),
    ],
)
def test_hints_name_options(run, saved, options, said):
    status, _, error = run("retrieval", saved, *options)
    assert status == 2
    assert said in error


def test_a_mask_that_cuts_strata_names_an_option(run, tmp_path):
    path = tmp_path / "same.npz"
    np.savez(path, distmat=D, **IDS, q_camids=CAMS[0] // 3, g_camids=CAMS[1])
    status, _, error = run("retrieval", path, "--shots", 1, "--exclude", "same-identity-camera")
    assert status == 2
    assert "after the mask, with --per-identity" in error
