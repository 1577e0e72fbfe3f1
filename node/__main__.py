"""Starts the command line: `python -m node`."""

import os
import sys

INTERRUPTED = 130
PIPE_CLOSED = 141


def main() -> int:
    """Load the command line, which takes a moment in which Ctrl-C already works, and run it."""
    try:
        from node.command import main as command
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
    """Whoever reads what is printed has seen enough (`| head -1`): nothing more is written, not at the end either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return PIPE_CLOSED


if __name__ == "__main__":
    sys.exit(main())
