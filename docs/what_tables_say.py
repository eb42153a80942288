"""Compute the larger figures of guide/what_tables_say.md, in some minutes on two processors.

    python docs/what_tables_say.py

All features are simulated, so that accuracies are those of the simulation.
"""

import numpy as np

from knnccv import Neighbors
from knnccv.episodes import Episodes, expected_episodes, sampled_episodes
from knnccv.retrieval import Gallery, SameIdentityAndCamera, expected_retrieval, sampled_retrieval

SCORES = ("cmc", "ap", "inp")
TRIALS = 300
PAIRS = 20_000


def people(n_ids, per_camera, n_probes, cams, probe_cams, blur=1.0, turn=1.0, seed=0):
    """Features, identities and cameras of probes and of a gallery, in which views of a person differ."""
    rng = np.random.default_rng(seed)
    person, view = rng.normal(size=(n_ids, 32)), rng.normal(size=(n_ids, 7, 32))
    g_pids, q_pids = (
        np.repeat(np.arange(n_ids), len(cams) * per_camera),
        np.repeat(np.arange(n_ids), n_probes),
    )
    g_cams = np.tile(np.repeat(cams, per_camera), n_ids)
    q_cams = np.resize(probe_cams, len(q_pids))
    images = []
    for ids, where in ((q_pids, q_cams), (g_pids, g_cams)):
        images.append(person[ids] + turn * view[ids, where] + blur * rng.normal(size=(len(ids), 32)))
    return Neighbors.between(*images, metric="cosine"), q_pids, g_pids, q_cams, g_cams


def wrong_order(first, second, rng, n=10):
    """How often means of n trials each, drawn apart, rank two models differently from the exact scores."""
    means = [rng.choice(trials, (PAIRS, n)).mean(axis=1) for trials in (first, second)]
    return float((means[0] < means[1]).mean())


def sysu():
    """Scatter of one gallery and of the mean of ten, in a problem of the size of SYSU-MM01."""
    for shots in (1, 10):
        sharp, blurred = (people(96, 14, 34, (1, 2, 4, 5), (3, 6), blur) for blur in (1.0, 1.01))
        gallery = Gallery.sysu(shots=shots)
        exact = expected_retrieval(*sharp[:3], gallery, *sharp[3:], scores=SCORES, jackknife="identity")
        runs = [
            sampled_retrieval(
                *data[:3], gallery, *data[3:], scores=SCORES, n_runs=TRIALS, random_state=seed
            )
            for seed, data in enumerate((sharp, blurred))
        ]
        other = expected_retrieval(*blurred[:3], gallery, *blurred[3:], scores=SCORES)
        near = sharp[0]
        print(f"\nSYSU-sized, {shots} shot: {near.n_queries} probes, {near.n_gallery} gallery images,")
        print(f"10^{len(str(exact.n_galleries)) - 1} galleries")
        for name in SCORES:
            score, one, ten, identities = (
                100 * np.ravel(values)[0]
                for values in (
                    exact[name].score,
                    runs[0].std(name),
                    runs[0].standard_error(name, 10),
                    exact[name].standard_error(),
                )
            )
            print(
                f"  {'rank-1' if name == 'cmc' else name}: exact {score:.2f}, one trial scatters by "
                f"{one:.2f}, the mean of ten by {ten:.2f}; other identities: {identities:.2f}"
            )
        gain = 100 * (exact.cmc[0] - other.cmc[0])
        wrong = wrong_order(*(r.trials["cmc"][:, 0] for r in runs), np.random.default_rng(0))
        print(
            f"  a model that is better by {gain:.2f} points loses in {100 * wrong:.0f} % of pairs of tables"
        )


def conventions():
    """Rectangle and trapezoid on the same distances."""
    near, q_pids, g_pids, q_cams, g_cams = people(200, 4, 3, range(1, 7), range(1, 7), 1.0, 0.5)
    mask = SameIdentityAndCamera(q_cams, g_cams)
    print(f"\nAP of {near.n_queries} queries, {near.n_gallery} gallery images of 200 identities:")
    galleries = {f"{k} per identity": Gallery(per_identity=k) for k in (1, 2, 4)} | {"all": Gallery("all")}
    for name, gallery in galleries.items():
        areas = [
            100 * expected_retrieval(near, q_pids, g_pids, gallery, exclude=mask, ap=ap)["ap"].score
            for ap in ("rectangle", "trapezoid")
        ]
        print(f"  {name}: {areas[0]:.1f} / {areas[1]:.1f}, {areas[0] - areas[1]:.1f} points apart")


def episodes(n_items=12_000, n_blocks=100):
    """Exact 5-way accuracy of 20 classes, and how often 600 episodes mistake the better model."""
    rng = np.random.default_rng(0)
    y = np.arange(n_items) % 20
    X = rng.normal(size=(20, 16))[y] + 1.5 * rng.normal(size=(n_items, 16))
    blurred = X + 0.2 * rng.normal(size=X.shape)
    for n_shot in (1, 5):
        design = Episodes(5, n_shot)
        exact = [expected_episodes(data, y, design, jackknife="class") for data in (X, blurred)]
        runs = [
            sampled_episodes(data, y, design, n_episodes=600 * n_blocks, random_state=seed)
            for seed, data in enumerate((X, blurred))
        ]
        means = [r.accuracies.reshape(n_blocks, 600).mean(axis=1) for r in runs]
        wrong = (means[0][:, None] < means[1]).mean()
        difference = exact[0].difference(exact[1])
        print(f"\n20 classes, {n_items} samples, 5-way {n_shot}-shot: exact {100 * exact[0].score:.2f}")
        print(f"  one episode scatters by {100 * runs[0].std:.2f} points:")
        for n in (600, 10_000):
            print(f"  {n} episodes: ±{196 * runs[0].std / n**0.5:.2f}")
        print(f"  other classes: standard error {100 * exact[0].standard_error():.2f}")
        print(
            f"  a model that is better by {100 * difference.difference:.2f} points (standard error "
            f"{100 * difference.standard_error():.2f} over classes) loses in {100 * wrong:.0f} % of pairs"
        )


if __name__ == "__main__":
    sysu()
    conventions()
    episodes()
