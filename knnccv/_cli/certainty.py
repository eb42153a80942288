"""How far the answer of ``score`` can be trusted: its interval, and the comparison with another rule."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..driver import is_accuracy
from ..inference import Comparison, ConfidenceInterval, StandardError, compare
from ..results import CompleteCV

ROPE = 0.01
"""The largest difference between two rules that does not matter, unless --rope sets it. Not for losses."""

WIDTH = 84


@dataclass(frozen=True, eq=False)
class Certainty:
    """The luck of the data and the luck of the split; a part that was not asked for is None.

    Attributes
    ----------
    standard_error, interval
        The luck of the data.
    split_std
        The luck of the split.
    comparison
        The comparison with another rule, and ``level``, that of its interval.
    rope
        The largest difference that does not matter; None for a loss without --rope.
    """

    standard_error: StandardError | None = None
    interval: ConfidenceInterval | None = None
    split_std: Any = None
    comparison: Comparison | None = None
    level: float = 0.95
    rope: float | None = None

    @classmethod
    def of(
        cls,
        found: CompleteCV,
        other: CompleteCV | None,
        interval: float | None,
        rope: float | None,
        seed: int,
    ) -> Certainty:
        """What the options ask for.

        Raises
        ------
        ValueError
            If there are too few samples or groups, or the rules cannot be compared.
        """
        level = 0.95 if interval is None else interval
        comparison = None if other is None else compare(found, other, random_state=seed)
        if rope is None and comparison is not None and not comparison.is_loss:
            rope = ROPE
        if interval is None:
            return cls(comparison=comparison, level=level, rope=rope)
        return cls(
            found.standard_error(random_state=seed),
            found.confidence_interval(level, random_state=seed),
            found.split_std(random_state=seed),
            comparison,
            level,
            rope,
        )

    def as_json(self) -> dict[str, Any]:
        """The parts in types that JSON has; None for those that were not asked for."""
        interval, spread = self.interval, self.split_std
        return {
            "standard_error": None if self.standard_error is None else float(self.standard_error),
            "interval": None if interval is None else _interval_as_json(interval),
            "split_std": (
                None
                if spread is None
                else {"std": spread.std, "exact": spread.exact, "error": spread.error}
            ),
            "comparison": None if self.comparison is None else self._comparison_as_json(self.comparison),
        }

    def lines(self, measure: str) -> list[str]:
        """Lines beside the score."""
        if self.interval is None or self.split_std is None:
            return []
        shown = _shown(measure)
        spread = self.split_std
        every_split = spread.exact and spread.std == spread.error == 0
        std = f"{100 * spread.std:.2f} points" if is_accuracy(measure) else f"{spread.std:.4g}"
        around = f"standard deviation of one random run around this exact score: {std}"
        luck = [around, "(luck of the split)"]
        return [
            *(["every split is used: no luck of the split"] if every_split else luck),
            f"{_bracketed(self.interval, shown)} (luck of the data)",
            *textwrap.wrap(f"for the {self.interval.target}", WIDTH),
        ]

    def comparison_lines(self) -> list[str]:
        """The block on the other rule, below the score."""
        found = self.comparison
        if found is None:
            return []
        points = is_accuracy(found.measure)
        shown = _shown(found.measure)

        def difference(value: float) -> str:
            return f"{100 * value:+.2f}" if points else f"{value:+.4g}"

        unit = " points" if points else ""
        interval = found.confidence_interval(self.level)
        lines = [
            "",
            f"Compared with {found.names[1]}: {found.measure} {shown(found.scores[1])}",
            f"  difference   {difference(found.difference)}{unit}  (this rule minus the other)",
        ]
        if math.isnan(found.pvalue):
            return [*lines, "  p-value      not defined: the halves do not tell both rules apart"]
        lines += [
            f"               {100 * self.level:g} % [{difference(interval.low)}, "
            f"{difference(interval.high)}]{unit} (luck of the data)",
            f"  p-value      {found.pvalue:.2g}  (of the hypothesis that both are equally good in the "
            "population)",
        ]
        if self.rope is None:
            return lines
        likely = found.probability(self.rope)
        by = f"{100 * self.rope:g} point{'s' * (self.rope != ROPE)}" if points else f"{self.rope:g}"
        return [
            *lines,
            f"  better by more than {by}  (posterior probability, flat prior, normal approximation):",
            f"               this rule {likely.first:.2f}, neither {likely.equivalent:.2f}, "
            f"the other {likely.second:.2f}",
        ]

    def _comparison_as_json(self, found: Comparison) -> dict[str, Any]:
        is_defined = not math.isnan(found.pvalue)
        likely = found.probability(self.rope) if is_defined and self.rope is not None else None
        return {
            "with": found.names[1],
            "scores": list(found.scores),
            "difference": found.difference,
            "standard_error": found.standard_error,
            "interval": (_interval_as_json(found.confidence_interval(self.level)) if is_defined else None),
            "pvalue": found.pvalue if is_defined else None,
            "rope": self.rope,
            "probability": likely
            and {"better": likely.first, "equivalent": likely.equivalent, "worse": likely.second},
        }


def _interval_as_json(interval: ConfidenceInterval) -> dict[str, Any]:
    return {
        "low": interval.low,
        "high": interval.high,
        "level": interval.confidence_level,
        "method": interval.method,
        "target": interval.target,
    }


def _shown(measure: str) -> Callable[[float], str]:
    return (lambda x: f"{100 * x:.2f} %") if is_accuracy(measure) else (lambda x: f"{x:.4g}")


def _bracketed(interval: ConfidenceInterval, shown: Callable[[float], str]) -> str:
    return f"{100 * interval.confidence_level:g} % [{shown(interval.low)}, {shown(interval.high)}]"
