"""Searches for the most expensive transaction, call and block: `bin/test dearest` (docs/limits.md)."""
