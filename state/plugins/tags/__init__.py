"""The plugin `tags`.

metadata     tags in the metadata of comments
rows         tables, scores
uses         counts of tags by author
view         entries in all orders, sums of tags, both derived from the tables on reading
plugin       the declaration TAGS, data of the plugin, its listeners and rules
lists        discussions, tags by score
"""
