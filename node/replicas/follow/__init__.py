"""Following another node: what happens on its chain, as events, applied to a chain of our own."""
