"""What the manifests (``datasets/*.toml``) say of the data sets, and the verified bytes of their files.

A manifest gives the addresses of a file and its hash, its columns and a description. The cache folder and a
mirror have the same layout, so that a folder filled by hand serves as either.

pooch's downloader transfers a file into memory: the files have a few megabytes, and only verified bytes
reach the disk, in one rename. pooch's own registry does not fit, because a file may have several addresses,
be a member of an archive, or be an archive that only its members identify. Archives are unpacked within
bounds: what an archive says about its sizes may be wrong.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import tarfile
import threading
import time
import tomllib
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.files import check_writable, written_whole
from .._base.validation import check

_HERE = Path(__file__).resolve().parent

CONNECT_TIMEOUT = 10.0
"""Seconds that a server may take to accept a connection."""

READ_TIMEOUT = 30.0
"""Seconds that a server may stay silent."""

DEADLINE = 600.0
"""Seconds that one transfer may take in all."""

TOO_LONG = "not complete after {:g} seconds"
TOO_LARGE = "the content is larger than {} bytes"

ATTEMPTS = 2
"""Number of requests to an address whose server breaks off or is overloaded."""

PAUSE = 1.0
"""Seconds between two requests for the same address."""

MAX_BYTES = 64 * 2**20
"""Far more than any file of a manifest; larger content is wrong or a decompression bomb."""


@dataclass(frozen=True)
class Source:
    """One public address of a file, or of a zip archive that has it as `member`."""

    url: str
    member: str | None = None


@dataclass(frozen=True, kw_only=True)
class Table:
    """The columns of a text file, and how to read them; ``datasets/README.md`` explains the fields."""

    fields: tuple[str, ...] = ()
    target: str = ""
    omit: tuple[str, ...] = ()
    skip_lines: int = 0
    codes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def rows(self, blob: bytes) -> Iterator[list[str]]:
        """The texts of every line."""
        for line in blob.decode().splitlines()[self.skip_lines :]:
            if line.strip():
                yield [text.strip() for text in line.split(",")]

    def numbers(self, name: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """The numbers of a column; NaN for a question mark."""
        codes = {"?": np.nan, **self.codes.get(name, {})}
        return np.array([codes[text] if text in codes else float(text) for text in texts], dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The manifest of a data set; ``datasets/README.md`` explains the fields."""

    name: str
    title: str
    citation: str
    path: str
    sha256: str | None = None
    checksums: Mapping[str, str] = field(default_factory=dict)
    bundled: bool = False
    n_items: int = 0
    n_features: int = 0
    n_classes: int | None = None
    target_names: tuple[str, ...] = ()
    licence: str = "CC BY 4.0"
    homepage: str = ""
    description: str = ""
    quirks: tuple[str, ...] = ()
    table: Table = field(default_factory=Table)
    sources: tuple[Source, ...] = ()

    def describe(self, note: str) -> str:
        """The description for users, with a note on how the data were coded."""
        parts = [self.title, self.description, note, *self.quirks]
        return "\n\n".join(part for part in parts if part)


def manifest_folder() -> Path:
    """The folder of the manifests: beside this file in an installed package, otherwise in the clone."""
    installed = _HERE / "_manifests"
    return installed if installed.is_dir() else _HERE.parents[1] / "datasets"


def manifest_names() -> list[str]:
    """The names of all data sets, sorted."""
    return sorted(path.stem for path in manifest_folder().glob("*.toml"))


@cache
def load_manifest(name: str) -> Manifest:
    """Read the manifest of data set `name`."""
    path = manifest_folder() / f"{name}.toml"
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        msg = f"there is no data set {name!r}; choose from: {', '.join(manifest_names()) or 'none'}"
        raise ValueError(msg) from None
    raw |= {"name": name, "table": Table(**with_tuples(raw.get("table", {})))} | raw.pop("file")
    if "checksums" in raw:
        lines = path.with_name(raw["checksums"]).read_text(encoding="ascii").splitlines()
        raw["checksums"] = {name: sha256 for sha256, name in (line.split(maxsplit=1) for line in lines)}
    sources = tuple(Source(**source) for source in raw.get("sources", ()))
    return Manifest(**with_tuples(raw) | {"sources": sources})


