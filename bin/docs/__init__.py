"""Generated parts of docs/: `.venv/bin/python -m bin.docs` writes them from declarations."""
