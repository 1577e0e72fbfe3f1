"""Exit statuses, and the errors that end a command with a message for the user instead of a traceback."""

import enum
import sys
from typing import ClassVar, TextIO


class Status(enum.IntEnum):
    """Exit statuses of the process. Scripts rely on the numbers (docs/monitoring.md)."""

    DONE = 0  # done, or stopped gracefully by a signal
    REFUSED = 1  # the start or the command was refused, because of a mistake in the user's input
    USAGE = 2  # the command line can't be read (cyclopts sets it)
    DAMAGED = 3  # blocks are damaged, or refused by the chain
    DISK = 4  # the disk is full, failed, gone or not writable
    BROKEN_INVARIANT = 5  # the state violates an invariant
    BUG = 70  # an internal error
    INTERRUPTED = 130  # a second signal, or a signal that ended an unfinished task
    PIPE_CLOSED = 141  # the reader closed the output


class NodeError(Exception):
    """Error with a message for the user: the cause and, unless it is obvious, the remedy."""

    STATUS: ClassVar[Status] = Status.REFUSED


class FileError(NodeError):
    """Error for a file of blocks that can't be read any further. The message contains the position and the cause."""

    STATUS = Status.DAMAGED


class DiskError(NodeError):
    """Error for a failed or full disk."""

    STATUS = Status.DISK


class StateError(NodeError):
    """Error for a state that violates an invariant."""

    STATUS = Status.BROKEN_INVARIANT


def on_one_line(text: str) -> str:
    """Escape the control characters and line ends in a string, which can come from a file."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def last_line(text: str, out: TextIO | None = None) -> None:
    """Write a final line to stderr, or to `out`. Errors, for example a closed pipe, are ignored."""
    out = out or sys.stderr
    try:
        out.write(on_one_line(text) + "\n")
        out.flush()
    except OSError:
        pass
