"""`coind show`: prints the state of a chain, using only methods that every node of the family has."""
