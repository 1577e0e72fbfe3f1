"""Communities: `actions` applies their operations, `lists` has the reads."""
