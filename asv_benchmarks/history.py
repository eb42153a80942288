"""Record the performance history, and compare a branch with its base, by a fast set of benchmarks.

Run in this folder. Both commands build each commit in a virtual environment of asv's own.

    python history.py record COMMIT...      # store the results of these commits under results/
    python history.py compare [BASE]        # this branch beside BASE (default: main); fails if it is slower
    python history.py publish               # html/, as the site shows it

The fast set takes about three minutes per commit on two cores: start-up, kernels, scores, neighbors and
surface. Record all commits of a history on one machine that has nothing else to do.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

FAST = (
    r"start_up\.Import\.track_import_seconds",
    r"start_up\.FirstResult\.track_first_result_seconds",
    r"kernels\.Score\.time_score\('(nn|knn|rank)', '(Subsample|KFold|StratifiedKFold)",
    r"scores\.CompleteCV\.track_score\('(wine|liver-disorders)'",
    r"neighbors\.FromData\.time_kneighbors\(2000, \d+, 'euclidean'",
    r"surface\.Surface\.time_all_cells\(1000, 3",
)
# One process per benchmark, and few repeats: in minutes, medians that show changes of 15 %.
QUICKLY = ("--attribute", "processes=1", "--attribute", "rounds=1", "--attribute", "repeat=(3, 7, 3.0)")


def chosen() -> list[str]:
    """Return asv's options that choose the fast set."""
    return [word for one in FAST for word in ("--bench", one)]


def record(commits: list[str]) -> int:
    """Run the fast set on each commit, oldest first; a commit that fails does not stop the others."""
    failed = 0
    for commit in commits:
        command = ["asv", "run", "--skip-existing-successful", *QUICKLY, *chosen(), f"{commit}^!"]
        failed += subprocess.run(command, check=False).returncode not in (0, 2)
    return min(failed, 1)


def compare(base: str) -> int:
    """Run the fast set on `base` and on this branch in turn, and print what changed by more than 10 %."""
    command = ["asv", "continuous", "--factor", "1.1", "--interleave-rounds", *chosen(), base, "HEAD"]
    return subprocess.run(command, check=False).returncode


def main() -> int:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("record").add_argument("commits", nargs="+", metavar="COMMIT")
    commands.add_parser("compare").add_argument("base", nargs="?", default="main")
    commands.add_parser("publish")
    arguments = parser.parse_args()
    if arguments.command == "record":
        return record(arguments.commits)
    if arguments.command == "compare":
        return compare(arguments.base)
    return subprocess.run(["asv", "publish"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
