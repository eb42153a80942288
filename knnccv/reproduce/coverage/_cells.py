"""Cells of the study: a rule and a design on a population and a number of samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._typing import Array
from ...designs import Design, KFold, LeaveGroupsOut, LeaveOut, StratifiedKFold, Subsample
from ...neighbors import Neighbors
from ...results import CompleteCV, complete_cv
from ._populations import GROUP_SIZE, POPULATIONS


@dataclass(frozen=True)
class Rule:
    """A rule and its parameters; `n_votes` is K if it is a vote of neighbors without costs, else 0."""

    name: str
    variant: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    n_votes: int = 0


COSTS = {"loss": ((0.0, 1.0), (5.0, 0.0))}
RULES = {
    rule.name: rule
    for rule in (
        Rule("1-NN", "nn", n_votes=1),
        Rule("5-NN", "knn", {"n_neighbors": 5}, 5),
        Rule("15-NN", "knn", {"n_neighbors": 15}, 15),
        Rule("rank 3", "rank", {"rank": 3}),
        Rule("1-NN, costs", "nn", COSTS),
        Rule("5-NN, costs", "knn", {"n_neighbors": 5, **COSTS}),
        Rule("1-NN regression", "regression", {"n_neighbors": 1}),
        Rule("5-NN regression", "regression", {"n_neighbors": 5}),
        Rule("15-NN regression", "regression", {"n_neighbors": 15}),
    )
}
SHARES = {"train 50 %": 0.5, "train 90 %": 0.9}
SINGLES = ("train 50 %", "train 90 %", "leave-one-out", "5 folds")
RULES_OF = {
    "two": ("1-NN", "5-NN", "15-NN"),
    "many": ("1-NN", "5-NN", "rank 3"),
    "costs": ("1-NN, costs", "5-NN, costs"),
    "regression": ("1-NN regression", "5-NN regression", "15-NN regression"),
    "errors": ("5-NN regression",),
    "groups": ("1-NN", "5-NN"),
}
DESIGNS_OF = {"regression": SINGLES, "errors": ("5 folds",), "groups": ("groups left out",)}


def design_of(name: str, n: int) -> Design:
    """The design of this name for n samples."""
    if name in SHARES:
        return Subsample(round(SHARES[name] * n))
    if name == "groups left out":
        return LeaveGroupsOut(np.arange(n) // GROUP_SIZE)
    folds = {"leave-one-out": LeaveOut(1), "5 folds": KFold(5), "5 stratified folds": StratifiedKFold(5)}
    return folds[name]


@dataclass(frozen=True)
class Cell:
    """A rule and a design; `key` names both."""

    rule: str
    design: str

    @property
    def key(self) -> str:
        """The name in files."""
        return f"{self.rule} | {self.design}"

    def score(self, neighbors: Neighbors, y: Array) -> CompleteCV:
        """The exact score of a sample of the population."""
        rule = RULES[self.rule]
        design = design_of(self.design, len(y))
        return complete_cv(neighbors, y, rule.variant, design, n_jobs=1, **rule.parameters)


def cells_of(population: str, n: int) -> tuple[Cell, ...]:
    """All cells of a population, without those whose halves are too small for K votes."""
    kind = POPULATIONS[population].kind
    designs = DESIGNS_OF.get(kind, (*SINGLES, "5 stratified folds"))
    cells = (Cell(rule, design) for rule in RULES_OF[kind] for design in designs)
    return tuple(cell for cell in cells if _votes_suit_halves(cell, n))


def _votes_suit_halves(cell: Cell, n: int) -> bool:
    most = max(RULES[cell.rule].parameters.get(name, 1) for name in ("n_neighbors", "rank"))
    share = 0.5 if cell.design == "train 50 %" else 0.8
    return bool(most <= share * (n // 2) - 1)
