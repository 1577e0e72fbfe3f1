"""Reads the social index of a source by its methods of `bridge`: communities, the communities of posts, reblogs, notifications.

A notification's fields are read from its text, which the source writes by a pattern for each type.
"""

import re
from collections.abc import Container, Iterable
from functools import cache, partial
from typing import Any

from node.fork.plugin_calls import PluginCalls, extend, together
from node.fork.source import Source
from node.fork.spec import chunks, reader_of
from state.plugins.social.community_payloads import ROLES, compact, type_of
from state.plugins.social.notifications.texts import TEXTS
from state.plugins.social.notifications.writer import Type
from state.portable import Batch, PortableRow
from state.protocol.codec.kinds import Flag, Int, Seconds
from state.protocol.constants import COIN_BLOCK_INTERVAL
from state.protocol.values.asset import SBD, Asset

COMMUNITY, COMMUNITIES = "bridge.get_community", "bridge.list_communities"
COMMUNITY_ROLES, COMMUNITY_TITLES = "bridge.list_community_roles", "bridge.list_community_titles"
SUBSCRIBERS, SUBSCRIPTIONS = "bridge.list_subscribers", "bridge.list_all_subscriptions"
NOTICES, POST_NOTICES, UNREAD = "bridge.account_notifications", "bridge.post_notifications", "bridge.unread_notifications"
POST, ACCOUNT_POSTS = "bridge.get_post", "bridge.get_account_posts"

PAGE, SUBSCRIBERS_PAGE = 100, 250
POSTS_AT_ONCE, COMMUNITIES_AT_ONCE = 100, 10
NAMED_MAX, ROLES_MAX = 100, 1000  # without `is_complete`
COMMUNITIES_MAX, NOTICES_MAX, SUBSCRIPTIONS_MAX = 100_000, 1_000_000, 10_000
TEXT_MAX = 65_536
FLAG, NUMBER, TIME = Flag(), Int(32), Seconds()
NAME = r"([a-z0-9.-]{3,16})"
POST_PATH = rf"{NAME}/([^/#?]{{1,256}})"
LINK = re.compile(f"@{POST_PATH}")
RECEIVERS = (Type.vote, Type.reblog)


# ------------------------------------------------------------------ all


async def add_social_rows(calls: PluginCalls, batch: Batch, names: list[str], posts: list[tuple[str, str]]) -> list[str]:
    """Add the communities of posts, and the notifications of accounts.

    Without `is_complete`, also add the communities of the posts and accounts, and return their names. Complete copies read all of them.
    """
    if not await calls.serves(POST, "communities and notifications"):
        return []
    prefix = calls.reader.spec.community_prefix
    named = dict.fromkeys(name for name in names if type_of(prefix, name) is not None)
    subscribed: dict[str, list[str]] = {}

    async def add_all_places() -> None:
        for some in chunks(posts, POSTS_AT_ONCE):
            named.update(dict.fromkeys(await add_places(calls, batch, some)))

    async def read_subscriptions() -> None:
        if not calls.is_complete:
            subscribed.update(await subscriptions_of(calls, names))

    users = [name for name in names if not name.startswith(prefix)]
    await together(
        add_all_places, read_subscriptions, partial(add_notices, calls, batch, users, posts), partial(add_last_reads, calls, batch, names)
    )
    if calls.is_complete:
        return []
    named |= dict.fromkeys(community for communities in subscribed.values() for community in communities)
    if len(named) > NAMED_MAX:
        calls.reader.notes.add(f"communities: only {NAMED_MAX} of those that accounts or posts belong to were read")
    known = await add_communities(calls, batch, list(named)[:NAMED_MAX])
    add_subscriptions(batch, subscribed)
    return known


def add_reblogs(batch: Batch) -> None:
    """Add the reblogs in the blogs and notifications of a batch."""
    extend(batch, "communities/reblogs", reblog_rows(reblog_times(batch)))


def add_subscriptions(batch: Batch, subscribed: dict[str, list[str]]) -> None:
    """Add the subscriptions of accounts that the lists of subscribers lack. Only the newest subscribers are listed, with their times."""
    listed = {(row["community"], row["account"]) for row in batch.get("communities/subscriptions", ())}
    rest = [{"community": name, "account": account} for account, names in subscribed.items() for name in names]
    rest = [row for row in rest if (row["community"], row["account"]) not in listed]
    batch.setdefault("communities/subscriptions", [])[:0] = rest


