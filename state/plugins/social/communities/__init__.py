"""Communities: `actions` applies operations, `lists` reads."""
