"""Reads the data of plugins from a source: resource credits, reputations, relations, blogs, feeds, tags, keys, trades.

social.py reads communities. Most sections are read by methods of `condenser_api`, which every node of the family serves. Sections
that a source doesn't serve are derived when the rows are imported, and a note says so.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from node.fork.accounts import NAMES_AT_ONCE, add_accounts
from node.fork.plugin_calls import Listing, PluginCalls, extend, together
from node.fork.resources import RESOURCE_PARAMETERS, RESOURCE_POOLS, pools_in, resources_in
from node.fork.rows import Parts
from node.fork.social import add_reblogs, add_social_rows
from node.fork.source import Source
from node.fork.spec import chunks, reader_of
from state.plugins.follow.rows import WORDS
from state.plugins.market_history import BUCKET_SIZES
from state.portable import Batch, PortableRow
from state.protocol.constants import TIME_MAX
from state.protocol.keys.keys import public_key_text
from state.protocol.values.asset import SBD, Asset
from state.protocol.values.text import time_text

KEYS_AT_ONCE, ACCOUNTS_AT_ONCE, POSTS_AT_ONCE = 100, 100, 100
RELATIONS_PAGE, AUTHORS_MAX, TAGS_PAGE, TRADES_PAGE, REPUTATIONS_PAGE = 1000, 2000, 100, 1000, 1000
ENTRIES_PAGE, NEWEST_ENTRIES, REBLOGGERS_MAX = 500, 100, 10_000
TAGS_USED_MAX, TRADES_MAX = 1000, 10_000_000
LAST_TIME = 2**31 - 1

FIND_RC, REPUTATIONS = "rc_api.find_rc_accounts", "condenser_api.get_account_reputations"
KEY_REFERENCES, CONTENT = "condenser_api.get_key_references", "condenser_api.get_content"
TAGS_USED, TRENDING_TAGS = "condenser_api.get_tags_used_by_author", "condenser_api.get_trending_tags"
COUNTS, AUTHORS = "condenser_api.get_follow_count", "condenser_api.get_blog_authors"
BLOG, FEED = "condenser_api.get_blog_entries", "condenser_api.get_feed_entries"
BUCKETS, TRADES = "condenser_api.get_market_history", "condenser_api.get_trade_history"
RECENT_TRADES = "condenser_api.get_recent_trades"


def entries_listing(section: str, method: str, size: int) -> Listing:
    """Return the listing of the entries of blogs or feeds, newest first."""
    return Listing(section, method, lambda name, start: [name, start, size], lambda parts: parts["entry"]["number"], 0, size)


TOTALS = Listing("tags/totals", TRENDING_TAGS, lambda name, start: [start, TAGS_PAGE], lambda parts: parts[""]["tag"], "", TAGS_PAGE)


async def add_plugin_rows(source: Source, batch: Batch, *, is_complete: bool = False) -> None:
    """Add the rows of plugins about the accounts and comments of a batch to it. For light accounts, only a few are read.

    Communities that the posts belong to are added as light accounts. With `is_complete`, lists are read to their end, otherwise only their
    first page. Raises SourceSilent and SourceWrong.
    """
    calls = PluginCalls(source, await reader_of(source), is_complete=is_complete)
    names = [row["name"] for row in batch.get("accounts", ())]
    full = [row for row in batch.get("accounts", ()) if not row.get("is_light")]
    comments = batch.get("comments", [])

    async def add_relations() -> None:
        for some in chunks(full, ACCOUNTS_AT_ONCE):
            await together(
                partial(add_follow_rows, calls, batch, some),
                partial(add_tags_of_authors, calls, batch, [row["name"] for row in some if row.get("post_count", 1)]),
            )
        if not is_complete:
            await add_blogs_of_posts(calls, batch, comments)

    async def add_social() -> None:
        places = [(row["author"], row["permlink"]) for row in comments]
        communities = set(await add_social_rows(calls, batch, [row["name"] for row in full], places)) - set(names)
        added: Batch = {}
        found = await add_accounts(source, calls.reader, added, sorted(communities), is_light=True) if communities else []
        await add_balances([row["name"] for row in found])
        for table, rows in added.items():
            extend(batch, table, rows)

    async def add_balances(some: list[str]) -> None:
        await together(partial(add_credits, calls, batch, some), partial(add_reputations, calls, batch, some))

    await together(add_relations, add_social, partial(add_balances, names), partial(add_tagged, calls, batch, comments))
    await add_key_references(calls, batch)
    if not is_complete:
        add_reblogs(batch)


OF_POSTS = ("follow/blogs", "follow/feeds", "communities/reblogs", "communities/notifications")


def without_posts(batch: Batch) -> Batch:
    """Remove the rows of plugins that refer to posts from a batch, and return them. They are imported after the posts."""
    return {section: batch.pop(section) for section in OF_POSTS if section in batch}


async def read_plugin_world(source: Source, *, is_complete: bool = False) -> Batch:
    """Read the rows of plugins that concern the whole chain: the market's trades, the newest or all, and the totals of tags.

    With `is_complete`, also read the resources and their pools, which are otherwise in the world. Raises RefusedCall, SourceSilent and
    SourceWrong.
    """
    calls = PluginCalls(source, await reader_of(source), is_complete=is_complete)
    batch: Batch = {}
    if is_complete and await calls.serves(RESOURCE_POOLS, "resource credits"):
        parameters, pools = await source.batch([(RESOURCE_PARAMETERS, {}), (RESOURCE_POOLS, {})])
        batch["rc/parameters"] = [{"resources": resources_in(calls.reader, RESOURCE_PARAMETERS, parameters)}]
        batch["rc/pools"] = [{"pools": pools_in(calls.reader, RESOURCE_POOLS, pools)}]
    if await calls.serves(BUCKETS, "trades of the market"):
        await add_market(calls, batch)
    if await calls.serves(TRENDING_TAGS, "totals of tags"):
        extend(batch, "tags/totals", (parts[""] for parts in (await calls.listed(TOTALS, [""]))[""]))
    return batch


# ------------------------------------------------------------------ accounts


async def add_credits(calls: PluginCalls, batch: Batch, names: Iterable[str]) -> None:
    """Add the resource credits of accounts."""
    if not await calls.serves(FIND_RC, "resource credits of accounts: they begin with full ones"):
        return
    asked = list(chunks(names, NAMES_AT_ONCE))
    for some, reply in await calls.of_each(asked, ((FIND_RC, {"accounts": some}) for some in asked)):
        rows = calls.reader.rows("rc/accounts", FIND_RC, reply, "rc_accounts")
        extend(batch, "rc/accounts", (row for row in rows if row["account"] in set(some)))


async def add_reputations(calls: PluginCalls, batch: Batch, names: Iterable[str]) -> None:
    """Add the reputations of accounts."""
    if not await calls.serves(REPUTATIONS, "reputations of accounts"):
        return
    wanted = sorted(set(names))
    size = REPUTATIONS_PAGE if calls.is_complete else 1
    while wanted:
        # Pages of a complete copy contain the accounts that follow, so that one call is enough for most names.
        part = wanted[:1] if calls.is_complete else wanted[:NAMES_AT_ONCE]
        last = part[-1]
        for name, reply in await calls.of_each(part, ((REPUTATIONS, [name, size]) for name in part)):
            rows = calls.reader.rows("reputation/rows", REPUTATIONS, calls.reader.items(REPUTATIONS, reply, "", size))
            known = set(wanted) if calls.is_complete else {name}
            extend(batch, "reputation/rows", (row for row in rows if row["account"] in known))
            last = max([last, *(row["account"] for row in rows)])
        wanted = [name for name in wanted if name > last] if calls.is_complete else wanted[len(part) :]


async def add_key_references(calls: PluginCalls, batch: Batch) -> None:
    """Add the accounts of the batch by key. The source's list can lack an account that has the key."""
    authorities = batch.get("account_authorities", [])
    if not authorities or not await calls.serves(KEY_REFERENCES, "accounts by key: they are derived from the authorities"):
        return
    names = {row["account"] for row in authorities}
    roles = [row[role] for row in authorities for role in ("owner", "active", "posting")]
    keys = list(dict.fromkeys(key for authority in roles for key, _ in authority.key_auths))
    extend(batch, "account_by_key/references", ())
    asked = list(chunks(keys, KEYS_AT_ONCE))
    prefix = calls.reader.spec.key_prefix
    replies = await calls.ask([(KEY_REFERENCES, [[public_key_text(key, prefix) for key in some]]) for some in asked])
    for some, reply in zip(asked, replies, strict=True):
        if reply is None:
            del batch["account_by_key/references"]
            return
        lists = calls.reader.items(KEY_REFERENCES, reply)
        if len(lists) != len(some):
            raise calls.reader.wrong(KEY_REFERENCES, "", f"it has {len(lists)} lists for {len(some)} keys")
        for key, using in zip(some, lists, strict=True):
            known = tuple(sorted(names.intersection(name for name in calls.reader.items(KEY_REFERENCES, using) if type(name) is str)))
            if known:
                extend(batch, "account_by_key/references", [{"key": key, "accounts": known}])


