"""Generates parts of docs/ from declarations: `.venv/bin/python -m bin.docs`."""
