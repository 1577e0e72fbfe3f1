"""Chains as data: a library for scripts, exports, SQL and reports."""
