"""Decodes the JSON of requests, and encodes JSON."""
