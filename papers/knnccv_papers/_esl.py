"""Simulations of cross-validation in "The Elements of Statistical Learning", beside its numbers.

Noise that is screened the wrong and the right way (§7.10.2), and two classes in the plane, each a mixture
of ten Gaussians (§2.3.3), with the errors of nearest neighbors on new samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import expit, logsumexp
from sklearn import model_selection as ms
from sklearn.feature_selection import SelectKBest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from knnccv import KFold, complete_cv, monte_carlo_cv, surface
from knnccv.sklearn import expected_score

from ._paper import Comparison, Line, Paper, panel_of
from ._picture import BLUE, ORANGE, Picture, beside, new_figure
from ._work import Array, for_each

PAPER = Paper.read("esl")
BLACK, GRAY = "#000000", "#999999"
PALE = ("#D6E9F5", "#FBE3D0")
SEED = 7
N_SAMPLES, N_PREDICTORS, N_KEPT, N_HELD_OUT = 50, 5000, 100, 10
FOLDS = KFold(5)
N_SIMULATIONS = {False: 50, True: 5}
N_REPEATS = {False: 10, True: 2}
"""Number of runs of the right way in every simulation."""

N_MEANS, N_PER_CLASS, VARIANCE = 10, 100, 1 / 5
NUMBERS = np.arange(1, 31)
N_CURVES = 5
N_NEW = {False: 200_000, True: 20_000}
"""Number of new samples on which errors are measured; a tenth of it in the further mixtures."""

N_MIXTURES = {False: 50, True: 20}

SHOWN = (1, 15)


def correlations(X: Array, y: Array) -> Array:
    """The correlation of every column of X (n_samples, n_features) with y; NaN where y is constant."""
    columns, labels = X - X.mean(axis=0), y - y.mean()
    with np.errstate(invalid="ignore"):
        found: Array = labels @ columns / np.sqrt((columns**2).sum(axis=0) * (labels**2).sum())
    return found


def strengths(X: Array, y: Array) -> Array:
    """The absolute correlation of every column with y."""
    return np.abs(correlations(X, y))


READINGS = {"correlation": correlations, "absolute correlation": strengths}


def strongest(reading: Callable[[Array, Array], Array], X: Array, y: Array) -> Array:
    """The columns of the highest correlation with y, as it is read."""
    return np.argsort(-reading(X, y), kind="stable")[:N_KEPT]


def simulations(quick: bool, progress: bool = False) -> Comparison:
    """Recompute all numbers; `quick` with fewer simulations and new samples."""
    found = {name: screening(reading, quick, progress) for name, reading in READINGS.items()}
    mixtures = planes(quick, progress)
    first = mixtures[0]
    screened = [screening_lines(name, one) for name, one in found.items()]
    panels = [
        [panel_of(one[:3], "error (%)"), panel_of(one[3:], "correlation")._replace(title="")]
        for one in screened
    ]
    captions = PAPER["captions"]
    pictures = (
        *beside("screening", captions["screening"], panels),
        Picture("curves", captions["curves"], partial(draw_errors, first)),
        Picture("maps", captions["maps"], partial(draw_maps, first)),
    )
    sizes = {"n": N_SIMULATIONS[quick], "repeats": N_REPEATS[quick], "new": N_NEW[quick]}
    noise = {"samples": N_SAMPLES, "predictors": N_PREDICTORS, "others": N_SAMPLES - 1}
    plain = 50 * N_SAMPLES / (N_SAMPLES - 1)
    return PAPER.comparison(
        [*screened[0], *screened[1], *curve_lines(first), *map_lines(mixtures)],
        PAPER.notes(bar=first.bayes_error_bar, plain=plain, **sizes, **noise),
        pictures=pictures,
    )


def screening_lines(name: str, found: Screening) -> list[Line]:
    """Errors and correlations of both ways, beside those of the book."""
    part = PAPER["parts"]["screening"].format(kept=N_KEPT, predictors=N_PREDICTORS, name=name)
    n = len(found.wrong)

    def line(key: str, values: Array, off: float) -> Line:
        paper = PAPER["lines"][key]["paper"]
        return PAPER.line(key, float(values.mean()), None, (paper - off, paper + off), part=part)

    printed = _sd(found.one_wrong) / np.sqrt(PAPER["n_printed"])
    rounded = 0.5 + 4 * np.hypot(printed, _sd(found.wrong) / np.sqrt(n))
    off = 4 * _sd(found.stratified) / np.sqrt(n)
    half = found.stratified.mean().item()
    inside, outside = found.wrong_correlations.mean(axis=1), found.right_correlations.mean(axis=1)
    return [
        line("wrong", found.wrong, rounded),
        line("right", found.right, 4 * _sd(found.right) / np.sqrt(n)),
        PAPER.line("stratified", half, None, (50 - off, 50 + off), abs(half - 50) <= off, part=part),
        line("correlation_wrong", inside, 0.005 + 4 * _sd(inside) * np.sqrt(1 + 1 / n)),
        line("correlation_right", outside, 4 * _sd(outside) / np.sqrt(n)),
    ]


def _sd(values: Array) -> float:
    return float(values.std(ddof=1))


def _numbers(part: str, found: Mapping[str, Any]) -> Iterator[Line]:
    """Numbers that the book does not print, by quantity; numbers of neighbors without decimals."""
    for quantity, number in found.items():
        digits = 0 if isinstance(number, np.integer) else 2
        yield PAPER.line("number", float(number), part=part, quantity=quantity, digits=digits)


def curve_lines(plane: Planar) -> Iterator[Line]:
    """K by cross-validation and on new samples, and the claim that both curves agree."""
    part = PAPER["parts"]["curves"]
    best, truly = int(plane.expected.argmin()), int(plane.new.argmin())
    single = NUMBERS[plane.curves.argmin(axis=1)]
    found = {
        "K of the least expected CV error": NUMBERS[best],
        "expected CV error there, %": plane.expected[best],
        "error on new samples there, %": plane.new[best],
        "K of the least error on new samples": NUMBERS[truly],
        "least error on new samples, %": plane.new[truly],
        f"least K chosen by one of {N_CURVES} single runs": single.min(),
        f"largest K chosen by one of {N_CURVES} single runs": single.max(),
        "standard deviation of single runs at the first K": _sd(plane.curves[:, best]),
    }
    yield from _numbers(part, found)
    # The standard deviation of an error that is counted on the same number of independent samples.
    n = len(plane.y)
    off = np.abs(plane.expected - plane.new) / np.sqrt(plane.expected * (100 - plane.expected) / n)
    yield PAPER.line("curve", holds=(off <= 4).all(), part=part, off=off.max(), n=n)


def map_lines(mixtures: Sequence[Planar]) -> Iterator[Line]:
    """Errors of 1 and 15 neighbors, on the first mixture and on average, and what the book says of them."""
    first, n = mixtures[0], len(mixtures)
    one, mean = (PAPER["parts"][name].format(n=n) for name in ("one", "mean"))
    few, many = (int(np.searchsorted(NUMBERS, k)) for k in SHOWN)
    found = {"Bayes error, %": first.bayes}
    average = {"Bayes error, %": sum(plane.bayes for plane in mixtures) / n}
    for k, at in zip(SHOWN, (few, many), strict=True):
        found[f"{k}-NN, error on new samples, %"] = first.new[at]
        found[f"{k}-NN, error on training samples, %"] = first.training[at]
        average[f"{k}-NN, error on new samples, %"] = np.mean([plane.new[at] for plane in mixtures])
        average[f"{k}-NN, expected CV error, %"] = np.mean([plane.expected[at] for plane in mixtures])
    yield from _numbers(one, found)
    yield PAPER.line("training_one", holds=first.training[few] == 0, part=one)
    wrong = first.training[many] * len(first.y) / 100
    yield PAPER.line("training_many", holds=wrong > 0, part=one, wrong=wrong, n=len(first.y))
    yield from _numbers(mean, average)
    gains = np.array([plane.new[few] - plane.new[many] for plane in mixtures])
    gain, required = gains.mean(), 4 * _sd(gains) / np.sqrt(n)
    told = {"part": mean, "gain": gain, "required": required, "number": int((gains > 0).sum())}
    yield PAPER.line("nearer", holds=gain > required, n=n, first=gains[0], **told)


@dataclass(frozen=True)
class Screening:
    """Errors in %, of shape (n_simulations,), and correlations, of shape (n_simulations, N_KEPT).

    ``wrong``: the exact mean over all partitions; ``one_wrong``: one random partition; ``right``: the mean
    of a few; ``stratified``: the same over stratified folds. The correlations are those of the kept
    predictors with the labels of ten samples, times the sign in the samples on which they were chosen.
    """

    wrong: Array
    one_wrong: Array
    right: Array
    stratified: Array
    wrong_correlations: Array
    right_correlations: Array


def screening(reading: Callable[[Array, Array], Array], quick: bool, progress: bool = False) -> Screening:
    """Screen noise by a correlation, before cross-validation and within every fold."""
    n = N_SIMULATIONS[quick]
    inside = make_pipeline(SelectKBest(reading, k=N_KEPT), KNeighborsClassifier(1))
    splitters = [split(FOLDS.n_splits, shuffle=True) for split in (ms.KFold, ms.StratifiedKFold)]
    errors = np.empty((4, n))
    found = np.empty((2, n, N_KEPT))

    def simulate(number: int) -> None:
        rng = np.random.default_rng([SEED + 1, number])
        X = rng.normal(size=(N_SAMPLES, N_PREDICTORS))
        y = np.repeat([0, 1], N_SAMPLES // 2)
        kept = X[:, strongest(reading, X, y)]
        errors[0, number] = complete_cv(kept, y, "nn", FOLDS, n_jobs=1).score
        one = monte_carlo_cv(kept, y, "nn", FOLDS, n_runs=1, random_state=rng, n_jobs=1)
        errors[1, number] = one.score
        for way, cv in enumerate(splitters, start=2):
            seed = int(rng.integers(2**63))
            asked: dict[str, Any] = {"n_runs": N_REPEATS[quick], "random_state": seed, "n_jobs": 1}
            errors[way, number] = expected_score(inside, X, y, cv=cv, **asked).score
        ten = rng.choice(N_SAMPLES, N_HELD_OUT, replace=False)
        while len(np.unique(y[ten])) < 2:  # constant labels have no correlation
            ten = rng.choice(N_SAMPLES, N_HELD_OUT, replace=False)
        rest = np.setdiff1d(np.arange(N_SAMPLES), ten)
        for way, chosen_on in enumerate((np.arange(N_SAMPLES), rest)):
            columns = strongest(reading, X[chosen_on], y[chosen_on])
            signs = np.sign(correlations(X[np.ix_(chosen_on, columns)], y[chosen_on]))
            found[way, number] = signs * correlations(X[np.ix_(ten, columns)], y[ten])

    for_each(simulate, range(n), progress=progress, unit="simulation")
    return Screening(*(100 * (1 - errors)), *found)


@dataclass(frozen=True)
class Mixture:
    """Two classes in the plane, each a mixture of Gaussians of equal weight around `means` (2, 10, 2)."""

    means: Array

    def draw(self, rng: np.random.Generator, n_per_class: int) -> tuple[Array, Array]:
        """Random samples of shape (2 * n_per_class, 2) and their labels."""
        which = rng.integers(N_MEANS, size=(2, n_per_class))
        centers = np.concatenate([self.means[c][which[c]] for c in range(2)])
        X = centers + np.sqrt(VARIANCE) * rng.normal(size=centers.shape)
        return X, np.repeat([0, 1], n_per_class)

    def second_share(self, X: Array) -> Array:
        """The probability of class 1 at every row of X, for equally frequent classes; (n_samples,)."""
        squares = ((X[:, None, None, :] - self.means) ** 2).sum(axis=-1)
        logs = logsumexp(-squares / (2 * VARIANCE), axis=2)
        share: Array = expit(logs[:, 1] - logs[:, 0])
        return share


def mixture(number: int) -> tuple[Mixture, Array, Array]:
    """Mixture number `number`, a hundred samples of each class, and their labels."""
    rng = np.random.default_rng([SEED, N_MEANS, number])
    centers = np.array([[1.0, 0.0], [0.0, 1.0]])
    distribution = Mixture(centers[:, None] + rng.normal(size=(2, N_MEANS, 2)))
    return (distribution, *distribution.draw(rng, N_PER_CLASS))


def predictions(X: Array, y: Array, new: Array) -> Array:
    """The class of every new sample by the votes of 1, 2, ... neighbors; (n_numbers, n_new).

    A tied vote goes to class 0, as in `complete_cv`.
    """
    nearest = cKDTree(X).query(new, k=len(NUMBERS))[1]
    votes = np.cumsum(y[nearest], axis=1).T
    return (2 * votes > NUMBERS[:, None]).astype(np.int64)


@dataclass(frozen=True)
class Planar:
    """Errors of nearest neighbors on a mixture, in %, of shape (n_numbers,) unless stated otherwise.

    ``expected``: cross-validated, the exact mean over all partitions; ``curves`` (N_CURVES, n_numbers): of
    single partitions; ``new``: on new samples, trained on all; ``training``: on the training samples.
    ``bayes`` is the least possible error, and ``bayes_error_bar`` its standard error.
    """

    distribution: Mixture
    X: Array
    y: Array
    expected: Array
    curves: Array
    new: Array
    training: Array
    bayes: float
    bayes_error_bar: float


def planar(number: int, n_new: int, n_jobs: int | None = None) -> Planar:
    """Draw a mixture and measure the errors of all numbers of neighbors on `n_new` new samples."""
    distribution, X, y = mixture(number)
    n_train = len(y) - len(y) // FOLDS.n_splits
    expected = 1 - surface(X, y, NUMBERS, n_train, n_jobs=n_jobs).scores[:, 0]
    # The same partitions for all numbers of neighbors.
    same: dict[str, Any] = {"n_runs": N_CURVES, "random_state": SEED, "n_jobs": n_jobs}
    runs = [monte_carlo_cv(X, y, "knn", FOLDS, n_neighbors=k, **same) for k in NUMBERS.tolist()]
    curves = np.array([1 - run.scores for run in runs]).T
    points, _ = distribution.draw(np.random.default_rng([SEED, N_MEANS, number, 1]), n_new // 2)
    share = distribution.second_share(points)
    # Less noise than with drawn labels.
    new = np.where(predictions(X, y, points) == 1, 1 - share, share).mean(axis=1)
    least = np.minimum(share, 1 - share)
    training = (predictions(X, y, X) != y).mean(axis=1)
    bar = least.std() / np.sqrt(len(points))
    errors: tuple[Any, ...] = expected, curves, new, training, least.mean(), bar
    return Planar(distribution, X, y, *(100 * error for error in errors))


def planes(quick: bool, progress: bool = False) -> list[Planar]:
    """All mixtures; the errors of the first are measured on more new samples than the others."""
    found: dict[int, Planar] = {}

    def measure(number: int) -> None:
        found[number] = planar(number, N_NEW[quick] // (10 if number else 1), n_jobs=1)

    for_each(measure, range(N_MIXTURES[quick]), progress=progress, unit="mixture")
    return [found[number] for number in sorted(found)]


def draw_errors(plane: Planar) -> Any:
    """Errors by the number of neighbors; the least of each curve is marked."""
    figure, ((axes,),) = new_figure(7.5, 4.6)
    shown = [(f"CV, single run {at}", GRAY, "x", curve) for at, curve in enumerate(plane.curves, 1)]
    shown.append(("CV, exact mean over all partitions", BLUE, "o", plane.expected))
    shown.append(("new samples", ORANGE, "s", plane.new))
    for label, color, marker, curve in shown:
        text, style = f"{label}; least at K = {NUMBERS[curve.argmin()]}", {"marker": marker, "ms": 9}
        axes.plot(NUMBERS, curve, color=color, label=text, markevery=[curve.argmin()], **style)
    axes.axhline(plane.bayes, color=BLACK, linestyle="--", linewidth=1, label="Bayes error")
    axes.set(xlabel="number of neighbors K", ylabel="error (%)")
    axes.legend(fontsize="small")
    return figure


def draw_maps(plane: Planar) -> Any:
    """The plane, colored by the vote of the neighbors, with the samples and the Bayes rule's boundary."""
    figure, (panels, *_) = new_figure(9, 5, 1, len(SHOWN))
    low, high = plane.X.min(axis=0) - 0.3, plane.X.max(axis=0) + 0.3
    x, y = np.linspace(low, high, 300).T
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    votes = predictions(plane.X, plane.y, grid)
    share = plane.distribution.second_share(grid).reshape(len(y), len(x))
    for axes, number in zip(panels, SHOWN, strict=True):
        at = int(np.searchsorted(NUMBERS, number))
        regions = votes[at].reshape(len(y), len(x))
        axes.contourf(x, y, regions, [-0.5, 0.5, 1.5], colors=PALE)
        axes.contour(x, y, regions, [0.5], colors=BLACK, linewidths=0.8)
        axes.contour(x, y, share, [0.5], colors=GRAY, linestyles="--", linewidths=1.5)
        for label, (color, marker) in enumerate(((BLUE, "o"), (ORANGE, "^"))):
            samples = plane.X[plane.y == label].T
            axes.plot(*samples, marker, mec=color, mfc="none", ms=5, label=f"class {label}")
        axes.plot([], [], "-", color=BLACK, lw=0.8, label="boundary of the votes")
        axes.plot([], [], "--", color=GRAY, lw=1.5, label="boundary of the Bayes rule")
        errors = f"{plane.new[at]:.1f} % of new ones (Bayes: {plane.bayes:.1f} %)"
        title = f"{number}-NN: {plane.training[at]:.1f} % wrong of the samples shown,\n{errors}"
        axes.set_title(title, fontsize=10)
        axes.set(xlabel="first coordinate", ylabel="second coordinate", aspect="equal")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    return figure
