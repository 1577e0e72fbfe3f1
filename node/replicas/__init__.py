"""Copies of a chain: replicas that follow another node, reader processes, and relays to brokers."""
