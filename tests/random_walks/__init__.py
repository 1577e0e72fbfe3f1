"""Random walks: chains that process the same events in different ways must reach the same state."""
