"""Manifests, the cache folder and downloads: the bytes of a data set, verified, or one clear error.

A manifest (``datasets/*.toml``) says where a file comes from and how it is recognised. The cache
folder and a mirror share one layout, so a folder filled by hand serves as either.

pooch's downloader does the transfer, into memory: the files are a few megabytes, and only bytes
that were verified then reach the disk, in one rename. pooch's own registry does not fit, because
a file may come from several addresses, out of an archive, or in an archive that is only
recognisable by its members.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import io
import os
import re
import tarfile
import time
import tomllib
import uuid
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CONNECT_TIMEOUT = 10.0
"""Seconds that a server may take to accept a connection."""

READ_TIMEOUT = 30.0
"""Seconds that a server may stay silent."""

DEADLINE = 600.0
"""Seconds that one transfer may take in all, however steadily it drips."""

ATTEMPTS = 2
"""How often an address is asked when the server breaks off or is overloaded."""

PAUSE = 1.0
"""Seconds between two requests for the same address."""

MAX_BYTES = 64 * 2**20
"""No file of ours is near this size; what is larger is not ours, or is a decompression bomb."""

_HERE = Path(__file__).resolve().parent


class DatasetError(OSError):
    """A data set could not be had: every address failed, or the cache folder cannot be used."""


class _WrongContentError(ValueError):
    """Bytes that are not those of the manifest."""


@dataclass(frozen=True)
class Source:
    """One public address of a file, or of a zip archive that has it as `member`."""

    url: str
    member: str | None = None


@dataclass(frozen=True)
class Table:
    """How a file of comma-separated values is to be read."""

    fields: tuple[str, ...]
    target: str
    omit: tuple[str, ...] = ()
    missing: str | None = None
    header: bool = False
    codes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Manifest:
    """What is known of a data set without having it; see ``datasets/README.md``."""

    name: str
    title: str
    n_items: int
    n_features: int
    n_classes: int | None
    target_names: tuple[str, ...]
    licence: str
    homepage: str
    citation: str
    description: str
    quirks: tuple[str, ...]
    path: str
    sha256: str | None
    checksums: Mapping[str, str]
    bundled: bool
    table: Table | None
    sources: tuple[Source, ...]


def manifest_folder() -> Path:
    """Return the folder of the manifests: beside this file when installed, else in the clone."""
    installed = _HERE / "_manifests"
    return installed if installed.is_dir() else _HERE.parent / "datasets"


def manifest_names() -> list[str]:
    """Return the names of all data sets, sorted."""
    return sorted(path.stem for path in manifest_folder().glob("*.toml"))


@functools.cache
def load_manifest(name: str) -> Manifest:
    """Read the manifest of data set `name`."""
    path = manifest_folder() / f"{name}.toml"
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        msg = f"no data set is called {name!r}; there are {', '.join(manifest_names()) or 'none'}"
        raise ValueError(msg) from None
    place = raw.pop("file")
    return Manifest(
        name=name,
        n_classes=raw.pop("n_classes", None),
        target_names=tuple(raw.pop("target_names", ())),
        quirks=tuple(raw.pop("quirks", ())),
        path=place["path"],
        sha256=place.get("sha256"),
        checksums=_read_checksums(path.with_name(place["checksums"])) if "checksums" in place else {},
        bundled=place.get("bundled", False),
        table=_read_table(raw.pop("table")) if "table" in raw else None,
        sources=tuple(Source(**source) for source in raw.pop("sources", ())),
        **raw,
    )


def _read_table(raw: dict[str, Any]) -> Table:
    raw["fields"] = tuple(raw["fields"])
    raw["omit"] = tuple(raw.get("omit", ()))
    return Table(**raw)


def _read_checksums(path: Path) -> dict[str, str]:
    pairs = (line.split(maxsplit=1) for line in path.read_text(encoding="ascii").splitlines())
    return {name: sha256 for sha256, name in pairs}


def cache_folder() -> Path:
    """Return the folder ``KNNCCV_DATA_DIR``, or else the user's cache folder."""
    folder = os.environ.get("KNNCCV_DATA_DIR")
    if folder:
        return Path(folder).expanduser()
    import pooch

    return Path(pooch.os_cache("knnccv"))


def file_path(manifest: Manifest) -> Path:
    """Return where the file of `manifest` is, or would be once fetched."""
    folder = manifest_folder() if manifest.bundled else cache_folder()
    return folder / manifest.path


def sources(manifest: Manifest) -> list[Source]:
    """Return the addresses to ask, in order: that of ``KNNCCV_DATA_URL``, then the public ones.

    Raises
    ------
    ValueError
        If ``KNNCCV_DATA_URL`` is no address of HTTP.
    """
    mirror = os.environ.get("KNNCCV_DATA_URL")
    if not mirror:
        return public_sources(manifest)
    if not re.match(r"https?://[^/]", mirror, re.IGNORECASE):
        msg = (
            f"KNNCCV_DATA_URL must begin with http:// or https:// and name a host, got {mirror!r}; "
            "to use a folder of this machine, set KNNCCV_DATA_DIR to it"
        )
        raise ValueError(msg)
    return [Source(f"{mirror.rstrip('/')}/{manifest.path}"), *public_sources(manifest)]