async def all_communities(source: Source) -> list[str]:
    """Return the names of all communities of a source, newest first. Raises SourceSilent and SourceWrong."""
    calls = PluginCalls(source, await reader_of(source), is_complete=True)
    found: dict[str, None] = {}
    if not await calls.serves(COMMUNITIES, "communities"):
        return []
    while len(found) < COMMUNITIES_MAX:
        params = {"sort": "new", "limit": PAGE} | ({"last": next(reversed(found))} if found else {})
        (reply,) = await calls.ask([(COMMUNITIES, params)])
        before = len(found)
        for at, value in enumerate(records(calls, COMMUNITIES, reply)):
            found.setdefault(calls.reader.parse_name(COMMUNITIES, text(calls, COMMUNITIES, value, "name"), f"[{at}].name"))
        if len(found) < before + PAGE:
            break
    return list(found)


async def read_communities(source: Source, names: Iterable[str], accounts: Iterable[str] = ()) -> Batch:
    """Read communities with their roles, subscribers and notifications.

    A source lists only the newest subscribers. If there are more, the subscriptions of these accounts are read, too. Raises SourceSilent
    and SourceWrong.
    """
    calls = PluginCalls(source, await reader_of(source), is_complete=True)
    batch: Batch = {}
    if await calls.serves(COMMUNITY, "communities"):
        await add_communities(calls, batch, list(names))
        count = sum(row["subscribers"] for row in batch.get("communities/communities", ()))
        if count > len(batch.get("communities/subscriptions", ())):
            for some in chunks(accounts, POSTS_AT_ONCE):
                add_subscriptions(batch, await subscriptions_of(calls, some))
    return batch


# ------------------------------------------------------------------ members of records


def records(calls: PluginCalls, method: str, reply: Any, most: int = PAGE) -> list[Any]:
    """Return a reply that is a list. For a refused call, the list is empty."""
    return [] if reply is None else calls.reader.items(method, reply, "", most)


def member(calls: PluginCalls, method: str, value: Any, name: str, kind: Any) -> Any:
    """Return a member of a record, parsed."""
    if type(value) is not dict or name not in value:
        raise calls.reader.wrong(method, name, "it is missing")
    return calls.reader.parse(kind, method, value[name], name)


def text(calls: PluginCalls, method: str, value: Any, name: str) -> str:
    """Return a member that is a text. A null or missing one is an empty text."""
    if type(value) is not dict or type(value.get(name, "")) not in (str, type(None)) or len(value.get(name) or "") > TEXT_MAX:
        raise calls.reader.wrong(method, name, "it is not a text")
    return value.get(name) or ""


def texts(calls: PluginCalls, method: str, value: Any, size: int) -> list[str]:
    """Return the first `size` members of a list of texts. A null becomes an empty text."""
    if type(value) is not list or len(value) < size or any(type(part) not in (str, type(None)) for part in value[:size]):
        raise calls.reader.wrong(method, "", f"it is not a list of {size} texts")
    return [part or "" for part in value[:size]]


# ------------------------------------------------------------------ communities


async def add_communities(calls: PluginCalls, batch: Batch, names: list[str]) -> list[str]:
    """Add communities with roles, subscribers and notifications. Return the names of those that the source has."""
    reader, prefix = calls.reader, calls.reader.spec.community_prefix
    wanted = [name for name in names if type_of(prefix, name) is not None]
    known = []
    for name, reply in await calls.of_each(wanted, ((COMMUNITY, {"name": name}) for name in wanted)):
        if text(calls, COMMUNITY, reply, "name") != name:
            raise reader.wrong(COMMUNITY, "name", f"it is not {name}, which was asked for")
        title = text(calls, COMMUNITY, reply, "title")
        settings = reply.get("settings")
        row: PortableRow = {
            part: text(calls, COMMUNITY, reply, part) for part in ("about", "lang", "description", "flag_text", "avatar_url")
        }
        row |= {
            "name": name,
            "title": "" if title == f"@{name}" else title,
            "settings": compact(settings) if type(settings) is dict else "{}",
            "is_nsfw": member(calls, COMMUNITY, reply, "is_nsfw", FLAG),
            "subscribers": member(calls, COMMUNITY, reply, "subscribers", NUMBER),
            "created": time_of(calls, COMMUNITY, reply, "created_at"),
        }
        known.append(name)
        extend(batch, "communities/communities", [row])
    members: dict[str, Batch] = {name: {} for name in known}

    async def add_rest(name: str) -> None:
        notices = members[name].setdefault("communities/notifications", [])
        await together(partial(add_members, calls, members[name], name), partial(add_log, calls, notices, name))

    for some in chunks(known, COMMUNITIES_AT_ONCE):
        await together(*(partial(add_rest, name) for name in some))
    for part in members.values():
        for section, rows in part.items():
            extend(batch, section, rows)
    return known


