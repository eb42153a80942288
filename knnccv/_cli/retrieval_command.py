"""The command ``retrieval``: retrieval scores over all random galleries, without sampling."""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .notes import add_progress, shows_progress
from .options import natural, width

if TYPE_CHECKING:
    from ..retrieval import Retrieval
    from .retrieval_data import Question

EPILOG = """\
FILE.npz holds distances (distmat) or features (query_features, gallery_features), the identities (q_pids,
g_pids), and the cameras (q_camids, g_camids) if the protocol or the mask needs them, as
numpy.savez("FILE.npz", distmat=distmat, q_pids=q_pids, ...) writes them. A large matrix of distances is
better in a file of its own, D.npy, which is read block by block.

examples:
  knnccv retrieval
  knnccv retrieval test.npz --protocol market1501
  knnccv retrieval test.npz --protocol sysu-all --shots 10 --repeats 200
  knnccv retrieval test.npz --per-identity 1 --exclude same-identity-camera --jackknife
  knnccv retrieval --distances D.npy --ids queries.txt gallery.txt --scores cmc,ap,ndcg@10 --json
  knnccv retrieval ours.npz --per-identity 1 --jackknife --compare theirs.npz

The scores are exact means over all galleries that may be drawn from these items. --repeats draws galleries
as well, to show what one of them, and the mean of ten, scatters. --jackknife estimates the luck of the
identities. In JSON, n_galleries is a number up to 2**53, and a string such as "3.2e+618" beyond; what is
not defined or was not requested is null."""

PROTOCOLS = ("market1501", "cuhk03", "sysu-all", "sysu-indoor")
IN_PYTHON = (
    (r"pass always=\[(.*?)\]", r"give --always \1"),
    (r'Gallery\(\.\.\., short="all"\)', "--short all"),
    (r'with Gallery\(\.\.\., mask="before"\) or per_query=True', "with --per-identity"),
)
MASKS = ("same-identity-camera", "same-camera", "self")


