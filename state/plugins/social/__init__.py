"""The social index, which is the plugin `communities`; `bridge` reads it.

rows            the tables
index           `Social`, all data of the plugin, and the time of an operation
facts           what it reads of the chain and of other plugins
scores          floating-point scores, shown reputations
plugin          the declaration COMMUNITIES, registration of accounts
communities/    community operations, lists of communities and roles
posts/          how posts come in, how they are ranked, lists of them
notifications/  how they are written, lists of them, their texts
"""
