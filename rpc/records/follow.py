"""Records of followers, blogs and feeds. Source: rpc-api.md §2.4, §6.4."""

from typing import Annotated

from msgspec import Struct

from rpc.declare.record_fields import FieldPath
from rpc.records.comments import CommentRecord, CommentView
from state.plugins.follow import feeds
from state.plugins.follow.rows import WORDS
from state.protocol.codec.kinds import AccountName, Bounded, Codecs, Dump, Many, String, Text, Time, UInt32


class Relations(Many):
    """Relation of an account to another account: a bit mask, encoded as a list of names."""

    default = 0  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__(String())

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return lambda what: [word for word, bit in WORDS.items() if what & bit]


class FollowRecord(Struct):
    """Relation of an account to another account (R-follow), read from its row."""

    follower: AccountName
    following: AccountName
    what: Annotated[int, Relations()]


class FollowCountRecord(Struct):
    """How many followers an account has, and how many accounts it follows (R-follow-count)."""

    account: AccountName
    follower_count: UInt32
    following_count: UInt32


class AuthorCountRecord(Struct):
    """An author, and how many posts of this author a blog has reblogged (R-author-count), read from its row."""

    author: Annotated[str, FieldPath("guest", AccountName)]
    count: UInt32


class BlogView(Struct):
    """The object from which blog records are read: a blog entry and its post."""

    entry: feeds.BlogEntry
    comment: CommentView


class BlogEntryRecord(Struct):
    """A blog entry without the post (R-blog-entry), read from a `BlogView`."""

    author: Annotated[str, FieldPath("comment.row.author", AccountName)]
    permlink: Annotated[str, FieldPath("comment.row.permlink", Text)]
    blog: Annotated[str, FieldPath("entry.account", AccountName)]
    reblog_on: Annotated[int, FieldPath("entry.reblogged_on", Time)]
    entry_id: Annotated[int, FieldPath("entry.number", UInt32)]


class BlogItemRecord(Struct):
    """A blog entry with the post (R-blog-item), read from a `BlogView`."""

    comment: Annotated[CommentView, FieldPath("comment", CommentRecord)]
    blog: Annotated[str, FieldPath("entry.account", AccountName)]
    reblog_on: Annotated[int, FieldPath("entry.reblogged_on", Time)]
    entry_id: Annotated[int, FieldPath("entry.number", UInt32)]


class FeedView(Struct):
    """The object from which feed records are read: a feed entry and its post."""

    entry: feeds.FeedEntry
    comment: CommentView

    @property
    def reblog_by(self) -> tuple[str, ...]:
        """The accounts that reblogged the post. Empty if the post is in the feed because of its author, even if others reblog it later."""
        return self.entry.reblogged_by if self.entry.first_reblogged_by else ()


class FeedEntryRecord(Struct):
    """A feed entry without the post (R-feed-entry), read from a `FeedView`."""

    author: Annotated[str, FieldPath("comment.row.author", AccountName)]
    permlink: Annotated[str, FieldPath("comment.row.permlink", Text)]
    reblog_by: Annotated[tuple[str, ...], FieldPath("reblog_by", Many(Bounded(16)))]
    reblog_on: Annotated[int, FieldPath("entry.first_reblogged_on", Time)]
    entry_id: Annotated[int, FieldPath("entry.number", UInt32)]


class FeedItemRecord(Struct):
    """A feed entry with the post (R-feed-item), read from a `FeedView`."""

    comment: Annotated[CommentView, FieldPath("comment", CommentRecord)]
    reblog_by: Annotated[tuple[str, ...], FieldPath("reblog_by", Many(Bounded(16)))]
    reblog_on: Annotated[int, FieldPath("entry.first_reblogged_on", Time)]
    entry_id: Annotated[int, FieldPath("entry.number", UInt32)]
