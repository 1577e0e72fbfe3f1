"""The memory of this process."""

import os

PAGE_SIZE = os.sysconf("SC_PAGE_SIZE")  # bytes; some ARM systems have 16 or 64 KiB


def memory_size() -> int:
    """Return the resident memory of this process in bytes, including shared pages, or 0 if the system doesn't report it."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * PAGE_SIZE
    except (OSError, ValueError, IndexError):
        return 0