async def add_log(calls: PluginCalls, notices: list[PortableRow], name: str) -> None:
    """Add the notifications of a community, oldest first."""
    listed = await listed_notices(calls, [(NOTICES, {"account": name})], [name])
    notices += [notice | {"community": name} for notice in listed[name]]


def time_of(calls: PluginCalls, method: str, value: Any, name: str) -> int:
    """Return a member that is a time. Indexers write a blank instead of the letter T, and fractions of seconds."""
    shown = text(calls, method, value, name)
    time: int = calls.reader.parse(TIME, method, shown[:19].replace(" ", "T"), name)
    return time


async def add_members(calls: PluginCalls, batch: Batch, community: str) -> None:
    """Add the roles and the newest subscribers of a community."""
    subscribers: list[PortableRow] = []
    roles: dict[str, dict[str, PortableRow]] = {COMMUNITY_ROLES: {}, COMMUNITY_TITLES: {}, SUBSCRIBERS: {}}

    async def add_listed(method: str) -> None:
        last, before = "", -1
        while before < len(roles[method]) < COMMUNITIES_MAX and await calls.serves(method, "roles in communities"):
            before = len(roles[method])
            (reply,) = await calls.ask([(method, {"community": community, "last": last, "limit": PAGE})])
            values = [texts(calls, method, value, 3) for value in records(calls, method, reply)]
            for account, role, title in values:
                add_role(calls, roles[method], method, community, account, role, title)
            if len(values) < PAGE or (not calls.is_complete and len(roles[method]) >= ROLES_MAX):
                break
            last = values[-1][0]

    async def add_subscribers() -> None:
        (reply,) = await calls.ask([(SUBSCRIBERS, {"community": community, "limit": SUBSCRIBERS_PAGE})])
        for value in records(calls, SUBSCRIBERS, reply, SUBSCRIBERS_PAGE):
            account, role, title, created = texts(calls, SUBSCRIBERS, value, 4)
            if value[2] is not None:
                add_role(calls, roles[SUBSCRIBERS], SUBSCRIBERS, community, account, role, title)
            time = time_of(calls, SUBSCRIBERS, {"created": created}, "created")
            subscribers.append({"community": community, "account": calls.reader.parse_name(SUBSCRIBERS, account), "created": time})

    await together(partial(add_listed, COMMUNITY_ROLES), partial(add_listed, COMMUNITY_TITLES), add_subscribers)
    extend(batch, "communities/roles", {account: row for found in roles.values() for account, row in found.items()}.values())
    extend(batch, "communities/subscriptions", reversed(subscribers))


def add_role(calls: PluginCalls, roles: dict[str, PortableRow], method: str, community: str, account: str, role: str, title: str) -> None:
    """Add the role of an account in a community."""
    if role not in ROLES:
        raise calls.reader.wrong(method, "", "there is no such role")
    calls.reader.parse_name(method, account)
    roles[account] = {"community": community, "account": account, "role": ROLES[role], "title": title}


async def subscriptions_of(calls: PluginCalls, names: list[str]) -> dict[str, list[str]]:
    """Return the communities to which each account subscribes."""
    found: dict[str, list[str]] = {}
    if await calls.serves(SUBSCRIPTIONS, "subscriptions of accounts"):
        for name, reply in await calls.of_each(names, ((SUBSCRIPTIONS, {"account": name}) for name in names)):
            values = records(calls, SUBSCRIPTIONS, reply, SUBSCRIPTIONS_MAX)
            found[name] = [texts(calls, SUBSCRIPTIONS, value, 1)[0] for value in values]
    return found


# ------------------------------------------------------------------ posts


