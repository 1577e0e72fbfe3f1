"""Clients of other people against nodes of ours: `bin/test clients`. Nothing here is part of the usual tests."""
