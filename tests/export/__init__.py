"""Long tests of exports: all recorded cases and the workload compared with the chain, and repeatedly killed exports."""
