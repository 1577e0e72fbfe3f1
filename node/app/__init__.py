"""The node as a program: its settings, the context that its tasks share, the tasks, and the service."""
