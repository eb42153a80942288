"""The data of the command ``retrieval``: an .npz file, a matrix on disk with lists, or the ORL faces."""

from __future__ import annotations

import argparse
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._typing import Array

OPTIONS = {
    "distmat": "--distmat",
    "query_features": "--query-features",
    "gallery_features": "--gallery-features",
    "query_ids": "--query-ids",
    "gallery_ids": "--gallery-ids",
    "query_cams": "--query-cams",
    "gallery_cams": "--gallery-cams",
}
NOT_USED = (
    "the cameras are not used, as there is neither --protocol nor --exclude; most protocols remove gallery "
    "items of the query's identity and camera"
)
FACES_AS_QUERIES = 5


@dataclass(frozen=True)
class Question:
    """Distances, identities and cameras.

    Attributes
    ----------
    name : str
        Of the data.
    near : Between
    query_ids, gallery_ids : ndarray
    query_cams, gallery_cams : ndarray or None
    metric : str
        "distances" if they were given.
    note : str
        A possible mistake; empty if there is none.
    missing : str
        Why there are no cameras.
    """

    name: str
    near: Any
    query_ids: Array
    gallery_ids: Array
    query_cams: Array | None
    gallery_cams: Array | None
    metric: str
    note: str = ""
    missing: str = ""

    def need_cameras(self, why: str) -> None:
        """Raise ValueError if there are no cameras."""
        if self.query_cams is None:
            msg = f"{why} needs cameras, but {self.missing}"
            raise ValueError(msg)


def read_question(args: argparse.Namespace) -> Question:
    """Read the data that the options describe.

    Raises
    ------
    ValueError, TypeError
        If an array is missing or does not fit the others.
    OSError
        If a file cannot be read.
    """
    from ..neighbors import Neighbors

    if args.distances is not None:
        return _from_matrix(args)
    if args.file is not None:
        return _from_archive(args)
    from ..datasets import fetch_orl

    faces = fetch_orl()
    first = np.zeros(len(faces.y), np.bool_)
    for person in np.unique(faces.y):
        first[np.flatnonzero(faces.y == person)[:FACES_AS_QUERIES]] = True
    metric = args.metric or "euclidean"
    near = Neighbors.between(faces.X[first], faces.X[~first], metric)
    missing = "the ORL faces have none"
    return Question("ORL faces", near, faces.y[first], faces.y[~first], None, None, metric, missing=missing)


def other_question(args: argparse.Namespace, question: Question) -> Question:
    """The data of ``--compare``: the same queries and gallery under another model.

    Raises
    ------
    ValueError, TypeError, OSError
        As `read_question`; or the identities or cameras differ.
    """
    path, name = args.compare, Path(args.compare).name
    if name.endswith(".npy"):
        near, metric, held = _matrix(path), "distances", {}
    else:
        with _archive(path) as arrays:
            near, metric = _distances(args, name, arrays)
            held = {role: arrays[getattr(args, role)] for role in _present(args, arrays)}
    sizes = (near.n_queries, near.n_gallery), (question.near.n_queries, question.near.n_gallery)
    if sizes[0] != sizes[1]:
        msg = (
            f"--compare needs the same queries and gallery: {name} has {sizes[0][0]} queries and "
            f"{sizes[0][1]} gallery items, {question.name} has {sizes[1][0]} and {sizes[1][1]}"
        )
        raise ValueError(msg)
    for role, values in held.items():
        mine = getattr(question, role)
        if mine is not None and not np.array_equal(mine, values):
            msg = f"--compare needs the same queries and gallery: {getattr(args, role)} of {name} differs"
            raise ValueError(msg)
    return Question(
        name,
        near,
        question.query_ids,
        question.gallery_ids,
        question.query_cams,
        question.gallery_cams,
        metric,
    )


def _from_archive(args: argparse.Namespace) -> Question:
    name = Path(args.file).name
    with _archive(args.file) as arrays:
        near, metric = _distances(args, name, arrays)
        held = _labels(args, name, arrays)
    return _checked(args, name, near, held, metric)


def _from_matrix(args: argparse.Namespace) -> Question:
    name = Path(args.distances).name
    if args.metric is not None:
        msg = f"--metric {args.metric} belongs to features; --distances has distances already"
        raise ValueError(msg)
    near = _matrix(args.distances)
    if len(args.ids) == 1:
        with _archive(args.ids[0], "; --ids takes one .npz file, or two text files") as arrays:
            held = _labels(args, Path(args.ids[0]).name, arrays)
    else:
        held = dict(zip(("query_ids", "gallery_ids"), _lists(args.ids), strict=True))
    if args.cams is not None:
        held |= dict(zip(("query_cams", "gallery_cams"), _lists(args.cams), strict=True))
    return _checked(args, name, near, held, "distances")


