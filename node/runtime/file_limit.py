"""The operating system's limit of open files, and the number of connections that it allows."""

import resource

from rpc.http.connection_limits import CONNECTIONS_MAX

# Descriptors reserved for the rest of the node: its files, its libraries, and connections that are closing.
RESERVED = 64


def room_for_connections() -> int:
    """Raise the limit of open files as far as needed and allowed. Return the number of connections that fit into it."""
    wanted = CONNECTIONS_MAX + RESERVED
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return CONNECTIONS_MAX if soft == resource.RLIM_INFINITY else max(1, min(CONNECTIONS_MAX, soft - RESERVED))