def with_tuples(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of a table of TOML, with tuples in place of its lists."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in raw.items()}


class DatasetError(OSError):
    """A data set is not available: every address failed, or the cache folder cannot be used."""


class WrongContentError(ValueError):
    """The content is not the one that the manifest records."""


def cache_folder() -> Path:
    """The folder ``KNNCCV_DATA_DIR``, by default the user's cache folder."""
    folder = os.environ.get("KNNCCV_DATA_DIR")
    if folder:
        return Path(folder).expanduser()
    import pooch

    return Path(pooch.os_cache("knnccv"))


def file_path(manifest: Manifest) -> Path:
    """The path of the file of `manifest`, whether it has been fetched or not."""
    folder = manifest_folder() if manifest.bundled else cache_folder()
    return folder / manifest.path


def public_sources(manifest: Manifest) -> list[Source]:
    """The public addresses; a separate function, so that tests can replace it."""
    return list(manifest.sources)


def fetch(manifest: Manifest) -> dict[str, bytes]:
    """The contents of a data set's files, from the cache or downloaded.

    A cached file is verified each time. If there is none, the addresses are tried in order until one gives
    the right content, which is then stored in the cache folder: the mirror ``KNNCCV_DATA_URL``, then the
    public ones. Nothing else is ever written there.

    Parameters
    ----------
    manifest : Manifest
        The data set.

    Returns
    -------
    dict of str to bytes
        The verified content: one file, or every listed member of an archive, in the listed order.

    Raises
    ------
    DatasetError
        If no address gives the right content, or the cache folder cannot be written to.
    ValueError
        If ``KNNCCV_DATA_URL`` is not an HTTP address.
    """
    path = file_path(manifest)
    failures: list[tuple[str, str]] = []
    if path.exists():
        try:
            return _verified(manifest)
        except (OSError, WrongContentError) as error:
            failures.append((str(path), _reason(error)))
    sources = public_sources(manifest)
    mirror = os.environ.get("KNNCCV_DATA_URL")
    if mirror:
        must = f"KNNCCV_DATA_URL must begin with http:// or https:// and name a host, got {mirror!r}"
        msg = f"{must}; to use a folder of this machine, set KNNCCV_DATA_DIR to it"
        check(re.match(r"https?://[^/]", mirror, re.IGNORECASE), msg)
        sources.insert(0, Source(f"{mirror.rstrip('/')}/{manifest.path}"))
    _require_writable(path, manifest)
    for source in sources:
        try:
            blob = _download(source)
            content = verify(manifest, blob)
        except Exception as error:  # noqa: BLE001, RUF100 - broken archives raise errors of many types
            failures.append((source.url, _reason(error)))
            continue
        # In one step, so that no other process reads a part of the file.
        with _storing(path, manifest):
            path.parent.mkdir(parents=True, exist_ok=True)
            with written_whole(path) as scratch:
                scratch.write_bytes(blob)
        return content
    tried = "\n".join(f"  {address}\n    {reason}" for address, reason in failures)
    recognized = f"with SHA-256 {manifest.sha256}"
    if manifest.checksums:
        recognized = f"(a zip or tar.gz archive of the {len(manifest.checksums)} original files)"
    msg = (
        f"{manifest.title} could not be fetched. Tried:\n{tried}\n"
        "Check the network, or set KNNCCV_DATA_URL to the address of a mirror that has "
        f"{manifest.path}, or put the file {recognized} at {path}"
    )
    raise DatasetError(msg)


def is_cached(manifest: Manifest) -> bool:
    """Return True if the file is on this disk and intact; no server is contacted."""
    with suppress(OSError, WrongContentError):
        return bool(_verified(manifest))
    return False


def _verified(manifest: Manifest) -> dict[str, bytes]:
    """The files on this disk; OSError or WrongContentError if they are not there or not intact."""
    with file_path(manifest).open("rb") as stream:
        return verify(manifest, _bounded(stream, MAX_BYTES))


def verify(manifest: Manifest, blob: bytes) -> dict[str, bytes]:
    """The files in `blob` by name, if they are those that the manifest records.

    Raises
    ------
    ValueError
        If they are not; the message gives the reason.
    """
    if not manifest.checksums:
        actual = hashlib.sha256(blob).hexdigest()
        msg = f"the SHA-256 of its {len(blob)} bytes is {actual}, not the recorded {manifest.sha256}"
        check(actual == manifest.sha256, msg, error=WrongContentError)
        return {Path(manifest.path).name: blob}
    found: dict[str, bytes | None] = {}
    for name, content in _members(blob, manifest.checksums):
        if found.get(name) is None:  # of several copies one may be right
            right = hashlib.sha256(content).hexdigest() == manifest.checksums[name]
            found[name] = content if right else None
    bad = [name for name in manifest.checksums if found.get(name) is None]
    if bad:
        what = "does not have the recorded SHA-256" if bad[0] in found else "is missing"
        msg = f"{bad[0]} {what} ({len(bad)} of {len(manifest.checksums)} members are wrong)"
        raise WrongContentError(msg)
    return {name: found[name] or b"" for name in manifest.checksums}


def _members(blob: bytes, listed: Collection[str]) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the listed files in a zip, tar or tar.gz, at most MAX_BYTES in all."""
    # No listed name has more parts; joining all endings of a hostile name would take quadratic time.
    depth = 1 + max(name.count("/") for name in listed)
    budget = MAX_BYTES
    try:
        for path, opened in _files(blob):
            # Archives differ in leading folders.
            parts = path.rsplit("/", depth)[-depth:]
            endings = ("/".join(parts[k:]) for k in range(len(parts)))
            name = next((ending for ending in endings if ending in listed), None)
            if name is not None:
                with opened() as stream:
                    content = _bounded(stream, budget)
                budget -= len(content)
                yield name, content
    except (OSError, WrongContentError):
        raise
    except Exception as error:
        # Damaged archives make zipfile, tarfile and zlib raise a dozen unrelated types.
        msg = f"not a usable zip, tar or tar.gz archive ({type(error).__name__}: {error})"
        raise WrongContentError(msg) from error


def _files(blob: bytes) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield path and way to open every file in a zip, tar or tar.gz."""
    if zipfile.is_zipfile(io.BytesIO(blob)):
        with zipfile.ZipFile(io.BytesIO(blob)) as archive:
            for info in archive.infolist():
                yield info.filename, partial(archive.open, info)
        return
    # Unpacked here, because tarfile would unpack a decompression bomb to its end.
    if blob[:2] == b"\x1f\x8b":
        with gzip.open(io.BytesIO(blob)) as packed:
            blob = _bounded(packed, MAX_BYTES)
    with tarfile.open(fileobj=io.BytesIO(blob), mode="r:") as tar:
        for member in tar:
            if member.isfile():
                yield member.name, partial(tar.extractfile, member)


def _bounded(stream: Any, limit: int) -> bytes:
    """The content of a stream; WrongContentError if it is longer than `limit` bytes."""
    content: bytes = stream.read(limit + 1)
    check(len(content) <= limit, TOO_LARGE.format(MAX_BYTES), error=WrongContentError)
    return content


def _within(seconds: float, transfer: Callable[[], Any]) -> None:
    """Do it, but wait no longer: a server that sends byte after byte ends no timeout of reading."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            transfer()
        except BaseException as error:  # noqa: BLE001, RUF100 - it is raised where it is waited for
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(max(seconds, 0.0))
    if thread.is_alive():
        raise TimeoutError(TOO_LONG.format(seconds))
    if raised:
        raise raised.pop()  # which keeps no frame, and so no socket, alive


class _Sink(io.BytesIO):
    """A memory file that refuses content that is too large or takes too long."""

    def __init__(self) -> None:
        super().__init__()
        self._deadline = time.monotonic() + DEADLINE

    def write(self, chunk: Any, /) -> int:
        if time.monotonic() > self._deadline:
            raise TimeoutError(TOO_LONG.format(DEADLINE))
        is_small = self.tell() + len(chunk) <= MAX_BYTES
        check(is_small, TOO_LARGE.format(MAX_BYTES), error=WrongContentError)
        return super().write(chunk)


def _download(source: Source) -> bytes:
    """The bytes at an address; requested again after a pause if the server broke off."""
    import pooch
    import requests

    pooch.get_logger().info("Downloading %s", source.url)
    limits, who = (CONNECT_TIMEOUT, READ_TIMEOUT), {"User-Agent": "knnccv (pooch)"}
    downloader = pooch.HTTPDownloader(timeout=limits, headers=who)
    for remaining in reversed(range(ATTEMPTS)):
        sink = _Sink()
        try:
            _within(DEADLINE, partial(downloader, source.url, sink, None))
            break
        except requests.RequestException as error:
            if not remaining or not _is_passing(error):
                raise
        time.sleep(PAUSE)
    if source.member is None:
        return sink.getvalue()
    for _, content in _members(sink.getvalue(), [source.member]):
        return content
    msg = f"{source.member} is missing"
    raise WrongContentError(msg)


def _is_passing(error: Exception) -> bool:
    """Return True if a second request may succeed: the server answered, then broke off, or is busy.

    Refusals and silence get no second request, which would only double the wait without a network.
    """
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        return error.response.status_code in (429, 500, 502, 503, 504)
    return isinstance(error, requests.exceptions.ChunkedEncodingError)


def _reason(error: BaseException) -> str:
    """A short reason why an address failed."""
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"HTTP {error.response.status_code} {error.response.reason}"
    root = error
    while isinstance(error, requests.RequestException) and root.__context__ is not None:
        root = root.__context__
    # A silent server raises a timeout, or a connection error around one, depending on where it stopped.
    if isinstance(error, requests.Timeout) or (root is not error and isinstance(root, TimeoutError)):
        return f"no answer within {CONNECT_TIMEOUT:g} s to connect or {READ_TIMEOUT:g} s to read"
    if isinstance(root, WrongContentError):
        return str(root)
    return f"{type(root).__name__}: {root}"


@contextmanager
def _storing(path: Path, manifest: Manifest) -> Iterator[None]:
    """Raise DatasetError if the cache folder cannot be written to."""
    try:
        yield
    except OSError as error:
        # On systems that cannot replace an open file, another process may have just stored the same one.
        if not is_cached(manifest):
            remedy = "set KNNCCV_DATA_DIR to a folder that can be written to"
            why = f"cannot be stored at {path} ({type(error).__name__}: {error})"
            msg = f"{manifest.title} {why}; {remedy}"
            raise DatasetError(msg) from error


def _require_writable(path: Path, manifest: Manifest) -> None:
    """Raise DatasetError before a download that could not be stored."""
    with _storing(path, manifest):
        # The others are created when there is a file to store.
        folder = next(parent for parent in path.parents if parent.exists())
        check_writable(folder / path.name)
