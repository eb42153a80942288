"""The cache folder and downloads: the verified bytes of a data set, or one clear error.

A manifest gives the addresses of a file and its hash. The cache folder and a mirror have the same layout,
so that a folder filled by hand serves as either.

pooch's downloader transfers a file into memory: the files have a few megabytes, and only verified bytes
reach the disk, in one rename. pooch's own registry does not fit, because a file may have several addresses,
be a member of an archive, or be an archive that only its members identify.
"""

from __future__ import annotations

import io
import os
import re
import time
import uuid
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import _archive
from ._archive import WrongContentError, archive_errors, bounded, verify, zip_member
from ._manifest import Manifest, Source, manifest_folder

CONNECT_TIMEOUT = 10.0
"""Seconds that a server may take to accept a connection."""

READ_TIMEOUT = 30.0
"""Seconds that a server may stay silent."""

DEADLINE = 600.0
"""Seconds that one transfer may take in all."""

ATTEMPTS = 2
"""Number of requests to an address whose server breaks off or is overloaded."""

PAUSE = 1.0
"""Seconds between two requests for the same address."""


class DatasetError(OSError):
    """A data set is not available: every address failed, or the cache folder cannot be used."""


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


def sources(manifest: Manifest) -> list[Source]:
    """The addresses to try, in this order: the mirror ``KNNCCV_DATA_URL``, then the public ones.

    Raises
    ------
    ValueError
        If ``KNNCCV_DATA_URL`` is not an HTTP address.
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
    """The public addresses; a separate function, so that tests can replace it."""
    return list(manifest.sources)


def fetch(manifest: Manifest) -> dict[str, bytes]:
    """The contents of a data set's files, from the cache or downloaded.

    A cached file is verified each time. If there is none, the addresses are tried in order until one gives
    the right content, which is then stored in the cache folder. Nothing else is ever written there.

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
            return verify(manifest, _read_bounded(path))
        except (OSError, WrongContentError) as error:
            failures.append((str(path), _reason(error)))
    candidates = sources(manifest)
    _require_writable(path, manifest)
    for source in candidates:
        try:
            blob = _download(source)
            content = verify(manifest, blob)
        except Exception as error:  # noqa: BLE001, RUF100 - broken archives raise errors of many types
            failures.append((source.url, _reason(error)))
            continue
        _store(path, blob, manifest)
        return content
    raise DatasetError(_all_failed(manifest, path, failures))


def is_cached(manifest: Manifest) -> bool:
    """Return True if the file is on this disk and intact; no server is contacted."""
    try:
        verify(manifest, _read_bounded(file_path(manifest)))
    except (OSError, WrongContentError):
        return False
    return True


def _read_bounded(path: Path) -> bytes:
    with path.open("rb") as stream:
        return bounded(stream.read(_archive.MAX_BYTES + 1), _archive.MAX_BYTES)


class _Sink(io.BytesIO):
    """A memory file that refuses content that is too large or takes too long."""

    def __init__(self) -> None:
        super().__init__()
        self._deadline = time.monotonic() + DEADLINE

    def write(self, chunk: Any, /) -> int:
        if time.monotonic() > self._deadline:
            msg = f"not complete after {DEADLINE:g} seconds"
            raise TimeoutError(msg)
        if self.tell() + len(chunk) > _archive.MAX_BYTES:
            msg = f"the content is larger than {_archive.MAX_BYTES} bytes"
            raise WrongContentError(msg)
        return super().write(chunk)


def _download(source: Source) -> bytes:
    """The bytes at an address; requested again after a pause if the server broke off."""
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
    with archive_errors(), zipfile.ZipFile(sink) as archive:
        return zip_member(archive, source.member, _archive.MAX_BYTES)


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
def _scratch(folder: Path) -> Iterator[Path]:
    """Yield the path of a new file in `folder`, and delete the file afterwards."""
    # tempfile's mode 0600 would hide the file from the other users of a shared folder.
    path = folder / f".knnccv-{uuid.uuid4().hex}.part"
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _require_writable(path: Path, manifest: Manifest) -> None:
    """Raise DatasetError before a download that could not be stored."""
    folder = cache_folder()
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent  # it is created when there is a file to store
    try:
        with _scratch(folder) as probe:
            probe.touch()
    except OSError as error:
        raise DatasetError(_not_writable(path, manifest, error)) from error


def _store(path: Path, blob: bytes, manifest: Manifest) -> None:
    """Put the file in its place in one step, so that no other process reads a part of it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _scratch(path.parent) as scratch:
            scratch.write_bytes(blob)
            os.replace(scratch, path)
    except OSError as error:
        # On systems that cannot replace an open file, another process may have just stored the same one.
        if not is_cached(manifest):
            raise DatasetError(_not_writable(path, manifest, error)) from error


def _not_writable(path: Path, manifest: Manifest, error: OSError) -> str:
    return (
        f"{manifest.title} cannot be stored at {path} ({type(error).__name__}: {error}); "
        "set KNNCCV_DATA_DIR to a folder that can be written to"
    )


def _all_failed(manifest: Manifest, path: Path, failures: list[tuple[str, str]]) -> str:
    tried = "\n".join(f"  {address}\n    {reason}" for address, reason in failures)
    recognized = (
        f"with SHA-256 {manifest.sha256}"
        if manifest.sha256
        else f"(a zip or tar.gz archive of the {len(manifest.checksums)} original files)"
    )
    return (
        f"{manifest.title} could not be fetched. Tried:\n{tried}\n"
        "Check the network, or set KNNCCV_DATA_URL to the address of a mirror that has "
        f"{manifest.path}, or put the file {recognized} at {path}"
    )
