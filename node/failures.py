"""Errors that end a command with a sentence for the user in place of a traceback."""


class NodeError(Exception):
    """The node can't do its task; the text tells the user why."""


class FileError(NodeError):
    """A file of blocks can't be read any further; the text says where and why."""
