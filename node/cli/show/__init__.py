"""`coind show`: prints the state of a chain. It calls only methods that every node of the family has."""
