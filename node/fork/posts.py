"""Reads posts of a source with their discussions, texts and votes.

database_api shows all columns. Nodes behind an indexer serve only condenser_api and bridge. Some indexers leave out members of
`get_content`, which are then computed from the votes (`complete`).
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from node.client.errors import RefusedCall
from node.fork.accounts import add, add_accounts, sort_accounts
from node.fork.rows import Parts, Reader
from node.fork.source import Source
from node.fork.spec import chunks, reader_of
from state.portable import Batch, CommentKey, PortableRow
from state.protocol.constants import COIN_100_PERCENT, COIN_MAX_PERMLINK_LENGTH, TIME_MAX
from state.protocol.values.text import is_valid_account_name, size

PAGE = 1000
DISCUSSION_MAX = 2000
VOTES_MAX, PEOPLE_MAX = 1000, 1000
PEOPLE = (("comments", "author"), ("comment_votes", "voter"))
POSTS_AT_ONCE = 500
# Levels of a discussion up to its root, and posts that one call of `read_posts` reads.
LEVELS_MAX, READ_MAX = 256, 50_000
LISTED_AT_ONCE, LISTED_MAX = 100, 10_000

FIND, LIST, VOTES = "database_api.find_comments", "database_api.list_comments", "database_api.find_votes"
CONTENT, REPLIES, DISCUSSION = "condenser_api.get_content", "condenser_api.get_content_replies", "bridge.get_discussion"
# Lists of an account's newest posts, with the member of the result that has the list.
NEWEST: tuple[tuple[str, str], ...] = (
    ("bridge.get_account_posts", ""),
    ("condenser_api.get_discussions_by_author_before_date", ""),
    ("tags_api.get_discussions_by_author_before_date", "discussions"),
)
BRIDGE_PAGE, NEVER = 20, "2038-01-19T03:14:07"


async def read_posts(source: Source, posts: Iterable[CommentKey], *, discussions: bool = True) -> Batch:
    """Read posts or replies with the posts that they reply to, or with their whole discussions. Their authors and voters are read as light
    accounts.

    Of each discussion at most DISCUSSION_MAX posts and replies are read, and of each of them at most VOTES_MAX votes. Posts that the source
    doesn't have are omitted. Raises RefusedCall, SourceSilent and SourceWrong.
    """
    reader = await reader_of(source)
    wanted = [key for key in dict.fromkeys(posts) if is_key(key)]
    is_complete = await source.has(FIND) and await source.has(VOTES)
    posts_of = _DatabasePosts(source, reader) if is_complete else _CondenserPosts(source, reader)
    await posts_of.read(wanted)
    if discussions:
        await posts_of.read_discussions()
    await posts_of.read_ancestors()
    batch = await posts_of.batch()
    # Their reputations are shown with the posts, and votes are in the order in which these accounts were created.
    authors, voters = (dict.fromkeys(row[column] for row in batch.get(table, ())) for table, column in PEOPLE)
    people = [name for name in {**authors, **voters} if is_valid_account_name(name)]
    await add_accounts(source, reader, batch, people[:PEOPLE_MAX], is_light=True)
    sort_accounts(batch)
    return batch


async def newest_posts(source: Source, account: str, count: int) -> list[CommentKey]:
    """Return the newest posts of an account, newest first, without replies. Raises RefusedCall, SourceSilent and SourceWrong."""
    reader = await reader_of(source)
    if not is_valid_account_name(account) or count <= 0:
        return []
    count = min(count, LISTED_MAX)
    refused: RefusedCall | None = None
    for method, key in NEWEST:
        if await source.has(method):
            try:
                return await _newest_by(source, reader, method, key, account, count)
            except RefusedCall as error:  # without the plugin, too
                refused = error
    if await source.has(LIST):
        return await _newest_by_permlink(source, reader, account, count)
    if refused is not None:
        raise refused
    reader.notes.add("newest posts of accounts: the source doesn't list them")
    return []


async def _newest_by(source: Source, reader: Reader, method: str, key: str, account: str, count: int) -> list[CommentKey]:
    found: dict[CommentKey, None] = {}
    while len(found) < count:
        start = next(reversed(found))[1] if found else ""
        if method.startswith("bridge."):
            page = min(BRIDGE_PAGE, count + 1)
            params: Any = {"sort": "posts", "account": account, "limit": page}
            params |= {"start_author": account, "start_permlink": start} if start else {}
        else:
            page = min(LISTED_AT_ONCE, count + 1)
            values = {"author": account, "start_permlink": start, "before_date": NEVER, "limit": page}
            params = list(values.values()) if method.startswith("condenser_api.") else values
        before = len(found)
        values_shown = reader.items(method, await source.call(method, params), key, page)
        for at, value in enumerate(values_shown):
            post = key_of(reader, method, value, f"{key}[{at}]")
            if post[0] == account:
                found[post] = None
        if len(values_shown) < page or len(found) == before:
            break
    return list(found)[:count]


async def _newest_by_permlink(source: Source, reader: Reader, account: str, count: int) -> list[CommentKey]:
    """Return the newest posts from the list of all posts and replies of an account, which is ordered by permlink."""
    found: dict[CommentKey, PortableRow] = {}
    start, listed = "", 0
    while listed < LISTED_MAX:
        reply = await source.call(LIST, {"start": [account, start], "limit": PAGE, "order": "by_permlink"})
        values = reader.items(LIST, reply, "comments", PAGE)
        rows = [reader.parts("comments", LIST, value, f"comments[{at}]")["row"] for at, value in enumerate(values)]
        own = [row for row in rows if row["author"] == account and row["permlink"] >= start]
        found |= {(account, row["permlink"]): row for row in own if not row["parent_author"]}
        listed += len(own)
        if len(own) < PAGE or own[-1]["permlink"] == start:
            break
        start = own[-1]["permlink"]
    else:
        reader.notes.add(f"posts of {account}: only the first {listed} in order of permlinks were looked at")
    return sorted(found, key=lambda key: (-found[key]["created"], key))[:count]


def is_key(key: CommentKey) -> bool:
    """Whether author and permlink can be those of a post."""
    author, permlink = key
    return is_valid_account_name(author) and 0 < size(permlink) <= COIN_MAX_PERMLINK_LENGTH


def key_of(reader: Reader, method: str, value: Any, member: str) -> CommentKey:
    """Return the author and permlink in the record of a post."""
    author, permlink = (value.get(name) for name in ("author", "permlink")) if type(value) is dict else (None, None)
    if type(author) is not str or type(permlink) is not str or not is_key((author, permlink)):
        raise reader.wrong(method, member, "it is not a post")
    return author, permlink


class _Posts(ABC):
    """Posts that are read from a source. `found` are their parts by key; those of a post that doesn't exist are None."""

    def __init__(self, source: Source, reader: Reader) -> None:
        self._source, self._reader = source, reader
        self.found: dict[CommentKey, Parts | None] = {}
        self.votes: dict[CommentKey, list[tuple[str, PortableRow]]] = {}
        self._roots: dict[CommentKey, CommentKey] = {}
        self._ids: dict[CommentKey, int] = {}  # of the source's rows, which are in the order in which they were written

    @abstractmethod
    async def read(self, keys: Sequence[CommentKey]) -> None:
        """Read posts."""

    @abstractmethod
    async def members(self, root: CommentKey, count: int) -> list[CommentKey]:
        """Read the `count` posts of a discussion, or only their keys. Return the keys of those that the source lists."""

    @abstractmethod
    async def read_votes(self) -> None:
        """Read the votes on all posts."""

    async def read_discussions(self) -> None:
        """Read the whole discussions of the posts that were read."""
        await self.read_ancestors()
        for root in dict.fromkeys(self._roots.values()):
            parts = self.found[root]
            assert parts is not None
            count = 1 + parts["row"]["children"]
            if count == 1:
                continue
            members = (await self.members(root, count))[:DISCUSSION_MAX]
            await self.read(members)
            if len(members) < count:
                self._reader.notes.add(f"discussion of {root[0]}/{root[1]}: {len(members)} of {count} posts and replies were read")

    async def read_ancestors(self) -> None:
        """Read the posts that posts reply to, up to the roots. Drop replies to posts that the source doesn't have."""
        for _ in range(LEVELS_MAX):
            wanted = {parent for parts in self.found.values() if parts is not None and (parent := _parent(parts)) is not None}
            missing = sorted(wanted - self.found.keys())
            if not missing or len(self.found) + len(missing) > READ_MAX:
                break
            await self.read(missing)
        below: dict[CommentKey | None, list[CommentKey]] = {}
        for key, parts in self.found.items():
            if parts is not None:
                below.setdefault(_parent(parts), []).append(key)
        level = below.pop(None, [])
        self._roots = {root: root for root in level}
        while level:
            replies = {key: self._roots[above] for above in level for key in below.pop(above, ())}
            self._roots |= replies
            level = list(replies)
        for key in self.found.keys() - self._roots.keys():
            self.found[key] = None

    async def batch(self) -> Batch:
        """Return the rows of the posts, their texts and their votes, in the order in which they were written."""
        await self.read_votes()
        batch: Batch = {}
        known = {key: parts for key, parts in self.found.items() if parts is not None}
        for key in sorted(known, key=lambda key: (known[key]["row"]["created"], self._ids[key], known[key]["row"]["depth"], key)):
            parts = known[key]
            row = parts["row"]
            row["root_comment"] = self._roots[key]
            votes = self.votes.get(key, [])
            complete(row, [vote for _, vote in votes])
            add(batch, "comments", row)
            add(batch, "comment_contents", {"comment": key, **parts["texts"]})
            for voter, vote in votes[:VOTES_MAX]:
                add(batch, "comment_votes", {"comment": key, "voter": voter, **vote})
        return batch

    def keep(self, key: CommentKey, value: dict[str, Any], parts: Parts) -> None:
        """Keep the parts of a post that were read from the record `value`."""
        self.found[key] = parts
        number = value.get("id")
        self._ids[key] = number if type(number) is int else 0


