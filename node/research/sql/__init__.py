"""SQL queries on an export: a read-only DuckDB that has a view for each kind of operation and each table, macros, and a prompt."""
