"""Notices to WebSocket subscribers, and block streams. Independent of sockets and HTTP.

`hub` publishes chain events. `session` holds the subscriptions and queued notices of one WebSocket. `stream` reads blocks for one client.
`operations` collects the operations of blocks.
"""
