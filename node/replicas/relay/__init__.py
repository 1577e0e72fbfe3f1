"""Blocks through a broker, NATS JetStream: a relay that puts a node's blocks there, and a reader that takes them from there.

Both are processes of their own, since the broker's library is asyncio's; no node imports this.
"""