def _parent(parts: Parts) -> CommentKey | None:
    """Return the post that a reply replies to, or None for a post."""
    row = parts["row"]
    author = row.get("parent_author", "")
    return (author, row.get("parent_permlink", "")) if author else None


class _DatabasePosts(_Posts):
    """Posts from database_api."""

    async def read(self, keys: Sequence[CommentKey]) -> None:
        missing = [key for key in keys if key not in self.found]
        # Nodes differ in the name of the argument.
        calls = [
            (FIND, {"start": part, "limit": PAGE, "order": "by_permlink", "comments": part}) for part in chunks(missing, POSTS_AT_ONCE)
        ]
        for reply in await self._source.batch(calls):
            self._add(FIND, reply)
        for key in missing:
            self.found.setdefault(key, None)

    async def batch(self) -> Batch:
        """Return the rows. Nodes whose indexer keeps the texts show posts without them; the texts then come from `get_content`."""
        bare = [key for key, parts in self.found.items() if parts is not None and not parts["texts"]["body"]]
        if bare and await self._source.has(CONTENT):
            indexed = _CondenserPosts(self._source, self._reader)
            await indexed.read(bare)
            for key in bare:
                parts, shown = self.found[key], indexed.found[key]
                if parts is not None and shown is not None:
                    parts["texts"] = shown["texts"]
        return await super().batch()

    async def members(self, root: CommentKey, count: int) -> list[CommentKey]:
        if not await self._source.has(LIST):
            return await _bridge_members(self._source, self._reader, root)
        found: dict[CommentKey, None] = {}
        start: CommentKey = ("", "")
        while len(found) < DISCUSSION_MAX:
            # The list continues with other discussions. Each page but the first begins with the last post of the page before.
            limit = max(1, min(PAGE, count - len(found) + 1))
            try:
                reply = await self._source.call(LIST, {"start": [*root, *start], "limit": limit, "order": "by_root"})
            except RefusedCall:  # without the index
                return await _bridge_members(self._source, self._reader, root)
            keys = self._add(LIST, reply, root)
            is_last = len(keys) < limit or len(found) >= count or keys[-1] in found
            found |= dict.fromkeys(keys)
            if is_last:
                break
            start = keys[-1]
        return list(found)

    async def read_votes(self) -> None:
        reader = self._reader
        keys = [key for key, parts in self.found.items() if parts is not None]
        calls = [(VOTES, {"author": author, "permlink": permlink}) for author, permlink in keys]
        for key, reply in zip(keys, await self._source.attempt(calls), strict=True):
            if isinstance(reply, RefusedCall):  # the post was deleted meanwhile
                continue
            for at, value in enumerate(reader.items(VOTES, reply, "votes", VOTES_MAX)):
                parts = reader.parts("comment_votes", VOTES, value, f"votes[{at}]")
                if (parts["comment"]["author"], parts["comment"]["permlink"]) == key:
                    self.votes.setdefault(key, []).append((parts["extras"]["voter"], parts["row"]))

    def _add(self, method: str, reply: Any, root: CommentKey | None = None) -> list[CommentKey]:
        """Add the posts in a reply, only those with the root `root` if it is given. Return their keys."""
        keys = []
        for at, value in enumerate(self._reader.items(method, reply, "comments", PAGE)):
            member = f"comments[{at}]"
            parts = self._reader.parts("comments", method, value, member)
            if root is not None and (parts["root"]["author"], parts["root"]["permlink"]) != root:
                break
            key = key_of(self._reader, method, value, member)
            self.keep(key, value, parts)
            keys.append(key)
        return keys


