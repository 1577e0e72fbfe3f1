"""HTTP and WebSocket: connections and their limits, a fast path for calls, and hypercorn for everything else."""
