"""The commands retrieval and episodes: their JSON and their text have the numbers of the library."""

from __future__ import annotations

import numpy as np
import pytest
from command_line import ANIMALS, CAMERAS, DISTANCES, IDS, PEOPLE, knnccv, numbers

from knnccv.datasets import fetch_orl
from knnccv.episodes import Episodes, expected_episodes, sampled_episodes
from knnccv.retrieval import (
    Gallery,
    SameCamera,
    SameIdentityAndCamera,
    cuhk03,
    expected_retrieval,
    market1501,
    sampled_retrieval,
)

PIDS, CAMS = list(IDS.values()), list(CAMERAS.values())
OTHER = np.random.default_rng(1).random((24, 60)) + 0.4 * (PIDS[0][:, None] != PIDS[1])
PROTOCOLS = [
    ("--protocol market1501", (market1501(), *CAMS), {}),
    ("--protocol market1501 --ap trapezoid", (market1501("trapezoid"), *CAMS), {}),
    ("--protocol cuhk03", (cuhk03(), *CAMS), {}),
    ("--protocol sysu-indoor --shots 2", (Gallery.sysu("indoor-search", 2), *CAMS), {}),
    ("--protocol sysu-all", (Gallery.sysu(), *CAMS), {}),
    (
        "--shots 1 --per-camera --exclude same-camera --rank identity",
        (Gallery(shots=1, strata=(PIDS[1], CAMS[1])),),
        {"exclude": SameCamera(*CAMS), "rank": "identity"},
    ),
    ("--shots 20 --short all --average identity", (Gallery("all"),), {"average": "identity"}),
]
RARE = (
    "--per-identity 2 --exclude same-identity-camera --ties random",
    (Gallery(per_identity=2),),
    {"exclude": SameIdentityAndCamera(*CAMS), "ties": "random"},
)


def retrieval(options, ask=numbers, **people):
    other = PEOPLE | {"distmat": OTHER}
    return ask(f"retrieval people.npz {options}", people=people or PEOPLE, other=other)


def check_protocols(protocols):
    """Options, the gallery, and further arguments: all fields of the JSON are those of the library."""
    names = ("cmc", "ap", "ndcg@3")
    for options, gallery, more in protocols:
        found = retrieval(f"{options} --scores cmc,ap,ndcg@3 --max-rank 6")
        exact = expected_retrieval(DISTANCES, *PIDS, *gallery, scores=names, max_rank=6, **more)
        assert found["cmc"] == found["scores"]["cmc"]["score"], options
        assert found["cmc"] == pytest.approx(exact.cmc.tolist(), abs=1e-12), options
        for name in names[1:]:
            assert found["scores"][name]["score"] == pytest.approx(exact[name].score, abs=1e-12), options
            assert 0 <= found["scores"][name]["error_bound"] < 1e-9
            assert found["scores"][name]["standard_error"] is None
        for name in ("protocol", "mask", "rank", "ap", "ties", "tied"):
            assert found[name] == getattr(exact, name), options
        assert [found[name] for name in ("data", "n_queries", "n_gallery")] == ["people.npz", 24, 60]
        assert (found["n_scored"], found["left_out"]) == (exact.valid.sum(), exact.n_left_out)
        assert found["seconds"] >= 0
        assert (found["cmc_std"] is not None) == exact.per_query
        assert found["sampled"] is found["comparison"] is None


def test_every_protocol_is_that_of_the_library():
    check_protocols(PROTOCOLS)


@pytest.mark.slow
def test_a_mask_before_the_draw_with_averaged_ties():
    check_protocols([RARE])


def test_random_galleries_beside_the_exact_scores():
    options = "--per-identity 1 --scores cmc,ap --repeats 40 --seed 3 --jobs 1"
    found = retrieval(options)
    exact = expected_retrieval(DISTANCES, *PIDS, Gallery(per_identity=1))
    runs = sampled_retrieval(DISTANCES, *PIDS, Gallery(per_identity=1), n_repeats=40, random_state=3)
    assert found["cmc_std"]["of_one"] == exact.cmc_std().tolist()
    assert found["cmc_std"]["of_mean_of_ten"] == exact.cmc_std(10).tolist()
    assert (found["sampled"]["n_repeats"], found["sampled"]["seed"], found["n_galleries"]) == (40, 3, 10**6)
    sampled = found["sampled"]["scores"]
    assert sampled["ap"]["std_of_one"] == runs.std("ap")
    assert sampled["ap"]["std_of_mean_of_ten"] == runs.standard_error("ap", 10)
    assert sampled["cmc"]["mean"] == runs.mean("cmc").tolist()
    text = knnccv(f"retrieval people.npz {options}", people=PEOPLE)
    for part in (
        f"rank-1 {100 * exact.cmc[0]:.2f} %, rank-5 {100 * exact.cmc[4]:.2f} %",
        f"{100 * exact['ap'].score:.4f} %  error at most",
        f"scatters by {100 * exact.cmc_std()[0]:.2f} points, of ten by {100 * exact.cmc_std(10)[0]:.2f}",
        f"ap mean {100 * runs.mean('ap'):.2f}; one gallery scatters by {100 * runs.std('ap'):.2f}",
    ):
        assert part in text
    tied = DISTANCES.round(1)
    exact = expected_retrieval(tied, *PIDS, ties="random")
    assert retrieval("--ties random", distmat=tied, **IDS)["tied"] == exact.tied > 0


