"""The plugin `follow`.

operations   what custom operations with the id `follow` hold
rows         the tables of relations, and all data of the plugin
feeds        blogs and feeds
plugin       the declaration FOLLOW, its listeners and rules
lists        what is read, also known_reputations
"""
