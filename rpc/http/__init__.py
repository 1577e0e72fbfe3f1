"""HTTP and WebSocket: client connections and their limits, and the three servers that answer requests on them.

The fast path (`http1`) answers calls. A WebSocket session (`websocket`) answers calls and sends notices. Hypercorn serves everything else:
`asgi_app` answers the calls that the fast path doesn't handle, and `web_app`, the Quart app, serves pages, files and block streams.
docs/architecture.md contains a diagram.
"""
