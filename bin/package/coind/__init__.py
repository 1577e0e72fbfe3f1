"""coind, a node of a Steem-family blockchain: `coind.testing` for test suites, `coind.data` for scripts, `coind run` for a node.

Everything else in this package is private, and can change without notice.
"""
