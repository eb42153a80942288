"""Bands and marks of curves, and the picture of several results on a line."""

from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest

import knnccv
from knnccv import Comparisons, plot

mpl.use("Agg")
import matplotlib.pyplot as plt

SCORES = np.array([[0.5, 0.7], [0.9, 0.3], [0.1, 0.8]])
KEPT = np.array([[False, True], [True, False], [False, True]])
ASKED = {"n_halvings": 9, "groups": [1, 2], "random_state": 3}


class Drawn(SimpleNamespace):
    """A surface of made-up numbers, which notes what it is asked for; K are not in order."""

    def __init__(self):
        super().__init__(
            scores=SCORES,
            n_neighbors=np.array([9, 1, 5]),
            train_sizes=np.array([20, 45]),
            is_loss=False,
            variant="knn",
            measure="accuracy",
            best=None,
            asked=[],
        )

    def confidence_interval(self, level, **how):
        self.asked.append((level, how))
        return SimpleNamespace(low=SCORES - 0.1 * level, high=SCORES + 0.2)

    def not_worse(self, level, **how):
        self.asked.append((level, how))
        return KEPT


def bands(axes):
    return [np.unique(one.get_paths()[0].vertices.round(12), axis=0) for one in axes.collections]


def ends_of(x, scores, level):
    points = [
        (a, b) for a, score in zip(x, scores, strict=True) for b in (score - 0.1 * level, score + 0.2)
    ]
    return np.unique(np.round(points, 12), axis=0)


def notes(axes):
    above = [one for one in axes.get_children() if isinstance(one, mpl.legend.Legend)]
    return [text.get_text() for one in above if one is not axes.get_legend() for text in one.get_texts()]


def test_learning_curves():
    surface = Drawn()
    axes = plot.learning_curve(surface, [1, 9], interval=0.9, **ASKED)
    assert surface.asked == [(0.9, ASKED)]
    for found, row in zip(bands(axes), [1, 0], strict=True):
        assert found == pytest.approx(ends_of([20, 45], SCORES[row], 0.9))
    assert [line.get_label() for line in axes.lines] == ["1", "9"]
    assert notes(axes) == ["90 % interval (luck of the data)"]
    assert not plot.learning_curve(surface).collections
    assert len(surface.asked) == 1


def test_validation_curves():
    surface = Drawn()
    axes = plot.validation_curve(surface, 45, interval=0.95, **ASKED)
    assert surface.asked == [(0.95, ASKED)] * 2
    (found,) = bands(axes)
    assert found == pytest.approx(ends_of([9, 1, 5], SCORES[:, 1], 0.95))
    line, marks = axes.lines
    assert line.get_xdata().tolist() == [1, 5, 9]
    assert (marks.get_xdata().tolist(), marks.get_ydata().tolist()) == ([5, 9], [0.8, 0.7])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["45"]
    assert notes(axes) == ["95 % interval (luck of the data)", "not worse than the best (95 %)"]
    random = plot.validation_curve(surface, interval=0.5, random_state=np.random.default_rng(0))
    seeds = [how["random_state"] for _, how in surface.asked[2:]]
    assert seeds[0] == seeds[1]
    assert len(random.collections) == 2


def test_a_surface_draws_its_bands():
    X = np.random.default_rng(0).normal(size=(60, 2))
    result = knnccv.surface(X, (X[:, 0] > 0).astype(int), [1, 3], [24, 40])
    for x in ("train_size", "n_neighbors"):
        axes = result.plot(x, interval=0.8, n_halvings=5)
        low, high = result.confidence_interval(0.8, n_halvings=5)
        ends = np.concatenate([found[:, 1] for found in bands(axes)])
        assert sorted(ends) == pytest.approx(sorted(np.concatenate([low, high]).ravel()))


def test_surfaces_without_intervals_are_refused():
    surface = SimpleNamespace(**dict.fromkeys(plot._surface.FIELDS))
    for draw in (plot.learning_curve, plot.validation_curve):
        with pytest.raises(TypeError, match=r"surface must be a result of knnccv\.surface"):
            draw(surface, interval=0.95)
    assert not plt.get_fignums()


def compared(scores, alike, is_loss=False):
    """Comparisons of results, the best first, of which the pairs in `alike` do not differ."""
    n = len(scores)
    adjusted = np.eye(n)
    for i, j in alike:
        adjusted[i, j] = adjusted[j, i] = 0.5
    names = tuple(f"rule {i}" for i in range(n))
    zero = np.zeros((n, n))
    return Comparisons(names, np.array(scores), zero, zero, zero, adjusted, "accuracy", is_loss, {})


@pytest.mark.parametrize("is_loss", [False, True])
def test_results_on_a_line(is_loss):
    scores = [0.1, 0.3, 0.5, 0.8, 0.9] if is_loss else [0.9, 0.8, 0.5, 0.3, 0.1]
    found = compared(scores, [(0, 1), (1, 2), (3, 4)], is_loss)
    axes = plot.critical_difference(found, linewidth=6)
    thick = [line.get_xdata() for line in axes.lines if line.get_linewidth() == 6]
    assert [tuple(ends) for ends in thick] == [tuple(scores[:2]), tuple(scores[1:3]), tuple(scores[3:])]
    left, right = axes.get_xlim()
    assert (left > right) == is_loss
    texts = axes.texts
    assert [text.get_text() for text in texts] == [
        f"rule {i}  {score:.4f}" for i, score in enumerate(scores)
    ]
    assert [text.get_ha() for text in texts] == ["left"] * 2 + ["right"] * 3
    assert axes.get_title() == "bars: no significant difference (95 %, Holm)"
    assert axes.get_xlabel() == "accuracy, better to the right"
    assert len({text.xy[1] for text in texts[:2]}) == 2
    assert len({text.xy[1] for text in texts[2:]}) == 3


def test_results_that_all_differ_or_are_equal():
    axes = plot.critical_difference(compared([0.9, 0.2], []), plt.subplots()[1], confidence_level=0.9)
    assert axes.get_title() == "all differences are significant (90 %, Holm)"
    equal = compared([0.5, 0.5, 0.5], [(0, 1), (0, 2), (1, 2)]).plot()
    assert equal.get_xlim()[0] < 0.5 < equal.get_xlim()[1]


def test_what_critical_difference_refuses():
    with pytest.raises(TypeError, match=r"comparisons must be a result of knnccv\.compare_all, got 3"):
        plot.critical_difference(3)
    with pytest.raises(ValueError, match="confidence_level must be in"):
        compared([0.9, 0.2], []).plot(confidence_level=95)
    with pytest.raises(TypeError, match="ax must be a matplotlib Axes"):
        plot.critical_difference(compared([0.9, 0.2], []), ax="ax")
    assert not plt.get_fignums()
