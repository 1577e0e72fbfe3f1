"""Entry point of the command line, for `python -m coind` and for the installed command `coind`."""

import sys

from node.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
