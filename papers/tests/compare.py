"""Compare the numbers of ``reproduce all --quick`` with those stored beside this file.

``python papers/tests/compare.py FOLDER`` exits with 1 if one differs; with ``--store`` it stores them.
Every number that is the same on every machine is compared, to `TOLERANCE` of its size (seeds are fixed; the
last digits are not, since libraries sum in other orders). Seconds, claims about them, and results that
depend on rounding are left out.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

STORED = Path(__file__).with_name("expected")
TOLERANCE = 1e-6
OWN = {"tr-table1": ("experiment", "quantity"), "wm-table1": ("set", "column")}
LEFT_OUT = ("second", "time", "ms per", "runs for", "costs less", "exact run", "hardly grows", "negligible")
LEFT_OUT += ("standardized",)


def numbers(path: Path) -> dict[tuple[str, ...], str]:
    """The computed numbers of a table and the verdicts of its claims, by the names in the table."""
    names = OWN.get(path.stem, ("part", "quantity"))
    with path.open(encoding="utf-8", newline="") as lines:
        found = {
            tuple(line[name] for name in names): line["knnccv"] or line.get("verdict", "")
            for line in csv.DictReader(lines)
        }
    return {
        key: value for key, value in found.items() if not any(word in " ".join(key) for word in LEFT_OUT)
    }


def main(folder: Path, store: bool) -> int:
    """Compare, or store."""
    tables = sorted(folder.glob("*.csv"))
    if store:
        for path in tables:
            with (STORED / path.name).open("w", encoding="utf-8", newline="") as out:
                rows = ((*key, value) for key, value in numbers(path).items())
                csv.writer(out, lineterminator="\n").writerows(rows)
        return 0
    missing = {path.name for path in STORED.glob("*.csv")} - {path.name for path in tables}
    wrong = [f"{name} was not computed" for name in missing]
    n_compared = 0
    for path in tables:
        number, others = differing(path)
        n_compared += number
        wrong += others
    print("\n".join([*sorted(wrong), f"{n_compared} numbers compared, {len(wrong)} differ"]))
    return 1 if wrong else 0


def differing(path: Path) -> tuple[int, list[str]]:
    """How many numbers of a table were compared, and what differs."""
    if not (STORED / path.name).exists():
        return 0, [f"{path.name} is not stored"]
    with (STORED / path.name).open(encoding="utf-8", newline="") as lines:
        expected = {tuple(line[:-1]): line[-1] for line in csv.reader(lines)}
    found = numbers(path)
    keys = expected.keys() | found.keys()
    wrong = []
    for key in keys:
        one, other = expected.get(key), found.get(key)
        if one is None or other is None or not _same(one, other):
            wrong.append(f"{path.name}, {', '.join(key)}: stored {one}, now {other}")
    return len(keys), wrong


def _same(one: str, other: str) -> bool:
    try:
        return abs(float(one) - float(other)) <= TOLERANCE * max(1.0, abs(float(one)))
    except ValueError:  # a verdict
        return one == other


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), "--store" in sys.argv[2:]))
