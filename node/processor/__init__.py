"""The only writer of a chain: runs queued jobs one at a time, and can preempt a long one."""
