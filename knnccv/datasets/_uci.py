"""The data sets of Wilson and Martinez (1999), as ``datasets/uci/sets.toml`` describes them.

Their tables hold numeric, categorical and missing values, so that they are read as text first. The manifest
says which columns are numeric. `_download` fetches the files.
"""

from __future__ import annotations

import difflib
import functools
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._validation import check_choice, check_random_state
from ._dataset import Dataset
from ._download import fetch
from ._manifest import Manifest, Table, as_manifest, load_manifest, manifest_folder, with_tuples

Row = list[str]

_SEGMENTS = "1110111 0010010 1011101 1011011 0111010 1101011 1101111 1010010 1111111 1111011"  # of 0 to 9
_SEGMENT_NAMES = ("top", "upper_left", "upper_right", "middle", "lower_left", "lower_right", "bottom")


@dataclass(frozen=True, kw_only=True)
class UciSet(Table):
    """The description of a set; ``datasets/README.md`` explains the fields."""

    title: str
    citation: str
    notes: tuple[str, ...]
    files: tuple[Manifest, ...] = ()
    numeric: tuple[str, ...] = ()
    merge: Mapping[str, Sequence[str]] | None = None
    keep: Mapping[str, str] | None = None
    draw: int | None = None
    led: Mapping[str, Any] | None = None

    def column(self, rows: Sequence[Row], name: str) -> tuple[str, ...]:
        """The texts of a column."""
        at = self.fields.index(name)
        return tuple(row[at] for row in rows)


@functools.cache
def load_sets() -> dict[str, UciSet]:
    """The descriptions of all sets, sorted by name."""
    text = (manifest_folder() / "uci" / "sets.toml").read_text(encoding="utf-8")
    return {name: _read_set(name, raw) for name, raw in sorted(tomllib.loads(text).items())}


def _read_set(name: str, raw: dict[str, Any]) -> UciSet:
    if "manifest" in raw:
        whole = load_manifest(raw.pop("manifest"))
        raw |= vars(whole.table) | {"title": whole.title, "citation": whole.citation, "files": (whole,)}
    else:
        both = {"name": name, "title": name, "citation": raw["citation"]}
        raw["files"] = [as_manifest(both | entry) for entry in raw.get("files", ())]
    if "led" in raw:
        others = (f"random_{i}" for i in range(1, raw["led"]["n_random"] + 1))
        raw |= {"fields": (*_SEGMENT_NAMES, *others, "digit"), "target": "digit"}
    if raw.get("numeric") == "all":
        rest = (raw["target"], *raw.get("omit", ()))
        raw["numeric"] = [field for field in raw["fields"] if field not in rest]
    return UciSet(**with_tuples(raw))


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
    >>> from knnccv.datasets import uci_names
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
    >>> from knnccv.datasets import fetch_uci
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


def _fetch_set(known: UciSet, rows: str, rng: np.random.Generator) -> Dataset:
    """A set, downloaded unless it is cached, or drawn."""
    if known.led is not None:
        table, comment = _draw_led(rng, **known.led), ""
    else:
        blobs = chain.from_iterable(fetch(manifest).values() for manifest in known.files)
        parts = [list(known.rows(blob)) for blob in blobs]
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
        (known.numbers(name, column), None) if name in known.numeric else _encode(column, known.unknown)
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
        first, *rest = (manifest.path.rpartition("/")[2] for manifest in known.files)
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
