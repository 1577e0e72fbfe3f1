"""JSON-RPC: parses requests, calls the methods that they name, and schedules the replies."""
