"""Blocks sent through a broker (NATS JetStream): a relay that writes a node's blocks to the broker, and a reader of these blocks.

Both run in separate processes, since the broker's library needs asyncio. A node never imports them.
"""
