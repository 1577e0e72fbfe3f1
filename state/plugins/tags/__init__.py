"""The plugin `tags`.

metadata     tags in the metadata of comments
rows         tables, scores
uses         counts of comments by author and tag
view         entries in all orders and totals per tag, both derived from the tables on reading
index        `Tags`, data of the plugin
portable     portable rows of the data
plugin       the declaration TAGS, its listeners and rules
lists        discussions, tags by score
"""
