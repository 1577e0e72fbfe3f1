"""Notifications as they are read: by account, by community and by post, the newest first. Nothing here changes anything.
Source: social.md §3.4, §3.8.
"""

from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from state.plugins.social.index import Social
from state.plugins.social.notifications.writing import Told, Type
from state.plugins.social.rows import NO_POST, Notification, SocialPost
from state.store import OrderedIndex

LAST = 2**63
# Their times are those of posts and votes, which lie a little before that of the block; of the others an older one is not newer.
OF_THE_CHAIN = (Type.reply, Type.reply_comment, Type.mention, Type.vote)


def of_account(kept: Social, account: str, last: int, min_score: int) -> Iterator[Notification]:
    """What an account was told, before the notification `last`."""
    return (row for row in newest_first(kept, kept.notifications.by_dst, "dst", account, last) if row.score >= min_score)


def of_community(kept: Social, community: str, last: int) -> Iterator[Notification]:
    """All that happened in a community, before the notification `last`: its log."""
    return newest_first(kept, kept.notifications.by_community, "community", community, last)


def of_post(kept: Social, post: SocialPost, last: int, min_score: int) -> Iterator[Notification]:
    """All that happened to a post, before the notification `last`."""
    return (row for row in newest_first(kept, kept.notifications.by_post, "post", post.id, last) if row.score >= min_score)


def newest_first(kept: Social, index: OrderedIndex[Notification], field: str, value: Any, last: int) -> Iterator[Notification]:
    """The notifications with a value before one; those about deleted posts are left out."""
    rows = takewhile(lambda row: getattr(row, field) == value, index.before(value, last))
    return (row for row in rows if row.post == NO_POST or not kept.posts.find(row.post).is_deleted)


def last_read(kept: Social, account: str) -> int:
    """Up to when an account has read its notifications."""
    row = kept.last_reads.by_account.get(account)
    return 0 if row is None else row.time


def unread(kept: Social, account: str, min_score: int, *, as_community: bool = False) -> int:
    """How many notifications of an account are newer than the last that it has read; for a community, how many of its log are."""
    since, count = last_read(kept, account), 0
    for row in of_community(kept, account, LAST) if as_community else of_account(kept, account, LAST, 0):
        if row.created > since:
            count += row.score >= min_score
        elif row.type not in OF_THE_CHAIN:
            break
    return count


def told(kept: Social, row: Notification) -> Told:
    """What the text of a notification is made of."""
    community = kept.community(row.community) if row.community else None
    post = None if row.post == NO_POST else kept.posts.find(row.post)
    return Told(
        type=Type(row.type),
        src=row.src,
        dst=row.dst,
        post="" if post is None else f"{post.author}/{post.permlink}",
        community=row.community,
        title="" if community is None else community.title,
        payload=row.payload,
    )
