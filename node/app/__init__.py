"""The node as a program: settings, the context that its tasks share, the tasks, and the service."""
