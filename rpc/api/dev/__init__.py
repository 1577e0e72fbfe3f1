"""dev_api: driving a chain that is made for tests. For programs on the same machine only, and served on no other chain."""
