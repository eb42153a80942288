"""The options of the table, which several commands share."""

from __future__ import annotations

import argparse

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
