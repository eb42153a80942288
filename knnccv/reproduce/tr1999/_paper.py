"""The printed numbers of Table 1 of the technical report, and the settings of each experiment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TITLE = (
    "Table 1 of Mullin & Sukthankar's technical report: accuracy in %, ± 2σ of the estimate, and seconds"
)
SOURCE = (
    "M. Mullin & R. Sukthankar, Complete Cross-Validation for Nearest Neighbor Classifiers, technical "
    "report, section 3"
)
DIGIT = 0.05
"""Half a unit of the last printed digit: the largest difference that rounding explains."""

NOTES = (
    "The paper does not say how the images of experiments 3 and 4 were reduced to 16 x 16; here every "
    "pixel is the mean of the area that it covers.",
    "The paper's times are those of a Pentium II at 300 MHz with arbitrary-precision arithmetic; its "
    "trials were computed one by one.",
)


@dataclass(frozen=True)
class Cell:
    """One number of the table: accuracy in %, twice its standard deviation or None, and its seconds."""

    value: float
    two_sigma: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Experiment:
    """One row of the table."""

    number: int  # as in the paper
    title: str
    data: tuple[str, Mapping[str, Any]]  # function of `knnccv.datasets` and its arguments
    variant: str
    design: tuple[str, Mapping[str, Any]]  # class of `knnccv.designs` and its arguments
    paper: Mapping[str, Cell]  # "Exact" is the exact score, "S-n" the mean of n random trials
    ties: str = "index"  # with "random" a note gives the score of "index" as well
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_trials(self) -> dict[str, int]:
        """The number of random trials in every column S-n."""
        return {label: int(label[2:]) for label in self.paper if label.startswith("S-")}


@dataclass(frozen=True)
class Row:
    """The computed numbers of an experiment; no cells where its data could not be obtained."""

    experiment: Experiment
    cells: Mapping[str, Cell] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    failure: str | None = None


def _printed(exact: tuple[float, float], **trials: tuple[float, float, float]) -> dict[str, Cell]:
    cells = {name.replace("_", "-"): Cell(*values) for name, values in trials.items()}
    return {"Exact": Cell(exact[0], seconds=exact[1]), **cells}


_LIVER = "fetch_liver_disorders", dict[str, Any]()
_FACES = "fetch_orl", {"size": (16, 16)}
_HALF = "Subsample", {"train_size": 172}
_THREE = "StratifiedSubsample", {"per_class": 3}

EXPERIMENTS = (
    Experiment(
        1,
        "liver-disorders, 172 training samples, nearest neighbor",
        _LIVER,
        "nn",
        _HALF,
        _printed((60.7, 8.2), S_1=(61.1, 6.3, 1.2), S_10=(60.6, 2.0, 11.8), S_50=(60.6, 0.7, 59.3)),
        ties="random",
    ),
    Experiment(
        2,
        "liver-disorders, 172 training samples, one of the 5 nearest is right",
        _LIVER,
        "rank",
        _HALF,
        _printed((96.3, 24.3), S_1=(96.4, 3.4, 1.2), S_10=(96.2, 1.1, 12.5), S_50=(96.5, 0.4, 62.2)),
        parameters={"rank": 5},
    ),
    Experiment(
        3,
        "ORL faces 16 x 16, 3 training samples per class, nearest neighbor",
        _FACES,
        "nn",
        _THREE,
        _printed((88.8, 115.3), S_1=(89.2, 3.9, 25.5), S_10=(88.9, 0.8, 248.6), S_50=(88.8, 0.8, 1248.2)),
    ),
    Experiment(
        4,
        "ORL faces 16 x 16, 3 training samples per class, one of the 3 nearest is right",
        _FACES,
        "rank",
        _THREE,
        _printed((94.0, 153.9), S_1=(93.5, 3.3, 25.0), S_10=(94.2, 1.1, 246.6), S_50=(93.9, 0.7, 1262.1)),
        parameters={"rank": 3},
    ),
)
