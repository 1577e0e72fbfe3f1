"""The plugins' rows of a copy: read with the pages of accounts and comments, and again for those that later blocks name."""

from collections.abc import Collection, Iterable
from typing import Any

from node.fork.complete.listings import CREDITS, REPUTATIONS, ROWS_OF_PAGE, Unit
from node.fork.complete.world import Named
from node.fork.fetch import add_rows
from node.fork.plugins import add_plugin_rows, read_plugin_world
from node.fork.social import all_communities, read_communities, read_reblogs
from node.fork.source import Source
from state.portable import Batch, PortableRow

GIVEN = ("accounts", "account_authorities", "comments", "comment_contents")
KEYS, NOTICES, REBLOGS = "account_by_key/references", "communities/notifications", "communities/reblogs"
# The columns with the account or the comment of rows. Notices can be of both, and reblogs are read at the end.
OWNERS = {
    "rc/accounts": ("account",),
    "reputation/rows": ("account",),
    "follow/follows": ("follower",),
    "follow/counts": ("account",),
    "follow/blogs": ("account",),
    "follow/feeds": ("account",),
    "follow/authors": ("blogger",),
    "tags/authors": ("author",),
    "tags/tagged": ("author", "permlink"),
    "communities/subscriptions": ("account",),
    "communities/last_reads": ("account",),
    "communities/posts": ("author", "permlink"),
}


class PluginRows:
    """The rows of plugins that were read."""

    def __init__(self, source: Source, community_prefix: str) -> None:
        self._source, self._prefix = source, community_prefix
        self._found: Batch = {}
        self._reblogs: list[PortableRow] = []
        self._chain_rows: Batch = {}

    async def read(self, batch: Batch) -> Batch:
        """Return the plugins' rows about the accounts and comments of a batch."""
        given = {table: list(batch[table]) for table in GIVEN if batch.get(table)}
        await add_plugin_rows(self._source, given, is_complete=True)
        return {name: rows for name, rows in given.items() if is_section(name)}

    def add(self, batch: Batch) -> None:
        """Add the plugins' rows of a batch."""
        add_rows(self._found, {name: rows for name, rows in batch.items() if is_section(name)})

    async def read_again(self, batch: Batch) -> None:
        """Replace the rows about the accounts and comments of a batch."""
        for at in range(0, max(map(len, batch.values()), default=0), ROWS_OF_PAGE):
            part = {table: rows[at : at + ROWS_OF_PAGE] for table, rows in batch.items()}
            owners: set[Any] = {row["name"] for row in part.get("accounts", ())}
            owners |= {(row["author"], row["permlink"]) for row in part.get("comments", ())}
            found = await self.read(part)
            for name, columns in OWNERS.items():
                rows = self._found.get(name, [])
                self._found[name] = [row for row in rows if owner_of(row, columns) not in owners]
            notices = self._found.get(NOTICES, [])
            self._found[NOTICES] = [
                row
                for row in notices
                if (row["author"], row["permlink"]) not in owners and (row["dst"] not in owners or row["dst"].startswith(self._prefix))
            ]
            self.add(found)

    async def read_chain(self, names: Collection[str], changed: Collection[str] | None = None) -> None:
        """Read the rows about the whole chain, its communities and reblogs. `names` are those of all accounts. With `changed`, the reblogs
        of other accounts were read before.
        """
        found = await read_plugin_world(self._source, is_complete=True)
        found |= await read_communities(self._source, await all_communities(self._source), sorted(names))
        self._chain_rows = found
        changed = names if changed is None else changed
        kept = [row for row in self._reblogs if row["account"] not in changed]
        self._reblogs = kept + (await read_reblogs(self._source, self.batch(), changed)).get(REBLOGS, [])

    def affected(self, named: Named) -> set[str]:
        """Return the accounts that are named, and the followers of those, because posts come into their feeds."""
        followers = {row["follower"] for row in self._found.get("follow/follows", ()) if row["following"] in named.accounts}
        return named.accounts | followers

    def batch(self) -> Batch:
        """Return all rows."""
        found: Batch = {}
        add_rows(found, self._found)
        add_rows(found, self._chain_rows)
        found[REBLOGS] = list(self._reblogs)
        if KEYS in found:
            names: dict[bytes, set[str]] = {}
            for row in found[KEYS]:
                names.setdefault(row["key"], set()).update(row["accounts"])
            found[KEYS] = [{"key": key, "accounts": tuple(sorted(using))} for key, using in names.items()]
        return found


def units_of(names: Iterable[str]) -> set[Unit]:
    """Return the units of plugins' rows about accounts that are compared while blocks are applied."""
    return {(listing.table, (name,)) for name in names for listing in (CREDITS, REPUTATIONS)}


def is_section(name: str) -> bool:
    """Whether a table of a batch belongs to a plugin."""
    return "/" in name


def owner_of(row: PortableRow, columns: tuple[str, ...]) -> Any:
    """Return the account or the comment that a plugin's row is about."""
    return row[columns[0]] if len(columns) == 1 else tuple([row[column] for column in columns])
