"""HTTP and WebSocket: connections with their limits, a fast path for calls, and hypercorn for everything else."""