def add_retrieval(commands: Any) -> None:
    """Add ``retrieval``."""
    parser = commands.add_parser(
        "retrieval",
        help="CMC and mean average precision over all random galleries",
        description="Exact retrieval scores over all random galleries, such as CMC and mean average "
        "precision. Without a file: the ORL faces, downloaded if they are not on this disk; the first five "
        "photographs of each of the 40 people are queries, the others are the gallery.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_data(parser.add_argument_group("the data"))
    _add_protocol(parser.add_argument_group("what is scored"))
    shown = parser.add_argument_group("the answer")
    shown.add_argument(
        "--repeats", type=natural, metavar="N", help="also N random galleries, to show their scatter"
    )
    shown.add_argument("--seed", type=natural, default=0, help="of the random galleries (default: 0)")
    shown.add_argument(
        "--jackknife",
        action="store_true",
        help="also standard errors over identities, by leaving out each of them",
    )
    shown.add_argument(
        "--compare",
        metavar="FILE",
        help="the same queries and gallery under another model (.npz, or .npy of distances): the paired "
        "difference, FILE subtracted",
    )
    shown.add_argument("--jobs", type=int, metavar="N", help="threads (default: all processors)")
    add_progress(shown)
    shown.add_argument("--json", action="store_true", help="print one JSON object instead")
    parser.set_defaults(run=run_retrieval)


def _add_data(group: Any) -> None:
    group.add_argument("file", nargs="?", metavar="FILE.npz", help="distances or features, and identities")
    group.add_argument(
        "--data", choices=("orl",), help="a data set in place of a file (default without a file: orl)"
    )
    group.add_argument(
        "--distances", metavar="D.npy", help="one matrix (n_queries, n_gallery), read block by block"
    )
    group.add_argument(
        "--ids",
        nargs="+",
        metavar="FILE",
        help="with --distances: an .npz file, or two text files with one identity per line, of the queries "
        "and of the gallery",
    )
    group.add_argument(
        "--cams", nargs=2, metavar="FILE", help="with --distances: two text files with one camera per line"
    )
    for option, name, what in (
        ("--distmat", "distmat", "distances"),
        ("--query-features", "query_features", "queries' features"),
        ("--gallery-features", "gallery_features", "gallery's features"),
        ("--query-ids", "q_pids", "queries' identities"),
        ("--gallery-ids", "g_pids", "gallery's identities"),
        ("--query-cams", "q_camids", "queries' cameras"),
        ("--gallery-cams", "g_camids", "gallery's cameras"),
    ):
        group.add_argument(
            option, default=name, metavar="NAME", help=f"array of the {what} (default: {name})"
        )
    group.add_argument("--metric", metavar="NAME", help="of features (default: euclidean)")


def _add_protocol(group: Any) -> None:
    group.add_argument("--protocol", choices=PROTOCOLS, help="sets mask, draw, --rank and --ap")
    group.add_argument(
        "--per-identity",
        type=int,
        metavar="K",
        help="draw K items of every identity, anew for every query (default: the whole gallery)",
    )
    group.add_argument(
        "--shots",
        type=int,
        metavar="K",
        help="draw K items of every identity, one gallery for all queries; of every identity and camera "
        "with --per-camera and in SYSU protocols (default there: 1)",
    )
    group.add_argument("--per-camera", action="store_true", help="see --shots")
    group.add_argument(
        "--short",
        choices=("refuse", "all"),
        help="identities with fewer items than are drawn: refuse (default), or take all",
    )
    group.add_argument(
        "--exclude",
        choices=MASKS,
        help="gallery items that a query never finds: those of its identity and camera, those of its "
        "camera, or itself (queries and gallery are then the same items)",
    )
    group.add_argument(
        "--always",
        action="append",
        metavar="ID",
        help="all items of this identity, such as distractors under the identity 0, are in every gallery, "
        "and the jackknife does not leave them out; may be given several times",
    )
    group.add_argument("--rank", choices=("image", "identity"), help="what CMC counts (default: image)")
    group.add_argument(
        "--ap", choices=("rectangle", "trapezoid"), help="average precision (default: rectangle)"
    )
    group.add_argument(
        "--scores",
        default="cmc,ap,rr,inp",
        metavar="NAMES",
        help="cmc, ap, rr, inp, r_precision, map@r, precision@K, recall@K, ndcg@K, rbp@P "
        "(default: cmc,ap,rr,inp)",
    )
    group.add_argument(
        "--max-rank", type=int, default=50, metavar="N", help="length of the CMC curve (default: 50)"
    )
    group.add_argument(
        "--ties",
        choices=("index", "random"),
        default="index",
        help="items at equal distances: in the order of the gallery (default), or the mean over all orders",
    )
    group.add_argument(
        "--average",
        choices=("query", "identity"),
        default="query",
        help="mean over queries (default), or over the means of their identities",
    )
    group.add_argument(
        "--tol", type=width, default=1e-12, metavar="E", help="relative error (default: 1e-12)"
    )


def run_retrieval(args: argparse.Namespace) -> int:
    """Print the exact scores, and what was asked for beside them."""
    check_options(args)
    args.progress = shows_progress(args.progress)
    from .._parallel import one_bar
    from ..inference import InferenceWarning
    from ..kernel import Compiling
    from ..retrieval import sampled_retrieval
    from .retrieval_answer import Answer
    from .retrieval_data import other_question, read_question

    question = read_question(args)
    other = None if args.compare is None else other_question(args, question)
    gallery, more = chosen(args, question)
    compared = runs = None
    started = time.perf_counter()
    with (
        _in_options(),
        Compiling("knnccv: compiling once the kernels of retrieval (about a minute)") as compiling,
        warnings.catch_warnings(record=True) as warned,
        one_bar(args.progress),
    ):
        warnings.simplefilter("always", InferenceWarning)
        exact = _expected(args, question, gallery, more)
        seconds = time.perf_counter() - started - compiling.seconds
        if other is not None:
            compared = other.name, _expected(args, other, gallery, more)
        if args.repeats:
            runs = sampled_retrieval(
                question.near,
                question.query_ids,
                question.gallery_ids,
                gallery,
                **more,
                **_scoring(args),
                n_repeats=args.repeats,
                random_state=args.seed,
            )
    said = (_as_options(str(one.message)) for one in warned)
    for note in dict.fromkeys((*([question.note] if question.note else []), *said)):
        print(f"knnccv: note: {note}", file=sys.stderr)
    answer = Answer(question, exact, args, max(seconds, 0.0), runs, compared)
    print(json.dumps(answer.as_json(), allow_nan=False) if args.json else answer.as_text())
    return 0


def _as_options(text: str) -> str:
    """A message whose hints name the options of the command in place of arguments."""
    for pattern, option in IN_PYTHON:
        text = re.sub(pattern, option, text)
    return text


@contextmanager
def _in_options() -> Iterator[None]:
    """Errors whose hints name the options of the command."""
    try:
        yield
    except ValueError as error:
        raise ValueError(_as_options(str(error))) from error


def check_options(args: argparse.Namespace) -> None:
    """Raise ValueError if the options contradict each other; no file is read yet."""
    sources = {"a file": args.file, "--data": args.data, "--distances": args.distances}
    given = [name for name, value in sources.items() if value is not None]
    wrong = None
    if len(given) > 1:
        wrong = f"{' and '.join(given)} are different data; give one of them"
    elif args.distances is not None and args.ids is None:
        wrong = "--distances needs the identities: --ids IDS.npz, or --ids QUERIES.txt GALLERY.txt"
    elif args.distances is None and (args.ids is not None or args.cams is not None):
        wrong = f"{'--ids' if args.ids is not None else '--cams'} belongs to --distances"
    elif args.ids is not None and len(args.ids) > 2:
        wrong = f"--ids takes one .npz file or two text files, got {len(args.ids)} files"
    elif args.per_identity is not None and args.shots is not None:
        wrong = "--per-identity and --shots are different galleries; give one of them"
    elif args.per_camera and (args.shots is None or args.protocol is not None):
        wrong = "--per-camera belongs to --shots, without --protocol"
    elif args.protocol is not None and (args.per_identity is not None or args.short is not None):
        option = "--per-identity" if args.per_identity is not None else "--short"
        wrong = f"--protocol {args.protocol} sets the gallery; it cannot be given with {option}"
    elif args.shots is not None and args.protocol in ("market1501", "cuhk03"):
        wrong = f"--protocol {args.protocol} sets the gallery; it cannot be given with --shots"
    elif args.short is not None and args.per_identity is None and args.shots is None:
        wrong = "--short belongs to --per-identity or --shots"
    elif args.repeats == 1:
        wrong = "--repeats must be at least 2, to show a scatter, or 0, got 1"
    elif args.repeats and not _draws(args):
        wrong = (
            "--repeats needs a random gallery: --per-identity, --shots, or --protocol cuhk03 or sysu-..."
        )
    if wrong is not None:
        raise ValueError(wrong)


def _draws(args: argparse.Namespace) -> bool:
    random = (args.per_identity, args.shots, args.protocol)
    return any(value is not None for value in random) and args.protocol != "market1501"


def chosen(args: argparse.Namespace, question: Question) -> tuple[Any, dict[str, Any]]:
    """The gallery, and the arguments of its mask or cameras."""
    from .. import retrieval

    cameras = question.query_cams, question.gallery_cams
    if args.protocol is not None:
        question.need_cameras(f"--protocol {args.protocol}")
        protocol = {
            "market1501": lambda: retrieval.market1501(args.ap or "rectangle"),
            "cuhk03": retrieval.cuhk03,
            "sysu-all": lambda: retrieval.Gallery.sysu("all-search", _shots(args)),
            "sysu-indoor": lambda: retrieval.Gallery.sysu("indoor-search", _shots(args)),
        }[args.protocol]()
        more: dict[str, Any] = {"query_cams": cameras[0], "gallery_cams": cameras[1]}
        more |= _always(args, question)
        return protocol, more | ({"exclude": _mask(args, question)} if args.exclude else {})
    short = args.short or "refuse"
    if args.per_identity is not None:
        gallery = retrieval.Gallery(per_identity=args.per_identity, short=short)
    elif args.shots is not None:
        strata = None
        if args.per_camera:
            question.need_cameras("--per-camera")
            strata = question.gallery_ids, question.gallery_cams
        gallery = retrieval.Gallery(shots=args.shots, strata=strata, short=short)
    else:
        gallery = retrieval.Gallery("all")
    return gallery, {"exclude": _mask(args, question)} | _always(args, question)


def _always(args: argparse.Namespace, question: Question) -> dict[str, Any]:
    """The identities of ``--always``, of the type of the gallery's."""
    if args.always is None:
        return {}
    known = {str(name): name for name in question.gallery_ids.tolist()}
    for name in args.always:
        if name not in known:
            msg = f"--always names identities of the gallery, got {name!r}, which is none of them"
            raise ValueError(msg)
    return {"always": [known[name] for name in dict.fromkeys(args.always)]}


def _shots(args: argparse.Namespace) -> int:
    return 1 if args.shots is None else int(args.shots)


def _mask(args: argparse.Namespace, question: Question) -> Any:
    from ..retrieval import SameCamera, SameIdentityAndCamera

    if args.exclude in (None, "self"):
        return args.exclude
    question.need_cameras(f"--exclude {args.exclude}")
    kind = SameCamera if args.exclude == "same-camera" else SameIdentityAndCamera
    return kind(question.query_cams, question.gallery_cams)


def _scoring(args: argparse.Namespace) -> dict[str, Any]:
    """The options that exact and sampled scores share."""
    return {
        "scores": tuple(name.strip() for name in args.scores.split(",")),
        "rank": args.rank,
        "ap": args.ap,
        "max_rank": args.max_rank,
        "ties": args.ties,
        "average": args.average,
        "n_jobs": args.jobs,
    }


def _expected(
    args: argparse.Namespace, question: Question, gallery: Any, more: dict[str, Any]
) -> Retrieval:
    from ..retrieval import expected_retrieval

    luck: dict[str, Any] = {"jackknife": "identity"} if args.jackknife else {}
    return expected_retrieval(
        question.near,
        question.query_ids,
        question.gallery_ids,
        gallery,
        **more,
        **_scoring(args),
        tol=args.tol,
        **luck,
    )