def _checked(
    args: argparse.Namespace, name: str, near: Any, held: dict[str, Array], metric: str
) -> Question:
    for role, values in held.items():
        rows = near.n_queries if role.startswith("query") else near.n_gallery
        what = "queries" if role.startswith("query") else "gallery items"
        if values.shape != (rows,):
            msg = f"{name} has {rows} {what}, but {getattr(args, role)} has shape {values.shape}"
            raise ValueError(msg)
    cams = held.get("query_cams"), held.get("gallery_cams")
    missing = (
        f"{name} has no arrays {args.query_cams!r} and {args.gallery_cams!r} "
        "(see --query-cams and --gallery-cams)"
    )
    if args.distances is not None:
        missing = "--cams was not given, and --ids names no file with cameras"
    used = args.protocol is not None or args.exclude is not None or args.per_camera
    note = NOT_USED if cams[0] is not None and not used else ""
    return Question(
        name, near, held["query_ids"], held["gallery_ids"], cams[0], cams[1], metric, note, missing
    )


def _distances(args: argparse.Namespace, name: str, arrays: Any) -> tuple[Any, str]:
    """The distances of an archive, or those of its features; and the metric."""
    from ..neighbors import Neighbors

    features = args.query_features, args.gallery_features
    has = [array in arrays.files for array in features]
    if args.distmat in arrays.files:
        if any(has):
            msg = (
                f"{name} has distances ({args.distmat}) and features; name an absent array for one of them"
            )
            raise ValueError(msg)
        if args.metric is not None:
            msg = f"--metric {args.metric} belongs to features, but {name} has distances ({args.distmat})"
            raise ValueError(msg)
        return Neighbors.from_distances(arrays[args.distmat], queries="other"), "distances"
    if not all(has):
        wanted = f"{args.distmat!r}, or {features[0]!r} and {features[1]!r}"
        msg = (
            f"{name} has neither distances nor features: it needs {wanted}; {_those_of(arrays)} (see "
            "--distmat, --query-features and --gallery-features)"
        )
        raise ValueError(msg)
    metric = args.metric or "euclidean"
    return Neighbors.between(arrays[features[0]], arrays[features[1]], metric), metric


def _labels(args: argparse.Namespace, name: str, arrays: Any) -> dict[str, Array]:
    """Identities, and cameras if they are there."""
    for role in ("query_ids", "gallery_ids"):
        wanted = getattr(args, role)
        if wanted not in arrays.files:
            msg = f"{name} has no array {wanted!r}; {_those_of(arrays)} (see {OPTIONS[role]})"
            raise ValueError(msg)
    present = _present(args, arrays)
    if ("query_cams" in present) != ("gallery_cams" in present):
        role = "query_cams" if "gallery_cams" in present else "gallery_cams"
        msg = f"{name} has cameras of one side only: no array {getattr(args, role)!r} (see {OPTIONS[role]})"
        raise ValueError(msg)
    return {role: arrays[getattr(args, role)] for role in present}


def _present(args: argparse.Namespace, arrays: Any) -> list[str]:
    roles = ("query_ids", "gallery_ids", "query_cams", "gallery_cams")
    return [role for role in roles if getattr(args, role) in arrays.files]


def _those_of(arrays: Any) -> str:
    return f"its arrays: {', '.join(arrays.files) or 'none'}"


@contextmanager
def _archive(path: str, hint: str = "") -> Iterator[Any]:
    """The arrays of an .npz file."""
    must = f"{path} is not an .npz file of plain arrays"
    try:
        held = np.load(path, allow_pickle=False)
    except (zipfile.BadZipFile, ValueError, EOFError) as error:
        msg = f"{must}{hint}: {error}"
        raise ValueError(msg) from error
    if isinstance(held, np.ndarray):
        msg = f"{must}: it holds one array{hint or '; a matrix of distances is read by --distances'}"
        raise ValueError(msg)
    with held:
        try:
            yield held
        except (zipfile.BadZipFile, EOFError) as error:
            msg = f"{must}: {error}"
            raise ValueError(msg) from error
        except ValueError as error:
            if "allow_pickle" not in str(error):
                raise
            msg = f"{must}: one holds Python objects; store text as numpy.array(names, dtype=str)"
            raise ValueError(msg) from error


def _matrix(path: str) -> Any:
    """The distances of an .npy file, which stays on disk."""
    from ..neighbors import Neighbors

    try:
        held = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        msg = f"{path} is not an .npy file of numbers: {error}"
        raise ValueError(msg) from error
    if not isinstance(held, np.ndarray):
        held.close()
        msg = f"{path} is an .npz file; a matrix of distances is one array, as numpy.save writes it"
        raise ValueError(msg)
    return Neighbors.from_distances(held, queries="other")


def _lists(paths: list[str]) -> list[Array]:
    """The lines of two text files: integers if all of them are, in both."""
    found = []
    for path in paths:
        if path.endswith((".npz", ".npy")):
            msg = f"{path} is no text file; identities of both sides go into one .npz file"
            raise ValueError(msg)
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            msg = f"{path} is not UTF-8 text: {error}"
            raise ValueError(msg) from error
        lines = [line.strip() for line in text.splitlines()]
        if not all(lines) or not lines:
            empty = lines.index("") + 1 if lines else 1
            msg = f"{path}, line {empty}: nothing is there; every line is one identity or camera"
            raise ValueError(msg)
        found.append(lines)
    if all(_is_integer(line) for lines in found for line in lines):
        return [np.array([int(line) for line in lines], np.int64) for lines in found]
    return [np.array(lines) for lines in found]


def _is_integer(text: str) -> bool:
    """Whether the text is an integer below 10^18 without leading zeros, which may belong to a name."""
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) <= 18 and str(int(text)) == text
