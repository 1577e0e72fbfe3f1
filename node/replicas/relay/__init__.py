"""Transfer of blocks through a broker (NATS JetStream): a relay that writes a node's blocks to the broker, and a reader that reads them
there.

Both run in separate processes, since the broker's library needs asyncio. A node never imports them.
"""