def public_sources(manifest: Manifest) -> list[Source]:
    """Return the public addresses; a function of its own so that tests can replace them."""
    return list(manifest.sources)


def fetch(manifest: Manifest) -> dict[str, bytes]:
    """Return the contents of a data set's files, from the cache or else downloaded.

    A cached file is verified each time. Otherwise every address is asked until one gives the
    right content, which is then stored in the cache folder; nothing else is ever written there.

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
        If ``KNNCCV_DATA_URL`` is no address of HTTP.
    """
    path = file_path(manifest)
    failures: list[tuple[str, str]] = []
    if path.exists():
        try:
            return verify(manifest, _read_bounded(path))
        except (OSError, _WrongContentError) as error:
            failures.append((str(path), _reason(error)))
    candidates = sources(manifest)
    _require_writable(path, manifest)
    for source in candidates:
        try:
            blob = _download(source)
            content = verify(manifest, blob)
        except Exception as error:  # noqa: BLE001, RUF100 - broken archives raise all sorts of things
            failures.append((source.url, _reason(error)))
            continue
        _store(path, blob, manifest)
        return content
    raise DatasetError(_all_failed(manifest, path, failures))


def is_cached(manifest: Manifest) -> bool:
    """Return whether the file is on this disk and intact; asks no server."""
    try:
        verify(manifest, _read_bounded(file_path(manifest)))
    except (OSError, _WrongContentError):
        return False
    return True


def verify(manifest: Manifest, blob: bytes) -> dict[str, bytes]:
    """Return the content of `blob` if it is what the manifest records.

    Raises
    ------
    ValueError
        If it is not, saying what is wrong.
    """
    if not manifest.checksums:
        _check_sha256(blob, manifest.sha256)
        return {Path(manifest.path).name: blob}
    found = _matching_members(blob, manifest.checksums)
    bad = [name for name in manifest.checksums if found.get(name) is None]
    if bad:
        what = "does not have the recorded SHA-256" if bad[0] in found else "is missing"
        msg = f"{bad[0]} {what} ({len(bad)} of {len(manifest.checksums)} members are wrong)"
        raise _WrongContentError(msg)
    return {name: found[name] or b"" for name in manifest.checksums}


def _check_sha256(blob: bytes, expected: str | None) -> None:
    actual = hashlib.sha256(blob).hexdigest()
    if actual != expected:
        msg = f"the SHA-256 of its {len(blob)} bytes is {actual}, not the recorded {expected}"
        raise _WrongContentError(msg)


def _matching_members(blob: bytes, checksums: Mapping[str, str]) -> dict[str, bytes | None]:
    """Map every listed name that the archive has to its content, or to None if no copy is right."""
    found: dict[str, bytes | None] = {}
    for name, content in _members(blob, checksums):
        if found.get(name) is None:
            right = hashlib.sha256(content).hexdigest() == checksums[name]
            found[name] = content if right else None
    return found


def _listed_name(member: str, listed: Mapping[str, str]) -> str | None:
    """Return the listed name that a member's path ends with: archives differ in leading folders."""
    parts = member.split("/")
    endings = ("/".join(parts[k:]) for k in range(len(parts)))
    return next((name for name in endings if name in listed), None)


