"""The command ``score``: the exact score of a table, random runs of the same experiment, and both lucks.

Other scorings, by the names of scikit-learn, are exact, or means over random runs. If one group is left
out, every sample has one prediction. A scoring is then that of all predictions together, as in a report.
"""

from __future__ import annotations

import argparse
import math
import re
import reprlib
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import designs
from .._base import __version__
from .._base.files import written_whole
from .._base.formatting import _listed, bound_text, magnitude, plain
from .._base.labels import majority_class
from .._base.refusals import need, refuse
from .._core.luck.inference import Comparison, InferenceWarning, compare
from .._core.luck.runs import ScoredRuns
from .._core.scores.results import CompleteCV, SampledCV, complete_cv, monte_carlo_cv
from ..designs import LeaveGroupsOut, as_design
from ..kernel import Variant
from ..neighbors import Neighbors, SupervisedDistanceWarning
from ..reporting import MIXED, Table
from . import data
from .commands import other_rule, pairs, parameters, refuse_both, refuse_without
from .data import Problem
from .output import TIES, Lines, as_text, computing, output_path, print_notes, show, span, table_lines

COMPILES_ONCE = "the kernels of this rule (about 10 s, or 30 s if different labels tie)"
"""What is compiled when it is not in the cache; the seconds are those of a machine with two processors."""
ROPE = 0.01
"""The largest difference between two rules that does not matter, unless --rope sets it. Not for losses."""
LEVEL = 0.95
"""That of the interval of a comparison, unless --interval sets it."""
WIDTH = 84
LISTED = 4  # classes, or categorical columns, that the text names one by one
AVERAGED = {"pooled": "classifications of a split", "item": "samples", "class": "classes"}
"""What has equal weight."""


def run(args: argparse.Namespace) -> int:
    """Print the exact score beside random runs."""
    check_design(args)
    check_scorings(args)
    data.check_options(args)
    given = parameters(args, "n_neighbors", "rank")
    if args.compare is not None:
        data.rule_of(*other_rule(args.compare))
    items = None if args.per_item is None else output_path("--per-item", args.per_item, args.file)
    answer = compute(args, data.read_problem(args, given))
    if items is not None:
        frame, lines = answer.found.to_frame(), (answer.table.test or answer.table).lines
        if lines is not None:
            frame.insert(0, "line", lines)
        for name in frame.select_dtypes(["object", "string"]).columns:
            frame[name] = frame[name].map(as_text)
        with written_whole(items) as part:
            frame.to_csv(part, lineterminator="\r\n")
    return show(args, answer.to_dict(), answer.lines())


def check_design(args: argparse.Namespace) -> None:
    """Raise ValueError if the options of the design contradict each other; no file is read yet."""
    conflict = f"leave out --cv {args.cv}: --groups leaves one group out, or --leave-out P of them: a fifth"
    refuse(args.cv and args.groups is not None, f"{conflict} of the groups is as much as of five folds")
    last = "leave_out" if args.groups is None else "groups"
    refuse_both(args, "designs", "cv", "train_size", "per_class", last)
    refuse(args.groups is not None and args.stratify, "--groups cannot be stratified")
    conflict = "--per-class is stratified; it cannot be given with --no-stratify"
    refuse(args.per_class is not None and args.stratify is False, conflict)
    conflict = f"--priors takes the place of --average {args.average}; give one of them"
    refuse(args.priors is not None and args.average != "pooled", conflict)
    only = "only --leave-out 1 (one sample of every class together); use --per-class or --train-size"
    conflict = f"--leave-out {args.leave_out} cannot be stratified, {only} with --stratify"
    refuse(args.stratify and args.leave_out not in (None, 1), conflict)
    refuse_without(args.compare, "--compare", args, "rope")


def design_of(args: argparse.Namespace, table: Table) -> Any:
    """The design that the options describe."""
    if table.groups is not None:
        return LeaveGroupsOut(table.groups, 1 if args.leave_out is None else args.leave_out)
    if args.train_size is not None:
        return (designs.StratifiedSubsample if args.stratify else designs.Subsample)(args.train_size)
    if args.per_class is not None:
        if re.fullmatch(r" *-?[0-9]+ *", args.per_class):
            return designs.StratifiedSubsample(per_class=int(args.per_class))
        return designs.StratifiedSubsample(per_class=_by_label("--per-class", args.per_class, int, table))
    if args.leave_out is not None:
        return designs.RebalancedLeaveOneOut() if args.stratify else designs.LeaveOut(args.leave_out)
    n_splits = 5 if args.cv is None else args.cv
    if args.stratify is None:  # complete_cv knows which rules are stratified by default
        return n_splits
    return (designs.StratifiedKFold if args.stratify else designs.KFold)(n_splits)


