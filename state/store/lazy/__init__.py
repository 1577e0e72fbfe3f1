"""Work that waits until somebody reads. Rules need no order of all rows, so that a write only marks what is **dirty**; a read **refreshes**
it, at most a **chunk** at a time where others wait.

order            LazyOrder: entries that are sorted when they are read; changed ones are dirty until then
dirty            DirtyRows: the rows of a table that have changed since something derived from them was read
incremental      ReadMode: whether a read refreshes everything at once, or raises NotReady and is refreshed chunk by chunk
background_load  BackgroundLoad: tables of a snapshot that are filled after the start, or at once when somebody looks

`Ordered(..., lazy=True)` and the views of plugins are made of these; `node/monitoring/warm_up.py` refreshes them before clients ask.
"""
