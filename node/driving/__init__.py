"""How a node's chain is driven: when blocks are made, and how its time runs."""
