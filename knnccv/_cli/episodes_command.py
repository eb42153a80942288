"""The command ``episodes``: few-shot accuracy of the samples in a file, without sampling."""

from __future__ import annotations

import argparse
import json
import math
from typing import TYPE_CHECKING, Any

from .notes import add_progress, shows_progress
from .options import counts, natural

if TYPE_CHECKING:
    from .._typing import Array
    from ..episodes import EpisodeScore, SampledEpisodes

EPILOG = """\
The file holds the arrays X (n_items, n_features) and y (n_items,), as numpy.savez("FILE.npz", X=X, y=y)
writes them. With --metric precomputed X is the square matrix of distances.

examples:
  knnccv episodes features.npz
  knnccv episodes features.npz --n-way 5 --n-shot 5 --jackknife
  knnccv episodes features.npz --n-way 2-10 --n-shot 1,5 --metric cosine --json
  knnccv episodes features.npz --n-shot 5 --head prototype --repeats 10000

The score of --head nearest is exact: there is no ± from drawing episodes. Prototypes of several supports
are sampled, and corrected by the exact score of the nearest support in the same episodes. In JSON `score`
is always that of the nearest support; `sampled` has the random episodes, of the head that it names."""


def add_episodes(commands: Any) -> None:
    """Add ``episodes``."""
    parser = commands.add_parser(
        "episodes",
        help="few-shot accuracy over all episodes, without sampling",
        description="Exact mean accuracy of the nearest support over all few-shot episodes of the classes "
        "and samples in a file. Without a file: the ORL faces, downloaded if they are not on this disk.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", nargs="?", metavar="FILE.npz", help="embedded samples and their labels")
    parser.add_argument("--features", default="X", metavar="NAME", help="array of the samples (default: X)")
    parser.add_argument("--labels", default="y", metavar="NAME", help="array of the labels (default: y)")
    parser.add_argument(
        "--n-way", type=counts, default=5, metavar="N", help="classes: 5, 2-10 or 5,10,20 (default: 5)"
    )
    parser.add_argument(
        "--n-shot", type=counts, default=1, metavar="K", help="supports of a class (default: 1)"
    )
    parser.add_argument(
        "--n-neighbors",
        type=int,
        default=1,
        metavar="K",
        help="nearest supports that vote (default: 1); slow for many samples",
    )
    parser.add_argument("--metric", default="euclidean", metavar="NAME", help="default: euclidean")
    parser.add_argument(
        "--ties",
        choices=("random", "index"),
        default="random",
        help="equally distant samples: the mean over all orders (default), or in the order of the rows",
    )
    parser.add_argument(
        "--jackknife", action="store_true", help="also the standard error over classes, by leaving out each"
    )
    parser.add_argument(
        "--head",
        choices=("nearest", "prototype"),
        default="nearest",
        help="nearest: exact (default); prototype: sampled, for several supports",
    )
    parser.add_argument(
        "--repeats",
        type=natural,
        metavar="N",
        help="also N random episodes, to show their scatter; 0: none (default: none; 600 for prototypes)",
    )
    parser.add_argument(
        "--n-query",
        type=natural,
        default=15,
        metavar="M",
        help="queries of a class in random episodes (default: 15)",
    )
    parser.add_argument("--seed", type=natural, default=0, help="of the random episodes (default: 0)")
    parser.add_argument("--jobs", type=int, metavar="N", help="threads (default: all processors)")
    add_progress(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    parser.set_defaults(run=run_episodes)


def run_episodes(args: argparse.Namespace) -> int:
    """Print the exact score of the nearest support, and sampled episodes if they are wanted."""
    from .._parallel import one_bar
    from ..episodes import Episodes, expected_episodes, sampled_episodes
    from ..kernel import Compiling

    episodes = Episodes(args.n_way, args.n_shot)
    prototypes = args.head == "prototype"
    repeats = args.repeats if args.repeats is not None else 600 * prototypes
    if prototypes and not repeats:
        msg = "--head prototype is sampled: give --repeats at least 2"
        raise ValueError(msg)
    if repeats and args.metric not in ("euclidean", "cosine"):
        msg = f"random episodes serve the metrics euclidean and cosine, got --metric {args.metric}"
        raise ValueError(msg)
    if repeats and args.n_neighbors > 1:
        msg = "random episodes serve the nearest support and prototypes: omit --repeats or --n-neighbors"
        raise ValueError(msg)
    shown = shows_progress(args.progress)
    name, X, y = _data(args)
    runs = None
    with Compiling("knnccv: compiling once the kernels of episodes (about 20 s)"), one_bar(shown):
        exact = expected_episodes(
            X,
            y,
            episodes,
            args.n_neighbors,
            metric=args.metric,
            ties=args.ties,
            jackknife="class" if args.jackknife else None,
            n_jobs=args.jobs,
        )
        if repeats:
            runs = sampled_episodes(
                X,
                y,
                episodes,
                n_episodes=repeats,
                n_query=args.n_query,
                head=args.head,
                control_variate=prototypes,
                metric=args.metric,
                random_state=args.seed,
                n_jobs=args.jobs,
            )
    if args.json:
        print(json.dumps(_as_json(name, exact, runs), allow_nan=False))
    else:
        print(_as_text(name, exact, runs))
    return 0


def _data(args: argparse.Namespace) -> tuple[str, Array, Array]:
    """The name of the data, the samples and the labels."""
    if args.file is None:
        from ..datasets import fetch_orl

        faces = fetch_orl()
        return "ORL faces", faces.X, faces.y
    import zipfile
    from pathlib import Path

    import numpy as np

    try:
        held = np.load(args.file, allow_pickle=False)
    except (zipfile.BadZipFile, ValueError) as error:
        msg = f"{args.file} is not an .npz file of plain arrays: {error}"
        raise ValueError(msg) from error
    if isinstance(held, np.ndarray):
        msg = f"{args.file} holds one array; an .npz file with samples and labels is needed"
        raise ValueError(msg)
    with held:
        for option, wanted in (("--features", args.features), ("--labels", args.labels)):
            if wanted not in held.files:
                there = ", ".join(held.files) or "none"
                msg = f"{args.file} has no array {wanted!r}; its arrays: {there} (see {option})"
                raise ValueError(msg)
        try:
            return Path(args.file).name, held[args.features], held[args.labels]
        except ValueError as error:
            if "allow_pickle" not in str(error):
                raise
            msg = (
                f"{args.file} is not an .npz file of plain arrays: one holds Python objects; store text as "
                "numpy.array(names, dtype=str)"
            )
            raise ValueError(msg) from error


def _as_json(name: str, exact: EpisodeScore, runs: SampledEpisodes | None) -> dict[str, Any]:
    """The answer as an object of JSON; what is not defined is null."""
    answer: dict[str, Any] = {
        "data": name,
        "n_items": len(exact.per_item),
        "n_classes": len(exact.classes),
        "n_way": list(exact.episodes.ways),
        "n_shot": list(exact.episodes.shots),
        "head": "nearest",
        "n_neighbors": exact.n_neighbors,
        "metric": exact.metric,
        "ties": exact.ties,
        "score": exact.score,
        "error_bound": exact.error_bound,
        "standard_error": None if math.isnan(exact.standard_error) else exact.standard_error,
        "tied": exact.tied,
        "per_class": {str(label): score for label, score in exact.per_class.items()},
        "ways": {str(way): score for way, score in exact.ways.items()},
        "seconds": exact.seconds,
        "sampled": None,
    }
    if runs is not None:
        answer["sampled"] = {
            "head": runs.head,
            "n_episodes": len(runs.accuracies),
            "n_query": runs.n_query,
            "score": runs.score,
            "standard_error": runs.standard_error,
            "std": runs.std,
            "r2": None if math.isnan(runs.r2) else runs.r2,
        }
    return answer


def _as_text(name: str, exact: EpisodeScore, runs: SampledEpisodes | None) -> str:
    """The answer as lines of text."""
    import numpy as np

    from .._formatting import bound_text

    sizes = np.bincount(exact.labels)
    size = f"{sizes.min()}" if sizes.min() == sizes.max() else f"{sizes.min()} to {sizes.max()}"
    ties = {"random": "averaged over all orders", "index": "in the order of the rows"}[exact.ties]
    sampled = runs is not None and runs.head != "nearest"
    whose = " for the nearest support, prototypes are below" if sampled else ""
    bound = bound_text(exact.error_bound)
    lines = [
        f"{'Data':<11}{name}: {len(exact.per_item)} samples, {len(exact.classes)} classes of {size}",
        f"{'Episodes':<11}{exact.episodes}, all of them; every class and sample is equally likely",
        f"{'Rule':<11}{exact.rule}, {exact.metric} distance, tied samples {ties}",
        f"{'Accuracy':<11}{exact.score:.6f}  exact{whose}, error at most {bound}",
    ]
    if exact.score_without is not None:
        lines.append(f"{'':<11}standard error {exact.standard_error:.4f} for other classes (jackknife)")
    if len(exact.ways) > 1:
        shown = [way for way in (2, 3, 5, 10, 20, 50, 100) if way in exact.ways]
        ways = ", ".join(f"{way}-way {exact.ways[way]:.4f}" for way in shown)
        lines.append(f"{'Other ways':<11}{ways}")
    if runs is not None:
        low, high = runs.confidence_interval()
        lines += [
            f"{'Sampled':<11}{len(runs.accuracies)} random episodes, {runs.head}: {runs.score:.4f}, "
            f"95 % interval {low:.4f} to {high:.4f}",
            f"{'':<11}the accuracy of one episode scatters by {runs.std:.4f}",
        ]
        if not math.isnan(runs.r2):
            lines.append(f"{'':<11}control variate: nearest support of the same episodes, R² {runs.r2:.2f}")
    lines.append(f"{'Time':<11}{exact.seconds:.2f} s")
    return "\n".join(lines)
