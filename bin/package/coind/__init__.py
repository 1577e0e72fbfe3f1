"""coind, a node of a Steem-family blockchain. Use `coind.testing` in test suites, `coind.data` in scripts, and `coind run` to run a node.

Everything else in this package is private, and can change without notice.
"""
