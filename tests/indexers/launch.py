"""Starts hivemind on a local chain. hivemind's own Python runs this file with the arguments of its command `hive`.

Three values in hivemind's memory are changed, and nothing in its code:

- Its first start fails, because it looks for an index that its schema doesn't have, to drop it during the first sync. Here it drops none.
- It ignores operations on communities before the main network's block 37,500,000. Here it reads them from block 1.
- It registers only communities of type 1. With COMMUNITY_TYPES it registers those of other types too.

`collections.Iterable` is for jsonrpcserver 4.0.1, which hivemind requires, and which was written before Python 3.10.
"""

import collections
import collections.abc
import os
import re
from types import SimpleNamespace
from typing import Any

import hive.cli

TYPES = os.environ.get("COMMUNITY_TYPES", "1")


def match(pattern: str, text: str) -> re.Match[str] | None:
    """Replacement for `re.match` in the module `hive.indexer.community`. In the pattern for the names of new communities, it inserts the
    chosen types.
    """
    return re.match(pattern.replace("hive-[1]", f"hive-[{TYPES}]"), text)


def launch(mode: str, conf: Any) -> None:
    """Patch hivemind, and start it. Its modules are imported only here, because importing them requires its database."""
    if mode == "sync":
        from hive.db.db_state import DbState
        from hive.indexer import community, custom_op

        DbState._disableable_indexes = list
        custom_op.START_BLOCK = 0
        community.re = SimpleNamespace(match=match, sub=re.sub)
    start(mode, conf)


collections.Iterable = collections.abc.Iterable  # type: ignore[attr-defined]
start = hive.cli.launch_mode
hive.cli.launch_mode = launch
hive.cli.run()
