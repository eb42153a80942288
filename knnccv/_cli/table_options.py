"""The options of the table and of the rule, which several commands share."""

from __future__ import annotations

import argparse
from typing import Any

CATEGORICAL = "with --metric heom or hvdm: a column whose numbers are names of categories (repeatable)"


def add_table(
    parser: argparse.ArgumentParser, *, categorical: str = CATEGORICAL, standardize: bool = True
) -> None:
    """Add the file, its columns and its format; `categorical` is the help of this option."""
    data = parser.add_argument_group("the table")
    data.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="delimited text, parquet or Excel (.xlsx), one sample per row, possibly compressed (gz, bz2, "
        "xz, zip); - reads standard input. Parquet and Excel need: pip install 'knnccv[cli]'",
    )
    data.add_argument(
        "--target",
        metavar="COLUMN",
        help="column of the labels, or of the numbers of regression: name, or number from 0 (-1: the last)",
    )
    data.add_argument(
        "--drop", metavar="COLUMN", action="append", default=[], help="leave a column out (repeatable)"
    )
    data.add_argument(
        "--delimiter", metavar="CHAR", help="a character, or comma, semicolon, tab, space (default: found)"
    )
    data.add_argument(
        "--decimal", metavar="CHAR", help="decimal mark of numbers in text and sheets (default: a point)"
    )
    data.add_argument("--thousands", metavar="CHAR", help="mark between their thousands (default: none)")
    data.add_argument("--sheet", metavar="NAME", help="sheet of an Excel file (default: the first)")
    data.add_argument("--categorical", metavar="COLUMN", action="append", default=[], help=categorical)
    data.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="the first row names the columns (default: it does if it holds no number)",
    )
    if standardize:
        data.add_argument(
            "--standardize",
            action=argparse.BooleanOptionalAction,
            help="scale every feature to zero mean and unit standard deviation over all samples; constant "
            "ones are 0 (default: only the bundled data)",
        )


def add_rule(parser: argparse.ArgumentParser, *, numbers: bool = True) -> Any:
    """Add the rule and its distance, and return the group; `numbers`: also its one number of neighbors."""
    rule = parser.add_argument_group("the rule")
    rule.add_argument(
        "--variant",
        metavar="NAME",
        help="nn, knn, rank, confidence, regression, or a registered one (default: knn, and regression "
        "if the target holds numbers that are not whole, or more than 50 different numbers)",
    )
    if numbers:
        rule.add_argument(
            "--n-neighbors", type=int, metavar="K", help="of knn, confidence and regression (default: 5)"
        )
        rule.add_argument("--rank", type=int, metavar="R", help="of rank (default: 5)")
    rule.add_argument(
        "--parameter",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="another parameter of the variant, as Python writes it: loss=[[0,1],[5,0]] (repeatable)",
    )
    rule.add_argument(
        "--metric",
        default="euclidean",
        metavar="NAME",
        help="distance (default: euclidean). heom and hvdm measure tables with categorical columns and "
        "missing values; heom does not look at the labels, hvdm does, and its scores can be optimistic",
    )
    rule.add_argument("--p", type=float, metavar="P", help="of --metric minkowski (default: 2)")
    rule.add_argument(
        "--ties",
        choices=("random", "index"),
        help="tied samples: the mean over all their orders (the default if the variant offers it), "
        "or in the order of the rows",
    )
    return rule


def add_average(
    group: Any,
    default: str | None = "pooled",
    words: str = "what has equal weight: the classifications of a split (default), the samples, the "
    "classes",
) -> None:
    """Add ``--average`` to a group of options; `words` describe it."""
    group.add_argument("--average", choices=("pooled", "item", "class"), default=default, help=words)
