"""HTTP/1.1 as nearly every client speaks it: heads and bodies of calls, and their replies, without hypercorn."""
