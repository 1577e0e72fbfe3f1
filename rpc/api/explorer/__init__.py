"""explorer_api: methods for the explorer's pages that the reference doesn't have.

It is public. The cost of its calls is limited like that of all methods.
"""
