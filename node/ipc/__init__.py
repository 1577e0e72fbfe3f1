"""Messages between the processes of a node, and the channel for them."""
