"""Chain data for analysis: a library for scripts, exports, SQL queries and reports."""