def test_features_and_names_of_arrays():
    rng = np.random.default_rng(1)
    sides = [rng.normal(size=(len(ids), 3)) + ids[:, None] for ids in PIDS]
    unit = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides]
    named = {"q": sides[0], "g": sides[1], "a": PIDS[0].astype(str), "b": PIDS[1].astype(str)}
    features = {"query_features": sides[0], "gallery_features": sides[1], **IDS}
    euclidean = ((sides[0][:, None] - sides[1]) ** 2).sum(axis=2)
    all_names = "--query-features q --gallery-features g --query-ids a --gallery-ids b"
    for options, arrays, apart, metric in (
        ("", features, euclidean, "euclidean"),
        (all_names, named, euclidean, "euclidean"),
        ("--metric cosine", features, 1 - unit[0] @ unit[1].T, "cosine"),
    ):
        found = retrieval(f"--scores ap {options}", **arrays)
        exact = expected_retrieval(apart, *PIDS, scores=("ap",))["ap"].score
        assert found["scores"]["ap"]["score"] == pytest.approx(exact, abs=1e-12)
        assert (found["metric"], found["cmc"]) == (metric, None)


def test_a_matrix_on_disk_is_not_read_at_once(monkeypatch):
    """Its identities and cameras are in an archive, in lists of numbers, or in lists of names."""
    modes, load = [], np.load
    monkeypatch.setattr(np, "load", lambda *a, **k: modes.append(k.get("mmap_mode")) or load(*a, **k))
    near = DISTANCES.astype(np.float32)
    lists = {name: "\n".join(map(str, values)) for name, values in (IDS | CAMERAS).items()}
    exact = expected_retrieval(near, *PIDS, market1501(), *CAMS)
    for options, files in (
        ("--ids q_pids.txt g_pids.txt --cams q_camids.txt g_camids.txt", lists),
        ("--ids ids.npz", {"ids": PEOPLE}),
    ):
        question = f"retrieval --distances D.npy {options} --protocol market1501 --scores cmc,ap"
        found = numbers(question, D=near, **files)
        assert (found["data"], found["cmc"]) == ("D.npy", exact.cmc.tolist())
        assert found["scores"]["ap"]["score"] == exact["ap"].score
    assert modes[0] == "r"
    names = {name: "\n".join("0" * value + "1" for value in values) for name, values in IDS.items()}
    found = numbers("retrieval --distances D.npy --ids q_pids.txt g_pids.txt --scores ap", D=near, **names)
    whole = expected_retrieval(near, *PIDS, scores=("ap",))
    assert found["scores"]["ap"]["score"] == whole["ap"].score


@pytest.mark.slow
def test_luck_of_the_identities_and_another_model():
    options = "--per-identity 2 --scores cmc,ap --max-rank 5 --compare other.npz"
    found = retrieval(f"{options} --jackknife")
    question = {"gallery": Gallery(per_identity=2), "max_rank": 5, "jackknife": "identity"}
    ours, theirs = (expected_retrieval(apart, *PIDS, **question) for apart in (DISTANCES, OTHER))
    assert found["scores"]["ap"]["standard_error"] == ours["ap"].standard_error > 0
    assert found["scores"]["cmc"]["standard_error"] == ours["cmc"].standard_error.tolist()
    compared = found["comparison"]["scores"]
    gain = ours["ap"].score - theirs["ap"].score
    assert found["comparison"]["data"] == "other.npz"
    assert compared["ap"]["other_score"] == theirs["ap"].score
    assert compared["ap"]["difference"] == pytest.approx(gain, abs=1e-14)
    assert compared["ap"]["standard_error"] == ours.difference(theirs, "ap").standard_error
    assert compared["cmc"]["difference"] == pytest.approx((ours.cmc - theirs.cmc).tolist(), abs=1e-14)
    assert 0 < compared["ap"]["error_bound"] < 1e-9
    text = retrieval(f"{options} --jackknife", ask=knnccv)
    for part in (
        f"standard error {100 * ours['ap'].standard_error:.2f} points for other identities (jackknife)",
        "with other.npz, in points (the first minus the second):",
        f"ap {100 * gain:+.2f}, standard error",
        f"rank-1 {100 * (ours.cmc[0] - theirs.cmc[0]):+.2f}",
    ):
        assert part in text
    plain = retrieval(options)["comparison"]["scores"]
    assert plain["ap"]["standard_error"] is None
    alone = f"retrieval people.npz {options.replace('other.npz', 'other.npy')}"
    assert numbers(alone, people=PEOPLE, other=OTHER)["comparison"]["scores"] == plain


