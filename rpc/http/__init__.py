"""HTTP and WebSocket: connections and their limits, and three doors behind them.

The fast path (`http1`) answers calls. A WebSocket session (`websocket`) answers calls and sends notices. Hypercorn has everything else:
`asgi_app` answers the calls that the fast path leaves, and `web_app`, the app of Quart, has pages, files and block streams.
docs/architecture.md has a picture.
"""
