"""Complete copies: all rows of a source, page by page, made consistent with one block while the source goes on making blocks."""