def _by_label(option: str, text: str, convert: Any, table: Table) -> dict[Any, Any]:
    """The values of LABEL=VALUE,..., by the labels of the table."""
    form = "a number or LABEL=NUMBER,..." if convert is int else "LABEL=SHARE,..."
    labels = {str(label): label for label in np.unique(table.y).tolist()}
    typed = pairs(f"{option} must be {form}", text.split(","), convert)
    return {labels.get(label, label): value for label, value in typed.items()}


def compute(args: argparse.Namespace, problem: Problem) -> Answer:
    """Compute the exact score, those of the random runs, and how far it can be trusted.

    Raises
    ------
    ValueError, TypeError
        If the design or a parameter does not suit the table.
    """
    X, table, rule, asked = problem.X, problem.table, problem.rule, dict(problem.how)
    cv = design_of(args, table)
    if args.priors is not None:
        asked["average"] = _by_label("--priors", args.priors, float, table)
    how = {**asked, **problem.given, "random_state": args.seed}
    noted = SupervisedDistanceWarning, InferenceWarning
    with computing(args.progress, COMPILES_ONCE, *noted) as (compiling, warned):

        def timed(function: Any, **more: Any) -> Any:
            before = compiling.seconds
            found = function(X, table.y, rule, cv, **more, **how)
            seconds = max(found.seconds - (compiling.seconds - before), 0.0)  # without compilation
            object.__setattr__(found, "seconds", seconds)  # it is not shared yet
            return found

        found = timed(complete_cv, exact=args.exact, precision=args.precision)
        answer = Answer(args, table, rule, cv, found)
        if args.scoring is not None:
            answer.scorings = scored(args, problem, cv)
        if args.confusion:
            matrix = answer.found.confusion(normalize="true").astype(float)
            names = list(map(str, answer.found.classes))
            answer.confusion = {"classes": names, "normalize": "true", "matrix": matrix}
        by_distance = rule.fixed_by_distance is not None or rule.stratified_by_distance is not None
        # A run of groups tests few of them, so that ten runs are far from the mean over all.
        repeats = args.repeats if args.repeats is not None else 10 * (args.groups is None)
        if repeats and by_distance:
            print_notes([f"variant {rule.name} has no random runs beside its score"])
        elif repeats:
            answer.runs = timed(monte_carlo_cv, n_runs=repeats)
        if args.compare is not None:
            name, parameters_of_it = other_rule(args.compare)
            other = complete_cv(X, table.y, name, cv, **asked, **parameters_of_it)
            answer.comparison = compare(answer.found, other, random_state=args.seed)
            if answer.scorings is not None:
                theirs = replace(problem, rule=data.rule_of(name, parameters_of_it), given=parameters_of_it)
                for scoring, one in scored(args, theirs, cv).items():
                    with answer.unless(scoring):
                        both = answer.scorings[scoring], one
                        answer.comparisons[scoring] = compare(*both, random_state=args.seed)
        if args.interval is not None:
            interval = answer.found.confidence_interval(args.interval, random_state=args.seed)
            error = answer.found.standard_error(random_state=args.seed)
            spread = None if by_distance else answer.found.split_std(random_state=args.seed)
            answer.luck = {"standard_error": error, "interval": interval, "split_std": spread}
            for name, one in (answer.scorings or {}).items():
                with answer.unless(name):
                    answer.intervals[name] = one.confidence_interval(args.interval, random_state=args.seed)
    answer.is_optimistic = any(issubclass(one.category, SupervisedDistanceWarning) for one in warned)
    return answer


