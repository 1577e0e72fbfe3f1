"""The public command: what a client that signs wrongly reads over HTTP, and what the node lists afterwards."""
