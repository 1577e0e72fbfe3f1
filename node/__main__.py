"""Starts the command line: `python -m node`. Knows how a process ends that was interrupted, whose output is closed, or that has a bug."""

import errno
import os
import sys
import traceback

from node.runtime.errors import Status, last_line
from node.runtime.memory import tune_collector
from node.version import VERSION, VERSION_WORDS

STREAMS = (0, 1, 2)
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
ADVICE = "Please report the traceback above"
NODE_ADVICE = "Every block that was answered for is in --data. Start the node again, and please report the traceback above"


def main() -> int:
    """Load the command line and run it; returns the status of the process.

    The imports are inside, since they take a moment: Ctrl-C in it should end the process without a traceback as well.
    The collector is set up before them: a tenth of their time went to it.
    """
    open_closed_streams()
    if sys.argv[1:] in ([word] for word in VERSION_WORDS):
        sys.stdout.write(f"coind {VERSION}\n")
        return Status.DONE
    tune_collector()
    try:
        from node.cli.app import main as command
        from node.runtime.logs import configure_logs

        configure_logs()
        status = command()
        sys.stdout.flush()
        return status
    except (Exception, KeyboardInterrupt, BaseExceptionGroup) as error:
        return end_of(error)


def open_closed_streams() -> None:
    """Open the null device in place of standard streams that are closed.

    Otherwise the next file or socket that is opened gets such a stream's number, and what a library prints ends up in it: in the
    block log, if that comes first.
    """
    for descriptor in STREAMS:
        try:
            os.fstat(descriptor)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            assert opened == descriptor, "the lowest free number is taken"
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def end_of(error: BaseException) -> int:
    """Return the status after an error that no command has expected, and write the last line about it."""
    if has_only(error, KeyboardInterrupt):
        return Status.INTERRUPTED
    if has_only(error, BrokenPipeError):
        return leave_quietly()
    inner = error
    while isinstance(inner, BaseExceptionGroup):
        inner = inner.exceptions[0]
    if has_only(error, OSError):
        assert isinstance(inner, OSError), "the first of those in the group"
        if inner.errno in FULL:
            leave_quietly()
            last_line(f"coind: {inner.filename or 'the output'} can't be written: {inner.strerror}")
            return Status.DISK
        if inner.filename is not None:
            last_line(f"coind: {inner.filename}: {inner.strerror}")
            return Status.DISK
    if has_only(error, MemoryError):
        last_line("coind: memory is used up. Give the node more, or turn off plugins with --disable")
        return Status.BUG
    report(error)
    advice = NODE_ADVICE if sys.argv[1:2] == ["run"] else ADVICE
    last_line(f"coind: an internal error ended this ({type(inner).__name__}). {advice}")
    return Status.BUG


def has_only(error: BaseException, kind: type[BaseException]) -> bool:
    """Return whether an error, or everything in a group of errors, is of a kind."""
    if isinstance(error, BaseExceptionGroup):
        return error.split(kind)[1] is None
    return isinstance(error, kind)


def report(error: BaseException) -> None:
    """Write the traceback to the log; where even that can't be loaded, as it is."""
    try:
        from rpc.log import Log

        Log("node").critical("internal error", exc_info=error)
    except Exception:
        traceback.print_exception(error)


def leave_quietly() -> int:
    """Return the status after the reader of the output has closed it (`| head -1`).

    stdout is redirected to nowhere, or Python would write what is buffered when it exits, and fail once more.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return Status.PIPE_CLOSED


if __name__ == "__main__":
    sys.exit(main())
