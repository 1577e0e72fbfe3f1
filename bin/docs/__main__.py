"""Writes what of docs/ is made from declarations: the pages of docs/api, and the tables of other pages."""

import sys

from bin.docs import api
from bin.docs.marked import PlaceError, write

if __name__ == "__main__":
    api.write()
    try:
        write()
    except PlaceError as error:
        sys.exit(f"bin.docs: {error}")
