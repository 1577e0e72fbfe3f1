"""The plugin `tags`.

metadata     tags in the metadata of comments
rows         tables, scores
uses         counts of comments by author and tag
view         entries in all orders and totals per tag, both derived from the tables on reading
plugin       the declaration TAGS, data of the plugin, its listeners and rules
lists        discussions, tags by score
"""
