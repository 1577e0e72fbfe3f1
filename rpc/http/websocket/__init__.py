"""WebSockets over HTTP/1.1: their handshake, their frames, and what is said over them."""
