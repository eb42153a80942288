"""What is printed in Table 1 of the technical report, and what each experiment asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Cell:
    """One number of a table: accuracy in %, twice its standard deviation if it has one, and its time."""

    value: float
    two_sigma: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Experiment:
    """One row of a table, and what it asks.

    Attributes
    ----------
    number : int
        As the paper counts.
    title : str
        What it is, for people.
    data : tuple of str and mapping
        Function of `knnccv.datasets` and its arguments.
    variant : str
        The rule.
    design : tuple of str and mapping
        Class of `knnccv.designs` and its arguments.
    paper : mapping of str to Cell
        What is printed. "Exact" is the exact score; "S-n" the mean of n random trials.
    ties : str
        As for `complete_cv`. With "random" a note tells what "index" would give.
    parameters : mapping
        The variant's parameters.
    """

    number: int
    title: str
    data: tuple[str, Mapping[str, Any]]
    variant: str
    design: tuple[str, Mapping[str, Any]]
    paper: Mapping[str, Cell]
    ties: str = "index"
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PaperTable:
    """A table of the literature.

    Attributes
    ----------
    title, source : str
        What it is, and where it is printed.
    digit : float
        Half a unit of the last printed digit: what rounding alone can make of a difference.
    experiments : tuple of Experiment
        Its rows.
    notes : tuple of str
        What a reader of both columns must know.
    """

    title: str
    source: str
    digit: float
    experiments: tuple[Experiment, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """What knnccv found for an experiment; no cells where its data could not be had."""

    experiment: Experiment
    cells: Mapping[str, Cell] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    failure: str | None = None


def _printed(exact: tuple[float, float], **trials: tuple[float, float, float]) -> dict[str, Cell]:
    cells = {"Exact": Cell(exact[0], seconds=exact[1])}
    cells.update({name.replace("_", "-"): Cell(*values) for name, values in trials.items()})
    return cells


_LIVER: tuple[str, Mapping[str, Any]] = ("fetch_liver_disorders", {})
_FACES: tuple[str, Mapping[str, Any]] = ("fetch_orl", {"size": (16, 16)})
_HALF: tuple[str, Mapping[str, Any]] = ("Subsample", {"train_size": 172})
_THREE: tuple[str, Mapping[str, Any]] = ("StratifiedSubsample", {"per_class": 3})

TABLES: Mapping[str, PaperTable] = {
    "tr-table1": PaperTable(
        title="Table 1 of Mullin & Sukthankar's technical report",
        source="M. Mullin & R. Sukthankar, Complete Cross-Validation for Nearest Neighbor Classifiers, "
        "technical report, section 3",
        digit=0.05,
        experiments=(
            Experiment(
                1,
                "liver-disorders, 172 training samples, nearest neighbor",
                _LIVER,
                "nn",
                _HALF,
                _printed(
                    (60.7, 8.2),
                    S_1=(61.1, 6.3, 1.2),
                    S_10=(60.6, 2.0, 11.8),
                    S_50=(60.6, 0.7, 59.3),
                ),
                ties="random",
            ),
            Experiment(
                2,
                "liver-disorders, 172 training samples, one of the 5 nearest is right",
                _LIVER,
                "rank",
                _HALF,
                _printed(
                    (96.3, 24.3),
                    S_1=(96.4, 3.4, 1.2),
                    S_10=(96.2, 1.1, 12.5),
                    S_50=(96.5, 0.4, 62.2),
                ),
                parameters={"rank": 5},
            ),
            Experiment(
                3,
                "ORL faces 16 x 16, 3 training samples per class, nearest neighbor",
                _FACES,
                "nn",
                _THREE,
                _printed(
                    (88.8, 115.3),
                    S_1=(89.2, 3.9, 25.5),
                    S_10=(88.9, 0.8, 248.6),
                    S_50=(88.8, 0.8, 1248.2),
                ),
            ),
            Experiment(
                4,
                "ORL faces 16 x 16, 3 training samples per class, one of the 3 nearest is right",
                _FACES,
                "rank",
                _THREE,
                _printed(
                    (94.0, 153.9),
                    S_1=(93.5, 3.3, 25.0),
                    S_10=(94.2, 1.1, 246.6),
                    S_50=(93.9, 0.7, 1262.1),
                ),
                parameters={"rank": 3},
            ),
        ),
        notes=(
            "The paper does not say how the images of experiments 3 and 4 were reduced to 16 x 16; here "
            "every pixel is the mean of the area that it covers.",
            "The paper's times are those of a Pentium II at 300 MHz with arbitrary-precision arithmetic; "
            "its trials were computed one by one.",
        ),
    ),
}