@dataclass(eq=False)
class Answer:
    """The exact score, and what was asked for beside it; a part that was not asked for is None."""

    args: argparse.Namespace
    table: Table
    rule: Variant
    cv: Any
    found: CompleteCV
    confusion: dict[str, Any] | None = None
    runs: ScoredRuns | None = None
    comparison: Comparison | None = None
    luck: Any = None
    scorings: Any = None
    intervals: dict[str, Any] = field(default_factory=dict)
    comparisons: dict[str, Comparison] = field(default_factory=dict)
    without: dict[str, str] = field(default_factory=dict)
    is_optimistic: bool = False

    @contextmanager
    def unless(self, scoring: str) -> Iterator[None]:
        """Note why a scoring has no interval, or no comparison."""
        try:
            yield
        except ValueError as reason:
            self.without[scoring] = str(reason)

    @property
    def percent(self) -> bool:
        """Whether the score is an accuracy."""
        return self.rule.score(**self.found.parameters).is_share

    @property
    def rope(self) -> float | None:
        """The largest difference that does not matter; None for a loss without --rope."""
        is_loss = self.comparison is None or self.comparison.is_loss
        return ROPE if self.args.rope is None and not is_loss else self.args.rope

    @property
    def classes(self) -> dict[str, int] | None:
        """The number of samples of every class; None if the target is a number."""
        if self.rule.target != "classes":
            return None
        names, counts = np.unique(self.table.y, return_counts=True)
        return dict(zip(map(str, names.tolist()), counts.tolist(), strict=True))

    @property
    def baseline(self) -> dict[str, Any] | None:
        """What always answering one class scores under the same weights; None if the score is no accuracy.

        In the words of the report.
        """
        if "loss" not in self.rule.parameters or not self.percent or self.classes is None:
            return None
        label, share = majority_class(self.found.labels, self.found.weights)
        if self.table.test is not None:  # what the pool would answer
            label, _ = majority_class(self.table.y)
            share = float(self.found.weights[self.found.labels == label].sum())
        is_largest = self.classes.get(str(label)) == max(self.classes.values())
        which = "the largest class" if is_largest else "the class of most weight"
        explanation = f"always answers {reprlib.repr(str(label))}, {which}"
        return {"name": "largest class", "score": share, "explanation": explanation}

    def to_dict(self) -> dict[str, Any]:
        """The answer in types that JSON has."""
        level = self.args.interval or LEVEL
        compared = {name: one.to_dict(level) for name, one in self.comparisons.items()}
        scorings = self.scorings and {name: one.to_dict() for name, one in self.scorings.items()}
        for name, one in (scorings or {}).items():
            one |= {"interval": self.intervals.get(name), "comparison": compared.get(name)}
        return {
            "knnccv": __version__,
            **self.table.to_dict(),
            "classes": self.classes,
            **self.found.to_dict(),
            "metric": data.metric_in_words(self.args),
            **(self.luck or dict.fromkeys(("standard_error", "interval", "split_std"))),
            "comparison": self.comparison and self.comparison.to_dict(level, self.rope),
            "baseline": self.baseline,
            "scorings": scorings,
            "per_class": self.confusion and self.found.per_class(),
            "confusion": self.confusion,
            "per_item": self.args.per_item,
            "random_runs": self.runs and {**self.runs.to_dict(), "seed": self.args.seed},
        }

    def lines(self) -> Lines:
        """The answer as titles and texts."""
        found, args = self.found, self.args
        yield "Data", "\n".join(self._data())
        rule = f"{found.variant} {_listed(found.parameters)}".rstrip()
        yield "Rule", f"{rule}, {data.metric_in_words(args)} distance,"
        if self.is_optimistic:
            yield "", "fitted to the labels of all samples: the score is optimistic;"
        yield "", f"tied samples {TIES[found.ties]}"
        sampled = found if isinstance(found, SampledCV) else None
        averaged = f"{sampled.n_draws} drawn for each sample" if sampled else "all of them averaged"
        design = as_design(self.cv, stratified=self.classes is not None).in_words()
        sets = f"{magnitude(found.n_train_sets)} different training sets, {averaged}"
        yield "Design", f"{design}; {self._averaged()}\n{sets}"
        certified = f"off by at most {bound_text(found.error_bound)}"
        certified = certified if found.fraction is None else "rational"
        if sampled:
            certified = f"± {sampled.std_error:.1e}, the standard error of the draws"
        shown = f"{found.score:.10g}  ({certified})"
        if self.percent:
            shown = f"{100 * found.score:.4f} %  ({found.score:.12f}, {certified})"
        is_short = len(found.measure) < 15
        title = found.measure[0].upper() + found.measure[1:] if is_short else "Score"
        yield title, shown if is_short else f"{found.measure} {shown}"
        if not sampled and found.fraction is not None:
            ratio = plain(found.fraction)
            digits = " by ".join(str(len(part.strip("-"))) for part in ratio.split("/"))
            long = f"exactly a fraction of {digits} digits (--json prints them)"
            yield "", f"exactly {ratio}" if len(ratio) <= 70 else long
        if self.luck:
            yield "", "\n".join(self._luck())
        for name, one in (self.scorings or {}).items():
            of = f"{one.n_runs:,} runs" if one.n_runs else f"{one.n_draws:,} draws for each sample"
            sure = f"the mean of {of}, standard error {one.std_error:.1e}"
            if args.precision:
                sure += "".join(one.explanation.partition("; an error of ")[1:])
            certified = f"off by at most {bound_text(one.error_bound)}" if one.is_exact else sure
            if is_pooled(args, self.cv):
                certified = "over the predictions of all samples"
            elif self.table.groups is not None:
                certified = f"the mean over the test sets, {certified}"
            yield "Scoring", f"{name} {one.score:.10g}  ({certified})"
            if name in self.intervals:
                low, high = self.intervals[name]
                yield "", f"{100 * args.interval:g} % [{low:.4g}, {high:.4g}] (luck of the data)"
            if name in self.without:
                reason = f"no interval or comparison: {self.without[name]}"
                yield "", "\n".join(textwrap.wrap(reason, WIDTH))
        if base := self.baseline:
            yield "Baseline", f"{100 * base['score']:.4f} %  ({base['explanation']})"
        if found.n_tied:
            yield "Ties", self._tied()
        yield "Time", f"{_seconds(found.seconds)} (wall time with the distances, without compilation)"
        if args.per_item is not None:
            yield "Items", f"the scores of all samples are in {args.per_item}"
        if self.runs is not None:
            yield from self._runs(self.runs)
        if self.comparison is not None:
            yield from self._compared(self.comparison)
            for name, one in self.comparisons.items():
                level, sure = args.interval or LEVEL, "the halves do not tell both rules apart"
                if not math.isnan(one.pvalue):
                    ends = ", ".join(f"{end:+.4g}" for end in one.confidence_interval(level))
                    sure = f"{100 * level:g} % [{ends}], p-value {one.pvalue:.2g}"
                yield f"  {name} ", f"{one.scores[1]:.4g}, difference {one.difference:+.4g}  ({sure})"
        if self.confusion is not None:
            yield from self._confusion(self.confusion["classes"], self.confusion["matrix"])
        if further := self._next():
            yield "", ""
            yield "Next", further

    def _next(self) -> str:
        """What to do next, where there is reason."""
        if self.args.file is None:
            return "knnccv report TABLE --target COLUMN has all answers about a table of your own"
        if not self.luck:
            return "--interval says how far off the score may be for other samples of the same source"
        if (base := self.baseline) and self.luck["interval"].low <= base["score"]:
            return "more samples: by the interval the rule may be no better than the baseline"
        return ""

    def _score(self, value: float, digits: int = 2) -> str:
        return f"{100 * value:.{digits}f} %" if self.percent else f"{value:.4g}"

    def _difference(self, value: float) -> str:
        return f"{100 * value:+.2f}" if self.percent else f"{value:+.4g}"

    def _averaged(self) -> str:
        """What has equal weight, or the shares of the classes."""
        average = self.found.average
        if isinstance(average, Mapping):
            return "classes weigh " + ", ".join(f"{label}: {share:g}" for label, share in average.items())
        # With groups left out, "pooled" gives all classifications, and so all samples, equal weight.
        weighed = "item" if self.table.groups is not None and average == "pooled" else average
        return f"all {AVERAGED[weighed]} have equal weight"

    def _data(self) -> Iterator[str]:
        table, names = self.table, self.table.categorical_names
        n_items, n_features = table.X.shape
        yield f"{table.source}: {n_items} samples, {_plural(n_features, 'feature')}"
        if table.test is not None:
            yield f"they train; tested are the {len(table.test.X)} samples of {table.test.source}"
        if table.scaling:
            yield f"features scaled over all samples: {table.scaling}"
        if names:
            listed = ", ".join(names[:LISTED]) + ", …" * (len(names) > LISTED)
            yield f"{n_features - len(names)} numeric, {len(names)} categorical ({listed})"
        if table.missing:
            marks = ", ".join(f"{mark or 'empty'}: {n}" for mark, n in sorted(table.missing.items()))
            yield f"{_plural(sum(table.missing.values()), 'missing value')} ({marks})"
        if (classes := self.classes) is None:
            y = table.y
            yield f"targets from {y.min():g} to {y.max():g}, mean {y.mean():g}, variance {y.var():g}"
        else:
            listed = f"({', '.join(f'{name}: {n}' for name, n in classes.items())})"
            named = listed if len(classes) <= LISTED else f"of {span(classes.values())} samples"
            yield f"{_plural(len(classes), 'class', 'es')} {named}"
        if sizes := self._group_sizes:
            samples = f"{span(sizes)} sample{'s' * (max(sizes) > 1)}"
            yield f"{len(sizes)} groups of {samples} ({table.groups_in_words})"

    @property
    def _group_sizes(self) -> list[int]:
        groups = self.table.groups
        return [] if groups is None else np.unique(groups, return_counts=True)[1].tolist()

    def _luck(self) -> Iterator[str]:
        spread, interval = self.luck["split_std"], self.luck["interval"]
        if spread is None:
            yield f"no standard deviation of one run: variant {self.rule.name} has no random runs"
        elif not spread.n_runs:
            yield "every split is used: no luck of the split"
        else:
            std = f"{100 * spread.std:.2f} points" if self.percent else f"{spread.std:.4g}"
            yield f"standard deviation of one random run around this exact score: {std}"
            yield "(luck of the split)"
        ends = f"[{self._score(interval.low)}, {self._score(interval.high)}]"
        yield f"{100 * interval.confidence_level:g} % {ends} (luck of the data)"
        yield from textwrap.wrap(f"for the {interval.target}", WIDTH)

    def _tied(self) -> str:
        found = self.found
        differing = "targets" if self.classes is None else "classes"
        n_items = len(found.per_item)
        start = f"{found.n_tied} of {n_items} samples have tied neighbors of different {differing}"
        if found.ties == "random":
            return start
        if "random" in self.rule.tie_rules:
            return f"{start};\nwithout --ties index, the mean over all their orders is taken"
        return f"{start};\nthe score may depend on the order of the rows"

    def _runs(self, runs: ScoredRuns) -> Lines:
        n_runs, shown = len(runs.scores), self._score
        yield "", ""
        sizes, tested = self._group_sizes, ""
        if sizes:
            tested = f"; each tests {self.cv.p} of {len(sizes)} groups"
        yield f"{_plural(n_runs, 'random run')} of the same design (seed {self.args.seed}){tested}", ""
        if len(set(sizes)) > 1 and self.table.test is None:
            over = "; one run can exceed 100 %" if self.percent else ""
            unbiased = "weighted by the sizes of their test sets, so that their mean is unbiased"
            yield f"  {unbiased}{over}", ""
        if n_runs == 1:
            yield "  score", shown(runs.score)
        else:
            mean = f"{shown(runs.score)} ±"
            yield "  one run", f"{mean} {shown(runs.std)}  (mean ± standard deviation)"
            yield "  their mean", f"{mean} {shown(runs.std_error)}  (± standard error)"
        off = self._difference(runs.score - self.found.score) + " points" * self.percent
        yield "  off by", f"{off} from the exact {self.found.measure}"
        yield "  time", f"{_seconds(runs.seconds)} in all (likewise)"

    def _compared(self, found: Comparison) -> Lines:
        points, shown = " points" * self.percent, self._difference
        yield "", ""
        yield f"Compared with {found.names[1]}: {found.measure} {self._score(found.scores[1])}", ""
        yield "  difference", f"{shown(found.difference)}{points}  (this rule minus the other)"
        if math.isnan(found.pvalue):
            yield "  p-value", "not defined: the halves do not tell both rules apart"
            return
        level = self.args.interval or LEVEL
        low, high = found.confidence_interval(level)
        yield "", f"{100 * level:g} % [{shown(low)}, {shown(high)}]{points} (luck of the data)"
        hypothesis = "of the hypothesis that both are equally good in the population"
        yield "  p-value", f"{found.pvalue:.2g}  ({hypothesis})"
        if self.rope is not None:
            likely = found.probability(self.rope)
            points = f"{100 * self.rope:g} point{'s' * (self.rope != ROPE)}"
            by = points if self.percent else f"{self.rope:g}"
            how = "(posterior probability, flat prior, normal approximation):"
            yield f"  better by more than {by}  {how}", ""
            shares = f"neither {likely.equivalent:.2f}, the other {likely.second:.2f}"
            yield "", f"this rule {likely.first:.2f}, {shares}"

    def _confusion(self, names: list[str], matrix: Any) -> Lines:
        cells = [["-" if math.isnan(share) else f"{100 * share:.2f}" for share in row] for row in matrix]
        columns = [list(column) for column in zip(names, *cells, strict=True)]
        yield "", ""
        yield "Expected confusion matrix (% of a true class, in its row, that are given each class)", ""
        yield from ((f"  {line}", "") for line in table_lines(["", *names], columns))


