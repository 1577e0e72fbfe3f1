"""Starts the command line: `python -m node`. Knows how a process ends when it is interrupted or its output is closed."""

import os
import sys

INTERRUPTED = 130
PIPE_CLOSED = 141


def main() -> int:
    """Load the command line and run it; returns the status of the process.

    The imports are inside, since they take a moment: Ctrl-C in it should end the process without a traceback as well.
    """
    try:
        from node.commands.app import main as command
        from node.logs import configure_logs

        configure_logs()
        return command()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return leave_quietly()
    except BaseExceptionGroup as group:
        if group.split(BrokenPipeError)[1] is not None:
            raise
        return leave_quietly()


def leave_quietly() -> int:
    """Return the status after the reader of the output has closed it (`| head -1`).

    stdout is redirected to nowhere, or Python would write what is buffered when it exits, and fail once more.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return PIPE_CLOSED


if __name__ == "__main__":
    sys.exit(main())
