"""The plugin `follow`.

operations   the operations inside custom operations with the id `follow`
rows         tables of relations, data of the plugin
feeds        blogs and feeds
portable     portable rows of the data
plugin       the declaration FOLLOW, its listeners and rules
lists        reads, also known_reputations
"""