def _plural(number: int, noun: str, ending: str = "s") -> str:
    return f"{number} {noun}{'' if number == 1 else ending}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 10 else f"{seconds:.2g} s"


REGRESSION = {"regression", "weighted_regression"}
SERVED = {"nn", "knn", *REGRESSION, "weighted"}
"""The rules that scikit-learn has too."""


def check_scorings(args: argparse.Namespace) -> None:
    """Raise ValueError if the other options do not suit ``--scoring``; no file is read yet."""
    if args.scoring is None:
        return
    need("sklearn", "sklearn", "--scoring takes the names of scikit-learn's scorings")
    rule = args.variant or "knn"
    other = rule if args.compare is None else other_rule(args.compare)[0]
    for option, name in (("--variant", rule), ("--compare", other)):
        refuse(name not in SERVED, f"--scoring is for {', '.join(sorted(SERVED))}, got {option} {name}")
    both = args.per_class is not None and args.test is not None
    refuse(both, "--scoring with --test takes --train-size, with --stratify if you like, not --per-class")
    mixed = args.metric in MIXED and args.groups is not None and args.leave_out not in (None, 1)
    several = f"take a metric of numbers, or leave out --leave-out {args.leave_out}"
    refuse(mixed, f"{several}: --scoring with --metric {args.metric} leaves one group out")


