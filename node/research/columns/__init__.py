"""Converts operations and table rows to Arrow columns."""
