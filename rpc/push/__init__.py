"""What the node sends unasked: notices to the subscribers of a WebSocket, and streams of blocks. It knows neither sockets nor HTTP.

`hub` watches the chain while anybody listens, `session` holds the subscriptions and the waiting notices of one WebSocket, `stream`
reads blocks for one reader, `operations` collects what a block does.
"""
