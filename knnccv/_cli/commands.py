"""The commands of the command line and their arguments.

Heavy packages are imported only when a command runs, so that ``--help`` is fast.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from typing import Any

from ..reproduce import REPRODUCTIONS, reproduce
from .curve_command import add_curve
from .episodes_command import add_episodes
from .notes import add_progress, print_notes, shows_progress
from .options import (
    DESIGNS,
    add_design,
    check_file_options,
    check_metric_options,
    check_rope,
    choose_design,
    level,
    natural,
    other_rule,
    parameters,
    priors,
    width,
)
from .report_command import add_report
from .retrieval_command import add_retrieval
from .table_options import add_average, add_rule, add_table

Commands = Any  # the type that add_subparsers() returns is private

EPILOG_SCORE = """\
examples:
  knnccv score
  knnccv score --variant rank --rank 3 --per-class 5
  knnccv score iris.csv --target species --n-neighbors 3 --cv 10
  knnccv score - --target -1 --no-header --variant nn --ties index --train-size 0.5 < iris.data
  knnccv score iris.csv --target species --standardize --confusion --per-item items.csv
  knnccv score patients.xlsx --target outcome --metric heom --categorical ward
  knnccv score scans.csv --target diagnosis --groups patient --variant nn
  knnccv score homes.csv --target price --variant regression --n-neighbors 7 --train-size 0.8
  knnccv score iris.csv --target species --n-neighbors 3 --interval --compare knn:n_neighbors=15
