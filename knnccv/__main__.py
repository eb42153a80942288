"""The command line: ``python -m knnccv``, or ``knnccv`` if the package is installed.

Exit status: 0 for success, 2 for an error in the arguments or the data, 130 after an interrupt, 141 if the
reader of the output is gone.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Sequence

from ._base import __version__

INTERRUPTED = 130
UNREAD = 141


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; ``command`` is the name of the one that was given."""
    from ._cli.commands import (
        add_commands,  # takes a while: `main` ends it without a traceback after Ctrl-C
    )

    parser = argparse.ArgumentParser(
        prog="knnccv",
        description="Complete cross-validation of nearest-neighbor rules: the exact mean score over "
        "all test/train splits, instead of an average over a few random ones.",
        epilog="'knnccv COMMAND --help' explains a command. Try 'knnccv score', which needs no file.",
    )
    parser.add_argument("--version", action="version", version=f"knnccv {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    add_commands(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments. Default: the arguments of the process.

    Returns
    -------
    int
        The exit status.

    Raises
    ------
    SystemExit
        After ``--help`` and ``--version`` (0), or if the arguments cannot be parsed (2).

    Examples
    --------
    >>> from knnccv.__main__ import main
    >>> main(["score", "--rank", "3"])
    2
    """
    _write_anything()
    try:
        args, unknown = build_parser().parse_known_args(argv)
        if unknown:
            args.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
        from ._cli.commands import run

        status = run(args)
        if sys.stdout is not None:  # closed before the start
            sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
        return UNREAD
    except KeyboardInterrupt:
        _complain("interrupted")
        return INTERRUPTED
    except (ValueError, TypeError, ImportError, OSError, MemoryError) as error:
        _complain(f"error: {_one_line(error)}")
        return 2
    return status


def _complain(message: str) -> None:
    print(f"knnccv: {message}", file=sys.stderr)


def _one_line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    lines = (line.strip() for line in str(error).splitlines())
    return " ".join(line for line in lines if line) or type(error).__name__


def _write_anything() -> None:
    """Replace characters that a terminal cannot show, such as ±, instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        if "utf" not in (getattr(stream, "encoding", None) or "utf").lower():
            with contextlib.suppress(AttributeError):
                stream.reconfigure(errors="replace")  # type: ignore[union-attr]


def _discard_output() -> None:
    """Redirect stdout to the null device, so that Python's flush at exit succeeds."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
