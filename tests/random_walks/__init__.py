"""Random walks of a chain: the same events on chains that are driven in different ways lead to the same state."""
