"""Cells of the study: a rule and a design on a population and a number of samples."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._typing import Array
from ...designs import Design, KFold, LeaveGroupsOut, LeaveOut, StratifiedKFold, Subsample
from ...neighbors import Neighbors
from ...results import CompleteCV, complete_cv
from .._paper import Paper
from ._populations import GROUP_SIZE, POPULATIONS

PAPER = Paper.read("coverage")
SHARES = {"train 50 %": 0.5, "train 90 %": 0.9}


def design_of(name: str, n: int) -> Design:
    """The design of this name for n samples."""
    if name in SHARES:
        return Subsample(round(SHARES[name] * n))
    if name == "groups left out":
        return LeaveGroupsOut(np.arange(n) // GROUP_SIZE)
    folds = {"leave-one-out": LeaveOut(1), "5 folds": KFold(5), "5 stratified folds": StratifiedKFold(5)}
    return folds[name]


class Cell(NamedTuple):
    """A rule and a design; `key` names both in files."""

    rule: str
    design: str

    @property
    def key(self) -> str:
        """The name in files."""
        return f"{self.rule} | {self.design}"

    @property
    def n_votes(self) -> int:
        """K if the rule is a vote of neighbors without costs, else 0."""
        return int(PAPER["rules"][self.rule].get("n_votes", 0))

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the rule."""
        return dict(PAPER["rules"][self.rule].get("parameters", {}))

    def score(self, neighbors: Neighbors, y: Array) -> CompleteCV:
        """The exact score of a sample of the population."""
        variant, design = PAPER["rules"][self.rule]["variant"], design_of(self.design, len(y))
        return complete_cv(neighbors, y, variant, design, n_jobs=1, **self.parameters)


def cells_of(population: str, n: int) -> tuple[Cell, ...]:
    """All cells of a population, without those whose halves are too small for K votes."""
    kind = POPULATIONS[population].kind
    cells = (Cell(rule, design) for rule in PAPER["rules_of"][kind] for design in PAPER["designs_of"][kind])
    return tuple(cell for cell in cells if _votes_suit_halves(cell, n))


def _votes_suit_halves(cell: Cell, n: int) -> bool:
    most = max(cell.parameters.get(name, 1) for name in ("n_neighbors", "rank"))
    share = 0.5 if cell.design == "train 50 %" else 0.8
    return bool(most <= share * (n // 2) - 1)
