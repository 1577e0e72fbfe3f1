"""SQL queries on an export: DuckDB with a view for each kind and table, macros and a prompt. The export is read-only."""
