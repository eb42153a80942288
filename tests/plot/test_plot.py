"""The pictures: the numbers are drawn on the given axes, and no figure is left open."""

import math
import subprocess
import sys
from fractions import Fraction
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest

import knnccv
from knnccv import MonteCarloCV, Subsample, complete_cv, monte_carlo_cv, plot
from knnccv.curves._surface_result import Surface

mpl.use("Agg")
import matplotlib.pyplot as plt

SCORES = np.array([[0.5, 0.7, 0.6], [0.9, 0.3, 0.4], [0.1, 0.8, 0.2], [0.55, 0.65, 0.45]])
NEIGHBORS = [9, 1, 5, 3]
SIZES = [80, 20, 45]


def made(scores=SCORES, n_neighbors=NEIGHBORS, train_sizes=SIZES, **kwargs):
    """A surface of made-up numbers, neither axis in order."""
    zero = np.zeros(np.shape(scores))
    return Surface(np.array(scores), zero, np.array(n_neighbors), np.array(train_sizes), zero, **kwargs)


def cell(k, size):
    return SCORES[NEIGHBORS.index(k), SIZES.index(size)]


REPORT = {
    "n_items": 6,
    "n_tied": 4,
    "score": 0.51,
    "lowest": 0.4,
    "highest": 0.625,
    "exact_range": True,
    "per_item": np.array([0.3, 1.0, 0.5, math.nan, 0.25, 0.75]),
    "per_item_lowest": np.array([0.2, 1.0, 0.1, math.nan, 0.25, 0.7]),
    "per_item_highest": np.array([0.5, 1.0, 0.9, math.nan, 0.25, 0.8]),
}
WIDEST_FIRST = [2, 0, 5]


def report(**changes):
    return SimpleNamespace(**{**REPORT, **changes})


RETRIEVAL = SimpleNamespace(scores={}, cmc=np.array([0.5, 0.75, 1.0]), cmc_std=None, rank="image")
RUNS = np.array([0.5, 0.625, 0.625, 0.75, 0.375, 0.5])
DRAW = {
    "learning_curve": lambda **more: plot.learning_curve(made(), **more),
    "validation_curve": lambda **more: plot.validation_curve(made(), **more),
    "surface": lambda **more: plot.surface(made(), **more),
    "tie_report": lambda **more: plot.tie_report(report(), **more),
    "cmc": lambda **more: plot.cmc(RETRIEVAL, **more),
    "luck": lambda **more: plot.luck(RUNS, 0.55, **more),
}
every_picture = pytest.mark.parametrize("draw", DRAW.values(), ids=DRAW)


def drawn(axes):
    """Lay everything out, so that a bad artist shows."""
    axes.figure.canvas.draw()
    return axes