# ------------------------------------------------------------------ follow


async def add_follow_rows(calls: PluginCalls, batch: Batch, accounts: list[PortableRow]) -> None:
    """Add the relations, counts, blogs, feeds and reblogged authors of accounts.

    In a complete copy, which has all relations, the counts are derived from these. Only followers have a feed, and an account without
    posts, relations and a blog has reblogged nobody.
    """
    names = [row["name"] for row in accounts]
    if not calls.is_complete:
        await together(
            partial(add_relations, calls, batch, names),
            partial(add_counts, calls, batch, names),
            partial(add_entries, calls, batch, "follow/feeds", FEED, feed_row, names),
            partial(add_entries, calls, batch, "follow/blogs", BLOG, blog_row, names),
            partial(add_authors, calls, batch, names),
        )
        return
    followers = await add_relations(calls, batch, names)
    await add_entries(calls, batch, "follow/feeds", FEED, feed_row, [name for name in names if name in followers])
    bloggers = await add_entries(calls, batch, "follow/blogs", BLOG, blog_row, names)
    active = followers | bloggers | {row["name"] for row in accounts if row.get("post_count", 1)}
    await add_authors(calls, batch, [name for name in names if name in active])


async def add_relations(calls: PluginCalls, batch: Batch, names: list[str]) -> set[str]:
    """Add the relations of accounts. Return the accounts that follow or ignore others, or did."""
    relations = await followed(calls, names)
    extend(batch, "follow/follows", relations)
    return {row["follower"] for row in relations}


