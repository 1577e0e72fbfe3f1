"""Reports of a chain up to a block: one HTML page with charts and their numbers, which works offline."""
