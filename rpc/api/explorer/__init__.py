"""explorer_api: what the pages of the explorer need beyond the methods that every node of the family has. Everybody may call it; what it
costs is bounded as with all methods.
"""
