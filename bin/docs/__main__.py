"""Writes the generated parts of docs/ from declarations: the pages of docs/api, and tables of other pages."""

import sys

from bin.docs import api
from bin.docs.generated_tables import MarkerError, write

if __name__ == "__main__":
    api.write()
    try:
        write()
    except MarkerError as error:
        sys.exit(f"bin.docs: {error}")