"""

EPILOG_JSON = """\
n_train_sets in JSON is a number up to 2**53, and a string such as "3.2e+6018" beyond; log10_n_train_sets is
its decimal logarithm. exact (with --exact) is a string "numerator/denominator". confusion has the classes,
and a matrix whose rows, the true classes, sum to 1. baseline is the accuracy of always giving the same
answer, the best one, under the same design. Values that are not defined (the deviation of a single
run) or were not requested are null. std_error is the luck of the draws of a score that is estimated from
drawn training sets, whose error_bound is null. standard_error and interval are the luck of the data,
split_std is the luck of the split (all three with --interval)."""


def add_score(commands: Commands) -> None:
    """Add ``score``."""
    parser = commands.add_parser(
        "score",
        help="exact score of a rule on a table, beside a few random runs",
        description="Exact mean score of a nearest-neighbor rule over all splits of a table, beside a few "
        "random runs of the same experiment. Without a file: the bundled wine data, standardized.",
        epilog=f"{DESIGNS}\n{EPILOG_SCORE}\n{EPILOG_JSON}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_table(parser)
    add_rule(parser)
    design = add_design(parser)
    add_average(design)
    design.add_argument(
        "--priors",
        metavar="LABEL=SHARE,...",
        help="in place of --average: the score where the classes have these shares (sum 1)",
    )
    trust = parser.add_argument_group("how far to trust the score")
    trust.add_argument(
        "--interval",
        nargs="?",
        type=level,
        const=0.95,
        metavar="LEVEL",
        help="also print a confidence interval for the population (the luck of the data) and the "
        "standard deviation of one run (the luck of the split); LEVEL is 0.95 by default",
    )
    trust.add_argument(
        "--compare",
        metavar="RULE",
        help="also compare with another rule on the same samples: nn, knn:n_neighbors=15, or several "
        "parameters, knn:n_neighbors=15,vote_ties=random",
    )
    trust.add_argument(
        "--rope",
        type=width,
        metavar="WIDTH",
        help="for --compare: the largest difference of scores that does not matter (default: 0.01; none "
        "for losses and regression, and so no probabilities)",
    )
    runs = parser.add_argument_group("the computation")
    runs.add_argument(
        "--exact", action="store_true", help="compute with rational numbers: slow, for small tables"
    )
    runs.add_argument(
        "--repeats", type=natural, default=10, metavar="N", help="random runs; 0: none (default: 10)"
    )
    runs.add_argument("--seed", type=natural, default=0, help="of the random runs and halves (default: 0)")
    runs.add_argument("--jobs", type=int, metavar="N", help="threads (default: all processors)")
    add_progress(runs)
    runs.add_argument(
        "--confusion",
        action="store_true",
        help="also print how often each class is given to the samples of each class, on average (nn, knn)",
    )
    runs.add_argument(
        "--per-item",
        metavar="FILE",
        help="also write a CSV file with the number (from 0), label, score and weight of every sample; "
        "samples that are never tested have no score",
    )
    runs.add_argument("--json", action="store_true", help="print one JSON object instead")
    parser.set_defaults(run=run_score)


def add_datasets(commands: Commands) -> None:
    """Add ``datasets``."""
    parser = commands.add_parser(
        "datasets",
        help="the data sets of knnccv.datasets",
        description="List the data sets of knnccv.datasets: their size, license and address, and whether "
        "they are on this disk; then the names of the sets of fetch_uci. KNNCCV_DATA_DIR names the folder, "
        "KNNCCV_DATA_URL a mirror.",
    )
    parser.add_argument(
        "--json", action="store_true", help="print a JSON list, with full licenses, citations and paths"
    )
    parser.set_defaults(run=run_datasets)


def add_reproduce(commands: Commands) -> None:
    """Add ``reproduce``."""
    listed = "\n".join(f"  {name:<18}{table.title}" for name, table in REPRODUCTIONS.items())
    listed += "\n  all               all of them"
    parser = commands.add_parser(
        "reproduce",
        help="recompute a table of the literature, beside the printed one",
        description="Recompute a table of the literature and show it beside the printed one. The data "
        "are downloaded if they are not on this disk (see 'knnccv datasets').",
        epilog=f"tables:\n{listed}\n\nThe exit status is 1 if data for a part of the table are missing.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = (*REPRODUCTIONS, "all")
    parser.add_argument("name", choices=names, metavar="NAME", help="see below")
    parser.add_argument("--quick", action="store_true", help="fewer random runs")
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        help="also write NAME.md, NAME.csv and pictures there; for all also report.html",
    )
    parser.add_argument("--fresh", action="store_true", help="compute again even if the report is cached")
    add_progress(parser)
    parser.set_defaults(run=run_reproduce)


def add_warm(commands: Commands) -> None:
    """Add ``warm``."""
    parser = commands.add_parser(
        "warm",
        help="compile all kernels ahead of the first use",
        description="Compile the kernels of all built-in variants and engines. It takes minutes the first "
        "time, and later first calls need no compilation. The kernels are kept in the user's cache "
        "folder, or in NUMBA_CACHE_DIR, for processors of the same type.",
    )
    add_progress(parser)
    parser.set_defaults(run=run_warm)


COMMANDS = (
    add_report,
    add_score,
    add_curve,
    add_retrieval,
    add_episodes,
    add_datasets,
    add_reproduce,
    add_warm,
)


def run_score(args: argparse.Namespace) -> int:
    """Print the exact score beside random runs."""
    cv = choose_design(args)
    check_file_options(args)
    check_metric_options(args)
    check_rope(args)
    args.priors = priors(args.priors)
    args.progress = shows_progress(args.progress)
    from . import score, score_details
    from .output_file import output_path
    from .score_data import read_data

    given = parameters(args)
    rule = score.rule_for(args.variant or "knn", given)
    if args.confusion:
        score_details.check_confusion(rule)
    against = None
    if args.compare is not None:
        name, others = other_rule(args.compare)
        against = score.rule_for(name, others), {k: v for k, (_, v) in others.items()}
    items = None if args.per_item is None else output_path("--per-item", args.per_item, args.file)
    data = read_data(args, rule)
    print_notes(data.notes)
    if data.is_quantity:
        rule = score.rule_for("regression", given)
        if args.confusion:
            score_details.check_confusion(rule)
    answer = score.compute(args, data, rule, {k: v for k, (_, v) in given.items()}, cv, against)
    print_notes(answer.notes)
    if items is not None:
        score_details.write_items(items, answer.complete)
    print(json.dumps(answer.as_json(), allow_nan=False) if args.json else answer.as_text())
    return 0


def run_datasets(args: argparse.Namespace) -> int:
    """Print the list of data sets."""
    from ..datasets import list_datasets, uci_names

    found = list_datasets()
    if args.json:
        entries = [{**vars(info), "path": str(info.path)} for info in found]
        print(json.dumps(entries, ensure_ascii=False, indent=2))
        return 0
    print(f"{'name':<17}{'samples':>8}{'features':>10}{'classes':>9}  {'cached':<8}license, address")
    for info in found:
        classes = "-" if info.n_classes is None else info.n_classes
        cached = "yes" if info.cached else "no"
        licence = info.licence.partition(";")[0]  # the first clause names the license
        print(f"{info.name:<17}{info.n_items:>8}{info.n_features:>10}{classes:>9}  {cached:<8}{licence}")
        print(f"    {info.address}")
    names = [name.replace(" ", "\xa0") for name in uci_names()]  # no line break within a name
    listed = textwrap.fill(", ".join(names), 96, initial_indent="    ", subsequent_indent="    ")
    print(f"\nfetch_uci(NAME): {len(names)} sets of UCI, used by Wilson & Martinez (1999)")
    print(listed.replace("\xa0", " "))
    return 0


def run_reproduce(args: argparse.Namespace) -> int:
    """Print a table of the literature beside its reproduction."""
    report = reproduce(
        args.name,
        quick=args.quick,
        folder=args.out,
        progress=shows_progress(args.progress),
        fresh=args.fresh,
    )
    print(report.to_text())
    for failure in report.failures:
        print(f"knnccv: error: {failure}", file=sys.stderr)
    return 1 if report.failures else 0


def run_warm(args: argparse.Namespace) -> int:
    """Compile all kernels, and print the folder of the cache."""
    from .._warmup import warm
    from ..kernel import Compiling, cache_folder

    shown = shows_progress(args.progress)
    with Compiling("knnccv: compiling once all kernels (about 3 minutes of processor time)") as compiling:
        warm(progress=shown)
    if compiling.functions:
        plural = "" if compiling.functions == 1 else "s"
        print(f"{compiling.functions} function{plural} compiled in {compiling.seconds:.0f} s")
    else:
        print("nothing to compile: all kernels are in the cache")
    print(f"kept in {cache_folder()}")
    return 0
