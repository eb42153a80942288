"""The command ``retrieval``: retrieval scores over all random galleries, without sampling."""

from __future__ import annotations

import argparse
import math
import re
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import retrieval
from .._formatting import error_phrase, magnitude, plain
from .._version import __version__
from ..neighbors import Neighbors
from ..retrieval import Retrieval, SampledRetrieval, expected_retrieval, sampled_retrieval
from .data import check_needed, lists, matrix, read_arrays
from .options import given, option, refuse, refuse_both, refuse_without
from .output import Lines, computing, print_notes, show

ROLES = ("query_ids", "gallery_ids", "query_cams", "gallery_cams")
APART = ("distmat", "query_features", "gallery_features")
"""With those: the options that name the arrays of a file."""
NOT_USED = (
    "the cameras are not used, as there is neither --protocol nor --exclude; most protocols remove gallery "
    "items of the query's identity and camera"
)
FACES_AS_QUERIES = 5
IN_PYTHON = (
    (r'pass exclude="self"(, or .*?,)?', "give --exclude self"),
    (r"always must be a bool .* or different", "--always must name different"),
    (r"pass always=\[(.*?)\]", r"give --always \1"),
    (r'Gallery\(\.\.\., short="all"\)', "--short all"),
    (r'with Gallery\(\.\.\., mask="before"\) or per_query=True', "with --per-identity"),
)
WHERE_CAMERAS_ARE = "(see --query-cams and --gallery-cams for arrays in a file, --cams for lists)"
COMPILES_ONCE = "the kernels of retrieval (about a minute)"
SHOWN_RANKS = (1, 5, 10, 20)
TIES = {"random": "averaged over all orders", "index": "in the order of the gallery"}


@dataclass(frozen=True)
class Question:
    """Distances, identities and cameras.

    Attributes
    ----------
    name : str
        Of the data.
    near : Between
    metric : str
        "distances" if they were given.
    labels : dict of str to ndarray
        The identities, and the cameras if there are some, by `ROLES`.
    """

    name: str
    near: Any
    metric: str
    labels: dict[str, Any]

    def cameras(self, why: str) -> dict[str, Any]:
        """Those of the queries and of the gallery; ValueError if there are none."""
        wrong = f"{why} needs cameras, but {self.name} has none {WHERE_CAMERAS_ARE}"
        refuse("query_cams" not in self.labels, wrong)
        return {role: self.labels[role] for role in ROLES[2:]}


def run(args: argparse.Namespace) -> int:
    """Print the exact scores, and what was asked for beside them."""
    check_options(args)
    question = read_question(args)
    other = None if args.compare is None else other_question(args, question)
    gallery, more = chosen(args, question)
    used = args.protocol is not None or args.exclude is not None or args.per_camera
    ids = question.labels["query_ids"], question.labels["gallery_ids"]
    more |= {
        "scores": tuple(name.strip() for name in args.scores.split(",")),
        **{name: getattr(args, name) for name in ("rank", "ap", "max_rank", "ties", "average")},
        "n_jobs": args.jobs,
    }
    luck = {"tol": args.tol} | ({"jackknife": "identity"} if args.jackknife else {})

    def expected(asked: Question) -> Retrieval:
        return expected_retrieval(asked.near, ids[0], ids[1], gallery, **more, **luck)

    compared = runs = None
    started = time.perf_counter()
    with computing(args.progress, COMPILES_ONCE, UserWarning, words=_as_options) as (compiling, _):
        exact = expected(question)
        seconds = max(time.perf_counter() - started - compiling.seconds, 0.0)
        if other is not None:
            theirs = expected(other)
            differences = {name: exact.difference(theirs, name) for name in exact}
            compared = Compared(other.name, theirs, differences)
        if args.repeats:
            more |= {"n_repeats": args.repeats, "random_state": args.seed}
            runs = sampled_retrieval(question.near, *ids, gallery, **more)
    print_notes([NOT_USED] if "query_cams" in question.labels and not used else [])
    answer = Answer(args, question, exact, seconds, runs, compared)
    return show(args, answer.to_dict(), answer.lines(), 11)


