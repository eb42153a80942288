"""The answers: what complete cross-validation and its Monte Carlo twin found."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .kernel import Array

if TYPE_CHECKING:
    import pandas as pd

    from .designs import TrainingSets
    from .driver import Asked

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False, repr=False)
class CompleteCV:
    """The exact mean score of a nearest-neighbour rule over all admissible training sets.

    Attributes
    ----------
    score : float
        The mean score: accuracy as a share in [0, 1], or the expected loss where a loss was given.
    per_item : ndarray of shape (n_items,)
        A_x, the expected score of every item when it is tested; NaN for an item that never is.
    weights : ndarray of shape (n_items,)
        How much every item counts; they sum to 1, and ``score`` is the weighted sum of ``per_item``.
    error_bound : float
        Certified bound of ``|score - exact value|``: the neighbours beyond ``depth`` could not change
        the score by more, and rounding is allowed for. 0 in exact mode; infinite where ``certified`` is
        False.
    n_train_sets : int
        How many different training sets are averaged; an exact integer, computed when first asked for.
    kinds : tuple of TrainingSets
        The kinds of training sets that the design has.
    depth : int
        How many neighbours of an item were looked at, at most.
    tied : int
        Items within whose ``depth`` neighbours equally similar ones have different labels: those whose
        score may depend on how ties are broken.
    exact : Fraction or None
        The score as a rational number, in exact mode.
    per_item_exact : tuple of (Fraction or None), or None
        ``per_item`` as rational numbers, in exact mode; None for an item that is never tested.
    variant, design, ties, average : str
        What was asked.
    parameters : dict
        The variant's parameters.
    classes : ndarray of shape (n_classes,)
        The labels, sorted.
    labels : ndarray of shape (n_items,)
        The label of every item.
    seconds : float
        Wall time.
    certified : bool
        False where the neighbours are approximate: nobody knows which nearer items they lack, so that
        nothing bounds the error.
    truncation_bound : float
        What ``error_bound`` would be if the neighbour lists were right as far as they go: rounding, and
        where lists end too early. The same as ``error_bound`` where that is certified.
    """

    score: float
    per_item: Array
    weights: Array
    error_bound: float
    kinds: tuple[TrainingSets, ...]
    depth: int
    tied: int
    exact: Fraction | None = None
    per_item_exact: tuple[Fraction | None, ...] | None = None
    variant: str = ""
    design: str = ""
    ties: str = "index"
    average: str = "pooled"
    parameters: dict[str, Any] = field(default_factory=dict)
    classes: Array = field(default_factory=lambda: np.empty(0))
    labels: Array = field(default_factory=lambda: np.empty(0))
    seconds: float = 0.0
    certified: bool = True
    truncation_bound: float = 0.0
    _asked: Asked | None = None  # to be asked again, by `confusion`

    @functools.cached_property
    def n_train_sets(self) -> int:
        """How many different training sets are averaged (for a million items this takes a second)."""
        return sum(kind.number for kind in self.kinds)

    def __float__(self) -> float:
        return self.score

    def __format__(self, spec: str) -> str:
        return format(self.score, spec) if spec else repr(self)

    def __repr__(self) -> str:
        exactly = f", exactly {_short(self.exact)}" if self.exact is not None else ""
        return (
            f"<CompleteCV {self.score:.6g}{exactly}: {self.variant}{_listed(self.parameters)} over "
            f"{self.design}, {self._magnitude()} training sets, {len(self.per_item)} items, "
            f"{error_line(self)}, {self.tied} items tied (ties={self.ties!r})>"
        )

    def _magnitude(self) -> str:
        """As `magnitude` of the number, without the number where that has too many digits."""
        logs = [kind.log10_number for kind in self.kinds]
        if max(logs) < 1000:
            return magnitude(self.n_train_sets)
        log = max(logs) + math.log10(sum(10 ** (value - max(logs)) for value in logs))
        return f"about 1e+{round(log)}"

    def to_frame(self) -> pd.DataFrame:
        """One row per item: label, score and weight, as a pandas DataFrame.

        Raises
        ------
        ImportError
            If pandas is missing.
        """
        frame = data_frame({"label": self.labels, "score": self.per_item, "weight": self.weights})
        frame.index.name = "item"
        return frame


@dataclass(frozen=True, eq=False, repr=False)
class MonteCarloCV:
    """Scores of a few random runs of a design: what people do where knnccv averages all of them.

    Attributes
    ----------
    scores : ndarray of shape (n_repeats,)
        The score of every run; a run of a k-fold design is one whole partition into folds.
    score : float
        Their mean.
    std : float
        Their standard deviation (n_repeats - 1 in the denominator): how much one run depends on luck.
        NaN for a single run.
    standard_error : float
        ``std / sqrt(n_repeats)``: the same of the mean. It measures the luck of splitting, not that of
        having drawn these items.
    error_bound : float
        How much the mean may be off because neighbour lists ended before enough training items were
        found; 0 unless the lists were given and are short. Infinite where ``certified`` is False.
    certified : bool
        False where the neighbours are approximate.
    truncation_bound : float
        What ``error_bound`` would be if the neighbour lists were right as far as they go.
    """

    scores: Array
    error_bound: float = 0.0
    variant: str = ""
    design: str = ""
    ties: str = "index"
    average: str = "pooled"
    parameters: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    certified: bool = True
    truncation_bound: float = 0.0

    @property
    def score(self) -> float:
        """Mean of the runs."""
        return float(self.scores.mean())

    @property
    def std(self) -> float:
        """Standard deviation of one run."""
        return float(self.scores.std(ddof=1)) if len(self.scores) > 1 else float("nan")

    @property
    def standard_error(self) -> float:
        """Standard deviation of the mean."""
        return self.std / float(np.sqrt(len(self.scores)))

    def __float__(self) -> float:
        return self.score

    def __format__(self, spec: str) -> str:
        return format(self.score, spec) if spec else repr(self)

    def __repr__(self) -> str:
        return (
            f"<MonteCarloCV {self.score:.6g}{self._spread()}: {self.variant}{_listed(self.parameters)}, "
            f"{len(self.scores)} random run{'s' if len(self.scores) > 1 else ''} of {self.design}"
            f"{'' if self.certified else ', ' + error_line(self)}>"
        )

    def _spread(self) -> str:
        if len(self.scores) == 1:
            return ""
        return f" ± {self.standard_error:.2g} (standard error; one run ± {self.std:.2g})"


def data_frame(columns: dict[str, Array]) -> pd.DataFrame:
    """A pandas DataFrame of these columns; ImportError if pandas is missing."""
    try:
        import pandas as pd
    except ImportError as error:
        msg = "to_frame() needs pandas: pip install 'knnccv[pandas]'"
        raise ImportError(msg) from error
    return pd.DataFrame(columns)


def error_line(result: Any) -> str:
    """What is known of the error, for people to read."""
    bound = float(np.max(result.truncation_bound if not result.certified else result.error_bound))
    if result.certified:
        return f"error at most {bound:.1e}"
    return f"neighbours approximate: error unknown ({bound:.1e} if they were right)"


def uncertified(result: Result) -> Result:
    """A result of approximate neighbours: the same, and nothing is promised of its error."""
    given: Any = result
    none = np.full_like(given.truncation_bound, np.inf)
    marked: Result = replace(given, certified=False, error_bound=none if none.ndim else math.inf)
    return marked


def magnitude(number: int) -> str:
    """A count for people to read: as it is while short, else as a power of ten.

    Examples
    --------
    >>> magnitude(120)
    '120'
    >>> magnitude(10**40)
    '1.0e+40'
    """
    if number < 10**6:
        return str(number)
    digits = _digits(number)
    lead = (number // 10 ** (digits - 3) + 5) // 10
    if lead == 100:
        lead, digits = 10, digits + 1
    return f"{lead // 10}.{lead % 10}e+{digits - 1}"


def _digits(number: int) -> int:
    """Decimal digits of a positive integer, also where str() would refuse its length."""
    guess = int(number.bit_length() * 0.30102999566398120) - 1
    digits = max(guess, 0)
    power = 10**digits
    while power <= number:
        power *= 10
        digits += 1
    return digits


def _short(value: Fraction) -> str:
    if value.numerator.bit_length() + value.denominator.bit_length() > 200:
        return f"a fraction of {_digits(abs(value.numerator) or 1)} by {_digits(value.denominator)} digits"
    return str(value)


def _listed(parameters: dict[str, Any]) -> str:
    shown = []
    for name, value in parameters.items():
        if value is None:
            continue
        shape = getattr(value, "shape", None)
        shown.append(f"{name}={'x'.join(map(str, shape)) + ' matrix' if shape else value}")
    return f"({', '.join(shown)})" if shown else ""