def _members(blob: bytes, listed: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the listed files in a zip, tar or tar.gz, MAX_BYTES at most."""
    budget = MAX_BYTES
    if zipfile.is_zipfile(io.BytesIO(blob)):
        with _archive_errors(), zipfile.ZipFile(io.BytesIO(blob)) as archive:
            for info in archive.infolist():
                name = _listed_name(info.filename, listed)
                if name is not None:
                    content = _zip_member(archive, info, budget)
                    budget -= len(content)
                    yield name, content
        return
    with _archive_errors():
        # Unpacked here, and not by tarfile, which would follow a bomb to its end.
        if blob[:2] == b"\x1f\x8b":
            with gzip.open(io.BytesIO(blob)) as packed:
                blob = _bounded(packed.read(budget + 1), budget)
        with tarfile.open(fileobj=io.BytesIO(blob), mode="r:") as tar:
            for member in tar:
                name = _listed_name(member.name, listed)
                stream = tar.extractfile(member) if member.isfile() else None
                if name is not None and stream is not None:
                    content = _bounded(stream.read(budget + 1), budget)
                    budget -= len(content)
                    yield name, content


@contextmanager
def _archive_errors() -> Iterator[None]:
    try:
        yield
    except (OSError, _WrongContentError):
        raise
    except Exception as error:
        # Damaged archives make zipfile, tarfile and zlib raise a dozen unrelated types.
        msg = f"not a usable zip, tar or tar.gz archive ({type(error).__name__}: {error})"
        raise _WrongContentError(msg) from error


def _zip_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo | str, limit: int) -> bytes:
    # The size that the archive declares may be a lie; what is read is bounded.
    with archive.open(member) as stream:
        return _bounded(stream.read(limit + 1), limit)


def _bounded(content: bytes, limit: int) -> bytes:
    if len(content) > limit:
        msg = f"the content is larger than {MAX_BYTES} bytes"
        raise _WrongContentError(msg)
    return content


def _read_bounded(path: Path) -> bytes:
    with path.open("rb") as stream:
        return _bounded(stream.read(MAX_BYTES + 1), MAX_BYTES)


class _Sink(io.BytesIO):
    """A memory file that refuses what is too large or takes too long."""

    def __init__(self) -> None:
        super().__init__()
        self._deadline = time.monotonic() + DEADLINE

    def write(self, chunk: Any, /) -> int:
        if time.monotonic() > self._deadline:
            msg = f"not complete after {DEADLINE:g} seconds"
            raise TimeoutError(msg)
        if self.tell() + len(chunk) > MAX_BYTES:
            msg = f"the content is larger than {MAX_BYTES} bytes"
            raise _WrongContentError(msg)
        return super().write(chunk)


def _download(source: Source) -> bytes:
    """Return the bytes at an address, asking again after a pause if the server broke off."""
    import pooch
    import requests

    pooch.get_logger().info("Downloading %s", source.url)
    downloader = pooch.HTTPDownloader(
        timeout=(CONNECT_TIMEOUT, READ_TIMEOUT), headers={"User-Agent": "knnccv (pooch)"}
    )
    for remaining in reversed(range(ATTEMPTS)):
        sink = _Sink()
        try:
            downloader(source.url, sink, None)
            break
        except requests.RequestException as error:
            if not remaining or not _is_passing(error):
                raise
        time.sleep(PAUSE)
    if source.member is None:
        return sink.getvalue()
    with _archive_errors(), zipfile.ZipFile(sink) as archive:
        return _zip_member(archive, source.member, MAX_BYTES)


def _is_passing(error: Exception) -> bool:
    """Return whether asking again makes sense: a server that answered, then broke off or is busy.

    Not so for refusals and silence, which would only double the wait of somebody without network.
    """
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        return error.response.status_code in (429, 500, 502, 503, 504)
    return isinstance(error, requests.exceptions.ChunkedEncodingError)


def _reason(error: BaseException) -> str:
    """Say in a few words why an address failed."""
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"HTTP {error.response.status_code} {error.response.reason}"
    root = error
    while isinstance(error, requests.RequestException) and root.__context__ is not None:
        root = root.__context__
    # A silent server arrives as a timeout or wrapped in a connection error, by where it stopped.
    if isinstance(error, requests.Timeout) or (root is not error and isinstance(root, TimeoutError)):
        return f"no answer within {CONNECT_TIMEOUT:g} s to connect or {READ_TIMEOUT:g} s to read"
    if isinstance(root, _WrongContentError):
        return str(root)
    return f"{type(root).__name__}: {root}"


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """Give a new file's path in `folder`, and see that the file is gone afterwards."""
    # tempfile's mode 0600 would hide the file from the other users of a shared folder.
    path = folder / f".knnccv-{uuid.uuid4().hex}.part"
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _require_writable(path: Path, manifest: Manifest) -> None:
    """Find out before a download, not after it, that it cannot be kept."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _scratch(folder) as probe:
            probe.touch()
    except OSError as error:
        raise DatasetError(_not_writable(path, manifest, error)) from error


def _store(path: Path, blob: bytes, manifest: Manifest) -> None:
    """Put the file in its place in one step, so that nobody ever sees a part of it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _scratch(path.parent) as scratch:
            scratch.write_bytes(blob)
            os.replace(scratch, path)
    except OSError as error:
        # Where an open file cannot be replaced, another process may have just stored the same.
        if not is_cached(manifest):
            raise DatasetError(_not_writable(path, manifest, error)) from error


def _not_writable(path: Path, manifest: Manifest, error: OSError) -> str:
    return (
        f"{manifest.title} cannot be stored at {path} ({type(error).__name__}: {error}); "
        "set KNNCCV_DATA_DIR to a folder that can be written to"
    )


def _all_failed(manifest: Manifest, path: Path, failures: list[tuple[str, str]]) -> str:
    tried = "\n".join(f"  {address}\n    {reason}" for address, reason in failures)
    recognised = (
        f"with SHA-256 {manifest.sha256}"
        if manifest.sha256
        else f"(a zip or tar.gz archive of the {len(manifest.checksums)} original files)"
    )
    return (
        f"{manifest.title} could not be fetched. Tried:\n{tried}\n"
        "Check the network, or set KNNCCV_DATA_URL to the address of a mirror that has "
        f"{manifest.path}, or put the file {recognised} at {path}"
    )
