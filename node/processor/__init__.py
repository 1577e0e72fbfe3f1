"""The one owner of a chain: jobs wait in a queue, run one at a time, and can be interrupted."""
