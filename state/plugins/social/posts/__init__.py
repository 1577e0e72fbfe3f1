"""Posts: `placement` indexes them, `lists` contains the reads."""
