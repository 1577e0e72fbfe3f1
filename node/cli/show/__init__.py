"""`coind show`: looks at a chain through a node. It asks only methods that every node of the family has."""
