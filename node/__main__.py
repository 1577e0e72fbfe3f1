"""Entry point of the command line, `python -m node`. Determines the exit status after an interruption, a closed output, a full disk or a
bug.
"""

import errno
import os
import sys
import traceback

from node.runtime.errors import Status, last_line
from node.runtime.memory import tune_collector
from node.version import VERSION, VERSION_WORDS

STREAMS = (0, 1, 2)
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
ADVICE = "Please report the traceback above"
NODE_ADVICE = "Every acknowledged block is in the folder of --data. Start the node again, and please report the traceback above"


def main() -> int:
    """Load and run the command line, and return the exit status.

    The imports are inside the `try`: they take a quarter of a second, and Ctrl-C must not print a traceback during that time either. The
    garbage collector is tuned before the imports, because with its default thresholds it takes a tenth of the import time.
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
    """Open the null device for each standard stream that is closed.

    Otherwise the next opened file, for example the block log, gets the descriptor number of the stream, and libraries print into it.
    """
    for descriptor in STREAMS:
        try:
            os.fstat(descriptor)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            assert opened == descriptor, "open returns the lowest free number"
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def end_of(error: BaseException) -> int:
    """Print a final one-line message for an unexpected error, and return the exit status."""
    if has_only(error, KeyboardInterrupt):
        return Status.INTERRUPTED
    if has_only(error, BrokenPipeError):
        return leave_quietly()
    inner = error
    while isinstance(inner, BaseExceptionGroup):
        inner = inner.exceptions[0]
    if has_only(error, OSError):
        assert isinstance(inner, OSError), "every error of the group is one"
        if inner.errno in NO_SPACE:
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
    last_line(f"coind: stopped by an internal error ({type(inner).__name__}). {advice}")
    return Status.BUG


def has_only(error: BaseException, kind: type[BaseException]) -> bool:
    """Whether an error is an instance of `kind`, or is a group that contains only such errors."""
    if isinstance(error, BaseExceptionGroup):
        return error.split(kind)[1] is None
    return isinstance(error, kind)


def report(error: BaseException) -> None:
    """Log the traceback, or print it if the log can't be loaded."""
    try:
        from rpc.log import Log

        Log("node").critical("internal error", exc_info=error)
    except Exception:
        traceback.print_exception(error)


def leave_quietly() -> int:
    """Return the exit status for a closed output (`| head -1`).

    stdout is replaced by the null device, since flushing the rest of the buffer at exit would fail again.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return Status.PIPE_CLOSED


if __name__ == "__main__":
    sys.exit(main())
