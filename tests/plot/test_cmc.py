"""CMC curves, and their bands."""

from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest

from knnccv import plot
from knnccv.retrieval import Gallery, expected_retrieval, sampled_retrieval

mpl.use("Agg")
import matplotlib.pyplot as plt

CURVE = np.array([0.5, 0.7, 0.95])
STD = np.array([0.1, 0.08, 0.06])


def result(curve=CURVE, rank="image"):
    """A result of made-up numbers, drawn anew for every query."""
    return SimpleNamespace(
        scores={"cmc": None}, cmc=np.array(curve), cmc_std=lambda n: STD / np.sqrt(n), rank=rank
    )


TRIALS = SimpleNamespace(trials={}, std=lambda name: {"cmc": 2 * STD}[name])


def band(collection):
    """The lower and the upper end of a band at each rank."""
    points = np.unique(collection.get_paths()[0].vertices.round(12), axis=0)
    ranks = np.unique(points[:, 0])
    ends = [points[points[:, 0] == rank, 1] for rank in ranks]
    return ranks.tolist(), [min(end) for end in ends], [max(end) for end in ends]


def texts(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_one_curve():
    axes = plot.cmc(result())
    (line,) = axes.lines
    assert line.get_xdata().tolist() == [1, 2, 3]
    assert line.get_ydata().tolist() == CURVE.tolist()
    assert not axes.collections
    assert axes.get_legend() is None
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("rank", "share of queries found (CMC)")
    assert plot.cmc(result(rank="identity"), max_rank=2).get_xlabel() == "rank (identities)"
    assert len(plt.gca().lines[0].get_xdata()) == 2


@pytest.mark.parametrize("n_repeats", [1, 4])
def test_bands_without_trials_are_those_of_the_result(n_repeats):
    axes = plot.cmc(result(), n_repeats=n_repeats)
    ranks, low, high = band(axes.collections[0])
    width = STD / np.sqrt(n_repeats)
    assert ranks == [1, 2, 3]
    assert low == pytest.approx((CURVE - width).tolist())
    assert high == pytest.approx(np.minimum(CURVE + width, 1).tolist())
    of = "one random gallery" if n_repeats == 1 else "the mean of 4 random galleries"
    assert texts(axes) == ["expected CMC", f"± standard deviation of {of}"]


def test_bands_of_trials():
    axes = plot.cmc(result(), trials=TRIALS, max_rank=2)
    ranks, low, _ = band(axes.collections[0])
    assert (ranks, low) == ([1, 2], pytest.approx((CURVE - 2 * STD)[:2].tolist()))
    _, low, _ = band(plot.cmc(result(), trials=TRIALS, n_repeats=16).collections[0])
    assert low == pytest.approx((CURVE - STD / 2).tolist())


def test_several_results_and_trials_of_one():
    axes = plot.cmc(
        {"ours": result(), "theirs": result(CURVE - 0.1)}, trials={"theirs": TRIALS}, marker="s"
    )
    assert [line.get_label() for line in axes.lines] == ["ours", "theirs"]
    assert {line.get_marker() for line in axes.lines} == {"s"}
    assert (
        len(
            {
                line.get_color() if isinstance(line.get_color(), str) else tuple(line.get_color())
                for line in axes.lines
            }
        )
        == 2
    )
    assert len(axes.collections) == 1
    assert band(axes.collections[0])[1] == pytest.approx((CURVE - 0.1 - 2 * STD).tolist())
    assert texts(axes) == ["ours", "theirs", "± standard deviation of one random gallery"]
    assert texts(plot.cmc({"ours": result()})) == ["ours"]


def test_a_result_and_its_trials():
    ids = np.arange(30) % 6
    distances = np.random.default_rng(0).random((30, 30)) + 0.3 * (ids[:, None] != ids)
    gallery = Gallery(per_identity=1)
    exact = expected_retrieval(distances, ids, ids, gallery, max_rank=6)
    runs = sampled_retrieval(distances, ids, ids, gallery, max_rank=6, n_repeats=5)
    axes = plot.cmc(exact, trials=runs)
    assert axes.lines[0].get_ydata().tolist() == exact.cmc.tolist()
    _, low, _ = band(axes.collections[0])
    assert low == pytest.approx(np.maximum(exact.cmc - runs.std("cmc"), 0).tolist())
    _, low, _ = band(plot.cmc(exact, n_repeats=10).collections[0])
    assert low == pytest.approx((exact.cmc - exact.cmc_std(10)).tolist())
    shared = expected_retrieval(distances, ids, ids, Gallery(shots=1))
    with pytest.raises(ValueError, match="cmc_std needs galleries that are drawn anew for every query"):
        plot.cmc(shared, n_repeats=1)
    with pytest.raises(KeyError, match="this result has ap"):
        plot.cmc(expected_retrieval(distances, ids, ids, scores=("ap",)))
    with pytest.raises(ValueError, match="trials have 6 ranks, the result has 50"):
        plot.cmc(shared, trials=runs)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: plot.cmc(CURVE), TypeError, "results must be a result of expected_retrieval"),
        (lambda: plot.cmc({}), ValueError, "results must have at least one result"),
        (lambda: plot.cmc(result(), max_rank=0), ValueError, "max_rank must be"),
        (lambda: plot.cmc(result(), n_repeats=0), ValueError, "n_repeats must be"),
        (lambda: plot.cmc(result(), trials=3), TypeError, "trials must be a result of sampled_retrieval"),
        (lambda: plot.cmc({"a": result()}, trials=TRIALS), TypeError, "trials must be a mapping"),
        (
            lambda: plot.cmc({"a": result()}, trials={"b": TRIALS}),
            ValueError,
            r"trials must have the names of results \(a\), got 'b'",
        ),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
    assert not plt.get_fignums()
