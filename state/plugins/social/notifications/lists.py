"""Reads of notifications, newest first: of an account, of a community and about a post. Source: social.md §3.4, §3.8."""

from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from state.plugins.social.index import Social
from state.plugins.social.notifications.writer import Type
from state.plugins.social.rows import NO_POST, Notification, SocialPost
from state.protocol.values.integers import HALF64
from state.store import OrderedIndex

LAST = HALF64  # above every id
# Notifications whose time is that of a post or a vote, which is the time of the previous block. The times of all others ascend.
OF_THE_CHAIN = (Type.reply, Type.reply_comment, Type.mention, Type.vote)


def of_account(kept: Social, account: str, last: int, min_score: int) -> Iterator[Notification]:
    """Yield the notifications of an account, newest first, starting before the notification `last`."""
    return (row for row in newest_first(kept, kept.notifications.by_dst, "dst", account, last) if row.score >= min_score)


def of_community(kept: Social, community: str, last: int) -> Iterator[Notification]:
    """Yield the notifications of a community (its log), newest first, starting before the notification `last`."""
    return newest_first(kept, kept.notifications.by_community, "community", community, last)


def of_post(kept: Social, post: SocialPost, last: int, min_score: int) -> Iterator[Notification]:
    """Yield the notifications about a post, newest first, starting before the notification `last`."""
    return (row for row in newest_first(kept, kept.notifications.by_post, "post", post.id, last) if row.score >= min_score)


def newest_first(kept: Social, index: OrderedIndex[Notification], field: str, value: Any, last: int) -> Iterator[Notification]:
    """Yield the notifications with this value in `field`, newest first, starting before `last`. Notifications about deleted posts are
    omitted.
    """
    rows = takewhile(lambda row: getattr(row, field) == value, index.before(value, last))
    return (row for row in rows if row.post == NO_POST or not kept.posts.find(row.post).is_deleted)


def last_read(kept: Social, account: str) -> int:
    """Return the time up to which an account has read its notifications."""
    row = kept.last_reads.by_account.get(account)
    return 0 if row is None else row.time


def unread(kept: Social, account: str, min_score: int, *, as_community: bool = False) -> int:
    """Count the unread notifications of an account, or of the log of a community.

    A notification is unread if it is later than the time up to which the account has read its notifications.
    """
    since, count = last_read(kept, account), 0
    for row in of_community(kept, account, LAST) if as_community else of_account(kept, account, LAST, 0):
        if row.created > since:
            count += row.score >= min_score
        elif row.type not in OF_THE_CHAIN:
            # No older notification has a later time.
            break
    return count