def is_pooled(args: argparse.Namespace, cv: Any) -> bool:
    """Return True if every sample is tested once, by all samples of other groups."""
    return isinstance(cv, LeaveGroupsOut) and cv.p == 1 and args.test is None


def scored(args: argparse.Namespace, problem: Problem, cv: Any) -> dict[str, Any]:
    """The expected score of the same rule and design, by the name of the scoring.

    Designs and distances that scikit-learn lacks are those of knnccv.

    Raises
    ------
    ValueError
        If scikit-learn has no scoring of a name, or it does not suit the labels.
    """
    from ..sklearn import expected_score, named_scorings, neighbors_rule, scores_of

    name, given, mixed = problem.rule.name, problem.given, args.metric in MIXED
    how: dict[str, Any] = {"metric": "euclidean" if mixed else args.metric, "n_jobs": args.jobs}
    if args.p is not None:
        how["p"] = args.p
    how["n_neighbors"] = 1 if name == "nn" else given.get("n_neighbors", 5)
    others = given.keys() - {"n_neighbors", "weights"}
    refuse(others, f"--scoring takes no --parameter {', '.join(sorted(others))}")
    if "weighted" in name:
        how["weights"] = given.get("weights", "distance")
        known = how["weights"] in ("distance", "inverse")
        refuse(not known, f"--scoring takes weights=inverse, as scikit-learn has, got {how['weights']!r}")
        how["weights"] = "distance"
    rule, table = neighbors_rule(name in REGRESSION, **how), problem.table
    scorings = named_scorings(args.scoring, table.y, regression=name in REGRESSION)
    asked = {"random_state": args.seed, "n_jobs": args.jobs, "precision": args.precision}
    if mixed or args.per_class is not None or is_pooled(args, cv):
        params = None if args.p is None else {"p": args.p}
        near = problem.X if mixed else Neighbors.from_data(table.X, args.metric, metric_params=params)
        design = as_design(cv, stratified=name not in REGRESSION)
        found = scores_of(rule, near, table.y, design, scorings, **asked)
        for one, score in found.items():
            refuse(isinstance(score, str), f"there is no {one}: {score}")
        return dict(found)
    asked |= {"groups": table.groups, "test": problem.how.get("test")}
    splitter = splitter_of(args, table, name not in REGRESSION)
    return dict(expected_score(rule, table.X, table.y, cv=splitter, scoring=scorings, **asked))


def splitter_of(args: argparse.Namespace, table: Table, has_classes: bool) -> Any:
    """scikit-learn's splitter of the design that the options describe."""
    from sklearn import model_selection as ms

    if table.groups is not None:
        return ms.LeavePGroupsOut(args.leave_out or 1)
    if args.train_size is not None:
        kind = ms.StratifiedShuffleSplit if args.stratify else ms.ShuffleSplit
        return kind(train_size=args.train_size)
    if args.leave_out is not None:
        return ms.LeavePOut(args.leave_out)
    stratified = has_classes if args.stratify is None else args.stratify
    return (ms.StratifiedKFold if stratified else ms.KFold)(args.cv or 5, shuffle=True)
