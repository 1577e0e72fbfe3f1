"""Replicas: events of another node's chain, applied to the own chain."""
