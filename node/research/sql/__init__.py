"""SQL queries on an export: DuckDB with a view for each kind of operation and each table, macros and a prompt. The export is read-only."""
