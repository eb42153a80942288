"""Verification of files by SHA-256, including repacked archives, and bounded unpacking."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ._manifest import Manifest

MAX_BYTES = 64 * 2**20
"""Far more than any file of a manifest; larger content is wrong or a decompression bomb."""


class WrongContentError(ValueError):
    """The content is not the one that the manifest records."""


def verify(manifest: Manifest, blob: bytes) -> dict[str, bytes]:
    """The files in `blob` by name, if they are those that the manifest records.

    Raises
    ------
    ValueError
        If they are not; the message gives the reason.
    """
    if not manifest.checksums:
        _check_sha256(blob, manifest.sha256)
        return {Path(manifest.path).name: blob}
    found = _matching_members(blob, manifest.checksums)
    bad = [name for name in manifest.checksums if found.get(name) is None]
    if bad:
        what = "does not have the recorded SHA-256" if bad[0] in found else "is missing"
        msg = f"{bad[0]} {what} ({len(bad)} of {len(manifest.checksums)} members are wrong)"
        raise WrongContentError(msg)
    return {name: found[name] or b"" for name in manifest.checksums}


def _check_sha256(blob: bytes, expected: str | None) -> None:
    actual = hashlib.sha256(blob).hexdigest()
    if actual != expected:
        msg = f"the SHA-256 of its {len(blob)} bytes is {actual}, not the recorded {expected}"
        raise WrongContentError(msg)


def _matching_members(blob: bytes, checksums: Mapping[str, str]) -> dict[str, bytes | None]:
    """The content of every listed name in the archive; None if no copy of it has the right hash."""
    found: dict[str, bytes | None] = {}
    for name, content in _members(blob, checksums):
        if found.get(name) is None:
            right = hashlib.sha256(content).hexdigest() == checksums[name]
            found[name] = content if right else None
    return found


def _listed_name(member: str, listed: Mapping[str, str]) -> str | None:
    """The listed name that a member's path ends with, since archives differ in leading folders."""
    # No listed name has more parts; joining all endings of a hostile name would take quadratic time.
    depth = 1 + max(name.count("/") for name in listed)
    parts = member.rsplit("/", depth)[-depth:]
    endings = ("/".join(parts[k:]) for k in range(len(parts)))
    return next((name for name in endings if name in listed), None)


def _members(blob: bytes, listed: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the listed files in a zip, tar or tar.gz, at most MAX_BYTES in all."""
    budget = MAX_BYTES
    if zipfile.is_zipfile(io.BytesIO(blob)):
        with archive_errors(), zipfile.ZipFile(io.BytesIO(blob)) as archive:
            for info in archive.infolist():
                name = _listed_name(info.filename, listed)
                if name is not None:
                    content = zip_member(archive, info, budget)
                    budget -= len(content)
                    yield name, content
        return
    with archive_errors():
        # Unpacked here, because tarfile would unpack a decompression bomb to its end.
        if blob[:2] == b"\x1f\x8b":
            with gzip.open(io.BytesIO(blob)) as packed:
                blob = bounded(packed.read(budget + 1), budget)
        with tarfile.open(fileobj=io.BytesIO(blob), mode="r:") as tar:
            for member in tar:
                name = _listed_name(member.name, listed)
                stream = tar.extractfile(member) if member.isfile() else None
                if name is not None and stream is not None:
                    content = bounded(stream.read(budget + 1), budget)
                    budget -= len(content)
                    yield name, content


@contextmanager
def archive_errors() -> Iterator[None]:
    """Turn the errors of a damaged archive into WrongContentError."""
    try:
        yield
    except (OSError, WrongContentError):
        raise
    except Exception as error:
        # Damaged archives make zipfile, tarfile and zlib raise a dozen unrelated types.
        msg = f"not a usable zip, tar or tar.gz archive ({type(error).__name__}: {error})"
        raise WrongContentError(msg) from error


def zip_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo | str, limit: int) -> bytes:
    """The content of a member, of at most `limit` bytes."""
    # The archive may declare a wrong size, so that the number of bytes read is bounded.
    with archive.open(member) as stream:
        return bounded(stream.read(limit + 1), limit)


def bounded(content: bytes, limit: int) -> bytes:
    """The content itself; WrongContentError if it is longer than `limit` bytes."""
    if len(content) > limit:
        msg = f"the content is larger than {MAX_BYTES} bytes"
        raise WrongContentError(msg)
    return content
