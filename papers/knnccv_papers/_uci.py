"""The data sets of Wilson and Martinez (1999), as ``uci.toml`` describes them.

Their tables hold numeric, categorical and missing values, so that they are read as text first. The file
says which columns are numeric. Downloads go to the cache folder of `knnccv.datasets`, or come from it.
"""

from __future__ import annotations

import difflib
import functools
import hashlib
import io
import os
import tomllib
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pooch
from numpy.typing import NDArray

from knnccv.datasets import Dataset, DatasetError

from ._checks import check_choice, check_random_state
from ._work import write_whole

Row = list[str]
SETS = Path(__file__).with_name("uci.toml")
TIMEOUT = 30
"""Seconds that a server may stay silent."""

_SEGMENTS = "1110111 0010010 1011101 1011011 0111010 1101011 1101111 1010010 1111111 1111011"  # of 0 to 9
_SEGMENT_NAMES = ("top", "upper_left", "upper_right", "middle", "lower_left", "lower_right", "bottom")


@dataclass(frozen=True, kw_only=True)
class UciSet:
    """The description of a set; the head of ``uci.toml`` explains the fields."""

    title: str
    citation: str
    notes: Sequence[str]
    fields: Sequence[str] = ()
    target: str = ""
    omit: Sequence[str] = ()
    numeric: Sequence[str] = ()
    files: Sequence[Mapping[str, Any]] = ()
    separator: str = ","
    unknown: Sequence[str] = ("?", "")
    skip_lines: int = 0
    stray_commas: Sequence[int] = ()
    letters: bool = False
    merge: Mapping[str, Sequence[str]] | None = None
    keep: Mapping[str, str] | None = None
    draw: int | None = None
    led: Mapping[str, Any] | None = None

    def rows(self, blob: bytes) -> Iterator[Row]:
        """The texts of every line."""
        for number, line in enumerate(blob.decode("utf-8", errors="replace").splitlines(), 1):
            if number <= self.skip_lines or not line.strip():
                continue
            rest = line.removeprefix(",") if number in self.stray_commas else line
            row = rest.split() if self.separator == " " else [text.strip() for text in rest.split(",")]
            if self.letters:
                row[-1:] = row[-1]
            yield row

    def column(self, rows: Sequence[Row], name: str) -> tuple[str, ...]:
        """The texts of a column."""
        at = self.fields.index(name)
        return tuple(row[at] for row in rows)


@functools.cache
def load_sets() -> dict[str, UciSet]:
    """The descriptions of all sets, sorted by name."""
    return {name: _read_set(raw) for name, raw in sorted(tomllib.loads(SETS.read_text("utf-8")).items())}


def _read_set(raw: dict[str, Any]) -> UciSet:
    if "led" in raw:
        others = (f"random_{i}" for i in range(1, raw["led"]["n_random"] + 1))
        raw |= {"fields": (*_SEGMENT_NAMES, *others, "digit"), "target": "digit"}
    if raw.get("numeric") == "all":
        rest = (raw["target"], *raw.get("omit", ()))
        raw["numeric"] = [field for field in raw["fields"] if field not in rest]
    return UciSet(**raw)


def uci_names() -> list[str]:
    """The names of the sets that `fetch_uci` knows, sorted.

    Returns
    -------
    list of str
        The names in Table 1 of [1]_, without Heart (More), whose definition is unknown.

    References
    ----------
    .. [1] Wilson, D. R. & Martinez, T. R. (1999). Combining cross-validation and confidence to measure
       fitness. IJCNN 1999.

    Examples
    --------
    >>> from knnccv_papers import uci_names
    >>> len(uci_names()), uci_names()[:3]
    (30, ['Anneal', 'Australian', 'Breast Cancer (WI)'])
    """
    return list(load_sets())


