"""The worked notebooks of docs/notebooks, run with and without Jupyter."""
