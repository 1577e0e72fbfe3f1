"""Blocks through a broker, NATS JetStream: a relay that writes a node's blocks to it, and a reader of these blocks.

Both run in their own processes, since the broker's library needs asyncio. A node never imports them.
"""
