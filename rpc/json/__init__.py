"""JSON from the bytes of requests, and JSON as bytes."""
