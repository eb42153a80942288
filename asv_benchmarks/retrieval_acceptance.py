"""Times and memory of retrieval and episodes, beside their limits, as one Markdown table.

    python retrieval_acceptance.py                       # everything; about ten minutes
    python retrieval_acceptance.py market sysu           # some of market, sysu, episodes, memory
    python retrieval_acceptance.py market --cython rank_cy.cpython-311-x86_64-linux-gnu.so
    python retrieval_acceptance.py --tests               # also the tests of the other requirements
    python retrieval_acceptance.py --scale 0.2           # smaller, to see that it runs

Times are CPU seconds of one thread. What is compared runs in turn in one process; a ratio is the median of
the rounds' ratios. The data are synthetic and have the sizes of Market-1501, SYSU-MM01 and miniImageNet's
test classes. ``--cython`` takes the compiled evaluation of torchreid or fastreid in place of the one here,
which does the same steps.
"""

import argparse
import importlib.util
import platform
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from numba import njit
from threadpoolctl import threadpool_limits

from knnccv import Neighbors
from knnccv.episodes import Episodes, expected_episodes
from knnccv.retrieval import Gallery, SameIdentityAndCamera, expected_retrieval

ROOT = Path(__file__).resolve().parents[1]
HEADER = """
| what | seconds | compared with | seconds | ratio | limit | met |
|---|---|---|---|---|---|---|"""
TESTS = {
    "1, enumeration": ["retrieval/test_enumeration.py", "episodes/test_enumeration.py"],
    "2, definitions without a draw": [
        "retrieval/test_definitions.py",
        "retrieval/test_public_definitions.py",
    ],
    "3, draws": ["retrieval/test_sampled.py", "episodes/test_sampled.py"],
    "4 and 5, bounds, threads, ties": ["retrieval/test_retrieval.py"],
    "2 and 3, public packages": ["retrieval/test_packages.py", "episodes/test_packages.py"],
    "bad input": ["retrieval/test_refused_inputs.py", "episodes/test_refused_episodes.py"],
}
MEMORY_LIMIT = 1.0  # GB


def cpu_seconds(call):
    before = time.process_time()
    call()
    return time.process_time() - before


def row(what, seconds, other, others, limit):
    """A line for the ratio of two lists of seconds; no limit: None."""
    ratio = float(np.median(np.array(seconds) / np.array(others)))
    met = "" if limit is None else "yes" if ratio <= limit else "NO"
    shown = "" if limit is None else f"{limit:g}"
    cells = (
        what,
        f"{np.median(seconds):.3g}",
        other,
        f"{np.median(others):.3g}",
        f"{ratio:.3g}",
        shown,
        met,
    )
    print(f"| {' | '.join(cells)} |", flush=True)


def rounds(calls, n_rounds):
    """CPU seconds of every call in every round, {name: list}."""
    taken = {name: [] for name in calls}
    for _ in range(n_rounds):
        for name, call in calls.items():
            taken[name].append(cpu_seconds(call))
    return taken


@njit
def market_loops(indices, matches, query_ids, ids, query_cams, cams, max_rank):
    """CMC, AP and INP of all queries from the sorted gallery: the loops of the compiled public code."""
    n_queries, n_gallery = indices.shape
    curve, precisions, inverses = np.zeros(max_rank), np.zeros(n_queries), np.zeros(n_queries)
    kept = np.empty(n_gallery, np.float32)
    n_valid = 0
    for q in range(n_queries):
        n_kept, any_right = 0, False
        for place in range(n_gallery):
            item = indices[q, place]
            if ids[item] != query_ids[q] or cams[item] != query_cams[q]:
                kept[n_kept] = matches[q, place]
                n_kept += 1
                any_right |= matches[q, place] > 0
        if not any_right:
            continue
        found, total, last = 0.0, 0.0, 0
        for place in range(n_kept):
            if kept[place] > 0:
                found += 1
                total += found / (place + 1)
                last = place + 1
            if place < max_rank and found > 0:
                curve[place] += 1
        precisions[n_valid], inverses[n_valid] = total / found, found / last
        n_valid += 1
    return curve / n_valid, precisions[:n_valid].mean(), inverses[:n_valid].mean()