def fetch_uci(
    name: str,
    *,
    rows: Literal["paper", "all"] = "paper",
    random_state: int | np.random.Generator | None = 0,
) -> Dataset:
    """Fetch one of the 30 sets of Wilson and Martinez (1999): numeric, categorical and missing values.

    The paper [1]_ says neither which attributes are categorical nor which rows and, for some sets, which
    target it used. The description of the result gives the choices made here, and the reasons.

    Parameters
    ----------
    name : str
        One of `uci_names`, in this spelling.
    rows : {"paper", "all"}, default "paper"
        "paper": the rows that the paper seems to use where these are fewer, namely 528 of the 990 of
        Vowel, and 420 of the 2310 of Image Segmentation: the 210 of its first file and 210 of its
        second, 30 of each class. "all": every row. Other sets are the same either way.
    random_state : int, numpy Generator or None, default 0
        Seed of the draw of Image Segmentation's rows and of the two LED sets, which are generated, not
        fetched; None: a different draw at every call. Nothing else depends on it.

    Returns
    -------
    Dataset
        `X` with codes in categorical columns, which `nominal` and `categories` describe, and NaN for
        missing values; `y` int64, codes from 0 of the labels in `target_names`. Codes follow the sorted
        texts, or the numbers if every text is one. Rows whose target is missing are left out.

    Raises
    ------
    TypeError, ValueError
        If an argument is not allowed; for an unknown name the message says which is closest.
    DatasetError
        If a file cannot be fetched; the message lists every address tried and what to do.

    References
    ----------
    .. [1] Wilson, D. R. & Martinez, T. R. (1999). Combining cross-validation and confidence to measure
       fitness. IJCNN 1999.

    Examples
    --------
    >>> from knnccv_papers import fetch_uci
    >>> fetch_uci("LED Creator")
    <Dataset: 1000 samples, 7 features, 10 classes>
    >>> fetch_uci("Zoo").to_frame()  # doctest: +SKIP
    """
    known = _find_set(name)
    check_choice("rows", rows, ("paper", "all"))
    return _fetch_set(known, rows, check_random_state(random_state))


def _find_set(name: object) -> UciSet:
    sets = load_sets()
    listed = ", ".join(map(repr, sets))
    if not isinstance(name, str):
        msg = f"name must be a str, one of {listed}; got {name!r}"
        raise TypeError(msg)
    if name not in sets:
        folded = {known.casefold(): known for known in sets}
        wanted = name.casefold()
        closest = difflib.get_close_matches(wanted, folded, n=1)
        if not closest and len(wanted) > 2:
            closest = [known for known in folded if wanted in known]
        hint = f"; did you mean {folded[closest[0]]!r}?" if closest else ""
        msg = f"there is no UCI set {name!r}; choose from: {listed}{hint}"
        raise ValueError(msg)
    return sets[name]


def fetch(title: str, file: Mapping[str, Any]) -> bytes:
    """The verified content of a file: from the cache folder, or downloaded into it.

    Raises
    ------
    DatasetError
        If no address gives the right content, or the folder cannot be written to.
    """
    path: Path = (
        Path(os.environ.get("KNNCCV_DATA_DIR") or pooch.os_cache("knnccv")).expanduser() / file["path"]
    )
    if path.is_file() and pooch.file_hash(str(path)) == file["sha256"]:
        return path.read_bytes()
    mirror = os.environ.get("KNNCCV_DATA_URL")
    sources = [{"url": f"{mirror.rstrip('/')}/{file['path']}"}] if mirror else []
    tried = []
    for source in [*sources, *file["sources"]]:
        try:
            content = _downloaded(**source)
        except Exception as error:  # noqa: BLE001, RUF100 - broken archives raise errors of many types
            tried.append(f"{source['url']} ({error})")
            continue
        if hashlib.sha256(content).hexdigest() != file["sha256"]:
            tried.append(f"{source['url']} (its SHA-256 is not the recorded one)")
            continue
        try:
            write_whole(path, content)
        except OSError as error:
            msg = f"{title} cannot be stored at {path} ({error}); set KNNCCV_DATA_DIR to another folder"
            raise DatasetError(msg) from error
        return content
    msg = (
        f"{title} could not be fetched. Check the network, or set KNNCCV_DATA_URL to the address of a "
        f"mirror, or put the file with SHA-256 {file['sha256']} at {path}. Tried: {', '.join(tried)}"
    )
    raise DatasetError(msg)


def _downloaded(url: str, member: str | None = None) -> bytes:
    """The content at an address, or of a member of the zip archive there."""
    content = io.BytesIO()
    pooch.HTTPDownloader(timeout=TIMEOUT)(url, content, None)
    if member:
        return zipfile.ZipFile(content).read(member)
    return content.getvalue()


def _numbers(texts: Sequence[str], unknown: Collection[str]) -> NDArray[np.float64]:
    """The numbers of a column; NaN where they are unknown."""
    return np.array([np.nan if text in unknown else float(text) for text in texts])


