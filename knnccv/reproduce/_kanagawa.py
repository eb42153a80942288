"""Figures 2 to 4 of Kanagawa (2024), recomputed: leave-one-out of k-NN regression by an identity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from .._parallel import for_each
from .._typing import Array
from ..curves import loo_curve
from ..designs import LeaveOut
from ..results import complete_cv
from ._loo_identity import loo_identity
from ._paper import Comparison, Line, Paper, median_seconds
from ._picture import BLUE, GREEN, ORANGE, Picture, new_figure

PAPER = Paper.read("kanagawa")
STUDIES: Sequence[Mapping[str, Any]] = PAPER["studies"]
DIGIT, EQUAL, TIMED_K = PAPER["digit"], PAPER["equal"], PAPER["timed_k"]
KS = range(1, 51)
SHOWN = (1, 5, 10, 20)
N_CALLS = {False: 5, True: 3}
N_ORDERS = {False: 1000, True: 100}
Predict = Callable[[Array, Array, Array, int], float]
"""``predict(X, y, sample, k)``: the prediction for one sample, fitted to X and y."""


def figures(quick: bool, progress: bool = False) -> Comparison:
    """Recompute the figures; `quick` times fewer sizes and draws fewer orders of the rows."""
    from .. import datasets

    predict, name = regressor()
    lines: list[Line] = []
    pictures: list[Picture] = []
    ties: dict[str, Any] = {}

    def work(task: tuple[Mapping[str, Any], bool]) -> None:
        study, is_whole = task
        data, curves = getattr(datasets, study["load"])(), dict[str, Any]()
        y = data.y.astype(float)
        if is_whole:
            X, part = standardized(data.X), f"Figure {study['figure']}: {study['name']}, all features"
            lines.extend(_all_features(study, part, X, y, curves))
            lines.extend(_seconds(study, part, X, y, quick, predict, curves))
            caption = PAPER["captions"]["curves"].format(**study)
            draw = partial(_draw_all, study["name"], curves)
            pictures.append(Picture(f"figure-{study['figure']}", caption, draw))
        else:
            title = f"{study['name']}, {study['feature']} alone"
            X = data.X[:, [study["column"]]]
            lines.extend(_one_feature(study, f"Figure 4: {title}", X, y, quick, curves))
            ties[title] = curves

    # One after the other, since they are timed.
    tasks = [(study, is_whole) for is_whole in (True, False) for study in STUDIES]
    for_each(work, tasks, n_jobs=1, progress=progress, unit="figure")
    pictures.append(Picture("figure-4", PAPER["captions"]["ties"], partial(_draw_ties, ties)))
    notes = PAPER.notes(regressor=name, timed_k=TIMED_K, n_calls=N_CALLS[quick])
    return PAPER.comparison(lines, notes, pictures=tuple(pictures))


def standardized(X: Array) -> Array:
    """The columns with mean 0 and variance 1, as by scikit-learn's StandardScaler."""
    scaled: Array = (X - X.mean(axis=0)) / X.std(axis=0)
    return scaled


def errors_of(X: Array, y: Array, ks: Iterable[int], ties: str = "random") -> Array:
    """The errors (n_k,) of `loo_curve`."""
    return loo_curve(X, y, ks, ties=ties).scores[:, 0]


def one_by_one(X: Array, y: Array, max_k: int) -> Array:
    """Leave-one-out errors of k = 1 to `max_k` by brute force; ties in the order of the rows."""
    errors = np.empty((len(y), max_k))
    for sample in range(len(y)):
        others = np.delete(np.arange(len(y)), sample)
        gaps = ((X[others] - X[sample]) ** 2).sum(axis=1)
        nearest = others[np.argsort(gaps, kind="stable")[:max_k]]
        errors[sample] = (np.cumsum(y[nearest]) / np.arange(1, max_k + 1) - y[sample]) ** 2
    curve: Array = errors.mean(axis=0)
    return curve


def fitted_one_by_one(X: Array, y: Array, k: int, predict: Predict) -> float:
    """Leave-one-out error of one k by one fit per sample."""
    errors = []
    for sample in range(len(y)):
        others = np.delete(np.arange(len(y)), sample)
        errors.append((predict(X[others], y[others], X[sample], k) - y[sample]) ** 2)
    return float(np.mean(errors))


def regressor() -> tuple[Predict, str]:
    """The regressor of brute force, scikit-learn's if it is installed, and its name."""
    try:
        import sklearn
        from sklearn.neighbors import KNeighborsRegressor
    except ImportError:
        return predict_by_hand, "a prediction by NumPy (scikit-learn is not installed)"

    def predict(X: Array, y: Array, sample: Array, k: int) -> float:
        return float(KNeighborsRegressor(k, algorithm="kd_tree").fit(X, y).predict(sample[None])[0])

    return predict, f"scikit-learn {sklearn.__version__}'s KNeighborsRegressor(algorithm='kd_tree')"