def test_distractors_in_every_gallery():
    """The note of a jackknife that leaves out distractors names an option, which does what it says."""
    rng = np.random.default_rng(2)
    ids = np.repeat([1, 2, 3, 4], 2), np.r_[np.repeat([1, 2, 3, 4], 3), np.zeros(200, int)]
    apart = rng.random((8, 212)) + 0.4 * (ids[0][:, None] != ids[1])
    crowd = {"distmat": apart, "q_pids": ids[0], "g_pids": ids[1]}
    question = "retrieval people.npz --per-identity 1 --jackknife"
    text = knnccv(f"{question} --compare people.npz", people=crowd)
    assert text.count("knnccv: note: identity 0 has 200 of 212") == text.count("give --always 0,") == 1
    found = numbers(f"{question} --always 0", people=crowd)
    kept = expected_retrieval(apart, *ids, Gallery(per_identity=1), always=[0], jackknife="identity")
    assert found["cmc"] == kept.cmc.tolist()
    assert found["scores"]["ap"]["standard_error"] == kept["ap"].standard_error


@pytest.mark.usefixtures("mirrored", "cache")
def test_faces_without_a_file():
    """Five queries and five gallery images of each person, against a plain count of nearer images."""
    found = numbers("retrieval --per-identity 1 --scores cmc,ap")
    assert (found["data"], found["n_queries"], found["n_gallery"]) == ("ORL faces", 200, 200)
    assert (found["n_identities"], found["left_out"]) == (40, 0)
    assert numbers("retrieval --data orl --per-identity 1 --scores cmc,ap")["scores"] == found["scores"]
    faces = fetch_orl().X.reshape(40, 10, -1)
    queries, gallery = faces[:, :5].reshape(200, -1), faces[:, 5:].reshape(200, -1)
    right = 0.0
    for q, query in enumerate(queries):
        apart = ((gallery - query) ** 2).sum(axis=1).reshape(40, 5)
        own = q // 5
        for mine in apart[own]:
            nearer = (np.delete(apart, own, axis=0) < mine).sum(axis=1)
            right += np.prod(1 - nearer / 5) / 5 / 200
    assert found["cmc"][0] == pytest.approx(right, abs=1e-12)
    found = numbers("episodes --n-way 5 --n-shot 5")
    assert (found["data"], found["n_items"], found["n_classes"]) == ("ORL faces", 400, 40)
    assert 0.9 < found["score"] < 1


def test_episodes():
    X, y = ANIMALS["X"], ANIMALS["y"]
    found = numbers("episodes animals.npz --n-way 5 --n-shot 1", animals=ANIMALS)
    exact = expected_episodes(X, y, Episodes(5, 1))
    assert (found["score"], found["ways"]["2"]) == (exact.score, exact.ways[2])
    assert found["per_class"]["fox"] == exact.per_class["fox"]
    assert [found[name] for name in ("n_way", "n_shot", "n_items", "n_classes")] == [[5], [1], 48, 6]
    assert found["standard_error"] is found["sampled"] is None
    found = numbers("episodes animals.npz --n-way 3 --n-shot 2 --n-neighbors 3", animals=ANIMALS)
    assert (found["score"], found["n_neighbors"]) == (expected_episodes(X, y, Episodes(3, 2), 3).score, 3)


def test_episodes_of_several_sizes_and_prototypes():
    X, y = ANIMALS["X"], ANIMALS["y"]
    question = "episodes animals.npz --n-way 2-4 --n-shot 1,3 --metric cosine --jackknife"
    question += " --head prototype --repeats 50 --n-query 3"
    found, text = numbers(question, animals=ANIMALS), knnccv(question, animals=ANIMALS)
    several = Episodes(range(2, 5), (1, 3))
    exact = expected_episodes(X, y, several, metric="cosine", jackknife="class")
    assert (found["score"], found["standard_error"]) == (exact.score, exact.standard_error)
    how = {"n_episodes": 50, "n_query": 3, "head": "prototype", "metric": "cosine", "random_state": 0}
    few = sampled_episodes(X, y, several, control_variate=True, **how)
    assert (found["sampled"]["score"], found["sampled"]["r2"]) == (few.score, few.r2)
    low, high = few.confidence_interval()
    for part in (
        f"Accuracy   {exact.score:.6f}  exact",
        f"standard error {exact.standard_error:.4f} for other classes",
        f"prototype: {few.score:.4f}, 95 % interval {low:.4f} to {high:.4f}",
        f"scatters by {few.std:.4f}",
        f"R² {few.r2:.2f}",
    ):
        assert part in text
