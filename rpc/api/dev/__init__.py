"""dev_api: control of a test chain. Served only on test chains and to clients on the same machine."""
