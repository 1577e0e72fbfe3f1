"""The only writer of a chain: it runs queued jobs one at a time, and can suspend a long one."""
