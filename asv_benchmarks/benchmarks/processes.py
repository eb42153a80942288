"""The memory of this process, and of neighbor lists."""

import resource
import sys
from contextlib import suppress
from pathlib import Path

LIST_ENTRY = 4 + 8  # bytes of one neighbor in a list: an int32 sample and a float64 value
STATUS = Path("/proc/self/status")


def forget_peak():
    """Reset `peak_bytes`, if the system supports it."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_bytes():
    """Return the peak memory of this process, including pages of mapped files."""
    # getrusage also counts the parent's memory before this process was started.
    found = _status("VmHWM")
    if found is None:
        unit = 1 if sys.platform == "darwin" else 1024
        found = unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return found


def held_bytes():
    """Return the memory of this process; NotImplementedError if the system does not report it."""
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
