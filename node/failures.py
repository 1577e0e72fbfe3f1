"""What ends a command with a sentence for the user instead of a traceback; nothing here knows why."""


class NodeError(Exception):
    """The node can't do what it was asked to; the text says why, to whoever started it."""


class FileError(NodeError):
    """A file of blocks can't be read on; the text says where and why."""