def _as_options(text: str) -> str:
    """A message whose hints name the options of the command in place of arguments."""
    for pattern, words in IN_PYTHON:
        text = re.sub(pattern, words, text)
    return text


def check_options(args: argparse.Namespace) -> None:
    """Raise ValueError if the options contradict each other; no file is read yet."""
    refuse_both(args, "data", "file", "data", "distances")
    refuse_both(args, "galleries", "per_identity", "shots")
    refuse_without(args.distances, "--distances", args, "ids", "cams")
    if args.distances:
        needed = "--distances needs the identities: --ids IDS.npz, or --ids QUERIES.txt GALLERY.txt"
        refuse(not args.ids, needed)
        needless = f"--metric {args.metric} belongs to features; --distances has distances already"
        refuse(args.metric, needless)
        refuse(len(args.ids) > 2, f"--ids takes one .npz file or two text files, got {len(args.ids)} files")
    stray = args.per_camera and (args.shots is None or args.protocol)
    refuse(stray, "--per-camera belongs to --shots, without --protocol")
    if args.protocol:
        drawn = "per_identity", "short", "shots"
        for name in given(args, drawn[:2] if args.protocol.startswith("sysu") else drawn):
            conflict = f"sets the gallery; it cannot be given with {option(name)}"
            refuse(name, f"--protocol {args.protocol} {conflict}")
    fixed = args.per_identity is None and args.shots is None
    refuse_without(not fixed, "--per-identity or --shots", args, "short")
    random = args.protocol != "market1501" if args.protocol else not fixed
    needed = "--per-identity, --shots, or --protocol cuhk03 or sysu-..."
    refuse(args.repeats and not random, f"--repeats needs a random gallery: {needed}")


def read_question(args: argparse.Namespace) -> Question:
    """Read the data that the options describe.

    Raises
    ------
    ValueError, TypeError
        If an array is missing or does not fit the others.
    OSError
        If a file cannot be read.
    """
    if args.distances is not None:
        return _from_matrix(args)
    if args.file is not None:
        name = Path(args.file).name
        hint = "; a matrix of distances is read by --distances"
        found, there = read_arrays(args.file, args, (), (*ROLES, *APART), hint)
        near, metric = _distances(args, name, found, there)
        check_needed(args.file, args, ROLES[:2], found, there)
        return Question(name, near, metric, _labels(name, found))
    from ..datasets import fetch_orl

    faces = fetch_orl()
    first = np.zeros(len(faces.y), np.bool_)
    for person in np.unique(faces.y):
        first[np.flatnonzero(faces.y == person)[:FACES_AS_QUERIES]] = True
    metric = args.metric or "euclidean"
    near = Neighbors.between(faces.X[first], faces.X[~first], metric)
    labels = {"query_ids": faces.y[first], "gallery_ids": faces.y[~first]}
    return Question("ORL faces", near, metric, labels)


def _from_matrix(args: argparse.Namespace) -> Question:
    near = matrix(args.distances)
    if len(args.ids) == 1:
        hint = "; --ids takes one .npz file, or two text files"
        labels = _labels(args.ids[0], read_arrays(args.ids[0], args, ROLES[:2], ROLES[2:], hint)[0])
    else:
        labels = dict(zip(ROLES, lists(args.ids), strict=False))
    if args.cams is not None:
        labels |= dict(zip(ROLES[2:], lists(args.cams), strict=True))
    return Question(Path(args.distances).name, near, "distances", labels)


