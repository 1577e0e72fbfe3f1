"""Copies of a chain: nodes that follow another one, processes that answer reads, and relays to brokers."""
