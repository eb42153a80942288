"""The commands, and those of a few lines; heavy packages are imported only when a command runs."""

from __future__ import annotations

import argparse
import importlib
import json
from typing import Any

from . import options
from .output import shows_progress


def add_commands(commands: Any) -> None:
    """Add all commands to the result of ``add_subparsers``."""
    described = options.read_commands()
    shared = described.pop("shared")
    for name, command in described.items():
        parser = commands.add_parser(
            name,
            help=command["words"],
            description=command["description"],
            epilog=command.get("epilog"),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        options.add_options(parser, command["groups"], shared)
        parser.set_defaults(command=name, parser=parser)


def run(args: argparse.Namespace) -> int:
    """Run a command, and return its exit status."""
    if "progress" in args:
        args.progress = shows_progress(args.progress)
    options.check_values(args)
    if own := {"datasets": run_datasets, "warm": run_warm}.get(args.command):
        return own(args)
    module = args.command.replace("-", "_")
    return int(importlib.import_module(f".{module}", __package__).run(args))


def run_datasets(args: argparse.Namespace) -> int:
    """Print the list of data sets."""
    from ..datasets import list_datasets

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
    return 0


def run_warm(args: argparse.Namespace) -> int:
    """Compile all kernels, and print the folder of the cache."""
    from ..kernel import Compiling, cache_folder
    from .warm import warm

    with Compiling(
        "knnccv: compiling once all kernels (about 3 minutes of processor time)", 0.0
    ) as compiling:
        warm(progress=args.progress)
    if compiling.functions:
        functions = f"{compiling.functions} function{'s' * (compiling.functions != 1)}"
        print(f"{functions} compiled in {compiling.seconds:.0f} s")
    else:
        print("nothing to compile: all kernels are in the cache")
    print(f"kept in {cache_folder()}")
    return 0
