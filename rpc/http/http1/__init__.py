"""Fast path for plain HTTP/1.1 POST requests, which nearly all clients send: parses requests and sends replies without hypercorn."""