async def add_counts(calls: PluginCalls, batch: Batch, names: list[str]) -> None:
    """Add the numbers of followers and of followed accounts."""
    if await calls.serves(COUNTS, "numbers of followers"):
        for name, reply in await calls.of_each(names, ((COUNTS, [name]) for name in names)):
            extend(batch, "follow/counts", [calls.reader.row("follow/counts", COUNTS, reply) | {"account": name}])


async def add_entries(
    calls: PluginCalls, batch: Batch, section: str, method: str, make: Callable[[str, Parts], PortableRow], names: list[str]
) -> set[str]:
    """Add the entries of blogs or feeds. Return the accounts that have some."""
    active = set()
    if await calls.serves(method, f"{section.partition('/')[2]} of accounts"):
        listing = entries_listing(section, method, ENTRIES_PAGE if calls.is_complete else NEWEST_ENTRIES)
        for name, entries in (await calls.listed(listing, names)).items():
            extend(batch, section, (make(name, parts) for parts in entries))
            active |= {name} if entries else set()
    return active


async def add_authors(calls: PluginCalls, batch: Batch, names: list[str]) -> None:
    """Add the authors whose posts accounts have reblogged."""
    if await calls.serves(AUTHORS, "authors whose posts accounts have reblogged"):
        for name, reply in await calls.of_each(names, ((AUTHORS, [name]) for name in names)):
            rows = calls.reader.rows("follow/authors", AUTHORS, calls.reader.items(AUTHORS, reply, "", AUTHORS_MAX))
            extend(batch, "follow/authors", (row | {"blogger": name} for row in rows))


