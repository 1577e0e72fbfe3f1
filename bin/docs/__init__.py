"""What of docs/ is made from declarations: `.venv/bin/python -m bin.docs` writes it."""
