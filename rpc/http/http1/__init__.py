"""Fast path for plain HTTP/1.1 POST, which nearly every client sends: heads and bodies of calls, and replies, without hypercorn."""
