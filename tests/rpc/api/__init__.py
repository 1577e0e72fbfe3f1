"""Replies of the methods that no recorded case covers (tests/conformance/cases has most of them): limits, work units, and the project's own
methods.
"""
