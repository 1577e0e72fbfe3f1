"""JSON decoding of requests, and JSON encoding."""
