"""Complete copies: all rows of a source, page by page, made consistent with one block while the source makes further blocks."""