def other_question(args: argparse.Namespace, question: Question) -> Question:
    """The data of ``--compare``: the same queries and gallery under another model.

    Raises
    ------
    ValueError, TypeError, OSError
        As `read_question`; or the identities or cameras differ.
    """
    path, name = args.compare, Path(args.compare).name
    must = "--compare needs the same queries and gallery"
    if name.endswith(".npy"):
        near, metric, labels = matrix(path), "distances", {}
    else:
        found, there = read_arrays(path, args, (), (*ROLES, *APART))
        near, metric = _distances(args, name, found, there)
        labels = {role: found[role] for role in ROLES if role in found}
    words = "{0.n_queries} queries and {0.n_gallery} gallery items"
    mine, theirs = words.format(question.near), words.format(near)
    refuse(mine != theirs, f"{must}: {name} has {theirs}, {question.name} has {mine}")
    for role, values in labels.items():
        differs = not np.array_equal(question.labels.get(role, values), values)
        refuse(differs, f"{must}: {getattr(args, role)} of {name} differs")
    return replace(question, name=name, near=near, metric=metric)


def _distances(args: argparse.Namespace, name: str, found: dict[str, Any], there: str) -> tuple[Any, str]:
    """The distances of an archive, or those of its features; and the metric."""
    sides: Any = [found[one] for one in APART[1:] if one in found]
    if "distmat" in found:
        both = f"{name} has distances ({args.distmat}) and features; name an absent array for one of them"
        needless = f"--metric {args.metric} belongs to features, but {name} has distances ({args.distmat})"
        refuse(sides, both)
        refuse(args.metric is not None, needless)
        return Neighbors.from_distances(found["distmat"], queries="other"), "distances"
    wanted = f"{args.distmat!r}, or {args.query_features!r} and {args.gallery_features!r}; {there}"
    options = "(see --distmat, --query-features and --gallery-features)"
    wrong = f"{name} has neither distances nor features: it needs {wanted} {options}"
    refuse(len(sides) < 2, wrong)
    metric = args.metric or "euclidean"
    return Neighbors.between(sides[0], sides[1], metric), metric


def _labels(name: str, found: dict[str, Any]) -> dict[str, Any]:
    """Identities, and cameras if they are there."""
    labels = {role: found[role] for role in ROLES if role in found}
    one_side = f"{name} has cameras of one side only (see --query-cams and --gallery-cams)"
    refuse(len(labels) == len(ROLES) - 1, one_side)
    return labels


def chosen(args: argparse.Namespace, question: Question) -> tuple[Any, dict[str, Any]]:
    """The gallery, and the arguments of its mask or cameras."""
    more: dict[str, Any] = {}
    ids = question.labels["gallery_ids"]
    if args.always:
        known = {str(name): name for name in ids.tolist()}
        more["always"] = [known.get(name, name) for name in dict.fromkeys(args.always)]
    if args.exclude is not None:
        more["exclude"] = args.exclude
        more |= {} if args.exclude == "self" else question.cameras(f"--exclude {args.exclude}")
    if args.protocol is not None:
        more |= question.cameras(f"--protocol {args.protocol}")
        if args.protocol == "market1501":
            return retrieval.market1501(args.ap or "rectangle"), more
        if args.protocol == "cuhk03":
            return retrieval.cuhk03(), more
        search = args.protocol.removeprefix("sysu-") + "-search"
        return retrieval.Gallery.sysu(search, 1 if args.shots is None else args.shots), more
    short = args.short or "refuse"
    if args.per_identity is not None:
        return retrieval.Gallery(per_identity=args.per_identity, short=short), more
    if args.shots is None:
        return retrieval.Gallery("all"), more
    strata = (ids, question.cameras("--per-camera")["gallery_cams"]) if args.per_camera else None
    return retrieval.Gallery(shots=args.shots, strata=strata, short=short), more