async def add_places(calls: PluginCalls, batch: Batch, posts: list[tuple[str, str]]) -> list[str]:
    """Add the community of each post, whether it is muted or pinned there, and its promotion. Return the communities."""
    communities = []
    asked = ((POST, {"author": author, "permlink": permlink}) for author, permlink in posts)
    for (author, permlink), reply in await calls.of_each(posts, asked):
        community = text(calls, POST, reply, "community")
        row: PortableRow = {"author": author, "permlink": permlink, "community": community, "promoted": promoted_of(calls, reply)}
        if community:
            communities.append(calls.reader.parse_name(POST, community, "community"))
            stats = reply.get("stats")
            row |= {"is_muted": member(calls, POST, stats, "gray", FLAG)}
            row |= {"is_pinned": "is_pinned" in stats and member(calls, POST, stats, "is_pinned", FLAG)}
        extend(batch, "communities/posts", [row])
    return communities


def promoted_of(calls: PluginCalls, post: Any) -> int:
    """Return the amount paid to promote a post."""
    asset: Asset = member(calls, POST, post, "promoted", Asset)
    if asset.symbol != SBD or asset.amount < 0:
        raise calls.reader.wrong(POST, "promoted", "it is not an amount of the debt symbol")
    return asset.amount


Reblogs = dict[tuple[str, tuple[str, str]], int]
"""The times of reblogs by account and post."""


def reblog_times(batch: Batch) -> Reblogs:
    """Return the reblogs in the notifications and the blogs of a batch.

    The plugin `follow`, which has the blogs, omits reblogs of own posts. Notifications can be of reblogs that were taken back.
    """
    times: Reblogs = {}
    for row in batch.get("communities/notifications", ()):
        if row["type"] == Type.reblog and row["permlink"]:
            times[row["src"], (row["author"], row["permlink"])] = row["created"]
    for row in batch.get("follow/blogs", ()):
        if row["reblogged_on"]:
            # The index takes the time of the block, the plugin that of the block before.
            times.setdefault((row["account"], row["comment"]), row["reblogged_on"] + COIN_BLOCK_INTERVAL)
    return times


def reblog_rows(times: Reblogs) -> Iterable[PortableRow]:
    """Return the rows of reblogs."""
    return ({"account": name, "post": post, "created": at} for (name, post), at in times.items())


async def read_reblogs(source: Source, batch: Batch, accounts: Container[str]) -> Batch:
    """Read the reblogs of accounts. The batch has all blogs and notifications of the chain. Raises SourceSilent and SourceWrong."""
    calls = PluginCalls(source, await reader_of(source), is_complete=True)
    times = {place: time for place, time in reblog_times(batch).items() if place[0] in accounts}
    found: Batch = {}
    extend(found, "communities/reblogs", reblog_rows(await still_there(calls, times) if await source.has(ACCOUNT_POSTS) else times))
    return found


async def still_there(calls: PluginCalls, times: Reblogs) -> Reblogs:
    """Return the reblogs that the blogs of their accounts list."""
    kept = {}
    for name in dict.fromkeys(name for name, _ in times):
        wanted = {post for other, post in times if other == name}
        start: dict[str, str] = {}
        while wanted:
            (reply,) = await calls.ask([(ACCOUNT_POSTS, {"sort": "blog", "account": name, "limit": PAGE, **start})])
            values = records(calls, ACCOUNT_POSTS, reply)
            before = start
            for value in values:
                post = text(calls, ACCOUNT_POSTS, value, "author"), text(calls, ACCOUNT_POSTS, value, "permlink")
                start = {"start_author": post[0], "start_permlink": post[1]}
                if value.get("reblogged_by") and post in wanted:
                    wanted.remove(post)
                    kept[name, post] = times[name, post]
            if len(values) < PAGE or start == before:
                break
    return kept


# ------------------------------------------------------------------ notifications


