"""The command ``curve``: exact learning curves and validation curves of a table."""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .notes import add_progress, print_notes, shows_progress
from .options import (
    check_file_options,
    check_metric_options,
    counts,
    level,
    natural,
    parameters,
    size,
)
from .table_options import add_average, add_rule, add_table

if TYPE_CHECKING:
    from ..curves import Surface
    from ..kernel import Variant
    from .curve_answer import CurveAnswer
    from .score_data import Data

ENDINGS = (".png", ".svg", ".csv")
FEW = (1, 5, 15)
"""The K of learning curves by default, as far as they fit into the training sets."""
ONE_SIZE = 0.8
"""The training size of validation curves by default."""

EPILOG = """\
examples:
  knnccv curve
  knnccv curve --kind validation --train-sizes 0.2,0.8
  knnccv curve iris.csv --target species --n-neighbors 1,3,5 --train-sizes 0.1,0.5,100
  knnccv curve iris.csv --target species --kind validation --n-neighbors 1-30 --interval
  knnccv curve homes.csv --target price --variant regression --out curves.svg
  knnccv curve patients.csv --target outcome --drop patient --metric heom --json

Every point is the mean over all training sets of its size, as knnccv.surface computes it; no split is
drawn. In JSON, scores and error_bound have a row for each of n_neighbors and a column for each of
train_sizes."""