class Compared(NamedTuple):
    """The name of the other data, their scores, and the differences to them by the name of the score."""

    data: str
    theirs: Retrieval
    differences: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The differences in types that JSON has."""
        pairs = self.differences.items()
        scores = {name: {"other_score": self.theirs[name].score, **one.to_dict()} for name, one in pairs}
        return {"data": self.data, "scores": plain(scores)}


@dataclass(frozen=True, eq=False)
class Answer:
    """Exact scores, and what was asked for beside them."""

    args: argparse.Namespace
    question: Question
    exact: Retrieval
    seconds: float
    runs: SampledRetrieval | None = None
    compared: Compared | None = None

    @property
    def _n_identities(self) -> int:
        return len(np.unique(self.question.labels["gallery_ids"]))

    def to_dict(self) -> dict[str, Any]:
        """The answer in types that JSON has; what is not defined is null."""
        near, args = self.question.near, self.args
        return {
            "knnccv": __version__,
            "data": self.question.name,
            "n_queries": near.n_queries,
            "n_gallery": near.n_gallery,
            "n_identities": self._n_identities,
            "metric": self.question.metric,
            **self.exact.to_dict(),
            "average": args.average,
            "max_rank": args.max_rank,
            "tol": args.tol,
            "sampled": self.runs and {"n_repeats": args.repeats, "seed": args.seed, "scores": self.runs},
            "comparison": self.compared,
            "seconds": self.seconds,
        }

    def lines(self) -> Lines:
        """The answer as titles and texts."""
        exact, near, metric = self.exact, self.question.near, self.question.metric
        items = f"{near.n_gallery} gallery items of {self._n_identities} identities"
        yield "Data", f"{self.question.name}: {near.n_queries} queries, {items}"
        yield "", "given distances" if metric == "distances" else f"{metric} distance"
        yield "Protocol", exact.protocol
        yield "Gallery", exact.gallery
        if exact.n_galleries > 1:
            yield "", f"{magnitude(exact.n_galleries)} different galleries, all of them averaged"
        yield "Mask", exact.mask
        yield "Ranks", f"of {'images' if exact.rank == 'image' else 'identities'}; AP: {exact.ap}"
        yield "", f"tied items {TIES[exact.ties]}; mean over {exact.average}"
        yield "Queries", f"{int(exact.valid.sum())} scored, {exact.n_left_out} left out (no right item)"
        if exact.tied:
            yield "", f"{exact.tied} have right and wrong items at equal distances"
        for name in exact:
            yield from self._score(name)
        if self.runs is not None:
            yield "Sampled", f"{self.args.repeats} random galleries (seed {self.args.seed}), in points:"
            for name in self.runs.trials:
                spread = self.runs.mean(name), self.runs.std(name), self.runs.standard_error(name, 10)
                mean, one, ten = (f"{100 * np.ravel(value)[0]:.2f}" for value in spread)
                scatter = f"one gallery scatters by {one}, the mean of ten by {ten}"
                yield "", f"{_at_first(name)} mean {mean}; {scatter}"
        if self.compared is not None:
            yield "Compared", f"with {self.compared.data}, in points (the first minus the second):"
            for name, found in self.compared.differences.items():
                error = 100 * np.ravel(found.standard_error)[0]
                luck = f", standard error {error:.2f} (jackknife over identities)"
                shown = f"{_at_first(name)} {100 * np.ravel(found.difference)[0]:+.2f}"
                yield "", shown + luck * (not math.isnan(error))
        yield "Time", f"{self.seconds:.2f} s"

    def _score(self, name: str) -> Lines:
        found, exact = self.exact[name], self.exact
        bound = error_phrase(found)
        if np.ndim(found.score) == 0:
            yield name, f"{100 * found.score:.4f} %  {bound}"
        else:
            yield name, f"{at_ranks(found.score, '{:.2f} %')}\n{bound}"
        if name == "cmc" and exact.per_query:
            one, ten = (f"{100 * exact.cmc_std(n)[0]:.2f}" for n in (1, 10))
            yield "", f"rank-1 of one random gallery scatters by {one} points, of ten by {ten}"
        if self.args.jackknife:
            luck = found.standard_error
            shown = at_ranks(luck, "{:.2f}") if np.ndim(luck) else f"{100 * luck:.2f}"
            yield "", f"standard error {shown} points for other identities (jackknife)"


def _at_first(name: str) -> str:
    return "rank-1" if name == "cmc" else name


def at_ranks(curve: Any, form: str) -> str:
    """The values of a curve at ranks 1, 5, 10 and 20, in percent."""
    ranks = [rank for rank in SHOWN_RANKS if rank <= len(curve)]
    return ", ".join(f"rank-{rank} {form.format(100 * curve[rank - 1])}" for rank in ranks)