def compiled_market(distances, query_ids, ids, query_cams, cams, max_rank):
    indices = np.argsort(distances, axis=1)
    matches = (ids[indices] == query_ids[:, None]).astype(np.int64)
    return market_loops(indices, matches, query_ids, ids, query_cams, cams, max_rank)


def reid(n_queries, n_gallery, n_ids, n_cams, seed=0):
    """Distances of a re-identification test set: the right items are nearer, some much."""
    rng = np.random.default_rng(seed)
    query_ids, ids = rng.integers(0, n_ids, n_queries), rng.integers(0, n_ids, n_gallery)
    query_cams, cams = rng.integers(1, n_cams + 1, n_queries), rng.integers(1, n_cams + 1, n_gallery)
    centers = rng.normal(size=(n_ids, 32))
    queries = centers[query_ids] + 1.1 * rng.normal(size=(n_queries, 32))
    gallery = centers[ids] + 1.1 * rng.normal(size=(n_gallery, 32))
    squares = (queries**2).sum(axis=1)[:, None] + (gallery**2).sum(axis=1) - 2 * queries @ gallery.T
    return squares.astype(np.float32), query_ids, ids, query_cams, cams


def market(scale, n_rounds, cython):
    problem = reid(int(3368 * scale), int(19127 * scale), max(int(750 * scale), 3), 6)
    distances, query_ids, ids, query_cams, cams = problem
    scores = ("ap", "rr", "inp", "cmc")
    exact = partial(
        expected_retrieval, distances, query_ids, ids, Gallery(per_identity=1),
        exclude=SameIdentityAndCamera(query_cams, cams), scores=scores, max_rank=50, n_jobs=1,
    )  # fmt: skip
    whole = partial(exact.func, *exact.args[:3], Gallery("all"), **exact.keywords)
    once = partial(compiled_market, *problem, 50)
    other = "one compiled Market-1501 evaluation"
    if cython:
        spec = importlib.util.spec_from_file_location("rank_cy", cython)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        once, other = partial(module.evaluate_cy, *problem, 50), "one evaluate_cy"
    curve, mean, *_ = compiled_market(*problem, 50)
    for call in (exact, whole):
        found = call()
    assert abs(found["ap"].score - mean) < 1e-5  # np.argsort puts the few equal distances in any order
    assert np.abs(found.cmc - curve).max() < 1e-3
    calls = {"exact": exact, "whole": whole, "once": once, "sort": lambda: np.argsort(distances, axis=1)}
    taken = rounds(calls, n_rounds)
    size = f"{distances.shape[0]} x {distances.shape[1]}"
    row(
        f"Market-sized {size}, 1 per identity, AP, RR, INP, CMC(50)",
        taken["exact"],
        other,
        taken["once"],
        0.5,
    )
    row("the same", taken["exact"], "np.argsort of the distances", taken["sort"], 2.0)
    row("the same, whole gallery", taken["whole"], other, taken["once"], None)


