"""The ends of a process that are not an accident: its statuses, and the errors that end a command with a sentence for the user in place of
a traceback. It must not know who raises them.
"""

import enum
import sys
from typing import ClassVar, TextIO


class Status(enum.IntEnum):
    """The statuses of the process; scripts rely on the numbers (docs/monitoring.md)."""

    DONE = 0  # done, or stopped in order by a signal
    REFUSED = 1  # the start or the command was refused: a mistake in what the user gave
    USAGE = 2  # the command line can't be read (cyclopts sets it)
    DAMAGED = 3  # blocks are damaged, or refused by the chain
    DISK = 4  # the disk is full, failed, gone or not writable
    BROKEN_INVARIANT = 5  # the state doesn't add up
    BUG = 70  # an internal error
    INTERRUPTED = 130  # a second signal, or a task that a signal has ended before it was done
    PIPE_CLOSED = 141  # the reader of the output has closed it


class NodeError(Exception):
    """The node can't do its task; the text tells the user why, and what to do where that isn't plain."""

    STATUS: ClassVar[Status] = Status.REFUSED


class FileError(NodeError):
    """A file of blocks can't be read any further; the text says where and why."""

    STATUS = Status.DAMAGED


class DiskError(NodeError):
    """The disk doesn't do what the node needs it for."""

    STATUS = Status.DISK


class StateError(NodeError):
    """The state of the chain doesn't add up."""

    STATUS = Status.BROKEN_INVARIANT


def on_one_line(text: str) -> str:
    """Return a text with what a terminal would take as a command, or as the end of the line, escaped: parts of it may come from a file."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def last_line(text: str, out: TextIO | None = None) -> None:
    """Write a line to stderr, or to `out`; nobody may be there to read it."""
    out = out or sys.stderr
    try:
        out.write(on_one_line(text) + "\n")
        out.flush()
    except OSError:
        pass
