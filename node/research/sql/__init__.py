"""Questions in SQL to an export: DuckDB with a view for each kind and table, macros, a prompt. Nothing writes into the export."""
