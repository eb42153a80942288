"""The command ``score``: compute, and tell it to people or to programs."""

from __future__ import annotations

import argparse
import contextlib
import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from .._training_set_count import magnitude
from .._typing import Array
from .._validation import check_integer
from .._version import __version__
from ..designs import Design, KFold, LeaveGroupsOut, StratifiedKFold, StratifiedSubsample
from ..driver import CompleteCV, complete_cv, is_accuracy
from ..kernel import Variant
from ..montecarlo import MonteCarloCV, monte_carlo_cv
from ..variants import get_variant
from .compiling import Compiling
from .score_data import Data
from .score_details import confusion_as_json, confusion_lines, scores_as_json

COMPILES_ONCE = "knnccv: compiling once (about 10 s, or 30 s if different labels tie)"
"""What is said when a kernel is not in the cache: seconds of the two-processor machine of README."""

SAFE_INTEGER = 2**53
"""Larger integers lose digits in most readers of JSON."""

_LISTED = 4  # classes that the text names one by one


def rule_for(name: str, given: Mapping[str, tuple[str, Any]]) -> Variant:
    """The variant of that name, if it takes the parameters that the options give.

    Raises
    ------
    ValueError
        If there is no such variant, or an option is not for it.
    """
    rule = get_variant(name)
    for parameter, (option, _) in given.items():
        if parameter not in rule.parameters:
            allowed = ", ".join(rule.parameters) or "none"
            msg = f"{option} is no parameter of variant {rule.name!r}; its parameters: {allowed}"
            raise ValueError(msg)
    return rule


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
    confusion: Array | None = None
    per_item: str | None = None

    @property
    def measure(self) -> str:
        """What the score is."""
        return self.complete.measure

    @property
    def has_classes(self) -> bool:
        """Whether the target is a class, no number."""
        return self.rule.target == "classes"

    def as_json(self) -> dict[str, Any]:
        """All that is known, in types that JSON has."""
        found = self.complete
        return {
            "knnccv": __version__,
            "data": self.data.source,
            "n_items": len(self.data.X),
            "n_features": self.data.X.shape[1],
            "standardized": self.data.standardized,
            "groups": self.data.groups_name,
            "classes": _classes(self.data.y) if self.has_classes else None,
            "variant": found.variant,
            "parameters": {name: _plain(value) for name, value in found.parameters.items()},
            "design": found.design,
            "metric": self.metric,
            "ties": found.ties,
            "average": found.average,
            "measure": self.measure,
            "score": found.score,
            "error_bound": found.error_bound,
            "exact": None if found.exact is None else _ratio(found.exact),
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
        """The same for people."""
        found = self.complete
        rule = found.variant + _listed(found.parameters)
        ties = {"index": "in the order of the rows", "random": "averaged over all orders"}
        # Where groups are left out, the classifications of all splits count alike, and so all samples do.
        average = "item" if self.data.groups is not None and found.average == "pooled" else found.average
        lines = [
            *self._data_lines(),
            ("Rule", f"{rule}, {self.metric} distance,"),
            ("", f"equally near samples {ties[found.ties]}"),
            ("Design", f"{_describe(self.cv, found.design)}; {AVERAGED[average]}"),
            ("", f"{magnitude(found.n_train_sets)} different training sets, all of them averaged"),
            self._score_line(),
        ]
        if found.exact is not None:
            ratio = _ratio(found.exact)
            lines.append(("", f"exactly {ratio}" if len(ratio) <= 70 else _long_ratio(found.exact)))
        if found.tied:
            lines.append(("Ties", self._tied_line()))
        timed = f"{_seconds(found.seconds)} (wall time with the distances, without compilation)"
        lines.append(("Time", timed))
        if self.per_item is not None:
            lines.append(("Items", f"the scores of all samples are in {self.per_item}"))
        if self.runs is not None:
            lines += self._runs_lines(self.runs)
        shown = [f"{name:<15}{text}".rstrip() for name, text in lines]
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
            lines.append(("", "features standardized over all items"))
        lines.append(("", _class_line(_classes(data.y)) if self.has_classes else _target_line(data.y)))
        if data.groups is not None:
            lines.append(("", _group_line(data.groups, data.groups_name)))
        return lines

    def _score_line(self) -> tuple[str, str]:
        found = self.complete
        certified = f"off by at most {found.error_bound:.1e}" if found.exact is None else "rational"
        if is_accuracy(self.measure):
            shown = f"{100 * found.score:.4f} %  ({found.score:.12f}, {certified})"
        else:
            shown = f"{found.score:.10g}  ({certified})"
        if len(self.measure) < 15:
            return self.measure[0].upper() + self.measure[1:], shown
        return "Score", f"{self.measure} {shown}"

    def _tied_line(self) -> str:
        found = self.complete
        unlike = "classes" if self.has_classes else "targets"
        start = (
            f"{found.tied} of {len(self.data.X)} samples have equally near neighbors of different {unlike}"
        )
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
    "pooled": "all classifications of a split count alike",
    "item": "all samples count alike",
    "class": "all classes count alike",
}


