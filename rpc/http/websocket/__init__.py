"""WebSockets over HTTP/1.1: handshake, frames, and JSON-RPC sessions."""
