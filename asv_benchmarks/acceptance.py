"""The times of knnccv as ratios to those of its peers, as one Markdown table.

    python acceptance.py                            # every shape, both precisions; tens of minutes
    python acceptance.py "2000 x 8" "20000 x 64" --precision float32
    python acceptance.py --votes                    # K and classes beside one run of scikit-learn; an hour
    python acceptance.py --votes "100000 x 3"

In every round all compared programs run in turn, on all processors. A ratio is the median of the rounds'
ratios, with the smallest and the largest; seconds are medians. Missing packages are left out.
"""

import argparse
import os
import platform
from functools import partial
from importlib.metadata import PackageNotFoundError, version

import numpy as np
from benchmarks.problems import gaussian
from benchmarks.rivals import FEW, PRECISIONS, SHAPES, missing, one_run, ready
from benchmarks.timing import N_ROUNDS, in_turn

from knnccv import KFold, complete_cv

# The ratio, then the timed calls: a name in RIVALS and a number of classes.
EXACT, NEIGHBORS = ("complete_cv", 3), ("neighbors", 3)
PAIRS = {
    "complete_cv / one run, scikit-learn": (EXACT, ("cross_val_score, scikit-learn", 3)),
    "complete_cv / one run, scikit-learn-intelex": (EXACT, ("cross_val_score, scikit-learn-intelex", 3)),
    "neighbors / scikit-learn": (NEIGHBORS, ("NearestNeighbors, scikit-learn", 3)),
    "neighbors / faiss": (NEIGHBORS, ("IndexFlatL2, faiss", 3)),
    "kernels, 2 classes / neighbors": (("kernels", 2), NEIGHBORS),
    "kernels, 10 classes / neighbors": (("kernels", 10), NEIGHBORS),
}
NEIGHBOR_NUMBERS = (1, 5, 15, 51)
CLASS_NUMBERS = {
    "2000 x 8": (10, 100),
    "20000 x 8": (10, 100),
    "20000 x 64": (10, 100),
    "100000 x 3": (2, 10, 100),
}
VOTES_HEADER = """
Ratios of complete_cv to one cross_val_score of scikit-learn: KFold(5) / the default, 5 stratified folds.

| shape | classes | K = 1 | K = 5 | K = 15 | K = 51 |
|---|---|---|---|---|---|"""
FEWER_ROUNDS = 3
MANY = 3_000_000  # size of the data from which fewer rounds are made
LIBRARIES = ("knnccv", "numpy", "numba", "scikit-learn", "scikit-learn-intelex", "faiss-cpu")
HEADER = """
| shape | data | what | ratio | smallest to largest | seconds | peer's seconds | rounds |
|---|---|---|---|---|---|---|---|"""


def n_processors():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def installed(library):
    try:
        return f"{library} {version(library)}"
    except PackageNotFoundError:
        return f"no {library}"


def rows(shape, precision, n_rounds):
    """The table's lines for one shape."""
    pairs = {what: pair for what, pair in PAIRS.items() if not any(missing(name) for name, _ in pair)}
    timed = list(dict.fromkeys(one for pair in pairs.values() for one in pair))
    calls = [ready(name, shape, precision, n_classes) for name, n_classes in timed]
    taken = dict(zip(timed, in_turn(calls, n_rounds).T, strict=True))
    for what, (ours, theirs) in pairs.items():
        ratios = taken[ours] / taken[theirs]
        cells = (
            shape,
            precision,
            what,
            f"{np.median(ratios):.3g}",
            f"{ratios.min():.3g} to {ratios.max():.3g}",
            f"{np.median(taken[ours]):.3g}",
            f"{np.median(taken[theirs]):.3g}",
            str(n_rounds),
        )
        yield f"| {' | '.join(cells)} |"


def vote_rows(shape, n_classes, n_rounds):
    """A line for one shape and number of classes: every K, for KFold(5) and for the default folds."""
    X, y = gaussian(*SHAPES[shape], n_classes)
    cells = [shape, str(n_classes)]
    for k in NEIGHBOR_NUMBERS:
        fixed = partial(complete_cv, X, y, "knn", KFold(5), n_neighbors=k)
        default = partial(complete_cv, X, y, "knn", n_neighbors=k)
        for call in (fixed, default):  # compiled before anything is timed
            partial(call.func, X[:FEW], y[:FEW], *call.args[2:], **call.keywords)()
        taken = in_turn([fixed, default, one_run(X, y, k)], n_rounds)
        cells.append(" / ".join(f"{np.median(taken[:, j] / taken[:, 2]):.2g}" for j in (0, 1)))
    return f"| {' | '.join(cells)} |"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("shapes", nargs="*", metavar="shape", help=f"of {', '.join(SHAPES)}; default: all")
    parser.add_argument("--precision", action="append", choices=PRECISIONS, help="default: both")
    parser.add_argument("--rounds", type=int, help=f"default: {N_ROUNDS}, or {FEWER_ROUNDS} for large data")
    parser.add_argument("--votes", action="store_true", help="the table of K and classes, in float64")
    options = parser.parse_args()
    for shape in options.shapes:
        if shape not in SHAPES:
            parser.error(f"shape must be one of {', '.join(SHAPES)}, got {shape!r}")
    if options.rounds is not None and options.rounds < 1:
        parser.error(f"rounds must be at least 1, got {options.rounds}")
    print(f"{platform.machine()}, {n_processors()} processors, Python {platform.python_version()}")
    print(", ".join(installed(library) for library in LIBRARIES))
    if options.votes:
        print(VOTES_HEADER)
        for shape, classes in CLASS_NUMBERS.items():
            for n_classes in classes if shape in (options.shapes or CLASS_NUMBERS) else ():
                print(vote_rows(shape, n_classes, options.rounds or N_ROUNDS), flush=True)
        return
    print(HEADER)
    for shape in options.shapes or SHAPES:
        n_items, n_features = SHAPES[shape]
        fewer = n_items * n_features >= MANY
        n_rounds = options.rounds or (FEWER_ROUNDS if fewer else N_ROUNDS)
        for precision in options.precision or PRECISIONS:
            for line in rows(shape, precision, n_rounds):
                print(line, flush=True)


if __name__ == "__main__":
    main()
