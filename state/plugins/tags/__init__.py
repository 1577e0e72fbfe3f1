"""The plugin `tags`.

metadata     the tags that a comment names
rows         the tables, and the scores
view         entries in all orders, and the sums of tags, made from the tables when they are read
plugin       the declaration TAGS, all data of the plugin, its listeners and rules
lists        discussions, tags by score
"""
