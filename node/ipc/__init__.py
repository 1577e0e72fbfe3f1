"""Messages between processes of one node, and the channel that carries them."""
