"""The libraries' own test suites against our nodes: `bin/test clients suites`. A file NAME.toml declares each suite (declaration.py)."""
