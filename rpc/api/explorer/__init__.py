"""explorer_api: methods for the explorer's pages in addition to those of all nodes of the family.

It is public, and its cost is limited like that of all methods.
"""