class _CondenserPosts(_Posts):
    """Posts from condenser_api, whose records contain the votes."""

    async def read(self, keys: Sequence[CommentKey]) -> None:
        missing = [key for key in keys if key not in self.found]
        replies = await self._source.attempt([(CONTENT, list(key)) for key in missing])
        for key, reply in zip(missing, replies, strict=True):
            self.found[key] = None
            # Nodes answer with an empty record if there is no such post, indexers with an error.
            if type(reply) is dict and reply.get("author"):
                self._add(key, reply)
            elif not isinstance(reply, RefusedCall | dict):
                raise self._reader.wrong(CONTENT, "", "it is not a post")

    async def members(self, root: CommentKey, count: int) -> list[CommentKey]:
        if await self._source.has(DISCUSSION):
            # It ends at 50 levels and 500 posts.
            members = await _bridge_members(self._source, self._reader, root)
            if len(members) >= min(count, DISCUSSION_MAX) or not await self._source.has(REPLIES):
                return members
        found, level = {root: None}, [root]
        while level and len(found) < DISCUSSION_MAX:
            replies = await self._source.batch([(REPLIES, list(key)) for key in level])
            below = [
                key_of(self._reader, REPLIES, value, f"[{at}]")
                for reply in replies
                for at, value in enumerate(self._reader.items(REPLIES, reply))
            ]
            level = [key for key in dict.fromkeys(below) if key not in found][: DISCUSSION_MAX - len(found)]
            found |= dict.fromkeys(level)
        return list(found)

    async def read_votes(self) -> None:
        """Do nothing: the votes came with the posts."""

    def _add(self, key: CommentKey, value: dict[str, Any]) -> None:
        reader = self._reader
        if type(value.get("json_metadata")) is dict:  # parsed by an indexer
            value = value | {"json_metadata": json.dumps(value["json_metadata"])}
        parts = reader.parts("discussions", CONTENT, value)
        row = parts["row"]
        if key_of(reader, CONTENT, value, "") != key:
            raise reader.wrong(CONTENT, "permlink", f"it is not {key[0]}/{key[1]}")
        row["cashout_time"] = parts["extras"]["cashout_time"]
        parts["texts"]["body"] = parts["extras"]["body"]
        self.keep(key, value, parts)
        for at, vote in enumerate(reader.items(CONTENT, value.get("active_votes", []))):
            shown = reader.parts("discussion_votes", CONTENT, vote, f"active_votes[{at}]")
            self.votes.setdefault(key, []).append((shown["extras"]["voter"], shown["row"]))