def _fetch_set(known: UciSet, rows: str, rng: np.random.Generator) -> Dataset:
    """A set, downloaded unless it is cached, or drawn."""
    if known.led is not None:
        table, comment = _draw_led(rng, **known.led), ""
    else:
        parts = [list(known.rows(fetch(known.title, file))) for file in known.files]
        table, comment = _select(known, parts, rng) if rows == "paper" else (list(chain(*parts)), "")
    comments = [known.title, *known.notes, comment]
    labels = known.column(table, known.target)
    complete = [row for row, label in zip(table, labels, strict=True) if label not in known.unknown]
    if n_dropped := len(table) - len(complete):
        are = "row without a known {} is" if n_dropped == 1 else "rows without a known {} are"
        comments.append(f"{n_dropped} {are.format(known.target)} left out.")
    merged = {label: text for text, labels in (known.merge or {}).items() for label in labels}
    y, target_names = _encode([merged.get(label, label) for label in known.column(complete, known.target)])
    names = tuple(name for name in known.fields if name not in (known.target, *known.omit))
    texts = [known.column(complete, name) for name in names]
    coded = [
        (_numbers(column, known.unknown), None) if name in known.numeric else _encode(column, known.unknown)
        for name, column in zip(names, texts, strict=True)
    ]
    X = np.stack([values for values, _ in coded], axis=1)
    n_numeric = len(known.numeric)
    are = "attribute is" if n_numeric == 1 else "attributes are"
    comments.append(f"{n_numeric} {are} numeric and {len(names) - n_numeric} categorical.")
    if n_unknown := int(np.isnan(X).sum()):
        comments.append(f"{n_unknown} of the {X.size} values are missing (NaN).")
    return Dataset(
        X=X,
        y=y.astype(np.int64),
        feature_names=names,
        target_names=target_names,
        description="\n\n".join(filter(None, comments)),
        citation=known.citation,
        nominal=tuple(found is not None for _, found in coded),
        categories=tuple(found for _, found in coded),
    )


def _select(known: UciSet, parts: list[list[Row]], rng: np.random.Generator) -> tuple[list[Row], str]:
    """The rows that the paper seems to use, and a remark on them for the description."""
    table = list(chain(*parts))
    if known.keep is not None:
        ((field, value),) = known.keep.items()
        found = known.column(table, field)
        kept = [row for row, text in zip(table, found, strict=True) if text == value]
        return kept, (
            f"These are the {len(kept)} rows with {field} {value}, which the paper seems to use; "
            f'rows="all" gives all {len(table)}.'
        )
    if known.draw is not None:
        others = list(chain(*parts[1:]))
        labels = np.array(known.column(others, known.target))
        drawn = [
            rng.choice(np.flatnonzero(labels == label), known.draw, replace=False)
            for label in np.unique(labels)
        ]
        kept = parts[0] + [others[i] for i in np.sort(np.concatenate(drawn))]
        first, *rest = (file["path"].rpartition("/")[2] for file in known.files)
        return kept, (
            f"These are the {len(parts[0])} rows of {first}, then {len(kept) - len(parts[0])} of the "
            f"{len(others)} of {' and '.join(rest)}, {known.draw} of each class, drawn with random_state: "
            f"the paper seems to use {len(kept)} rows, and does not say which. "
            f'rows="all" gives all {len(table)}.'
        )
    return table, ""


def _draw_led(rng: np.random.Generator, n_items: int, noise: float, n_random: int) -> list[Row]:
    """Draw the segments that show digits, with some errors, attributes without meaning, and the digits."""
    shown = np.array([[int(bit) for bit in segments] for segments in _SEGMENTS.split()])
    digits = rng.integers(0, len(shown), n_items)
    wrong = rng.random((n_items, shown.shape[1])) < noise
    others = rng.integers(0, 2, (n_items, n_random))
    rows: list[Row] = np.column_stack([shown[digits] ^ wrong, others, digits]).astype(str).tolist()
    return rows


def _encode(
    texts: Sequence[str], unknown: Collection[str] = ()
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Codes in the order of the sorted texts, or of their numbers if all are; NaN for missing values."""
    found = set(texts).difference(unknown)
    try:
        names = tuple(sorted(found, key=lambda text: (float(text), text)))
    except ValueError:
        names = tuple(sorted(found))
    codes = {text: float(code) for code, text in enumerate(names)}
    return np.array([codes.get(text, np.nan) for text in texts]), names
