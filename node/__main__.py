"""Starts the command line: `python -m node`."""

import sys

INTERRUPTED = 130


def main() -> int:
    """Load the command line, which takes a moment in which Ctrl-C already works, and run it."""
    try:
        from node.command import main as command
        from node.logs import configure_logs

        configure_logs()
        return command()
    except KeyboardInterrupt:
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
