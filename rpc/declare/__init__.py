"""Declarations of RPC methods, their arguments, the records of their replies, and their errors."""
