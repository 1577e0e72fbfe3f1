"""Fast path for plain HTTP/1.1 POST, which nearly every client sends: heads of calls, their bodies, and replies, without hypercorn."""