async def _bridge_members(source: Source, reader: Reader, root: CommentKey) -> list[CommentKey]:
    """Return the keys of a discussion's posts, or only that of its root if the source doesn't list them."""
    if not await source.has(DISCUSSION):
        return [root]
    reply = await source.call(DISCUSSION, {"author": root[0], "permlink": root[1]})
    if type(reply) is not dict:
        raise reader.wrong(DISCUSSION, "", "it is not an object")
    return [key_of(reader, DISCUSSION, value, at) for at, value in reply.items()]


def complete(row: PortableRow, votes: Sequence[PortableRow]) -> None:
    """Add the columns that an indexer leaves out to the row of a post: those that are computed from its votes, and usual values."""
    for vote in votes:
        # Curators share by weight. Without the weights, they share by the strength of their votes.
        vote.setdefault("weight", max(0, vote["rshares"]))
        vote.setdefault("last_update", row["created"])
    rshares = [vote["rshares"] for vote in votes]
    is_paid = row["cashout_time"] == TIME_MAX
    for column, value in (
        ("parent_permlink", row["category"]),
        ("active", row["created"]),
        ("net_rshares", 0 if is_paid else sum(rshares)),
        ("abs_rshares", 0 if is_paid else sum(map(abs, rshares))),
        ("vote_rshares", 0 if is_paid else sum(value for value in rshares if value > 0)),
        ("total_vote_weight", 0 if is_paid else sum(vote["weight"] for vote in votes)),
        ("net_votes", sum((value > 0) - (value < 0) for value in rshares)),
        ("reward_weight", COIN_100_PERCENT),
    ):
        row.setdefault(column, value)
