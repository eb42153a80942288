"""Table 1 of the technical report of Mullin and Sukthankar: exact accuracy beside random splits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any

import knnccv

from ._paper import Comparison, Line, Missing, Paper, load, median_seconds, panel_of, tables_of
from ._picture import beside
from ._work import n_workers

PAPER = Paper.read("tr1999")
EXPERIMENTS: Sequence[Mapping[str, Any]] = PAPER["experiments"]
N_SETS = {False: 20, True: 5}
"""Number of independent sets of the largest S-n, in full and quickly."""

N_CALLS = {False: 5, True: 3}
"""Number of calls of which a time is the median."""

SEED = 0
Cell = Mapping[str, float]


def table1(quick: bool, progress: bool = False) -> Comparison:  # noqa: ARG001 (it is short)
    """Recompute the table; `quick` draws fewer random trials."""
    missing = Missing()
    lines: list[Line] = []
    for experiment in EXPERIMENTS:
        answer: tuple[Mapping[str, Cell], str] = {}, ""
        with missing.noted(f"experiment {experiment['number']}"):
            answer = _run(experiment, quick)
        lines += lines_of(experiment, *answer)
    found = [line for line in lines if line.computed is not None]
    parts = groupby(found, key=lambda line: line.part)
    panels = [panel_of(some, "accuracy in %") for _, some in parts]
    drawn = N_SETS[quick] * max(_numbers(EXPERIMENTS[0]).values())
    settings = {"digit": PAPER["digit"], "n_calls": N_CALLS[quick], "threads": n_workers()}
    rows = [panels[at : at + 2] for at in range(0, len(panels), 2)]
    return PAPER.comparison(
        lines,
        PAPER.notes(drawn=drawn, **settings),
        pictures=beside("accuracies", PAPER["caption"], rows),
        failures=missing.sentences(),
        tables=tables_of(lines, PAPER["layout"]),
        columns=tuple(PAPER["columns"]),
    )


def _numbers(experiment: Mapping[str, Any]) -> dict[str, int]:
    """The number of trials of every label S-n."""
    return {label: int(label[2:]) for label in experiment["paper"] if label != "Exact"}


def _run(experiment: Mapping[str, Any], quick: bool) -> tuple[Mapping[str, Cell], str]:
    """The computed numbers by label, and a note."""
    data = load(experiment["data"], **experiment.get("arguments", {}))
    design = dict(experiment["design"])
    cv = getattr(knnccv, design.pop("name"))(**design)
    ties = experiment.get("ties", "index")
    asked = {"variant": experiment["variant"], "cv": cv, **experiment.get("parameters", {})}

    def exact(ties: str = ties) -> Any:
        return knnccv.complete_cv(data.X, data.y, ties=ties, **asked)

    def trials(number: int) -> Any:
        return knnccv.monte_carlo_cv(data.X, data.y, ties=ties, n_runs=number, random_state=SEED, **asked)

    numbers, n_calls = _numbers(experiment), N_CALLS[quick]
    scores = trials(max(numbers.values()) * N_SETS[quick]).scores
    cells = {"Exact": {"value": 100 * exact().score, "seconds": median_seconds(exact, n_calls)}}
    for label, number in numbers.items():
        means = 100 * scores[: len(scores) // number * number].reshape(-1, number).mean(axis=1)
        spread, time = 2 * float(means.std(ddof=1)), median_seconds(partial(trials, number), n_calls)
        cells[label] = {"value": float(means.mean()), "two_sigma": spread, "seconds": time}
    if ties != "random":
        return cells, ""
    told = (
        "tied samples are averaged over all their orders; in the order of the file, the exact accuracy is"
    )
    return cells, f"{told} {100 * exact('index').score:.4f}."


def lines_of(experiment: Mapping[str, Any], cells: Mapping[str, Cell], note: str = "") -> Iterator[Line]:
    """The printed numbers of an experiment beside the computed ones; there are none if data are missing."""
    number = experiment["number"]
    for label, paper in experiment["paper"].items():
        found = cells.get(label, {})
        more: dict[str, Any] = {"experiment": number}
        for side, cell in (("paper", paper), ("knnccv", found)):
            more |= {f"{side}_2sigma": cell.get("two_sigma"), f"{side}_seconds": cell.get("seconds")}
        told, judged = f"{experiment['title']}. {note}" if label == "Exact" else "", None
        if found:
            off = found["value"] - paper["value"]
            judged = _judge(off, paper.get("two_sigma"))
            if reason := {"differs": "rounding", "outside 2 sigma": "its 2σ"}.get(judged):
                differs = f"knnccv {found['value']:.2f} differs from the printed {paper['value']:.1f}"
                told = f"{differs} by {off:+.2f}, more than {reason} explains. {told}"
        within = paper.get("two_sigma", PAPER["digit"])
        allowed = paper["value"] - within, paper["value"] + within
        numbers = paper["value"], found.get("value"), allowed
        yield Line(f"Experiment {number}", label, *numbers, note=told.strip(), judged=judged, more=more)


def _judge(difference: float, two_sigma: float | None) -> str:
    """The verdict: the difference is explained by rounding, by the paper's 2σ, or by neither."""
    if abs(difference) <= PAPER["digit"] + 1e-9:
        return "agrees"
    if two_sigma is None:
        return "differs"
    return "within 2 sigma" if abs(difference) <= two_sigma else "outside 2 sigma"