def texts(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


@every_picture
def test_it_draws_on_the_axes_given_and_opens_no_figure(draw):
    figure, (given, other) = plt.subplots(1, 2)
    plt.sca(other)
    assert draw(ax=given) is given
    assert plt.get_fignums() == [figure.number]
    assert plt.gca() is other
    assert not other.has_data()
    assert given.has_data()
    drawn(given)


@every_picture
def test_without_axes_it_opens_one_figure_and_leaves_others_alone(draw):
    _, mine = plt.subplots()
    axes = drawn(draw())
    assert axes is not mine
    assert not mine.has_data()
    assert len(plt.get_fignums()) == 2
    assert axes.figure.number in plt.get_fignums()


@every_picture
def test_a_figure_without_pyplot_will_do(draw):
    figure = mpl.figure.Figure()
    axes = figure.subplots()
    assert draw(ax=axes) is axes
    drawn(axes)
    assert plt.get_fignums() == []


@every_picture
def test_a_failure_leaves_no_figure_behind(draw):
    with pytest.raises((AttributeError, TypeError)):
        draw(no_such_property=1)
    with pytest.raises(TypeError, match="ax must be a matplotlib Axes or None, got 'left'"):
        draw(ax="left")
    assert plt.get_fignums() == []


@every_picture
def test_every_axis_has_a_name(draw):
    axes = draw()
    assert axes.get_xlabel()
    assert axes.get_ylabel()


@every_picture
def test_without_matplotlib_the_command_is_named(draw, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)
    with pytest.raises(ImportError, match=r"pip install 'knnccv\[plot\]'"):
        draw()


def test_learning_curves_are_the_rows_in_order():
    axes = drawn(plot.learning_curve(made()))
    assert [line.get_label() for line in axes.lines] == ["1", "3", "5", "9"]
    for line in axes.lines:
        k = int(line.get_label())
        assert line.get_xdata().tolist() == [20, 45, 80]
        assert line.get_ydata().tolist() == [cell(k, size) for size in (20, 45, 80)]
    assert axes.get_xlabel() == "training samples"
    assert axes.get_ylabel() == "mean score"
    assert axes.get_legend().get_title().get_text() == "K"
    assert texts(axes) == ["1", "3", "5", "9"]


def test_validation_curves_are_the_columns_in_order():
    axes = drawn(plot.validation_curve(made(is_loss=True, variant="rank")))
    assert [line.get_label() for line in axes.lines] == ["20", "45", "80"]
    for line in axes.lines:
        size = int(line.get_label())
        assert line.get_xdata().tolist() == [1, 3, 5, 9]
        assert line.get_ydata().tolist() == [cell(k, size) for k in (1, 3, 5, 9)]
    assert axes.get_xlabel() == "R"
    assert axes.get_ylabel() == "expected loss"
    assert axes.get_legend().get_title().get_text() == "training samples"


@pytest.mark.parametrize("chosen", [[5, 1], (1, 5), np.array([5, 1])])
def test_curves_of_some(chosen):
    axes = plot.learning_curve(made(), chosen)
    assert [line.get_label() for line in axes.lines] == ["1", "5"]
    assert axes.lines[1].get_ydata().tolist() == [cell(5, size) for size in (20, 45, 80)]
    (line,) = plot.validation_curve(made(), train_sizes=45).lines
    assert line.get_ydata().tolist() == [cell(k, 45) for k in (1, 3, 5, 9)]


def test_many_lines_get_a_color_bar():
    many = made(np.linspace(0, 1, 24).reshape(12, 2), range(1, 13), [10, 20])
    axes = drawn(plot.learning_curve(many))
    assert axes.get_legend() is None
    (bar,) = [other for other in axes.figure.axes if other is not axes]
    assert bar.get_ylabel() == "K"
    assert bar.get_ylim() == (1, 12)
    assert len({line.get_color() for line in axes.lines}) == 12
    plain = plot.learning_curve(many, c="black")
    assert plain.figure.axes == [plain]


def test_the_method_of_the_surface_draws_the_same():
    for x, draw in [("train_size", plot.learning_curve), ("n_neighbors", plot.validation_curve)]:
        pairs = zip(made().plot(x).lines, draw(made()).lines, strict=True)
        for one, other in pairs:
            np.testing.assert_array_equal(one.get_xydata(), other.get_xydata())
            assert one.get_color() == other.get_color()


def test_keywords_reach_the_artists():
    assert {line.get_linestyle() for line in plot.learning_curve(made(), ls=":").lines} == {":"}
    assert {line.get_color() for line in plot.validation_curve(made(), c="red").lines} == {"red"}
    mesh = plot.surface(made(), cmap="magma", vmin=-1).collections[0]
    assert mesh.get_cmap().name == "magma"
    assert mesh.norm.vmin == -1
    ranges = plot.tie_report(report(), colors="green", label="range").collections[0]
    assert ranges.get_label() == "range"
    np.testing.assert_array_equal(ranges.get_colors()[0], mpl.colors.to_rgba("green"))
    assert len(plot.luck(RUNS, 0.5, bins=2).containers[0]) == 2


@pytest.mark.parametrize("is_loss", [False, True])
def test_the_heat_map_holds_every_cell_in_its_place(is_loss):
    result = made(is_loss=is_loss)
    axes = drawn(plot.surface(result))
    mesh = axes.collections[0]
    corners = mesh.get_coordinates()
    values = mesh.get_array().reshape(4, 3)
    for row, k in enumerate((1, 3, 5, 9)):
        for column, size in enumerate((20, 45, 80)):
            (left, low), (right, high) = corners[row, column], corners[row + 1, column + 1]
            assert left < size < right
            assert low < k < high
            assert values[row, column] == cell(k, size)
    (marks,) = axes.lines
    best = min if is_loss else max
    wanted = [best(NEIGHBORS, key=lambda k, size=size: cell(k, size)) for size in (20, 45, 80)]
    assert marks.get_xdata().tolist() == [20, 45, 80]
    assert marks.get_ydata().tolist() == wanted
    assert texts(axes) == ["best K"]
    assert axes.get_xticks().tolist() == [20, 45, 80]
    assert axes.get_yticks().tolist() == [1, 3, 5, 9]
    (bar,) = [other for other in axes.figure.axes if other is not axes]
    assert bar.get_ylabel() == ("expected loss" if is_loss else "mean score")
    colors = mesh.get_cmap()(mesh.norm([SCORES.min(), SCORES.max()]))[:, :3].mean(axis=1)
    assert (colors[0] > colors[1]) == is_loss  # the better, the brighter


def test_the_heat_map_of_one_row_or_one_column():
    axes = drawn(plot.surface(made(SCORES[:1], [1], variant="nn")))
    assert axes.get_ylim() == (0.5, 1.5)
    axes = drawn(plot.surface(made(SCORES[:, :1], train_sizes=[80])))
    assert axes.get_xlim() == (79.5, 80.5)
    assert axes.collections[0].get_array().shape == (4, 1)


def test_a_value_asked_for_twice_is_one_cell():
    axes = drawn(plot.surface(made(SCORES[[1, 1, 0]], [1, 1, 9])))
    assert axes.collections[0].get_array().shape == (2, 3)


def test_the_tie_report_shows_the_samples_with_a_range_widest_first():
    axes = drawn(plot.tie_report(report()))
    segments = axes.collections[0].get_segments()
    assert len(segments) == len(WIDEST_FIRST)
    for place, (item, segment) in enumerate(zip(WIDEST_FIRST, segments, strict=True)):
        low, high = REPORT["per_item_lowest"][item], REPORT["per_item_highest"][item]
        assert segment.tolist() == [[place, low], [place, high]]
    overall, scores = axes.lines
    assert set(overall.get_ydata()) == {0.51}
    assert scores.get_ydata().tolist() == REPORT["per_item"][WIDEST_FIRST].tolist()
    assert [label.get_text() for label in axes.get_xticklabels()] == ["2", "0", "5"]
    band = axes.patches[0].get_bbox()
    assert (band.y0, band.y1) == (0.4, 0.625)
    assert axes.get_title() == (
        "score 0.510, by the order of ties 0.400 to 0.625\n"
        "4 of 6 samples tie different labels; it matters to 3"
    )
    assert texts(axes) == ["all samples: range", "all samples: score", "sample: range", "sample: score"]


def test_the_tie_report_says_what_it_leaves_out():
    axes = plot.tie_report(report(), most=2)
    assert len(axes.collections[0].get_segments()) == 2
    assert axes.get_xlabel() == "sample, the 2 with the widest range of 3"
    inexact = plot.tie_report(report(exact_range=False)).get_title()
    assert "0.400 to 0.625 (not exact)" in inexact
    with pytest.raises(ValueError, match="most must be at least 1, got 0"):
        plot.tie_report(report(), most=0)


@pytest.mark.parametrize(("width", "n_columns"), [(6.4, 2), (4, 2), (10, 4)])
def test_the_legend_of_a_tie_report_fits_the_axes(width, n_columns):
    figure = mpl.figure.Figure((width, 4.8))
    axes = drawn(plot.tie_report(report(), ax=figure.subplots()))
    legend = axes.get_legend()
    assert legend._ncols == n_columns
    assert legend.get_window_extent().width <= axes.get_window_extent().width or width < 5
    assert axes.title.get_window_extent().y0 >= legend.get_window_extent().y1


def test_a_narrow_range_gets_the_digits_that_show_it():
    title = plot.tie_report(report(score=0.5, lowest=0.49998, highest=0.50001)).get_title()
    assert title.startswith("score 0.50000, by the order of ties 0.49998 to 0.50001\n")


def test_many_samples_are_not_named():
    rng = np.random.default_rng(0)
    low, high = np.sort(rng.random((2, 100)), axis=0)
    many = report(n_items=100, per_item=(low + high) / 2, per_item_lowest=low, per_item_highest=high)
    axes = drawn(plot.tie_report(many, most=60))
    heights = [segment[1, 1] - segment[0, 1] for segment in axes.collections[0].get_segments()]
    assert heights == sorted(high - low, reverse=True)[:60]
    assert len(axes.get_xticks()) < 60


def test_a_tie_report_where_nothing_depends_on_ties():
    same = REPORT["per_item"]
    axes = drawn(plot.tie_report(report(per_item_lowest=same, per_item_highest=same)))
    assert not axes.collections
    assert axes.get_xlabel() == "no sample's score depends on the order of ties"


def test_a_tie_report_must_be_one():
    incomplete = report()
    del incomplete.highest
    with pytest.raises(
        TypeError, match=r"report must be a result of tie_report\(\), got .* has no highest"
    ):
        plot.tie_report(incomplete)


def test_luck_shows_the_runs_their_mean_and_the_exact_value():
    axes = drawn(plot.luck(MonteCarloCV(scores=RUNS), Fraction(11, 20)))
    counts = {}
    for bar in axes.containers[0]:
        inside = [run for run in RUNS if bar.get_x() <= run < bar.get_x() + bar.get_width()]
        counts[bar.get_x()] = len(inside)
        assert bar.get_height() == len(inside)
    assert sum(counts.values()) == len(RUNS)
    exact = axes.lines[-1]
    assert set(exact.get_xdata()) == {0.55}
    mean = axes.lines[0]
    error = RUNS.std(ddof=1) / math.sqrt(len(RUNS))
    assert mean.get_xdata()[0] == RUNS.mean()
    (ends,) = axes.collections[0].get_segments()
    np.testing.assert_allclose(ends[:, 0], [RUNS.mean() - error, RUNS.mean() + error], rtol=1e-12)
    assert set(texts(axes)) == {
        "6 random runs",
        f"their mean ± standard error: {RUNS.mean():.4f} ± {error:.4f}",
        "exact mean over all runs: 0.5500",
    }


def test_the_axes_name_what_is_measured():
    wine = knnccv.datasets.load_wine()
    curves = knnccv.surface(wine.X, wine.y, [1, 3], [40], average="class")
    assert curves.plot().get_ylabel() == curves.plot("n_neighbors").get_ylabel() == "balanced accuracy"
    ranks = knnccv.surface(wine.X, wine.y, [1, 3], [40], "rank")
    assert plot.learning_curve(ranks).get_ylabel() == "rank-R accuracy (CMC at rank R)"
    result = complete_cv(wine.X, wine.y, "confidence", Subsample(40), score="brier")
    assert plot.tie_report(result.tie_report()).get_ylabel() == "Brier score"
    runs = monte_carlo_cv(wine.X, wine.y, "nn", Subsample(40), n_repeats=3, loss=1 - np.eye(3))
    assert plot.luck(runs, 0.3).get_xlabel() == "expected loss of one random run"
    assert plot.luck(RUNS, 0.5).get_xlabel() == "score of one random run"


def test_bins_hold_equally_many_possible_scores():
    rng = np.random.default_rng(0)
    scores = rng.binomial(89, 0.7, 5000) / 89
    edges = np.array([bar.get_x() for bar in plot.luck(scores, 0.7).containers[0]])
    number = np.diff(edges) * 89
    np.testing.assert_allclose(number, number[0].round(), atol=1e-6)
    np.testing.assert_allclose(edges * 89 % 1, 0.5, atol=1e-6)  # no score lies on a border


@pytest.mark.parametrize("scores", [[0.5], [0.5, 0.5, 0.5]])
def test_luck_of_one_run_or_of_equal_runs(scores):
    axes = drawn(plot.luck(scores, 0.6))
    assert [bar.get_height() for bar in axes.containers[0]] == [len(scores)]
    assert ("1 random run" in texts(axes)) == (len(scores) == 1)


def test_luck_of_real_runs():
    wine = knnccv.datasets.load_wine()
    design = Subsample(0.5)
    runs = monte_carlo_cv(wine.X, wine.y, "nn", design, n_repeats=40, random_state=0)
    exact = complete_cv(wine.X, wine.y, "nn", design)
    axes = drawn(plot.luck(runs, exact, density=True))
    assert axes.lines[-1].get_xdata()[0] == exact.score
    assert sum(bar.get_height() * bar.get_width() for bar in axes.containers[0]) == pytest.approx(1)
    assert axes.get_ylabel() == "density"


@pytest.mark.parametrize(
    ("random", "exact", "message"),
    [
        ([], 0.5, "random must be a MonteCarloCV, or finite scores"),
        ([[0.5]], 0.5, "random must be a MonteCarloCV, or finite scores"),
        ([0.5, math.nan], 0.5, "random must be a MonteCarloCV, or finite scores"),
        ([0.5], math.inf, "exact must be finite, got inf"),
    ],
)
def test_luck_refuses(random, exact, message):
    with pytest.raises(ValueError, match=message):
        plot.luck(random, exact)


WRONG = [
    (
        lambda: plot.learning_curve(made(), 7),
        ValueError,
        r"n_neighbors must be among those of the surface \(9, 1, 5, 3\), got 7",
    ),
    (
        lambda: plot.validation_curve(made(), [20, 21]),
        ValueError,
        r"train_sizes must be among those of the surface \(80, 20, 45\), got 21",
    ),
    (lambda: plot.validation_curve(made(), []), ValueError, "train_sizes must hold at least one number"),
    (lambda: plot.learning_curve(SCORES), TypeError, "surface must be a result of knnccv.surface, got"),
    (lambda: plot.validation_curve(None), TypeError, "surface must be a result of knnccv.surface, got"),
    (lambda: plot.surface("x"), TypeError, "surface must be a result of knnccv.surface, got 'x'"),
    (
        lambda: plot.as_learning_curve_display(made()),
        ValueError,
        r"n_neighbors must be one of those of the surface \(9, 1, 5, 3\), got None",
    ),
    (
        lambda: plot.as_validation_curve_display(made(), 21),
        ValueError,
        r"train_size must be among those of the surface \(80, 20, 45\), got 21",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), WRONG)
def test_wrong_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
    assert plt.get_fignums() == []


def test_scikit_learns_learning_curve_display():
    pytest.importorskip("sklearn")
    from sklearn.model_selection import LearningCurveDisplay

    display = plot.as_learning_curve_display(made(), n_neighbors=5)
    assert isinstance(display, LearningCurveDisplay)
    assert display.test_scores.shape == (3, 1)
    drawn(display.plot(score_type="test", std_display_style=None).ax_)
    (line,) = display.lines_
    assert line.get_xdata().tolist() == [20, 45, 80]
    assert line.get_ydata().tolist() == [cell(5, size) for size in (20, 45, 80)]
    assert display.ax_.get_ylabel() == "mean score"
    drawn(plot.as_learning_curve_display(made(), 5).plot(std_display_style=None).ax_)


def test_scikit_learns_validation_curve_display():
    pytest.importorskip("sklearn")
    from sklearn.model_selection import ValidationCurveDisplay

    display = plot.as_validation_curve_display(made(is_loss=True), train_size=45)
    assert isinstance(display, ValidationCurveDisplay)
    assert display.test_scores.shape == (4, 1)
    drawn(display.plot(score_type="test", std_display_style=None).ax_)
    (line,) = display.lines_
    assert line.get_xdata().tolist() == [1, 3, 5, 9]
    assert line.get_ydata().tolist() == [cell(k, 45) for k in (1, 3, 5, 9)]
    assert display.ax_.get_xlabel() == "n_neighbors"
    assert display.ax_.get_ylabel() == "expected loss"


def test_arrays_of_a_surface_feed_the_displays_by_hand():
    pytest.importorskip("sklearn")
    from sklearn.model_selection import LearningCurveDisplay

    result = made()
    scores = result.scores[result.n_neighbors == 3].T
    display = LearningCurveDisplay(
        train_sizes=result.train_sizes, train_scores=scores, test_scores=scores, score_name="accuracy"
    )
    assert display.plot(std_display_style=None).lines_[0].get_ydata().tolist() == scores[:, 0].tolist()


def test_a_rule_without_choice_needs_none():
    pytest.importorskip("sklearn")
    display = plot.as_learning_curve_display(made(SCORES[:1], [1], variant="nn"))
    assert display.test_scores.ravel().tolist() == SCORES[0, [1, 2, 0]].tolist()


def test_without_scikit_learn_the_command_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(ImportError, match=r"pip install 'knnccv\[sklearn\]'"):
        plot.as_learning_curve_display(made(), 5)


def test_matplotlib_is_imported_when_something_is_drawn():
    code = "import sys, knnccv; knnccv.plot.luck; print({'matplotlib', 'sklearn'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
