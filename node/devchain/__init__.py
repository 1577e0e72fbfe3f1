"""Control of a dev chain: block modes, automine, time, savepoints, dumps, and the first blocks of a new chain."""
