"""Long checks of exports: all recorded cases and the workload against the chain itself, and exports that are killed again and again."""