async def add_notices(calls: PluginCalls, batch: Batch, names: list[str], posts: list[tuple[str, str]]) -> None:
    """Add the notifications of accounts, and in a complete copy those about posts that the accounts' lists lack.

    The list of an account that has a community's name is that of the community. The other notifications of such an account are only in the
    lists of its posts.
    """
    for name, notices in (await listed_notices(calls, [(NOTICES, {"account": name, "min_score": 0}) for name in names], names)).items():
        extend(batch, "communities/notifications", [notice | {"dst": notice["dst"] or name} for notice in notices])
    if not calls.is_complete:
        return
    prefix = calls.reader.spec.community_prefix
    parents = {(row["author"], row["permlink"]): row.get("parent_author", "") for row in [*batch.get("comments", ())]}
    bodies = {row["comment"]: row.get("body", "") for row in batch.get("comment_contents", ())}
    asked = [
        post for post in posts if post[0].startswith(prefix) or parents[post].startswith(prefix) or f"@{prefix}" in bodies.get(post, "")
    ]
    calls_of = [(POST_NOTICES, {"author": author, "permlink": permlink, "min_score": 0}) for author, permlink in asked]
    for post, notices in (await listed_notices(calls, calls_of, asked)).items():
        for notice in notices:
            kind, mentioned = Type(notice["type"]), re.search(f"@({re.escape(prefix)}[0-9]+)", bodies.get(post, ""))
            receiver = parents[post] if kind in (Type.reply, Type.reply_comment) else post[0]
            if kind is Type.mention:
                receiver = mentioned[1] if mentioned else ""
            if not notice["dst"] and kind in (*RECEIVERS, Type.reply, Type.reply_comment, Type.mention, Type.error):
                extend(batch, "communities/notifications", [notice | {"dst": receiver}] if receiver.startswith(prefix) else [])


async def listed_notices(calls: PluginCalls, asked: list[tuple[str, dict[str, Any]]], keys: list[Any]) -> dict[Any, list[PortableRow]]:
    """Return the notifications that calls list, by key, oldest first."""
    found: dict[Any, dict[int, PortableRow]] = {key: {} for key in keys}
    pending = dict(zip(keys, asked, strict=True))
    while pending:
        replies = await calls.ask([(method, params | {"limit": PAGE}) for method, params in pending.values()])
        following = {}
        for (key, (method, params)), reply in zip(pending.items(), replies, strict=True):
            values, before = records(calls, method, reply), len(found[key])
            for value in values:
                number, notice = member(calls, method, value, "id", NUMBER), notice_of(calls, method, value)
                if notice is not None:
                    found[key].setdefault(number, notice | {"id": number})
            if calls.is_complete and len(values) == PAGE and before < len(found[key]) < NOTICES_MAX:
                following[key] = (method, params | {"last_id": values[-1]["id"]})
        pending = following
    return {key: [notices[number] for number in sorted(notices)] for key, notices in found.items()}


def notice_of(calls: PluginCalls, method: str, value: Any) -> PortableRow | None:
    """Return the row of a notification without its community and receiver where its text doesn't name them. None for an unknown type."""
    name, url, message = (text(calls, method, value, part) for part in ("type", "url", "msg"))
    if name not in Type.__members__:
        return None
    kind = Type[name]
    match = pattern(kind).fullmatch(message)
    if match is None:
        raise calls.reader.wrong(method, "msg", f"it is not the text of a notification of the type {name}")
    named = match.groupdict()
    link = LINK.fullmatch(url)
    payload = named.get("payload") or ""
    if kind is Type.vote:
        payload = f"${named['amount']}0" if named.get("amount") else ""
    return {
        "type": int(kind),
        "score": member(calls, method, value, "score", NUMBER),
        "created": time_of(calls, method, value, "date"),
        "src": named.get("src") or "",
        "dst": named.get("dst") or "",
        "author": link[1] if link else "",
        "permlink": link[2] if link else "",
        "community": url.removeprefix("trending/") if url.startswith("trending/") else "",
        "payload": "" if payload == "null" else payload,
    }


@cache
def pattern(kind: Type) -> re.Pattern[str]:
    """Return the pattern of the texts of a type of notifications."""
    parts = {
        "{src}": "(?P<src>[^ ]*)",
        "{dst}": "(?P<dst>[^ ]*)",
        "{post}": "[^ ]*",
        "{payload}": "(?P<payload>.*)",
        "{title}": ".*",
        "{reblogged}": "[a-z]+",
        "{amount}": r"(?: \(\$(?P<amount>[0-9]+\.[0-9]{2})\))?",
    }
    return re.compile("".join(parts.get(part, re.escape(part)) for part in re.split(r"(\{[a-z]+\})", TEXTS[kind])), re.DOTALL)


async def add_last_reads(calls: PluginCalls, batch: Batch, names: list[str]) -> None:
    """Add the times up to which accounts have read their notifications."""
    if not await calls.serves(UNREAD, "times up to which notifications are read"):
        return
    for name, reply in await calls.of_each(names, ((UNREAD, {"account": name}) for name in names)):
        if time := time_of(calls, UNREAD, reply, "lastread"):
            extend(batch, "communities/last_reads", [{"account": name, "time": time}])
