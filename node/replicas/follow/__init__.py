"""Replicas: they apply the events of another node's chain to their own chain."""
