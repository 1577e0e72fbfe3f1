"""The search for the dearest transaction, call and block: `bin/test dearest` (docs/limits.md)."""
