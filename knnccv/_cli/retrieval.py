"""The command ``retrieval``: retrieval scores over all random galleries, without sampling."""

from __future__ import annotations

import argparse
import math
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import retrieval
from .._formatting import bound_text, magnitude, plain
from .._version import __version__
from ..inference import InferenceWarning
from ..neighbors import Neighbors
from ..retrieval import Retrieval, SampledRetrieval, expected_retrieval, sampled_retrieval
from .arrays import archive, lists, matrix
from .options import refuse
from .output import computing, print_notes, show

ROLES = ("query_ids", "gallery_ids", "query_cams", "gallery_cams")
NOT_USED = (
    "the cameras are not used, as there is neither --protocol nor --exclude; most protocols remove gallery "
    "items of the query's identity and camera"
)
FACES_AS_QUERIES = 5
IN_PYTHON = (
    (r"pass always=\[(.*?)\]", r"give --always \1"),
    (r'Gallery\(\.\.\., short="all"\)', "--short all"),
    (r'with Gallery\(\.\.\., mask="before"\) or per_query=True', "with --per-identity"),
)
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
    missing : str
        Why there are no cameras.
    """

    name: str
    near: Any
    metric: str
    labels: dict[str, Any]
    missing: str = ""

    def cameras(self, why: str) -> tuple[Any, Any]:
        """Those of the queries and of the gallery; ValueError if there are none."""
        refuse("query_cams" not in self.labels, f"{why} needs cameras, but {self.missing}")
        return self.labels["query_cams"], self.labels["gallery_cams"]


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
    luck: dict[str, Any] = {"jackknife": "identity"} if args.jackknife else {}

    def expected(asked: Question) -> Retrieval:
        return expected_retrieval(asked.near, ids[0], ids[1], gallery, **more, tol=args.tol, **luck)

    compared = runs = None
    started = time.perf_counter()
    with (
        _in_options(),
        computing(args, COMPILES_ONCE, InferenceWarning, words=_as_options) as (compiling, _),
    ):
        exact = expected(question)
        seconds = max(time.perf_counter() - started - compiling.seconds, 0.0)
        if other is not None:
            compared = other.name, expected(other)
        if args.repeats:
            more |= {"n_repeats": args.repeats, "random_state": args.seed}
            runs = sampled_retrieval(question.near, ids[0], ids[1], gallery, **more)
    print_notes([NOT_USED] if "query_cams" in question.labels and not used else [])
    answer = Answer(args, question, exact, seconds, runs, compared)
    return show(args, answer.to_dict(), answer.lines(), 11)


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
    refuse(len(given) > 1, f"{' and '.join(given)} are different data; give one of them")
    n_ids, of_distances = len(args.ids or ()), "--ids" if args.ids else "--cams"
    if args.distances:
        files = "--ids IDS.npz, or --ids QUERIES.txt GALLERY.txt"
        refuse(not n_ids, f"--distances needs the identities: {files}")
        features = f"--metric {args.metric} belongs to features; --distances has distances already"
        refuse(args.metric, features)
    else:
        refuse(args.ids or args.cams, f"{of_distances} belongs to --distances")
    refuse(n_ids > 2, f"--ids takes one .npz file or two text files, got {n_ids} files")
    several = args.per_identity is not None and args.shots is not None
    refuse(several, "--per-identity and --shots are different galleries; give one of them")
    stray = args.per_camera and (args.shots is None or args.protocol)
    refuse(stray, "--per-camera belongs to --shots, without --protocol")
    drawn = {"--per-identity": args.per_identity, "--short": args.short, "--shots": args.shots}
    if args.protocol and args.protocol.startswith("sysu"):
        del drawn["--shots"]
    drawing = [option for option, value in drawn.items() if value is not None]
    conflict = f"sets the gallery; it cannot be given with {''.join(drawing[:1])}"
    refuse(args.protocol and drawing, f"--protocol {args.protocol} {conflict}")
    fixed = args.per_identity is None and args.shots is None
    refuse(args.short and fixed, "--short belongs to --per-identity or --shots")
    refuse(args.repeats == 1, "--repeats must be at least 2, to show a scatter, or 0, got 1")
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
        found = _from_matrix(args)
    elif args.file is not None:
        name = Path(args.file).name
        with archive(args.file, "; a matrix of distances is read by --distances") as arrays:
            near, metric = _distances(args, name, arrays)
            cams = f"{args.query_cams!r} and {args.gallery_cams!r} (see --query-cams and --gallery-cams)"
            labels = _labels(args, name, arrays)
        found = Question(name, near, metric, labels, f"{name} has no arrays {cams}")
    else:
        from ..datasets import fetch_orl

        faces = fetch_orl()
        first = np.zeros(len(faces.y), np.bool_)
        for person in np.unique(faces.y):
            first[np.flatnonzero(faces.y == person)[:FACES_AS_QUERIES]] = True
        metric = args.metric or "euclidean"
        near = Neighbors.between(faces.X[first], faces.X[~first], metric)
        labels = {"query_ids": faces.y[first], "gallery_ids": faces.y[~first]}
        found = Question("ORL faces", near, metric, labels, "the ORL faces have none")
    for role, values in found.labels.items():
        rows, what = found.near.n_gallery, "gallery items"
        if role.startswith("query"):
            rows, what = found.near.n_queries, "queries"
        wrong = f"{found.name} has {rows} {what}, but {getattr(args, role)} has shape {values.shape}"
        refuse(values.shape != (rows,), wrong)
    return found


def _from_matrix(args: argparse.Namespace) -> Question:
    near = matrix(args.distances)
    if len(args.ids) == 1:
        with archive(args.ids[0], "; --ids takes one .npz file, or two text files") as arrays:
            labels = _labels(args, Path(args.ids[0]).name, arrays)
    else:
        labels = dict(zip(ROLES, lists(args.ids), strict=False))
    if args.cams is not None:
        labels |= dict(zip(ROLES[2:], lists(args.cams), strict=True))
    missing = "--cams was not given, and --ids names no file with cameras"
    return Question(Path(args.distances).name, near, "distances", labels, missing)


def other_question(args: argparse.Namespace, question: Question) -> Question:
    """The data of ``--compare``: the same queries and gallery under another model.

    Raises
    ------
    ValueError, TypeError, OSError
        As `read_question`; or the identities or cameras differ.
    """
    path, name = args.compare, Path(args.compare).name
    must, held = "--compare needs the same queries and gallery", {}
    if name.endswith(".npy"):
        near, metric = matrix(path), "distances"
    else:
        with archive(path) as arrays:
            near, metric = _distances(args, name, arrays)
            held = {role: arrays[getattr(args, role)] for role in _present(args, arrays)}
    sizes = [(one.n_queries, one.n_gallery) for one in (near, question.near)]
    if sizes[0] != sizes[1]:
        words = "{} queries and {} gallery items"
        mine, theirs = words.format(*sizes[1]), words.format(*sizes[0])
        msg = f"{must}: {name} has {theirs}, {question.name} has {mine}"
        raise ValueError(msg)
    for role, values in held.items():
        wrong = f"{must}: {getattr(args, role)} of {name} differs"
        refuse(role in question.labels and not np.array_equal(question.labels[role], values), wrong)
    return replace(question, name=name, near=near, metric=metric)


def _distances(args: argparse.Namespace, name: str, arrays: Any) -> tuple[Any, str]:
    """The distances of an archive, or those of its features; and the metric."""
    features = args.query_features, args.gallery_features
    has = [array in arrays.files for array in features]
    if args.distmat in arrays.files:
        both = f"{name} has distances ({args.distmat}) and features; name an absent array for one of them"
        needless = f"--metric {args.metric} belongs to features, but {name} has distances ({args.distmat})"
        refuse(any(has), both)
        refuse(args.metric is not None, needless)
        return Neighbors.from_distances(arrays[args.distmat], queries="other"), "distances"
    wanted = f"{args.distmat!r}, or {features[0]!r} and {features[1]!r}; {_those_of(arrays)}"
    options = "(see --distmat, --query-features and --gallery-features)"
    refuse(not all(has), f"{name} has neither distances nor features: it needs {wanted} {options}")
    metric = args.metric or "euclidean"
    return Neighbors.between(arrays[features[0]], arrays[features[1]], metric), metric


def _labels(args: argparse.Namespace, name: str, arrays: Any) -> dict[str, Any]:
    """Identities, and cameras if they are there."""
    present = _present(args, arrays)
    for role in ROLES[: 4 if {"query_cams", "gallery_cams"} & set(present) else 2]:
        one_side = "cameras of one side only: " * role.endswith("cams")
        see = f"{_those_of(arrays)} (see --{role.replace('_', '-')})"
        msg = f"{name} has {one_side}no array {getattr(args, role)!r}; {see}"
        refuse(role not in present, msg)
    return {role: arrays[getattr(args, role)] for role in present}


def _present(args: argparse.Namespace, arrays: Any) -> list[str]:
    return [role for role in ROLES if getattr(args, role) in arrays.files]


def _those_of(arrays: Any) -> str:
    return f"its arrays: {', '.join(arrays.files) or 'none'}"


def chosen(args: argparse.Namespace, question: Question) -> tuple[Any, dict[str, Any]]:
    """The gallery, and the arguments of its mask or cameras."""
    more: dict[str, Any] = {}
    if args.always:
        known = {str(name): name for name in question.labels["gallery_ids"].tolist()}
        for name in args.always:
            msg = f"--always names identities of the gallery, got {name!r}, which is none of them"
            refuse(name not in known, msg)
        more["always"] = [known[name] for name in dict.fromkeys(args.always)]
    if args.exclude is not None:
        mask = {
            "same-camera": retrieval.SameCamera,
            "same-identity-camera": retrieval.SameIdentityAndCamera,
        }
        cameras = () if args.exclude == "self" else question.cameras(f"--exclude {args.exclude}")
        more["exclude"] = mask[args.exclude](*cameras) if cameras else "self"
    if args.protocol is not None:
        cameras = question.cameras(f"--protocol {args.protocol}")
        more |= dict(zip(("query_cams", "gallery_cams"), cameras, strict=True))
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
    ids = question.labels["gallery_ids"]
    strata = (ids, question.cameras("--per-camera")[1]) if args.per_camera else None
    return retrieval.Gallery(shots=args.shots, strata=strata, short=short), more


@dataclass(frozen=True, eq=False)
class Answer:
    """Exact scores, and what was asked for beside them."""

    args: argparse.Namespace
    question: Question
    exact: Retrieval
    seconds: float
    runs: SampledRetrieval | None = None
    compared: tuple[str, Retrieval] | None = None

    @property
    def _n_identities(self) -> int:
        return len(np.unique(self.question.labels["gallery_ids"]))

    def _differences(self) -> dict[str, Any]:
        """The difference to the other model, by score."""
        _, theirs = self.compared or ("", self.exact)
        return {name: self.exact.difference(theirs, name) for name in self.exact}

    def to_dict(self) -> dict[str, Any]:
        """The answer in types that JSON has; what is not defined is null."""
        near, args = self.question.near, self.args
        comparison = None
        if self.compared is not None:
            other, theirs = self.compared
            scores = {
                name: {"other_score": plain(theirs[name].score), **one.to_dict()}
                for name, one in self._differences().items()
            }
            comparison = {"data": other, "scores": scores}
        runs = self.runs and {"n_repeats": args.repeats, "seed": args.seed, "scores": self.runs.to_dict()}
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
            "sampled": runs,
            "comparison": comparison,
            "seconds": self.seconds,
        }

    def lines(self) -> Iterator[tuple[str, str]]:
        """The answer as titles and texts."""
        exact, near, metric = self.exact, self.question.near, self.question.metric
        items = (
            f"{near.n_queries} queries, {near.n_gallery} gallery items of {self._n_identities} identities"
        )
        measured = "given distances" if metric == "distances" else f"{metric} distance"
        yield "Data", f"{self.question.name}: {items}\n{measured}"
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
            yield "Compared", f"with {self.compared[0]}, in points (the first minus the second):"
            for name, found in self._differences().items():
                error = 100 * np.ravel(found.standard_error)[0]
                luck = f", standard error {error:.2f} (jackknife over identities)"
                shown = f"{_at_first(name)} {100 * np.ravel(found.difference)[0]:+.2f}"
                yield "", shown + luck * (not math.isnan(error))
        yield "Time", f"{self.seconds:.2f} s"

    def _score(self, name: str) -> Iterator[tuple[str, str]]:
        found, exact = self.exact[name], self.exact
        bound = f"error at most {bound_text(found.error_bound)}"
        if not found.certified:
            bound = "the lists are approximate: no bound of the error"
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
