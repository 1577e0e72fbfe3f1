"""JSON-RPC: dispatches requests to methods, and schedules their replies."""
