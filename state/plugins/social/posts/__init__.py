"""Posts: `placement` takes them in, `texts` reads their metadata, `view` ranks them, `lists` reads."""
