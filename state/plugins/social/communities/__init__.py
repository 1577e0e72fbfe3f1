"""Communities: `actions` applies their operations, `lists` contains the reads."""
