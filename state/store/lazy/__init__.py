"""Work that is postponed until the next read. Rules don't need the order of all rows, so a write only marks rows as **dirty**. A read
**refreshes** them, one **chunk** at a time if other requests wait.

order            LazyOrder: ids that are sorted by their entries when they are read; changed ones are dirty until then
sorted_ids       SortedIds: the ids of a lazy order, in buckets
order_cache      OrderCache: lazy orders of many scopes, for example of the posts under each tag
memory           QueryMemory: limits the memory of data that only queries read
dirty            DirtyRows, DirtyMarks: the rows and names that changed since a derived view last read them
incremental      ReadMode: whether a read refreshes everything at once, or raises NotReady and is refreshed chunk by chunk
background_load  BackgroundLoad: tables of a snapshot that are loaded after startup, or at the first access

`Ordered(..., lazy=True)` and the views of plugins use these; `node/monitoring/warm_up.py` refreshes them before clients read.
"""