def predict_by_hand(X: Array, y: Array, sample: Array, k: int) -> float:
    """The mean target of the k nearest samples."""
    gaps = ((X - sample) ** 2).sum(axis=1)
    return float(y[np.argpartition(gaps, k - 1)[:k]].mean())


def _all_features(
    study: Mapping[str, Any], part: str, X: Array, y: Array, curves: dict[str, Any]
) -> Iterator[Line]:
    """Figures 2 and 3: printed errors, and equal ones by all methods."""
    line, printed = partial(PAPER.line, part=part), np.array(study["scores"])
    brute, identity, curve = one_by_one(X, y, KS[-1]), loo_identity(X, y, KS), errors_of(X, y, KS)
    curves.update(brute=brute, identity=identity)
    for k in SHOWN:
        error = study["scores"][k - 1]
        allowed, digits = (error - DIGIT, error + DIGIT), 4 if printed[0] > 1 else 6
        yield line("error", float(identity[k - 1]), error, allowed, k=k, digits=digits)
    off = np.abs(identity[: len(printed)] - printed).max()
    yield line("all_errors", holds=off <= DIGIT, number=len(printed), off=off)
    for name, errors in (("identity", identity), ("loo_curve", curve)):
        off = np.abs(errors / brute - 1).max()
        yield line("equal", holds=off <= EQUAL, name=name, off=off)


