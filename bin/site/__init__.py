"""Builds the docs as a website: `python -m bin.site --to DIR` (CONTRIBUTING.md)."""
