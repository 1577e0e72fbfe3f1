"""Entry point of the command line: both of `python -m coind` and of the installed command `coind`."""

import sys

from node.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