def sysu_trial(distances, query_ids, ids, query_cams, cams, shots, seed, *, by_lists):
    """CMC on identity ranks, mAP and mINP of one random gallery: query by query, in NumPy.

    With `by_lists` the precisions are a list over all ranks, as in the public code.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(ids))
    cell = (ids * 10 + cams)[order]
    by_cell = np.argsort(cell, kind="stable")
    first = np.flatnonzero(np.diff(cell[by_cell], prepend=-1))
    place = np.arange(len(ids)) - np.repeat(first, np.diff(np.append(first, len(ids))))
    drawn = np.sort(order[by_cell[place < shots]])
    indices = np.argsort(distances[:, drawn], axis=1)
    ranked_ids, ranked_cams = ids[drawn][indices], cams[drawn][indices]
    curves, precisions, inverses = [], [], []
    for q in range(len(distances)):
        kept = ~((query_cams[q] == 3) & (ranked_cams[q] == 2))
        ranked = ranked_ids[q][kept]
        hits = ranked == query_ids[q]
        if not hits.any():
            continue
        once = ranked[np.sort(np.unique(ranked, return_index=True)[1])]
        curve = np.cumsum(once == query_ids[q])
        curves.append(np.pad(curve[:50], (0, max(50 - len(curve), 0)), constant_values=1))
        found = hits.cumsum()
        if by_lists:
            precision = np.asarray([x / (i + 1.0) for i, x in enumerate(found)])
        else:
            precision = found / np.arange(1, len(found) + 1)
        precisions.append((precision * hits).sum() / hits.sum())
        inverses.append(hits.sum() / (np.flatnonzero(hits)[-1] + 1))
    return np.mean(curves, axis=0), np.mean(precisions), np.mean(inverses)


def sysu(scale, n_rounds, cython):  # noqa: ARG001
    distances, query_ids, ids, query_cams, cams = reid(int(3327 * scale), int(5321 * scale), 96, 4, 1)
    rng = np.random.default_rng(2)
    query_cams = rng.choice([3, 6], len(query_ids))
    cams = np.array([0, 1, 2, 4, 5])[cams]
    absent = rng.permutation(96 * 4)[: 384 - 305]  # identities that some cameras have not seen
    away = np.isin(ids * 4 + np.searchsorted([1, 2, 4, 5], cams), absent)
    cams[away] = 1
    problem = distances, query_ids, ids, query_cams, cams
    size = f"{distances.shape[0]} x {distances.shape[1]}"
    for shots, limit in ((1, 1.0), (10, 0.2)):
        exact = partial(
            expected_retrieval, distances, query_ids, ids, Gallery.sysu(shots=shots), query_cams, cams,
            scores=("ap", "rr", "inp", "cmc"), max_rank=50, n_jobs=1,
        )  # fmt: skip
        lean = partial(sysu_trial, *problem, shots, 0, by_lists=False)
        public = partial(sysu_trial, *problem, shots, 0, by_lists=True)
        exact()
        taken = rounds({"exact": exact, "lean": lean, "public": public}, n_rounds)
        what = f"SYSU-sized {size}, {shots} per identity and camera, AP, RR, INP, CMC(50)"
        row(what, taken["exact"], "one trial, NumPy, lists as in the public code", taken["public"], limit)
        row("the same", taken["exact"], "one trial, NumPy arrays only", taken["lean"], None)


def products(X):
    """The matrix products of all pairs of rows, in blocks."""
    step = max(2**24 // (8 * len(X)), 16)
    for start in range(0, len(X), step):
        X[start : start + step] @ X.T


def lean_episodes(X, y, n_episodes, n_shot, rng):
    """The accuracy of the nearest support in random 5-way episodes of 15 queries a class."""
    members = [np.flatnonzero(y == c) for c in range(y.max() + 1)]
    right = []
    for _ in range(n_episodes):
        drawn = [
            rng.choice(members[c], n_shot + 15, replace=False)
            for c in rng.choice(len(members), 5, replace=False)
        ]
        supports = np.concatenate([items[:n_shot] for items in drawn])
        queries = np.concatenate([items[n_shot:] for items in drawn])
        gaps = (X[supports] ** 2).sum(axis=1) - 2 * X[queries] @ X[supports].T
        right.append((y[supports][gaps.argmin(axis=1)] == y[queries]).mean())
    return np.mean(right)


def episodes(scale, n_rounds, cython):  # noqa: ARG001
    rng = np.random.default_rng(3)
    n = max(int(12_000 * scale) // 20, 10) * 20
    y = np.arange(n) % 20
    X = rng.normal(size=(20, 640))[y] * 0.25 + rng.normal(size=(n, 640))
    small = np.ascontiguousarray(X[:400])
    for shot in (1, 5):
        for all_ways in (True, False):
            expected_episodes(small, y[:400], Episodes(5, shot), all_ways=all_ways, n_jobs=1)
        ways = {
            name: partial(expected_episodes, X, y, Episodes(5, shot), all_ways=flag, n_jobs=1)
            for name, flag in (("one", False), ("all", True))
        }
        calls = ways | {
            "products": partial(products, X),
            "600": partial(lean_episodes, X, y, 600, shot, np.random.default_rng(0)),
        }
        with threadpool_limits(1):
            taken = rounds(calls, n_rounds)
        what = f"{n} x 640, 20 classes, 5-way {shot}-shot"
        row(what, taken["one"], "the matrix products alone", taken["products"], 2.5)
        row("the same", taken["one"], "600 episodes, lean NumPy", taken["600"], None)
        counting = {name: np.array(taken[name]) - np.array(taken["products"]) for name in ways}
        row("counting of all ways", counting["all"], "counting of 5 ways", counting["one"], 2.0)


def resident(what):
    """GB of a line of /proc/self/status: VmRSS is now, VmHWM the largest since `forget_the_peak`."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(what):
            return int(line.split()[1]) / 1e6 * 1.024
    raise ValueError(what)