async def add_blogs_of_posts(calls: PluginCalls, batch: Batch, comments: list[PortableRow]) -> None:
    """Add the entries of posts in the blogs of their authors. Entries are imported only after their posts."""
    posts = {(row["author"], row["permlink"]) for row in comments if not row.get("parent_author")}
    authors = {author for author, _ in posts} - {row["name"] for row in batch.get("accounts", ()) if not row.get("is_light")}
    if authors and await calls.serves(BLOG, "blogs of accounts"):
        for name, entries in (await calls.listed(entries_listing("follow/blogs", BLOG, ENTRIES_PAGE), sorted(authors))).items():
            extend(batch, "follow/blogs", (row for row in (blog_row(name, parts) for parts in entries) if row["comment"] in posts))


async def followed(calls: PluginCalls, names: list[str]) -> list[PortableRow]:
    """Return the relations of accounts: those to others, and without `is_complete` also those of others to them.

    Only `follow_api` lists relations of any type, also ended ones.
    """
    found: dict[tuple[str, str], PortableRow] = {}

    async def read(listing: Listing, mine: str) -> None:
        for name, relations in (await calls.listed(listing, names)).items():
            for parts in relations:
                row = parts[""]
                if row[mine] != name:
                    raise calls.reader.wrong(listing.method, mine, f"it is not {name}, which was asked for")
                what = sum(bit for word, bit in WORDS.items() if word in row["what"])
                place = row["follower"], row["following"]
                found[place] = {"follower": place[0], "following": place[1], "what": what | found.get(place, {"what": 0})["what"]}

    lists = [(listing, "follower") for listing in await relation_lists(calls, "get_following", "following")]
    if not calls.is_complete:
        # Otherwise, each relation is read with the account that follows.
        lists += [(listing, "following") for listing in await relation_lists(calls, "get_followers", "follower")]
    await together(*(partial(read, listing, mine) for listing, mine in lists))
    return [found[place] for place in sorted(found)]


async def relation_lists(calls: PluginCalls, method: str, other: str) -> list[Listing]:
    """Return the listings of a source that together list the relations of an account."""

    def place(parts: Parts) -> Any:
        return parts[""][other]

    def any_type(name: str, start: str) -> Any:
        return {"account": name, "start": start, "type": "undefined", "limit": RELATIONS_PAGE}

    full = f"follow_api.{method}"
    if await calls.source.has(full):
        return [Listing("follow/follows", full, any_type, place, "", RELATIONS_PAGE, method.removeprefix("get_"))]
    if not await calls.serves(f"condenser_api.{method}", "relations of accounts"):
        return []

    def of_type(word: str) -> Listing:
        return Listing(
            "follow/follows",
            f"condenser_api.{method}",
            lambda name, start: [name, start, word, RELATIONS_PAGE],
            place,
            "",
            RELATIONS_PAGE,
        )

    return [of_type(word) for word in WORDS]


def blog_row(account: str, parts: Parts) -> PortableRow:
    """Return the row of an entry in an account's blog."""
    post = parts["comment.row"]
    return {**parts["entry"], "account": account, "comment": (post["author"], post["permlink"])}


def feed_row(account: str, parts: Parts) -> PortableRow:
    """Return the row of an entry in an account's feed."""
    entry, post = parts["entry"], parts["comment.row"]
    return {
        "account": account,
        "comment": (post["author"], post["permlink"]),
        "number": entry["number"],
        "reblogged_by": tuple(parts["extras"]["reblog_by"][:REBLOGGERS_MAX]),
        "reblogged_on": entry["first_reblogged_on"],
    }