def compute(
    args: argparse.Namespace, data: Data, rule: Variant, parameters: dict[str, Any], cv: Any
) -> Answer:
    """Ask for the exact score, and for the random runs."""
    if data.groups is not None:
        n_groups = len(set(data.groups.tolist()))
        check_integer("--leave-out", cv.p, 1, max(n_groups - 1, 1), f"as there are {n_groups} groups")
        cv = LeaveGroupsOut(data.groups, cv.p)
    elif rule.target == "classes":
        cv = _with_labels(cv, data.y)
    asked: dict[str, Any] = {
        "metric": args.metric,
        "metric_params": None if args.p is None else {"p": args.p},
        "ties": args.ties,
        "average": args.average,
        "n_jobs": args.jobs,
        "progress": args.progress,
        **parameters,
    }
    with Compiling(COMPILES_ONCE) as compiling:
        _compile(rule, cv, args.ties)
        before = compiling.seconds
        complete = complete_cv(data.X, data.y, rule, cv, exact=args.exact, **asked)
        _leave_out(compiling.seconds - before, complete)
        confusion = complete.confusion(normalize="true") if args.confusion else None
        runs = None
        if args.repeats:
            before = compiling.seconds
            runs = monte_carlo_cv(
                data.X, data.y, rule, cv, n_repeats=args.repeats, random_state=args.seed, **asked
            )
            _leave_out(compiling.seconds - before, runs)
    metric = args.metric if args.p is None else f"{args.metric} (p={args.p:g})"
    return Answer(data, complete, runs, rule, cv, metric, args.seed, confusion, args.per_item)


def _leave_out(seconds: float, found: CompleteCV | MonteCarloCV) -> None:
    """Take what was compiled on the way out of the time of an answer that nobody else has yet."""
    object.__setattr__(found, "seconds", max(found.seconds - seconds, 0.0))


def _compile(rule: Variant, cv: Any, ties: str | None) -> None:
    """Ask the same rule about a few made-up samples, lest what is loaded counts as time of the answer.

    None of them tie: what ties need is compiled for those who have some.
    """
    X = np.arange(32.0)[:, None] ** 1.5
    y = np.arange(32) % 2
    tiny: Any = 2
    if isinstance(cv, Design):
        tiny = StratifiedKFold(2) if isinstance(cv, StratifiedKFold | StratifiedSubsample) else KFold(2)
    if isinstance(cv, LeaveGroupsOut):
        tiny = LeaveGroupsOut(np.arange(32) // 8, min(cv.p, 2))
    # What these defaults do not suit is compiled later, and errors are told then.
    with contextlib.suppress(ValueError, TypeError):
        complete_cv(X, y, rule, tiny, ties=ties)
        monte_carlo_cv(X, y, rule, tiny, ties=ties, n_repeats=1)


def _with_labels(cv: Any, y: Array) -> Any:
    """Give --per-class the labels themselves where it has what was typed."""
    if not isinstance(cv, StratifiedSubsample) or not isinstance(cv.per_class, Mapping):
        return cv
    labels = {str(label): label for label in np.unique(y).tolist()}
    counts = dict(cv.per_class)
    for typed in counts:
        if typed not in labels:
            closest = difflib.get_close_matches(typed, labels, n=1, cutoff=0.5)
            hint = f"; did you mean {closest[0]!r}?" if closest else ""
            msg = f"--per-class names a class {typed!r}; there are: {', '.join(labels)}{hint}"
            raise ValueError(msg)
    missing = [label for label in labels if label not in counts]
    if missing:
        msg = f"--per-class must name every class; missing: {', '.join(missing)}"
        raise ValueError(msg)
    return StratifiedSubsample(per_class={labels[typed]: n for typed, n in counts.items()})


def _classes(y: Array) -> dict[str, int]:
    """How many samples every class has."""
    names, counts = np.unique(y, return_counts=True)
    return {str(name): int(count) for name, count in zip(names, counts, strict=True)}


def _data_line(data: Data) -> str:
    n_items, n_features = data.X.shape
    return f"{data.source}: {n_items} samples, {_plural(n_features, 'feature')}"


def _group_line(groups: Array, column: str | None) -> str:
    sizes = _sizes(groups)
    least, most = min(sizes), max(sizes)
    spread = f"{least} to {most} items" if least < most else _plural(least, "item")
    return f"{len(sizes)} groups of {spread} (column {column!r})"


def _sizes(groups: Array) -> list[int]:
    """How many samples every group has."""
    sizes: list[int] = np.unique(groups, return_counts=True)[1].tolist()
    return sizes


def _target_line(y: Array) -> str:
    return f"targets from {y.min():g} to {y.max():g}, mean {y.mean():g}, variance {y.var():g}"


def _class_line(counts: Mapping[str, int]) -> str:
    classes = f"{len(counts)} class{'' if len(counts) == 1 else 'es'}"
    if len(counts) <= _LISTED:
        return f"{classes} ({', '.join(f'{name}: {count}' for name, count in counts.items())})"
    least, most = min(counts.values()), max(counts.values())
    return f"{classes} of {least} items" if least == most else f"{classes} of {least} to {most} items"


def _describe(cv: Any, design: str) -> str:
    """A design in words; `design` is the library's own name of what it asked."""
    if isinstance(cv, int):
        stratified = "stratified " if design.startswith("Stratified") else ""
        return f"{stratified}{cv}-fold cross-validation"
    if isinstance(cv, StratifiedSubsample):
        if isinstance(cv.per_class, Mapping):
            listed = ", ".join(f"{count} of class {name}" for name, count in cv.per_class.items())
            return f"training sets of {listed}"
        if cv.per_class is not None:
            return f"training sets of {_plural(cv.per_class, 'item')} of every class"
        return f"training sets of a share {cv.train_size:g} of every class"
    if isinstance(cv, KFold | StratifiedKFold):
        stratified = "stratified " if isinstance(cv, StratifiedKFold) else ""
        return f"{stratified}{cv.n_splits}-fold cross-validation"
    if isinstance(cv, LeaveGroupsOut):
        return "leave one group out" if cv.p == 1 else f"leave {cv.p} groups out"
    size = getattr(cv, "train_size", None)
    if size is None:
        return f"leave {cv.p} out"
    if isinstance(size, float):
        return f"training sets of a share {size:g} of the items"
    return f"training sets of {_plural(size, 'item')}"


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
