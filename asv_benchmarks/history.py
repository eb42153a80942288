#!/usr/bin/env python3
"""Record points of the performance history, and list what became slower.

    python history.py record COMMIT...          # measure these commits; their points go to results/
    python history.py compare [OLD [NEW]]       # by default the last release and the newest point

asv does the work: it builds each commit into an environment of its own. `record` adds what makes points
comparable: one set of benchmarks, compiled code that no other commit left behind, and real-time priority
where the user may have it. `compare` ends with status 1 if something is slower by more than the factor.
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
SIZE = r"^size\."
ONCE = (
    r"start_up.Import.track_import_seconds",
    r"start_up.FirstResult.track_first_result_seconds",
    r"start_up.Cold",
    r"scores.*'wine', '(nn|knn)', 'StratifiedKFold",
)
REPEATED = (
    r"kernels.Score.time_score\('(knn|rank)', '(KFold|StratifiedKFold)",
    r"kernels.Score.time_score\('nn', 'StratifiedKFold",
    r"kernels.Groups.time_score\('nn'",
    r"neighbors.FromData.time_kneighbors\(2000, .*euclidean",
    r"surface.Surface.time_all_cells\(1000, 3\)",
    r"runs.Runs.time_runs\(2000, 'KFold",
    r"runs.Tuned",
    r"retrieval.Retrieval.time_scores\('1 per identity",
)
QUICK = ("processes=1", "rounds=1", "warmup_time=0", "number=1", "repeat=(5, 100, 0.7)")
REAL_TIME = 40


def git(*words):
    """Return what git prints, or None if it fails."""
    done = subprocess.run(["git", *words], cwd=HERE, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def commit_of(name):
    found = git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    if found is None:
        sys.exit(f"{name!r} is no commit of this repository: name one, such as HEAD or v0.1.0")
    return found


def asv(*words, **options):
    command = [sys.executable, "-m", "asv", *words]
    return subprocess.run(command, cwd=HERE, check=False, text=True, **options)


def points():
    """The recorded commits with their machines, oldest first."""
    runs = [(json.loads(path.read_text(encoding="utf-8")), path) for path in RESULTS.glob("*/*-*.json")]
    runs.sort(key=lambda one: one[0]["date"])
    return [(run["commit_hash"], path.parent.name) for run, path in runs]


def hasten():
    """Let no other process interrupt the measurements, if the system permits that."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(REAL_TIME))
    except (AttributeError, PermissionError):
        print("without real-time priority: let the machine do nothing else", file=sys.stderr)


def keep_fastest(path, earlier):
    """Replace asv's medians by the fastest samples: other processes only add time. Return the results."""
    run = json.loads(path.read_text(encoding="utf-8"))
    for name, row in run["results"].items():
        columns = dict(zip(run["result_columns"], row, strict=False))
        if columns["result"] and columns.get("samples"):
            known = earlier[name][0] if name in earlier else columns["result"]
            of_cases = zip(columns["result"], known, columns["samples"], strict=True)
            columns["result"] = [
                min(*samples, value or math.inf) if samples else now for now, value, samples in of_cases
            ]
            run["results"][name] = list(columns.values())[:5]  # without statistics of the samples
    path.write_text(json.dumps(run), encoding="utf-8")
    return run["results"]


def record(commits, machine, rounds):
    """Measure each commit, in every round one after the other; return the highest status of asv."""
    index = RESULTS / "benchmarks.json"
    run = ["run", "--record-samples", *(["--machine", machine] if machine else [])]
    for one in QUICK:
        run += ["--attribute", one]
    status, earlier, hashes = 0, {}, [commit_of(name) for name in commits]
    # A cache for each commit: all files of wheels have the same time, by which Numba knows compiled code.
    with TemporaryDirectory() as folder:
        for number in range(rounds):
            for commit in hashes:
                before = index.read_bytes() if index.exists() else None
                options = {"env": os.environ | {"NUMBA_CACHE_DIR": f"{folder}/{commit}"}}
                options["env"].pop("PYTHONPATH", None)
                built = asv(*run, "--bench", SIZE, f"{commit}^!", **options)  # builds and installs as well
                chosen = (*REPEATED, *(() if number else ONCE))
                words = [word for regex in chosen for word in ("--bench", regex)]
                done = asv(*run, *words, f"{commit}^!", preexec_fn=hasten, **options)
                status = max(status, built.returncode, done.returncode)
                for path in RESULTS.glob(f"{machine or '*'}/{commit[:8]}-*.json"):
                    earlier[path] = keep_fastest(path, earlier.get(path, {}))
                if before and points()[-1][0] != commit:
                    index.write_bytes(before)  # the index is that of the newest commit
    return status


def compare(old, new, factor):
    """Print what changed by more than `factor`; return 1 if anything is slower."""
    recorded = points()
    if not recorded:
        sys.exit("no commit is recorded yet: history.py record HEAD")
    newest, machine = recorded[-1]
    if old is None:
        old = git("describe", "--tags", "--abbrev=0")
        if old is None:
            sys.exit("there is no release yet: name a commit, as in history.py compare OLD")
    words = ["compare", "--no-stats", "--only-changed", "--sort", "ratio", "--factor", str(factor)]
    words += ["--machine", machine, commit_of(old), commit_of(new or newest)]
    done = asv(*words, stdout=subprocess.PIPE)
    table = done.stdout.strip()
    print(table or f"nothing differs by more than a factor of {factor}")
    return done.returncode or int(re.search(r"^\| [+!]", table, re.MULTILINE) is not None)


def main():
    shown = {"description": __doc__, "formatter_class": argparse.RawDescriptionHelpFormatter}
    parser = argparse.ArgumentParser(**shown)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("record", help="measure commits")
    one.add_argument("commits", nargs="+", metavar="COMMIT")
    one.add_argument("--machine", help="the machine's name in results/, by default the one that asv knows")
    one.add_argument("--rounds", type=int, default=2, help="of all commits; the fastest counts")
    one = commands.add_parser("compare", help="list what changed between two points")
    one.add_argument("old", nargs="?", help="by default the last release")
    one.add_argument("new", nargs="?", help="by default the newest point")
    one.add_argument("--factor", type=float, default=1.1)
    given = vars(parser.parse_args())
    sys.exit({"record": record, "compare": compare}[given.pop("command")](**given))


if __name__ == "__main__":
    main()
