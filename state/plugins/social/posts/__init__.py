"""Posts: `placement` indexes them, `lists` reads them."""