def _seconds(
    study: Mapping[str, Any],
    part: str,
    X: Array,
    y: Array,
    quick: bool,
    predict: Predict,
    curves: dict[str, Any],
) -> Iterator[Line]:
    """Times of the first n samples, and the paper's claims about them."""
    line, runs = partial(PAPER.line, part=part), study["runs"]
    if quick:
        runs = [runs[0], runs[len(runs) // 2], runs[-1]]
    sizes = [run[0] for run in runs]
    seconds: dict[str, list[float]] = {"brute": [], "identity": [], "curve": []}
    off = 0.0
    for n, error, *_ in runs:
        asked: dict[str, Callable[[], Any]] = {
            "brute": partial(fitted_one_by_one, X[:n], y[:n], TIMED_K, predict),
            "identity": partial(loo_identity, X[:n], y[:n], TIMED_K),
            "curve": partial(errors_of, X[:n], y[:n], range(1, min(KS[-1], n - 1) + 1)),
        }
        for name, ask in asked.items():
            seconds[name].append(median_seconds(ask, N_CALLS[quick]))
        off = max(off, *(abs(np.asarray(asked[name]()).item() - error) for name in ("brute", "identity")))
    curves.update(n=sizes, seconds=seconds)
    yield line("first_rows", holds=off <= DIGIT, k=TIMED_K, sizes=", ".join(map(str, sizes)), off=off)
    names = ("brute force", "identity", "loo_curve, up to 50 k")
    for at in (0, -1):
        for name, times, printed in zip(names, seconds.values(), (*runs[at][2:], None), strict=True):
            yield line("seconds", times[at], printed, name=name, n=sizes[at])
    growth, slow, quicker = sizes[-1] / sizes[0], seconds["brute"], seconds["identity"]
    slower, rise = slow[-1] / slow[0], (quicker[-1] - quicker[0]) / (slow[-1] - slow[0])
    yield line("brute_grows", holds=slower > growth / 2, slower=slower, growth=growth)
    most = PAPER["max_growth"]
    yield line("hardly_grows", holds=slower > 1 and rise < most, rise=rise, most=most)
    share, most = max(one / other for one, other in zip(quicker, slow, strict=True)), PAPER["max_share"]
    yield line("negligible", holds=share < most, share=share, most=most)


def _one_feature(
    study: Mapping[str, Any], part: str, X: Array, y: Array, quick: bool, curves: dict[str, Any]
) -> Iterator[Line]:
    """Figure 4: one feature, of which many samples have the same value."""
    line, best = partial(PAPER.line, part=part), study["best"][0]
    whole = np.rint(X * study["unit"])  # so that equal distances are equal numbers
    brute = errors_of(whole, y, KS, ties="index")
    mean = errors_of(whole, y, KS, ties="random")
    identity = loo_identity(whole, y, KS, check=False)
    curves.update(brute=brute, identity=identity, mean=mean, tried=len(study["scores"]))
    Z = standardized(X)
    yield from best_lines(study, part, "order of the file", brute, identity)
    rounded = errors_of(Z, y, KS, ties="index"), loo_identity(Z, y, KS, check=False)
    yield from best_lines(study, part, "standardized", *rounded)
    if not quick:
        yield from by_program(study, part, Z, y)
    yield line("best_mean", best_k(study, mean))
    rng, counts = np.random.default_rng(0), Counter[int]()
    for _ in range(N_ORDERS[quick]):
        rows = rng.permutation(len(y))
        tried = range(1, len(study["scores"]) + 1)
        counts[best_k(study, errors_of(whole[rows], y[rows], tried, ties="index"))] += 1
    listed = ", ".join(f"{k} ({count})" for k, count in sorted(counts.items()))
    yield line("some_order", holds=counts[best] > 0, best=best, number=N_ORDERS[quick], listed=listed)
    first, other = study["first"]
    ratio = identity[0] / brute[0]
    yield line("overestimates", holds=ratio > 1 + EQUAL, ratio=ratio, printed=other / first)
    most = int(np.unique(whole, return_counts=True)[1].max())
    off = float(np.abs(identity / brute - 1)[most - 2 :].max())
    yield line("exact", holds=off <= EQUAL, k=most - 1, most=most, off=off)
    ties = complete_cv(whole, y, "regression", LeaveOut(1), n_neighbors=1).tie_report()
    holds = ties.lowest - DIGIT <= first <= ties.highest + DIGIT
    yield line("between", holds=holds, first=first, low=ties.lowest, high=ties.highest)


def best_k(study: Mapping[str, Any], curve: Array) -> int:
    """The k of the least error among those that the paper tried."""
    return int(np.argmin(curve[: len(study["scores"])])) + 1


def best_lines(
    study: Mapping[str, Any], part: str, order: str, brute: Array, identity: Array, how: str = ""
) -> Iterator[Line]:
    """The best k of both methods; that of the paper must be equal."""
    curves = {"brute force": brute, "identity": identity}
    for (name, curve), best in zip(curves.items(), study["best"], strict=True):
        told: dict[str, Any] = {"part": part, "name": name, "order": order, "how": how}
        yield PAPER.line("best", best_k(study, curve), best, (best, best), **told)


def by_program(study: Mapping[str, Any], part: str, Z: Array, y: Array) -> Iterator[Line]:
    """The results of the author's steps, if scikit-learn is installed."""
    predict, name = regressor()
    if predict is not predict_by_hand:
        tried = range(1, len(study["scores"]) + 1)
        brute = np.array([fitted_one_by_one(Z, y, k, predict) for k in tried])
        fitted = np.array([[predict(Z, y, sample, k + 1) for sample in Z] for k in tried])
        identity = [((k + 1) / k) ** 2 * np.mean((fitted[k - 1] - y) ** 2) for k in tried]
        how = f"standardized, {name} as in the author's program."
        yield from best_lines(study, part, "by scikit-learn", brute, np.array(identity), how)


ERROR = {"xlabel": "number of neighbors k", "ylabel": "leave-one-out mean squared error"}


def _draw_all(name: str, found: Mapping[str, Any]) -> Any:
    """Figures 2 and 3: errors over k, seconds over the number of samples."""
    figure, ((left, right),) = new_figure(10, 4.2, 1, 2)
    left.plot(KS, found["brute"], "o", color=BLUE, mfc="none", ms=8, label="brute force")
    left.plot(KS, found["identity"], "x", color=ORANGE, label="identity")
    left.set(**ERROR)
    left.set_title(f"{name}, all features", pad=24)
    labels = ("brute force, k = 5", "identity, k = 5", "loo_curve, k = 1 to 50")
    looks = zip(found["seconds"].values(), ("o-", "x-", "s-"), (BLUE, ORANGE, GREEN), labels, strict=True)
    for seconds, style, color, label in looks:
        right.plot(found["n"], seconds, style, color=color, label=label)
    right.set(xlabel="number of samples n", ylabel="seconds (logarithmic)", yscale="log")
    right.set_title("computing time", pad=24)
    for axes in (left, right):
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, frameon=False, fontsize="small")
    return figure


def _draw_ties(studies: Mapping[str, Mapping[str, Any]]) -> Any:
    """Figure 4: errors over k where samples coincide, a panel for each data set."""
    figure, (panels, *_) = new_figure(10, 4.2, 1, len(studies))
    series = (
        ("brute", "brute force, order of the file", BLUE, "o-"),
        ("identity", "identity, the same order", ORANGE, "x--"),
        ("mean", "mean over all orders", GREEN, "-"),
    )
    for panel, (title, found) in zip(panels, studies.items(), strict=True):
        tried = found["tried"]
        for key, label, color, style in series:
            best = int(np.argmin(found[key][:tried]))
            panel.plot(KS, found[key], style, color=color, ms=4, label=f"{label}: best k = {best + 1}")
            panel.plot(best + 1, found[key][best], "v", color=color, ms=10, mec="black")
        panel.axvline(tried + 0.5, color="0.6", lw=1, ls=":", label=f"the paper tried k = 1 to {tried}")
        panel.set(title=title, **ERROR)
        panel.legend(loc="upper right", frameon=False, fontsize="small")
    return figure
