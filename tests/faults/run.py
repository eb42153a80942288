"""Put faults into a copy of the library, one at a time, and see whether the fast tests find them.

    python tests/faults/run.py              # all faults of faults.toml
    python tests/faults/run.py tuned Brier  # those whose name contains one of these words

The tests that a fault names run first. If they pass, all fast tests run; ``--named`` leaves that out. The
last line counts the faults that survived, which is the exit status as well.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FAULTS = Path(__file__).with_name("faults.toml")
LIMIT = 3600
"""Seconds after which tests that do not end have found the fault."""


def read_faults() -> list[dict[str, str]]:
    """The faults of the table."""
    faults: list[dict[str, str]] = tomllib.loads(FAULTS.read_text(encoding="utf-8"))["fault"]
    return faults


def copy_to(folder: Path) -> None:
    """Copy the files that git tracks, as they are now."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    for name in listed.stdout.rstrip("\0").split("\0"):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((ROOT / name).read_bytes())


def failing_test(folder: Path, tests: list[str]) -> str | None:
    """The first test that fails; None if all pass."""
    where = os.pathsep.join(map(str, [folder, folder / "registry", folder / "papers"]))
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "-p", "no:cacheprovider", *tests]
    try:
        found = subprocess.run(
            command, cwd=folder, env={**os.environ, "PYTHONPATH": where}, capture_output=True, text=True,
            timeout=LIMIT,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"no end after {LIMIT} s"
    if found.returncode in (0, 5):  # 5: no test was collected
        return None
    failed = [line for line in found.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0] if failed else found.stdout[-500:] + found.stderr[-500:]


def main() -> int:
    """Run the faults; return how many survive."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--named", action="store_true", help="run only the tests that a fault names")
    args = parser.parse_args()
    wanted = [f for f in read_faults() if not args.words or any(word in f["name"] for word in args.words)]
    survived = 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "copy"
        copy_to(folder)
        for fault in wanted:
            started, file = time.monotonic(), folder / fault["file"]
            text = file.read_text(encoding="utf-8")
            number = text.count(fault["old"])
            if number != 1:
                sys.exit(f"{fault['name']}: the text stands {number} times in {fault['file']}, not once")
            file.write_text(text.replace(fault["old"], fault["new"]), encoding="utf-8")
            named = [test for test in fault["tests"].split() if (folder / test.partition("::")[0]).exists()]
            found = failing_test(folder, named)
            if found is None and not args.named:
                found = failing_test(folder, ["-n", "2"])
            file.write_text(text, encoding="utf-8")
            survived += found is None
            verdict, seconds = "SURVIVED" if found is None else "found", time.monotonic() - started
            print(f"{verdict}  {fault['name']} ({seconds:.0f} s)\n    {found or fault['file']}", flush=True)
    print(f"{survived} of {len(wanted)} faults survived")
    return survived


if __name__ == "__main__":
    sys.exit(main())
