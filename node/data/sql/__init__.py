"""Questions in SQL to an export: a DuckDB with a view for each kind and table, macros, and a prompt. Nothing here writes into the export."""
