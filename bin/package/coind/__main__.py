"""Starts the command line: `python -m coind`, and the command `coind` of an installed package."""

import sys

from node.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
