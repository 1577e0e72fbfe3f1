"""The social index, the plugin `communities`, which the methods of `bridge` read.

rows                tables
index               `Social`, data of the plugin, time of an operation
chain_reader        reads of the chain and of other plugins
community_payloads  checks of community operations
post_metadata       tags, profiles and ratings of posts
ranked_posts        view of unpaid posts, lists of posts in all orders
root_posts          ids of all root posts, for lists that contain paid posts
scores              floating-point scores, displayed reputations
portable            portable rows of the data
plugin              the declaration COMMUNITIES, registration of accounts
communities/        community operations, lists of communities and roles
posts/              indexing of posts, lists of posts
notifications/      writing of notifications, their lists and texts
"""
