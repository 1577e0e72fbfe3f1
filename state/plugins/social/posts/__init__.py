"""Posts: `placement` indexes them, `lists` has the reads."""
