"""The printed numbers of the figures of Kanagawa (2024), and their data.

The figures print no numbers but the best k. The programs that the paper cites
(github.com/motonobuk/LOOCV-kNN) contain their output: the errors behind the figures, and the seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

DIGIT = 0.5e-6
"""Half a unit of the last digit in the output of the programs."""

KS = range(1, 51)
TIMED_K = 5


class Run(NamedTuple):
    """The first n samples at k = 5: score, seconds of brute force and of the identity."""

    score: float
    brute: float
    identity: float


@dataclass(frozen=True)
class Study:
    """A data set and its printed numbers."""

    name: str
    load: str  # the function of `knnccv.datasets` that loads it
    figure: int  # the figure with all features
    scores: tuple[float, ...]  # errors of k = 1, 2, ..., all features; both methods printed the same
    runs: Mapping[int, Run]  # by number of samples
    feature: str  # the feature of figure 4, its column, and the number of units of its last digit in 1
    column: int
    unit: int
    best: tuple[int, int]  # the best k by brute force and by the identity, with that feature
    first: tuple[float, float]  # the errors of k = 1 by both, with that feature

    @property
    def tried(self) -> range:
        """The k that the paper's programs tried."""
        return range(1, len(self.scores) + 1)


STUDIES = (
    Study(
        name="Diabetes",
        load="load_diabetes",
        figure=2,
        scores=(
            *(5887.631222, 4397.132919, 4071.689040, 3660.243637, 3674.287602),
            *(3561.314354, 3484.873303, 3427.596613, 3388.255070, 3360.854208),
            *(3375.978460, 3329.874120, 3327.911216, 3284.455167, 3296.106606),
            *(3267.080803, 3260.655639, 3209.042735, 3214.296825, 3230.038976),
        ),
        runs={
            50: Run(4265.425600, 0.052510, 0.000884),
            100: Run(4273.760800, 0.102039, 0.001027),
            150: Run(3815.263467, 0.117030, 0.001357),
            200: Run(3862.079000, 0.158112, 0.001774),
            250: Run(4082.690080, 0.247724, 0.002549),
            300: Run(3807.037067, 0.260655, 0.002734),
            350: Run(3619.299086, 0.319342, 0.003283),
            400: Run(3816.740300, 0.365036, 0.003867),
        },
        feature="body mass index",
        column=2,
        unit=10,
        best=(17, 17),
        first=(7283.855204, 13318.144796),
    ),
    Study(
        name="Wine",
        load="load_wine",
        figure=3,
        scores=(
            *(0.044944, 0.044944, 0.038077, 0.031250, 0.031236),
            *(0.032459, 0.032447, 0.030021, 0.030379, 0.028371),
            *(0.027811, 0.028714, 0.028555, 0.028577, 0.030287),
            *(0.029758, 0.030170, 0.030500, 0.029739, 0.029522),
            *(0.029453, 0.030527, 0.030586, 0.030801, 0.032198),
        ),
        runs={
            25: Run(0.0, 0.020931, 0.000997),
            50: Run(0.0, 0.037874, 0.000996),
            75: Run(0.07360, 0.058829, 0.001003),
            100: Run(0.03320, 0.083688, 0.000997),
            125: Run(0.02336, 0.112625, 0.001992),
            150: Run(0.03200, 0.143031, 0.001995),
        },
        feature="malic acid",
        column=1,
        unit=100,
        best=(21, 17),
        first=(0.713483, 0.949438),
    ),
)
