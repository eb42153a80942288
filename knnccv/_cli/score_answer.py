"""The output of the command ``score``: an exact score beside random runs, as text or as JSON."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from .._labels import majority_class
from .._training_set_count import magnitude
from .._typing import Array
from .._version import __version__
from ..designs import as_design
from ..driver import is_accuracy
from ..kernel import Variant
from ..montecarlo import MonteCarloCV
from ..results import CompleteCV, SampledCV
from .certainty import Certainty
from .score_data import Data
from .score_details import confusion_as_json, confusion_lines, scores_as_json

SAFE_INTEGER = 2**53
"""Larger integers lose digits in most readers of JSON."""

_LISTED = 4  # classes, or categorical columns, that the text names one by one


@dataclass(frozen=True, eq=False)
class Answer:
    """The exact score, and the random runs beside it."""

    data: Data
    complete: CompleteCV
    runs: MonteCarloCV | None
    rule: Variant
    cv: Any
    metric: str
    seed: int
    certainty: Certainty
    confusion: Array | None = None
    per_item: str | None = None
    notes: tuple[str, ...] = ()
    is_optimistic: bool = False

    @property
    def measure(self) -> str:
        """The name of the score."""
        return self.complete.measure

    @property
    def has_classes(self) -> bool:
        """Return True if the target is a class rather than a number."""
        return self.rule.target == "classes"

    @property
    def baseline(self) -> dict[str, Any] | None:
        """What always answering one class scores under the same weights; None if the score is no accuracy.

        In the words of the report.
        """
        if "loss" not in self.rule.parameters or not is_accuracy(self.measure):
            return None
        label, share = majority_class(self.complete.labels, self.complete.weights)
        sizes = _classes(self.data.y)
        is_largest = sizes[str(label)] == max(sizes.values())
        which = "the largest class" if is_largest else "the class of most weight"
        name = reprlib.repr(str(label))
        return {
            "name": "majority class",
            "score": share,
            "explanation": f"always answers {name}, {which}",
        }

    def as_json(self) -> dict[str, Any]:
        """The answer in types that JSON has."""
        found = self.complete
        return {
            "knnccv": __version__,
            "data": self.data.source,
            "n_items": len(self.data.X),
            "n_features": self.data.X.shape[1],
            "categorical_features": self.data.categorical_names,
            "n_missing": sum(self.data.missing.values()),
            "standardized": self.data.standardized,
            "groups": self.data.groups_name,
            "classes": _classes(self.data.y) if self.has_classes else None,
            "variant": found.variant,
            "parameters": {name: _plain(value) for name, value in found.parameters.items()},
            "design": found.design,
            "metric": self.metric,
            "ties": found.ties,
            "average": _average_as_json(found.average),
            "measure": self.measure,
            "score": found.score,
            "error_bound": None if self.sampled else found.error_bound,
            "std_error": self.sampled.std_error if self.sampled else None,
            **self.certainty.as_json(),
            "baseline": self.baseline,
            "exact": _ratio(found.exact) if isinstance(found.exact, Fraction) else None,
            "n_train_sets": (
                int(found.n_train_sets) if found.n_train_sets <= SAFE_INTEGER else str(found.n_train_sets)
            ),
            "log10_n_train_sets": found.log10_n_train_sets,
            "depth": found.depth,
            "tied": found.tied,
            "per_class": None if self.confusion is None else scores_as_json(found.per_class()),
            "confusion": None if self.confusion is None else confusion_as_json(self._names, self.confusion),
            "per_item": self.per_item,
            "seconds": found.seconds,
            "random_runs": None if self.runs is None else _runs_as_json(self.runs, self.seed),
        }

    def as_text(self) -> str:
        """The answer as lines of text."""
        found = self.complete
        rule = found.variant + _listed(found.parameters)
        ties = {"index": "in the order of the rows", "random": "averaged over all orders"}
        # With groups left out, "pooled" gives all classifications, and so all samples, equal weight.
        average = "item" if self.data.groups is not None and found.average == "pooled" else found.average
        design = as_design(self.cv, stratified=self.has_classes)
        lines = [
            *self._data_lines(),
            ("Rule", f"{rule}, {self.metric} distance,"),
            *([("", "fitted to the labels of all samples: the score is optimistic;")] * self.is_optimistic),
            ("", f"tied samples {ties[found.ties]}"),
            ("Design", f"{design.in_words()}; {_averaged(average)}"),
            ("", f"{magnitude(found.n_train_sets)} different training sets, {self._averaged()}"),
            self._score_line(),
        ]
        if isinstance(found.exact, Fraction):
            ratio = _ratio(found.exact)
            lines.append(("", f"exactly {ratio}" if len(ratio) <= 70 else _long_ratio(found.exact)))
        lines += [("", line) for line in self.certainty.lines(self.measure)]
        if base := self.baseline:
            lines.append(
                ("Baseline", f"{100 * base['score']:.4f} %  ({base['name']}: {base['explanation']})")
            )
        if found.tied:
            lines.append(("Ties", self._tied_line()))
        timed = f"{_seconds(found.seconds)} (wall time with the distances, without compilation)"
        lines.append(("Time", timed))
        if self.per_item is not None:
            lines.append(("Items", f"the scores of all samples are in {self.per_item}"))
        if self.runs is not None:
            lines += self._runs_lines(self.runs)
        shown = [f"{name:<15}{text}".rstrip() for name, text in lines]
        shown += self.certainty.comparison_lines()
        if self.confusion is not None:
            shown += ["", *confusion_lines(self._names, self.confusion, 15)]
        return "\n".join(shown)

    @property
    def _names(self) -> list[str]:
        return list(_classes(self.data.y))

    def _data_lines(self) -> list[tuple[str, str]]:
        data = self.data
        lines = [("Data", _data_line(data))]
        if data.standardized:
            lines.append(("", "features standardized over all samples"))
        lines += [("", line) for line in _mixed_lines(data)]
        lines.append(("", _class_line(_classes(data.y)) if self.has_classes else _target_line(data.y)))
        if data.groups is not None:
            lines.append(("", _group_line(data.groups, data.groups_name)))
        return lines

    def _score_line(self) -> tuple[str, str]:
        from .._formatting import bound_text

        found = self.complete
        certified = f"off by at most {bound_text(found.error_bound)}" if found.exact is None else "rational"
        if self.sampled:
            certified = f"± {self.sampled.std_error:.1e}, the standard error of the draws"
        if is_accuracy(self.measure):
            shown = f"{100 * found.score:.4f} %  ({found.score:.12f}, {certified})"
        else:
            shown = f"{found.score:.10g}  ({certified})"
        if len(self.measure) < 15:
            return self.measure[0].upper() + self.measure[1:], shown
        return "Score", f"{self.measure} {shown}"

    @property
    def sampled(self) -> SampledCV | None:
        """The result, if it was estimated from drawn training sets."""
        return self.complete if isinstance(self.complete, SampledCV) else None

    def _averaged(self) -> str:
        return f"{self.sampled.n_draws} drawn for each sample" if self.sampled else "all of them averaged"

    def _tied_line(self) -> str:
        found = self.complete
        differing = "classes" if self.has_classes else "targets"
        start = f"{found.tied} of {len(self.data.X)} samples have tied neighbors of different {differing}"
        if found.ties == "random":
            return start
        if "random" in self.rule.tie_rules:
            return f"{start};\n{'':<15}without --ties index, the mean over all their orders is taken"
        return f"{start};\n{'':<15}the score may depend on the order of the rows"

    def _runs_lines(self, runs: MonteCarloCV) -> list[tuple[str, str]]:
        percent = is_accuracy(self.measure)

        def shown(value: float) -> str:
            return f"{100 * value:.2f} %" if percent else f"{value:.4g}"

        n_runs = len(runs.scores)
        title = f"{n_runs} random run{'s' if n_runs > 1 else ''} of the same design (seed {self.seed})"
        lines = [("", ""), (title, "")]
        if self.data.groups is not None and len(set(_sizes(self.data.groups))) > 1:
            over = "; one run can exceed 100 %" if percent else ""
            lines.append(
                (f"  weighted by the sizes of their test sets, so that their mean is unbiased{over}", "")
            )
        if n_runs == 1:
            lines.append(("  score", shown(runs.score)))
        else:
            lines += [
                ("  one run", f"{shown(runs.score)} ± {shown(runs.std)}  (mean ± standard deviation)"),
                ("  their mean", f"{shown(runs.score)} ± {shown(runs.standard_error)}  (± standard error)"),
            ]
        off = runs.score - self.complete.score
        difference = f"{100 * off:+.2f} points" if percent else f"{off:+.4g}"
        lines.append(("  off by", f"{difference} from the exact {self.measure}"))
        lines.append(("  time", f"{_seconds(runs.seconds)} in all (likewise)"))
        return lines


AVERAGED = {
    "pooled": "all classifications of a split have equal weight",
    "item": "all samples have equal weight",
    "class": "all classes have equal weight",
}


def _averaged(average: Any) -> str:
    """What has equal weight, or the shares of the classes."""
    if isinstance(average, Mapping):
        return "classes weigh " + ", ".join(f"{label}: {share:g}" for label, share in average.items())
    return AVERAGED[average]


def _average_as_json(average: Any) -> Any:
    return (
        {str(label): share for label, share in average.items()} if isinstance(average, Mapping) else average
    )


def _classes(y: Array) -> dict[str, int]:
    """The number of samples of every class."""
    names, counts = np.unique(y, return_counts=True)
    return {str(name): int(count) for name, count in zip(names, counts, strict=True)}


def _data_line(data: Data) -> str:
    n_items, n_features = data.X.shape
    return f"{data.source}: {n_items} samples, {_plural(n_features, 'feature')}"


def _mixed_lines(data: Data) -> list[str]:
    """Lines on the categorical columns and the missing values of a table."""
    lines = []
    names = data.categorical_names
    if names:
        listed = ", ".join(names[:_LISTED]) + (", …" if len(names) > _LISTED else "")
        n_numeric = data.X.shape[1] - len(names)
        lines.append(f"{n_numeric} numeric, {len(names)} categorical ({listed})")
    if data.missing:
        n_missing = sum(data.missing.values())
        marks = ", ".join(f"{mark or 'empty'}: {count}" for mark, count in sorted(data.missing.items()))
        lines.append(f"{_plural(n_missing, 'missing value')} ({marks})")
    return lines


def _group_line(groups: Array, column: str | None) -> str:
    sizes = _sizes(groups)
    smallest, largest = min(sizes), max(sizes)
    spread = f"{smallest} to {largest} samples" if smallest < largest else _plural(smallest, "sample")
    return f"{len(sizes)} groups of {spread} (column {column!r})"


def _sizes(groups: Array) -> list[int]:
    """The number of samples of every group."""
    sizes: list[int] = np.unique(groups, return_counts=True)[1].tolist()
    return sizes


def _target_line(y: Array) -> str:
    return f"targets from {y.min():g} to {y.max():g}, mean {y.mean():g}, variance {y.var():g}"


def _class_line(counts: Mapping[str, int]) -> str:
    classes = f"{len(counts)} class{'' if len(counts) == 1 else 'es'}"
    if len(counts) <= _LISTED:
        return f"{classes} ({', '.join(f'{name}: {count}' for name, count in counts.items())})"
    smallest, largest = min(counts.values()), max(counts.values())
    sizes = str(smallest) if smallest == largest else f"{smallest} to {largest}"
    return f"{classes} of {sizes} samples"


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _listed(parameters: Mapping[str, Any]) -> str:
    shown = ", ".join(f"{name}={value}" for name, value in parameters.items() if value is not None)
    return f" ({shown})" if shown else ""


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 10 else f"{seconds:.2g} s"


def _ratio(value: Fraction) -> str:
    # str() refuses integers of more than 4300 digits; Decimal prints them, and loses none.
    return f"{Decimal(value.numerator)}/{Decimal(value.denominator)}"


def _long_ratio(value: Fraction) -> str:
    digits = [len(str(Decimal(abs(part)))) for part in (value.numerator, value.denominator)]
    return f"exactly a fraction of {digits[0]} by {digits[1]} digits (--json prints them)"


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return value if isinstance(value, bool | int | float | str | list | None) else str(value)


def _runs_as_json(runs: MonteCarloCV, seed: int) -> dict[str, Any]:
    several = len(runs.scores) > 1
    return {
        "n_repeats": len(runs.scores),
        "seed": seed,
        "mean": runs.score,
        "std": runs.std if several else None,
        "standard_error": runs.standard_error if several else None,
        "scores": runs.scores.tolist(),
        "seconds": runs.seconds,
    }
