"""The pictures: they draw on the given axes, leave no figure open, and take the numbers of real results."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from pictures import RUNS, SCORES, cell, compared, made, retrieved

import knnccv
from knnccv import Subsample, complete_cv, monte_carlo_cv, plot
from knnccv.datasets import load_wine
from knnccv.retrieval import Gallery, expected_retrieval, sampled_retrieval

DRAW = {
    "learning_curve": lambda **more: plot.learning_curve(made(), **more),
    "validation_curve": lambda **more: plot.validation_curve(made(), **more),
    "surface": lambda **more: plot.surface(made(), **more),
    "cmc": lambda **more: plot.cmc(retrieved(), **more),
    "luck": lambda **more: plot.luck(RUNS, 0.55, **more),
    "critical_difference": lambda **more: plot.critical_difference(compared([0.9, 0.2], [(0, 1)]), **more),
}
every_picture = pytest.mark.parametrize("draw", DRAW.values(), ids=DRAW)


@pytest.fixture(autouse=True)
def _no_figures_left():
    plt.close("all")
    yield
    plt.close("all")


def band(axes, which=0):
    """The ranks or sizes, and the lower and the upper end of a band there."""
    points = np.unique(axes.collections[which].get_paths()[0].vertices.round(12), axis=0)
    places = np.unique(points[:, 0])
    ends = [points[points[:, 0] == place, 1] for place in places]
    return places.tolist(), [min(end) for end in ends], [max(end) for end in ends]


@every_picture
def test_it_draws_on_the_axes_given_or_opens_one_figure_and_leaves_others_alone(draw):
    figure, (given, other) = plt.subplots(1, 2)
    plt.sca(other)
    assert draw(ax=given) is given
    assert plt.gca() is other
    figure.canvas.draw()  # so that a bad artist shows
    plain = mpl.figure.Figure().subplots()
    assert draw(ax=plain) is plain
    assert plt.get_fignums() == [figure.number]
    axes = draw()
    assert (given.has_data(), other.has_data()) == (True, False)
    assert plt.get_fignums() == [figure.number, axes.figure.number]
    with pytest.raises((AttributeError, TypeError)):
        draw(no_such_property=1)
    with pytest.raises(TypeError, match="ax must be a matplotlib Axes or None, got 'left'"):
        draw(ax="left")
    assert len(plt.get_fignums()) == 2


def test_keywords_reach_the_artists():
    assert {line.get_linestyle() for line in plot.learning_curve(made(), ls=":").lines} == {":"}
    assert {line.get_color() for line in plot.validation_curve(made(), c="red").lines} == {"red"}
    mesh = plot.surface(made(), cmap="magma", vmin=-1).collections[0]
    assert (mesh.get_cmap().name, mesh.norm.vmin) == ("magma", -1)
    assert len(plot.luck(RUNS, 0.5, bins=2).containers[0]) == 2
    lines = plot.cmc({"a": retrieved(), "b": retrieved(0.1)}, marker="s").lines
    assert {line.get_marker() for line in lines} == {"s"}
    assert len({tuple(mpl.colors.to_rgb(line.get_color())) for line in lines}) == 2
    assert (
        plot.critical_difference(compared([0.9, 0.8], [(0, 1)]), linewidth=6).lines[-1].get_linewidth() == 6
    )


def test_many_lines_get_a_color_bar():
    many = made(np.linspace(0, 1, 24).reshape(12, 2), range(1, 13), [10, 20])
    axes = plot.learning_curve(many)
    assert axes.get_legend() is None
    (bar,) = [other for other in axes.figure.axes if other is not axes]
    assert (bar.get_ylabel(), bar.get_ylim()) == ("K", (1, 12))
    assert len({line.get_color() for line in axes.lines}) == 12
    plain = plot.learning_curve(many, c="black")
    assert plain.figure.axes == [plain]


@pytest.mark.parametrize("is_loss", [False, True])
def test_the_heat_map_holds_every_cell_in_its_place(is_loss):
    axes = plot.surface(made(is_loss=is_loss))
    mesh = axes.collections[0]
    corners, values = mesh.get_coordinates(), mesh.get_array().reshape(4, 3)
    for (row, column), value in np.ndenumerate(values):
        k, size = (1, 3, 5, 9)[row], (20, 45, 80)[column]
        (left, low), (right, high) = corners[row, column], corners[row + 1, column + 1]
        assert left < size < right
        assert low < k < high
        assert value == cell(k, size)
    assert axes.get_xticks().tolist() == [20, 45, 80]
    assert axes.get_yticks().tolist() == [1, 3, 5, 9]
    colors = mesh.get_cmap()(mesh.norm([SCORES.min(), SCORES.max()]))[:, :3].mean(axis=1)
    assert (colors[0] > colors[1]) == is_loss  # the better, the brighter


def test_bins_hold_equally_many_possible_scores():
    scores = np.random.default_rng(0).binomial(89, 0.7, 5000) / 89
    edges = np.array([bar.get_x() for bar in plot.luck(scores, 0.7).containers[0]])
    number = np.diff(edges) * 89
    np.testing.assert_allclose(number, number[0].round(), atol=1e-6)
    np.testing.assert_allclose(edges * 89 % 1, 0.5, atol=1e-6)  # no score lies on a border


class TestRealResults:
    def test_a_surface(self):
        X = np.random.default_rng(0).normal(size=(60, 2))
        y = (X[:, 0] > 0).astype(int)
        result = knnccv.surface(X, y, [1, 3], [24, 40])
        low, high = result.confidence_interval(0.8, n_halvings=5)
        for x, sizes in (("train_size", [24, 40]), ("n_neighbors", [1, 3])):
            axes = result.plot(x, interval=0.8, n_halvings=5)
            for which in (0, 1):
                places, *found = band(axes, which)
                cells = np.s_[which] if x == "train_size" else np.s_[:, which]
                assert places == sizes
                assert found == [pytest.approx(low[cells]), pytest.approx(high[cells])]
        weighed = knnccv.surface(X, y, [1, 3], [40], average="class")
        assert (
            weighed.plot().get_ylabel() == weighed.plot("n_neighbors").get_ylabel() == "balanced accuracy"
        )
        ranks = knnccv.surface(X, y, [1, 3], [40], "rank")
        assert plot.learning_curve(ranks).get_ylabel() == "rank-R accuracy (CMC at rank R)"

    def test_runs(self):
        wine, design = load_wine(), Subsample(0.5)
        runs = monte_carlo_cv(wine.X, wine.y, "nn", design, n_runs=40, random_state=0)
        exact = complete_cv(wine.X, wine.y, "nn", design)
        axes = plot.luck(runs, exact, density=True)
        assert axes.lines[-1].get_xdata()[0] == exact.score
        assert sum(bar.get_height() * bar.get_width() for bar in axes.containers[0]) == pytest.approx(1)
        assert axes.get_ylabel() == "density"
        runs = monte_carlo_cv(wine.X, wine.y, "nn", design, n_runs=3, loss=1 - np.eye(3))
        assert plot.luck(runs, 0.3).get_xlabel() == "expected loss of one random run"

    def test_retrieval_and_its_trials(self):
        ids = np.arange(30) % 6
        distances = np.random.default_rng(0).random((30, 30)) + 0.3 * (ids[:, None] != ids)
        exact = expected_retrieval(distances, ids, ids, Gallery(per_identity=1), max_rank=6)
        runs = sampled_retrieval(distances, ids, ids, Gallery(per_identity=1), max_rank=6, n_runs=5)
        axes = plot.cmc(exact, trials=runs)
        assert axes.lines[0].get_ydata().tolist() == exact.cmc.tolist()
        assert band(axes)[1] == pytest.approx(np.maximum(exact.cmc - runs.std("cmc"), 0).tolist())
        low = band(plot.cmc(exact, mean_of=10))[1]
        assert low == pytest.approx((exact.cmc - exact.cmc_std(10)).tolist())
