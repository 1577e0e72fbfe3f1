"""Control of a dev chain: block modes, automine, time, savepoints, dumps and first blocks."""
