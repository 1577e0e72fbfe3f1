"""JSON-RPC: requests are dispatched to methods, whose replies take turns."""