# ------------------------------------------------------------------ tags


async def add_tags_of_authors(calls: PluginCalls, batch: Batch, names: list[str]) -> None:
    """Add the counts of the tags that accounts have used."""
    if not await calls.serves(TAGS_USED, "tags that authors have used: those of their posts here"):
        return
    for name, reply in await calls.of_each(names, ((TAGS_USED, [name]) for name in names)):
        rows = calls.reader.rows("tags/authors", TAGS_USED, calls.reader.items(TAGS_USED, reply, "", TAGS_USED_MAX))
        extend(batch, "tags/authors", (row | {"author": name} for row in rows))


async def add_tagged(calls: PluginCalls, batch: Batch, comments: list[PortableRow]) -> None:
    """Add which comments have entries under their tags, and their promotions.

    Paid comments have none, unless they were edited after the payout. A promotion is in the debt symbol only if the comment has entries.
    """
    asked = [row for row in comments if row.get("cashout_time") != TIME_MAX or row.get("last_update", 0) > row.get("last_payout", 0)]
    if not comments or not await calls.serves(CONTENT, "promotions of posts"):
        return
    extend(batch, "tags/tagged", ())
    for some in chunks(asked, POSTS_AT_ONCE):
        replies = await calls.ask([(CONTENT, [row["author"], row["permlink"]]) for row in some])
        for row, reply in zip(some, replies, strict=True):
            promoted = calls.reader.parse(Asset, CONTENT, reply.get("promoted"), "promoted") if type(reply) is dict else Asset()
            if promoted.symbol == SBD:
                place = {"author": row["author"], "permlink": row["permlink"]}
                extend(batch, "tags/tagged", [{**place, "promoted": promoted.amount}])


# ------------------------------------------------------------------ market


async def add_market(calls: PluginCalls, batch: Batch) -> None:
    """Add the buckets of trades, and the newest trades, or all of them in a complete copy."""
    times = [time_text(0), time_text(LAST_TIME)]
    for _, reply in await calls.of_each(BUCKET_SIZES, ((BUCKETS, [seconds, *times]) for seconds in BUCKET_SIZES)):
        extend(batch, "market_history/buckets", calls.reader.rows("market_history/buckets", BUCKETS, reply))
    trades = await all_trades(calls) if calls.is_complete else await newest_trades(calls)
    extend(batch, "market_history/trades", (row | {"number": number} for number, row in enumerate(trades)))


def trade_rows(calls: PluginCalls, method: str, reply: Any) -> list[PortableRow]:
    """Return the rows in a reply that lists trades."""
    found = []
    for at, value in enumerate(calls.reader.items(method, reply, "", TRADES_PAGE)):
        parts = calls.reader.parts("market_history/trades", method, value, f"[{at}]")
        found.append({**parts[""], **parts["operation"]})
    return found


async def newest_trades(calls: PluginCalls) -> list[PortableRow]:
    """Return the newest trades, oldest first."""
    (reply,) = await calls.ask([(RECENT_TRADES, [TRADES_PAGE])])
    return [] if reply is None else trade_rows(calls, RECENT_TRADES, reply)[::-1]


async def all_trades(calls: PluginCalls) -> list[PortableRow]:
    """Return all trades, oldest first. If one second has more than a page, the rest of its trades is left out."""
    found: list[PortableRow] = []
    start = 0
    while len(found) < TRADES_MAX:
        (reply,) = await calls.ask([(TRADES, [time_text(start), time_text(LAST_TIME), TRADES_PAGE])])
        rows = [] if reply is None else trade_rows(calls, TRADES, reply)
        # A page begins with the trades of the last second of the page before.
        while found and rows and found[-1]["time"] == start:
            found.pop()
        found += rows
        if len(rows) < TRADES_PAGE:
            break
        last = rows[-1]["time"]
        if last <= start:
            calls.reader.notes.add(f"trades of the second {time_text(start)}: only {TRADES_PAGE} were read")
            last = start + 1
        start = last
    return found
