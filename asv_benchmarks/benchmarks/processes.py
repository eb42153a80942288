"""The memory of this process, and of neighbor lists."""

import resource
import sys
from contextlib import suppress
from pathlib import Path

LIST_ENTRY = 4 + 8  # bytes of one neighbor in a list: an int32 sample and a float64 value
STATUS = Path("/proc/self/status")


def forget_peak():
    """Let `peak_bytes` start anew, where the system can do that."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_bytes():
    """The most memory that this process has held, pages of mapped files among it."""
    # getrusage also counts what the parent held before this process was its own.
    found = _status("VmHWM")
    if found is None:
        unit = 1 if sys.platform == "darwin" else 1024
        found = unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return found


def held_bytes():
    """The memory that this process holds, or NotImplementedError where the system does not tell."""
    found = _status("VmRSS")
    if found is None:
        msg = f"there is no {STATUS}"
        raise NotImplementedError(msg)
    return found


def _status(name):
    if not STATUS.exists():
        return None
    for line in STATUS.read_text().splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return 1024 * int(value.split()[0])
    return None
