"""Portable rows of the plugin `follow`: relations, counts, blogs, feeds and reblogged authors."""

from collections.abc import Iterable
from typing import Any

from state.effects.comments import find_comment
from state.plugins.follow.feeds import COMMENT_MASK, NUMBER_SHIFT, BlogEntry, BlogSpan, FeedReblog
from state.plugins.follow.rows import BLOG, IGNORE, BlogAuthor, Follow, FollowCount, FollowIndex, add_to_counts
from state.plugins.plugin import ranged
from state.plugins.reputation import REPUTATION
from state.plugins.reputation import export_rows as export_reputations
from state.plugins.reputation import import_rows as import_reputations
from state.portable import Batch, Portable, declare
from state.portable.declarations import COMMENT
from state.portable.exports import exported_rows
from state.protocol.values.integers import WORD32
from state.store import Row
from state.tables import State

# Reads of a blog step through its numbers, also those without an entry. Entries of an imported blog that are older than this are left out.
BLOG_NUMBERS_MAX = 20_000


class FeedRow(Row):
    """The portable row of a post in a feed. `reblogged_by` is empty if the feed has the post because of its author."""

    account: str = ""
    comment: int = 0
    number: int = 0
    reblogged_by: tuple[str, ...] = ()
    reblogged_on: int = 0


FOLLOWS = declare("follow/follows", Portable(row=Follow, key=("follower", "following")))
COUNTS = declare("follow/counts", Portable(row=FollowCount, key=("account",), is_default_absent=True))
BLOGS = declare("follow/blogs", Portable(row=BlogEntry, key=("account", "number"), references={"comment": COMMENT}))
FEEDS = declare("follow/feeds", Portable(row=FeedRow, key=("account", "number"), references={"comment": COMMENT}))
AUTHORS = declare("follow/authors", Portable(row=BlogAuthor, key=("blogger", "guest")))


def import_rows(state: State, kept: FollowIndex, batch: Batch) -> None:
    """Add relations, and the entries of blogs and feeds whose posts are here.

    If the counts of an account of the batch aren't given, they count its relations in the batch. So do those of a name without an account:
    any name can be followed.
    """
    if not REPUTATION.is_on(state):
        import_reputations(state, kept.reputations, batch)
    arrived = {values["name"] for values in batch.get("accounts", ())}
    given = import_counts(kept, batch, arrived)
    for values in batch.get("follow/follows", ()):
        row = Follow(**values)
        ranged((row.what,), 0, BLOG | IGNORE)
        if row.follower != row.following and kept.follows.by_pair.get(row.follower, row.following) is None:
            kept.relations.append(row.following, kept.follows.insert(row).id)
            if row.what & BLOG:
                for name, change in ((row.follower, {"following": 1}), (row.following, {"followers": 1})):
                    if name not in given and (name in arrived or state.accounts.by_name.get(name) is None):
                        add_to_counts(kept.counts, name, **change)
    import_blogs(state, kept, batch)
    import_feeds(state, kept, batch)
    for values in batch.get("follow/authors", ()):
        author = BlogAuthor(**values)
        ranged((author.count,), 0, WORD32 - 1)
        if kept.authors.by_pair.get(author.blogger, author.guest) is None:
            kept.authors.insert(author)


def import_counts(kept: FollowIndex, batch: Batch, arrived: set[str]) -> set[str]:
    """Set the counts of relations. Return the accounts whose counts were given."""
    given = set()
    for values in batch.get("follow/counts", ()):
        row = FollowCount(**values)
        ranged((row.follower_count, row.following_count), 0, WORD32 - 1)
        given.add(row.account)
        known = kept.counts.by_account.get(row.account)
        if known is None:
            if row.follower_count or row.following_count:
                kept.counts.insert(row)
        elif row.account in arrived:
            kept.counts.modify(known, follower_count=row.follower_count, following_count=row.following_count)
    return given


def with_posts(state: State, rows: Iterable[dict[str, Any]]) -> dict[str, list[tuple[int, int, dict[str, Any]]]]:
    """Return the rows whose root posts are here, by account: number, id of the comment and values, in the order of numbers."""
    found: dict[str, list[tuple[int, int, dict[str, Any]]]] = {}
    for values in rows:
        comment = find_comment(state, *values["comment"])
        ranged((values["number"],), 0, WORD32 - 1)
        if comment is not None and not comment.parent_author:
            found.setdefault(values["account"], []).append((values["number"], comment.id, values))
    for entries in found.values():
        entries.sort(key=lambda entry: entry[0])
    return found


def import_blogs(state: State, kept: FollowIndex, batch: Batch) -> None:
    """Add the entries of blogs under their numbers, unless the blog has the post or the number already."""
    blogs = kept.blogs
    for account, entries in with_posts(state, batch.get("follow/blogs", ())).items():
        span = blogs.spans.by_account.get(account)
        known = set() if span is None else {entry.comment for entry in blogs.newest_first(account)}
        newest = max(entries[-1][0], 0 if span is None else span.newest)
        numbers = [] if span is None else [span.oldest, span.newest]
        for number, comment, values in entries:
            if comment in known or newest - number > BLOG_NUMBERS_MAX or blogs.entries.by_number.get(account, number) is not None:
                continue
            known.add(comment)
            numbers.append(number)
            blogs.entries.insert(BlogEntry(account=account, comment=comment, number=number, reblogged_on=values.get("reblogged_on", 0)))
        if span is None and numbers:
            blogs.spans.insert(BlogSpan(account=account, oldest=min(numbers), newest=max(numbers)))
        elif span is not None:
            blogs.spans.modify(span, oldest=min(numbers), newest=max(numbers))


def import_feeds(state: State, kept: FollowIndex, batch: Batch) -> None:
    """Add the entries of feeds that follow those that are here."""
    feeds = kept.feeds
    for account, entries in with_posts(state, batch.get("follow/feeds", ())).items():
        places = feeds.places.get(account)
        known = {place & COMMENT_MASK for place in places}
        newest = places[-1] >> NUMBER_SHIFT if places else -1
        for number, comment, values in entries:
            if number <= newest or comment in known:
                continue
            newest = number
            known.add(comment)
            feeds.places.append(account, number << NUMBER_SHIFT | comment)
            by = tuple(values.get("reblogged_by", ()))
            if by and feeds.reblogged.by_comment.get(comment, account) is None:
                feeds.reblogged.insert(
                    FeedReblog(account=account, comment=comment, by=by, first_by=by[0], first_on=values.get("reblogged_on", 0))
                )


def export_rows(state: State, kept: FollowIndex) -> Batch:
    """Return the portable rows of the plugin's data.

    Feeds omit deleted posts, and reblogs of posts that they have because of the author.
    """
    feeds = [
        FeedRow(
            account=account,
            comment=entry.comment,
            number=entry.number,
            reblogged_by=entry.reblogged_by if entry.first_reblogged_by else (),
            reblogged_on=entry.first_reblogged_on,
        )
        for account in kept.feeds.places
        for entry in kept.feeds.newest_first(account)
    ]
    batch = {
        "follow/follows": exported_rows(state, kept.follows, FOLLOWS),
        "follow/counts": exported_rows(state, kept.counts, COUNTS),
        "follow/blogs": exported_rows(state, kept.blogs.entries, BLOGS),
        "follow/feeds": exported_rows(state, feeds, FEEDS),
        "follow/authors": exported_rows(state, kept.authors, AUTHORS),
    }
    return batch if REPUTATION.is_on(state) else batch | export_reputations(state, kept.reputations)
