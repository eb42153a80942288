"""Table 1 of the technical report of Mullin and Sukthankar: exact accuracy beside random splits."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from .._parallel import n_workers
from ..results import complete_cv
from ._comparison import Comparison, Line, missing_data, tables_of
from ._paper import Paper, load
from ._picture import Panel, beside

PAPER = Paper.read("tr1999")
EXPERIMENTS: Sequence[Mapping[str, Any]] = PAPER["experiments"]
N_SETS = {False: 20, True: 5}
"""Number of independent sets of the largest S-n, in full and quickly."""

N_CALLS = {False: 5, True: 3}
"""Number of calls of which a time is the median."""

SEED = 0


class Row(NamedTuple):
    """The computed numbers of an experiment by label, as printed ones; none if its data are missing."""

    experiment: Mapping[str, Any]
    cells: Mapping[str, Mapping[str, Any]]
    failure: str | None = None
    note: str = ""


def table1(quick: bool, progress: bool = False) -> Comparison:  # noqa: ARG001 (it is short)
    """Recompute the table; `quick` draws fewer random trials."""
    loaded: dict[str, tuple[Any, str | None]] = {}
    rows = []
    for experiment in EXPERIMENTS:
        name = experiment["data"]
        if name not in loaded:
            loaded[name] = load(name, **experiment.get("arguments", {}))
        data, failure = loaded[name]
        rows.append(Row(experiment, {}, failure) if failure else _run(experiment, data, quick))
    return compare(rows, quick)


def _run(experiment: Mapping[str, Any], data: Any, quick: bool) -> Row:
    from .. import designs
    from ..montecarlo import monte_carlo_cv

    design = dict(experiment["design"])
    cv = getattr(designs, design.pop("name"))(**design)
    ties = experiment.get("ties", "index")
    asked = {"variant": experiment["variant"], "cv": cv, **experiment.get("parameters", {})}

    def exact(ties: str = ties) -> Any:
        return complete_cv(data.X, data.y, ties=ties, **asked)

    def trials(number: int) -> Any:
        return monte_carlo_cv(data.X, data.y, ties=ties, n_repeats=number, random_state=SEED, **asked)

    def seconds(ask: Callable[..., Any], *arguments: int) -> float:
        # No call compiles: a similar one was made before.
        return float(statistics.median(ask(*arguments).seconds for _ in range(N_CALLS[quick])))

    numbers = {label: int(label[2:]) for label in experiment["paper"] if label != "Exact"}
    scores = trials(max(numbers.values()) * N_SETS[quick]).scores
    cells = {"Exact": {"value": 100 * exact().score, "seconds": seconds(exact)}}
    for label, number in numbers.items():
        means = 100 * scores[: len(scores) // number * number].reshape(-1, number).mean(axis=1)
        spread = 2 * float(means.std(ddof=1))
        cells[label] = {
            "value": float(means.mean()),
            "two_sigma": spread,
            "seconds": seconds(trials, number),
        }
    note = ""
    if ties == "random":
        score = 100 * exact("index").score
        note = (
            "tied samples are averaged over all their orders; in the order of the file, the exact accuracy "
            f"is {score:.4f}."
        )
    return Row(experiment, cells, note=note)


def compare(rows: Sequence[Row], quick: bool) -> Comparison:
    """The printed numbers of the experiments beside those of the rows."""
    lines = [line for row in rows for line in _lines(row)]
    found = [line for line in lines if line.computed is not None]
    panels = [_panel(part, list(some)) for part, some in groupby(found, key=lambda line: line.part)]
    drawn = N_SETS[quick] * max(int(label[2:]) for label in EXPERIMENTS[0]["paper"] if label != "Exact")
    settings = {"digit": PAPER["digit"], "n_calls": N_CALLS[quick], "threads": n_workers(None)}
    return PAPER.comparison(
        lines,
        PAPER.notes(drawn=drawn, **settings),
        pictures=beside(
            "accuracies", PAPER["caption"], [panels[at : at + 2] for at in range(0, len(panels), 2)]
        ),
        failures=missing_data((f"experiment {row.experiment['number']}", row.failure) for row in rows),
        tables=tables_of(lines, PAPER["layout"]),
        columns=tuple(PAPER["columns"]),
    )


def _lines(row: Row) -> Iterator[Line]:
    number = row.experiment["number"]
    for label, paper in row.experiment["paper"].items():
        found = row.cells.get(label, {})
        more: dict[str, Any] = {"experiment": number}
        for side, cell in (("paper", paper), ("knnccv", found)):
            more |= {f"{side}_2sigma": cell.get("two_sigma"), f"{side}_seconds": cell.get("seconds")}
        off = found["value"] - paper["value"] if found else None
        judged = None if off is None else _judge(off, paper.get("two_sigma"))
        note = f" {row.experiment['title']}. {row.note}" if label == "Exact" else ""
        if judged in ("differs", "outside 2 sigma"):
            reason = "rounding" if judged == "differs" else "its 2σ"
            differs = (
                f"knnccv {found['value']:.2f} differs from the printed {paper['value']:.1f} by {off:+.2f}"
            )
            note = f"{differs}, more than {reason} explains.{note}"
        yield Line(
            f"Experiment {number}",
            label,
            paper["value"],
            found.get("value"),
            note=note.strip(),
            judged=judged,
            more=more,
        )


def _judge(difference: float, two_sigma: float | None) -> str:
    """The verdict: the difference is explained by rounding, by the paper's 2σ, or by neither."""
    if abs(difference) <= PAPER["digit"] + 1e-9:
        return "agrees"
    if two_sigma is None:
        return "differs"
    return "within 2 sigma" if abs(difference) <= two_sigma else "outside 2 sigma"


def _panel(part: str, lines: Sequence[Line]) -> Panel:
    names = [line.quantity for line in lines]
    printed, computed = (
        ([line.record()[side] for line in lines], [line.more[f"{side}_2sigma"] or 0 for line in lines])
        for side in ("paper", "knnccv")
    )
    return Panel(part, names, printed, computed, "accuracy in %")
