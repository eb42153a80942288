"""The printed numbers of tables 2 and 3 of Mullin & Sukthankar (ICML 2000), and their experiments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SOURCE = (
    "M. Mullin & R. Sukthankar, Complete Cross-Validation for Nearest Neighbor Classifiers, ICML 2000, "
    "section 4"
)
HOLDOUT, CCV, CV, SUBSAMPLING = "Holdout", "CCV", "CV", "Subsampling"
STRATIFIED = " (stratified)"
IN_ORDER = "CCV, ties in the order of the file"
BAYES_ERROR = 0.504
"""The Bayes error of the synthetic data."""

GAUSSIANS: Mapping[str, tuple[tuple[float, float, float], ...]] = {
    "regular tetrahedron": ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)),
    "square": ((1, 1, 0), (1, -1, 0), (-1, 1, 0), (-1, -1, 0)),
    "line, equally spaced": ((-3, 0, 0), (-1, 0, 0), (1, 0, 0), (3, 0, 0)),
}
"""Possible means of the four Gaussians, up to a factor; the paper does not print them."""

GEOMETRY = "square"


@dataclass(frozen=True)
class Printed:
    """A row of a table: mean and variance times 1000, seconds per trial and per run."""

    mean: float
    variance: float
    per_trial: float
    per_run: float


@dataclass(frozen=True)
class Block:
    """One block of a table."""

    title: str
    data: str  # key of `POOLS`, or of `GAUSSIANS`
    n_drawn: int  # samples in one set S
    n_draws: int  # sets S in the paper
    n_trials: int  # trials on each set in the paper
    printed: Mapping[str, Printed]  # by method
    rule: str = "nn"  # the variant, and its parameters
    parameters: Mapping[str, Any] = field(default_factory=dict)
    unprinted: tuple[str, ...] = ()  # methods that the paper does not have

    @property
    def methods(self) -> tuple[str, ...]:
        """All methods."""
        return (*self.printed, *self.unprinted)


def _printed(*rows: tuple[float, float, float, float], stratified: bool = True) -> dict[str, Printed]:
    names = [HOLDOUT]
    for method in (CCV, CV, SUBSAMPLING):
        names += [method, method + STRATIFIED] if stratified else [method]
    return {name: Printed(*row) for name, row in zip(names, rows, strict=True)}


BLOCKS = (
    Block(
        "1-NN on synthetic data",
        GEOMETRY,
        80,
        100,
        100,
        _printed(
            (371.2, 0.89, 0.84, 0.8),
            (369.8, 3.68, 0.14, 0.1),
            (378.5, 3.77, 0.24, 0.2),
            (370.0, 4.46, 0.06, 6.4),
            (379.3, 4.53, 0.08, 7.5),
            (361.7, 12.25, 0.01, 1.2),
            (372.5, 12.23, 0.02, 1.6),
        ),
    ),
    Block(
        "1-NN on Abalone-3",
        "Abalone-3",
        600,
        50,
        50,
        _printed(
            (566.7, 0.12, 17.54, 17.5),
            (560.1, 0.59, 3.47, 3.5),
            (561.1, 0.59, 6.91, 6.9),
            (561.2, 0.62, 0.75, 37.5),
            (562.5, 0.59, 0.86, 43.0),
            (561.8, 2.08, 0.52, 26.3),
            (562.2, 2.05, 0.55, 27.6),
        ),
    ),
    Block(
        "5-NN on Abalone-2",
        "Abalone-2",
        600,
        50,
        50,
        _printed(
            (754.1, 0.09, 25.78, 25.8),
            (748.5, 0.35, 41.42, 41.4),
            (749.3, 0.35, 21.33, 21.3),
            (748.6, 0.44, 2.03, 101.7),
            (749.5, 0.43, 2.14, 106.8),
            (747.2, 1.54, 0.80, 40.0),
            (749.1, 1.62, 0.84, 41.7),
        ),
        "knn",
        {"n_neighbors": 5},
    ),
    Block(
        "One of the 10 nearest is right, Abalone-3",
        "Abalone-3",
        600,
        50,
        50,
        _printed(
            (970.7, 0.04, 26.16, 26.2),
            (973.6, 0.02, 20.95, 21.0),
            (973.5, 0.04, 2.02, 101.3),
            (973.5, 0.25, 0.82, 40.7),
            stratified=False,
        ),
        "rank",
        {"rank": 10},
    ),
)
"""Table 2."""

LOSS_BLOCK = Block(
    "1-NN on Breast Cancer, a missed malignancy costs 5",
    "Breast Cancer",
    140,
    50,
    50,
    _printed(
        (225.4, 4.87, 0.47, 0.5),
        (246.1, 6.89, 0.30, 0.3),
        (240.9, 12.66, 0.06, 2.8),
        (230.6, 41.46, 0.03, 1.4),
        stratified=False,
    ),
    "nn",
    {"loss": ((0, 1), (5, 0))},
    (IN_ORDER,),
)
"""Table 3."""