def add_curve(commands: Any) -> None:
    """Add ``curve``."""
    parser = commands.add_parser(
        "curve",
        help="exact learning curves and validation curves of a table",
        description="Exact learning curves (score against the size of the training set) and validation "
        "curves (score against the number of neighbors) of a nearest-neighbor rule, as a plot on the "
        "terminal and a table of the numbers. Without a file: the bundled wine data, standardized.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_table(parser)
    curves = parser.add_argument_group("the curves")
    curves.add_argument(
        "--kind",
        choices=("learning", "validation"),
        default="learning",
        help="learning: score against training size, a line for every K (default); validation: score "
        "against K, a line for every training size",
    )
    curves.add_argument(
        "--n-neighbors",
        type=counts,
        metavar="K",
        help="1,3,5 or ranges such as 1-30; R of rank (default: 1,5,15 for learning, and 1-30 for "
        "validation, as far as they fit)",
    )
    curves.add_argument(
        "--train-sizes",
        type=sizes,
        metavar="SIZES",
        help="numbers of samples, or fractions of them: 0.1,0.5,100 (default: 0.1,0.2,...,0.9 for "
        "learning, as far as they differ, 0.8 for validation)",
    )
    curves.add_argument(
        "--interval",
        nargs="?",
        type=level,
        const=0.95,
        metavar="LEVEL",
        help="also confidence intervals for the population (the luck of the data), and which K are not "
        "significantly worse than the best; LEVEL is 0.95 by default",
    )
    add_average(add_rule(parser, numbers=False))
    answer = parser.add_argument_group("the answer")
    answer.add_argument(
        "--out",
        metavar="FILE",
        help="write a picture (FILE.png, FILE.svg) or the numbers (FILE.csv) in place of the plot on the "
        "terminal; a file that is there is replaced. Pictures need: pip install 'knnccv[plot]'",
    )
    answer.add_argument("--seed", type=natural, default=0, help="of the halves of --interval (default: 0)")
    answer.add_argument("--jobs", type=int, metavar="N", help="threads (default: all processors)")
    add_progress(answer)
    answer.add_argument("--json", action="store_true", help="print one JSON object instead")
    parser.set_defaults(run=run_curve)


def sizes(text: str) -> list[int | float]:
    """The training sizes of ``0.1,0.5,100``."""
    return [size(part.strip()) for part in text.split(",")]


def run_curve(args: argparse.Namespace) -> int:
    """Print curves."""
    args.groups = None
    check_file_options(args)
    check_metric_options(args)
    args.progress = shows_progress(args.progress)
    from . import score, terminal_plot
    from .output_file import output_path
    from .score_data import read_data

    out = None if args.out is None else _checked_ending(output_path("--out", args.out, args.file))
    if out is None and not args.json:
        terminal_plot.load()
    given = parameters(argparse.Namespace(n_neighbors=None, rank=None, parameter=args.parameter))
    for name in ("n_neighbors", "rank"):
        if name in given:
            msg = f"--parameter {name} is given by --n-neighbors"
            raise ValueError(msg)
    rule = score.rule_for(args.variant or "knn", given)
    if args.n_neighbors is not None and not {"n_neighbors", "rank"} & set(rule.parameters):
        msg = f"variant {rule.name!r} has no number of neighbors to choose; omit --n-neighbors"
        raise ValueError(msg)
    data = read_data(args, rule)
    print_notes(data.notes)
    if data.is_quantity:
        rule = score.rule_for("regression", given)
    answer = _compute(args, data, rule, {k: v for k, (_, v) in given.items()})
    print_notes(answer.notes)
    if out is not None:
        answer.write(out)
    print(json.dumps(answer.as_json(), allow_nan=False) if args.json else answer.as_text(out))
    return 0


def _checked_ending(path: Path) -> Path:
    """The path; ValueError for an ending without a format, ImportError if its package is missing."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        msg = f"--out must end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}, got {str(path)!r}"
        raise ValueError(msg)
    needed, extra = ("pandas", "pandas") if ending == ".csv" else ("matplotlib", "plot")
    try:
        __import__(needed)
    except ImportError as error:
        msg = f"--out {path} needs {needed}: pip install 'knnccv[{extra}]'"
        raise ImportError(msg) from error
    return path


def _compute(args: argparse.Namespace, data: Data, rule: Variant, given: dict[str, Any]) -> CurveAnswer:
    from .._parallel import one_bar
    from ..curves import surface
    from ..inference import InferenceWarning
    from ..kernel import Compiling
    from ..neighbors import SupervisedDistanceWarning
    from .curve_answer import CurveAnswer
    from .score import COMPILES_ONCE, neighbors_or_features

    X, measured_by = neighbors_or_features(args, data, rule)
    learning = args.kind == "learning"
    wanted = args.train_sizes
    if wanted is None:
        wanted = _tenths(len(data.y)) if learning else [ONE_SIZE]
    n_neighbors = args.n_neighbors
    if n_neighbors is None and learning and rule.name != "nn":
        n_neighbors = _few(wanted, len(data.y))
    with (
        Compiling(COMPILES_ONCE),
        warnings.catch_warnings(record=True) as warned,
        one_bar(args.progress),
    ):
        warnings.simplefilter("always", SupervisedDistanceWarning)
        warnings.simplefilter("always", InferenceWarning)
        found = surface(
            X,
            data.y,
            n_neighbors,
            wanted,
            rule,
            ties=args.ties,
            average=args.average,
            n_jobs=args.jobs,
            **measured_by,
            **given,
        )
        luck = None if args.interval is None else _luck(found, args)
    notes = tuple(dict.fromkeys(str(warning.message) for warning in warned))
    metric = args.metric if args.p is None else f"{args.metric} (p={args.p:g})"
    return CurveAnswer(data, found, args.kind, metric, args.interval, luck, args.seed, notes)


def _tenths(n_items: int) -> list[int | float]:
    """The fractions 0.1 to 0.9 that are at least one sample, the smallest of each number of samples."""
    sizes = {int(tenth / 10 * n_items): tenth / 10 for tenth in range(9, 0, -1)}
    return sorted(fraction for size, fraction in sizes.items() if size)


def _few(wanted: list[int | float], n_items: int) -> list[int]:
    """The K of `FEW` that fit into the smallest training set."""
    smallest = min(int(n * n_items) if isinstance(n, float) else n for n in wanted)
    return [k for k in FEW if k <= smallest] or [1]


def _luck(found: Surface, args: argparse.Namespace) -> Any:
    from .curve_answer import Luck

    how = {"random_state": args.seed}
    low, high = found.confidence_interval(args.interval, **how)
    error = found.standard_error(**how)
    return Luck(low, high, error, found.not_worse(args.interval, **how))
