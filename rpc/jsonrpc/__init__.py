"""JSON-RPC: calls the methods that requests name, and schedules the replies."""
