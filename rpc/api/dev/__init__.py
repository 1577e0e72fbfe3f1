"""dev_api: driving a chain that is made for tests, and looking into it."""