def forget_the_peak():
    Path("/proc/self/clear_refs").write_text("5")


def measure_memory(scale):
    """Print the memory beside the features; runs in a process of its own, under Linux."""
    rng = np.random.default_rng(4)
    n_queries, n_gallery = int(10_000 * scale), int(100_000 * scale)
    query_ids, ids = rng.integers(0, 5000, n_queries), rng.integers(0, 5000, n_gallery)
    centers = rng.normal(size=(5000, 128))
    queries = centers[query_ids] + 1.5 * rng.normal(size=(n_queries, 128))
    gallery = centers[ids] + 1.5 * rng.normal(size=(n_gallery, 128))
    scores = ("ap", "rr", "inp", "cmc")
    ask = partial(expected_retrieval, scores=scores, max_rank=50)
    ask(
        Neighbors.between(queries[:64], gallery[:300]), ids[:64] % 9, ids[:300] % 9, Gallery(per_identity=1)
    )
    del centers
    forget_the_peak()
    before = resident("VmRSS")
    started = time.process_time()
    near = Neighbors.between(queries, gallery)
    ask(near, query_ids, ids, Gallery(per_identity=1))
    print(resident("VmHWM") - before, time.process_time() - started)


def memory(scale, n_rounds, cython):  # noqa: ARG001
    out = subprocess.run(
        [sys.executable, __file__, "--measure-memory", "--scale", str(scale)],
        check=True, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
    used, seconds = map(float, out)
    what = f"memory, {10**4 * scale:g} x {10**5 * scale:g} x 128, 1 of 5000 identities each"
    met = "yes" if used < MEMORY_LIMIT else "NO"
    cells = (
        what,
        f"{seconds:.3g}",
        "beside the features",
        "",
        f"{used:.3g} GB",
        f"{MEMORY_LIMIT:g} GB",
        met,
    )
    print(f"| {' | '.join(cells)} |", flush=True)


PARTS = {"market": market, "sysu": sysu, "episodes": episodes, "memory": memory}


def run_tests():
    """Run the tests of the requirements that are no times."""
    print("\n| requirement | result |\n|---|---|")
    for what, files in TESTS.items():
        paths = [str(ROOT / "tests" / name) for name in files]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-m", "", "-n", "0", *paths],
            cwd=ROOT, check=False, capture_output=True, text=True,
        )  # fmt: skip
        print(
            f"| {what} | {(done.stdout.strip().splitlines() or ['nothing'])[-1].strip('= ')} |", flush=True
        )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}; default: all")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="factor of all numbers of items")
    parser.add_argument("--cython", help="a compiled rank_cy of torchreid or fastreid")
    parser.add_argument("--tests", action="store_true", help="also run the tests of the other requirements")
    parser.add_argument("--measure-memory", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    for part in options.parts:
        if part not in PARTS:
            parser.error(f"part must be one of {', '.join(PARTS)}, got {part!r}")
    if options.measure_memory:
        measure_memory(options.scale)
        return
    print(f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}")
    print(HEADER)
    for part in options.parts or PARTS:
        PARTS[part](options.scale, options.rounds, options.cython)
    if options.tests:
        run_tests()


if __name__ == "__main__":
    main()
