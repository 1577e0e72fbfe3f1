"""Records of who follows whom, and of what is in blogs and feeds. Source: rpc-api.md §2.4, §6.4."""

from typing import Annotated

from msgspec import Struct

from rpc.records.comments import Comment, CommentView
from rpc.service.shown import At
from state.plugins.follow import feeds
from state.plugins.follow.rows import WORDS
from state.protocol.codec.kinds import AccountName, Bounded, Codecs, Dump, Many, String, Text, Time, UInt32


class Relations(Many):
    """What an account is to another: a mask, shown as a list of words."""

    default = 0  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__(String())

    def dumper(self, codecs: Codecs, legacy: bool) -> Dump | None:
        return lambda what: [word for word, bit in WORDS.items() if what & bit]


class Follow(Struct):
    """R-follow, of a row."""

    follower: AccountName
    following: AccountName
    what: Annotated[int, Relations()]


class FollowCount(Struct):
    """R-follow-count, of this record itself."""

    account: AccountName
    follower_count: UInt32
    following_count: UInt32


class AuthorCount(Struct):
    """R-author-count, of a row."""

    author: Annotated[str, At("guest", AccountName)]
    count: UInt32


class BlogView(Struct):
    """What is shown of an entry of a blog: its row, and the post."""

    entry: feeds.BlogEntry
    comment: CommentView


class BlogEntry(Struct):
    """R-blog-entry, of a `BlogView`."""

    author: Annotated[str, At("comment.row.author", AccountName)]
    permlink: Annotated[str, At("comment.row.permlink", Text)]
    blog: Annotated[str, At("entry.account", AccountName)]
    reblog_on: Annotated[int, At("entry.reblogged_on", Time)]
    entry_id: Annotated[int, At("entry.number", UInt32)]


class BlogItem(Struct):
    """R-blog-item, of a `BlogView`."""

    comment: Annotated[CommentView, At("comment", Comment)]
    blog: Annotated[str, At("entry.account", AccountName)]
    reblog_on: Annotated[int, At("entry.reblogged_on", Time)]
    entry_id: Annotated[int, At("entry.number", UInt32)]


class FeedView(Struct):
    """What is shown of an entry of a feed: its row, and the post."""

    entry: feeds.FeedEntry
    comment: CommentView

    @property
    def reblog_by(self) -> tuple[str, ...]:
        """Who has brought the post there; nobody when its author did, even if others have reblogged it since."""
        return self.entry.reblogged_by if self.entry.first_reblogged_by else ()


class FeedEntry(Struct):
    """R-feed-entry, of a `FeedView`."""

    author: Annotated[str, At("comment.row.author", AccountName)]
    permlink: Annotated[str, At("comment.row.permlink", Text)]
    reblog_by: Annotated[tuple[str, ...], At("reblog_by", Many(Bounded(16)))]
    reblog_on: Annotated[int, At("entry.first_reblogged_on", Time)]
    entry_id: Annotated[int, At("entry.number", UInt32)]


class FeedItem(Struct):
    """R-feed-item, of a `FeedView`."""

    comment: Annotated[CommentView, At("comment", Comment)]
    reblog_by: Annotated[tuple[str, ...], At("reblog_by", Many(Bounded(16)))]
    reblog_on: Annotated[int, At("entry.first_reblogged_on", Time)]
    entry_id: Annotated[int, At("entry.number", UInt32)]
