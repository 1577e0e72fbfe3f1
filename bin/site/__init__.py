"""The docs as a site: `python -m bin.site --to DIR` (CONTRIBUTING.md)."""
