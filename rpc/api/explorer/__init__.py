"""explorer_api: methods for the explorer's pages that the reference doesn't have.

The group is public. The cost of its calls is limited like the cost of all methods.
"""
