"""Single posts and replies, their votes and tags. Source: rpc-api.md §3.2.4, §3.2.6, §4.5, §5.2, §6.5.5."""

from collections.abc import Iterator
from itertools import islice
from typing import Annotated

from rpc.api.database_lists import whole
from rpc.declare.arguments import AccountName, MaxValue, Permlink, Text, UInt32
from rpc.declare.method import method
from rpc.declare.record_encoder import Json, RecordEncoder, ShowsRecord
from rpc.records.discussions import (
    NO_COIN,
    NO_DISCUSSION,
    AbsentAmountsRecord,
    AccountVoteRecord,
    AccountVoteView,
    DiscussionRecord,
    TagCountRecord,
    TagRecord,
    VoteStateRecord,
    discussion_view,
    shared,
    vote_views,
    with_votes,
)
from state.effects.comments import comment_of, find_comment
from state.plugins.tags.lists import tags_by_author, trending_tags
from state.plugins.tags.metadata import stored
from state.plugins.tags.plugin import TAGS
from state.protocol.errors import require
from state.tables import State
from state.tables.content import Comment

OFF = ("_tags_api", "tags_api_plugin not enabled.")
TAGS_USED_MAX = 1000

DiscussionJson = Annotated[Json, ShowsRecord(DiscussionRecord)]
VoteStateJson = Annotated[Json, ShowsRecord(VoteStateRecord)]
AccountVoteJson = Annotated[Json, ShowsRecord(AccountVoteRecord)]
TagJson = Annotated[Json, ShowsRecord(TagRecord)]
TagCountJson = Annotated[Json, ShowsRecord(TagCountRecord)]
TagsLimit = Annotated[UInt32, MaxValue(1000, "Cannot retrieve more than 1000 tags at a time.")]
FewTagsLimit = Annotated[UInt32, MaxValue(100, "Cannot retrieve more than 100 tags at a time.")]


# ------------------------------------------------------------------ one discussion


@method("condenser_api.get_content")
def get_content(state: State, show: RecordEncoder, /, author: AccountName, permlink: Permlink) -> DiscussionJson:
    """Return a post or a reply with its votes, or an empty record if it doesn't exist."""
    row = find_comment(state, author, permlink)
    if row is None:
        return nothing(show) | {"promoted": show(AbsentAmountsRecord, AbsentAmountsRecord())["max_accepted_payout"]}
    known = shared(state)
    content: Json = show(DiscussionRecord, with_votes(known, discussion_view(known, row, NO_COIN)))
    return content


@method("tags_api.get_discussion", plugin=TAGS)
def get_discussion(state: State, show: RecordEncoder, /, author: AccountName, permlink: Permlink) -> DiscussionJson:
    """Return a post or a reply with its votes, or an empty record if it doesn't exist."""
    row = find_comment(state, author, permlink)
    if row is None:
        return nothing(show)
    known = shared(state)
    discussion: Json = show(DiscussionRecord, with_votes(known, discussion_view(known, row)))
    return discussion


def nothing(show: RecordEncoder) -> Json:
    """Return the empty record of a discussion that doesn't exist."""
    shown: Json = show(DiscussionRecord, NO_DISCUSSION)
    shown |= show(AbsentAmountsRecord, AbsentAmountsRecord())
    return shown


@method("condenser_api.get_content_replies")
def get_content_replies(state: State, show: RecordEncoder, /, author: AccountName, permlink: Permlink) -> list[DiscussionJson]:
    """List at most 10,000 direct replies to a post or a reply, oldest first, without their votes."""
    known = shared(state)
    return show.each(DiscussionRecord, [discussion_view(known, row, NO_COIN) for row in replies_to(state, author, permlink)])


@method("tags_api.get_content_replies", key="discussions", plugin=TAGS)
def list_content_replies(state: State, show: RecordEncoder, /, author: AccountName, permlink: Permlink) -> list[DiscussionJson]:
    """List at most 10,000 direct replies to a post or a reply, oldest first, without their votes."""
    known = shared(state)
    views = [discussion_view(known, row) for row in replies_to(state, author, permlink)]
    return show.each(DiscussionRecord, views)


def replies_to(state: State, author: str, permlink: str) -> Iterator[Comment]:
    """Return the direct replies to a comment, oldest first."""
    return whole(state.comments.by_parent, author, permlink)


# ------------------------------------------------------------------ votes


@method("tags_api.get_active_votes", key="votes", plugin=TAGS)
@method("condenser_api.get_active_votes")
def get_active_votes(state: State, show: RecordEncoder, /, author: AccountName, permlink: Permlink) -> list[VoteStateJson]:
    """List at most 10,000 votes on a comment, oldest voting account first. An unknown comment is refused."""
    return show.each(VoteStateRecord, vote_views(shared(state), comment_of(state, author, permlink)))


@method("condenser_api.get_account_votes")
def get_account_votes(state: State, show: RecordEncoder, /, account: AccountName) -> list[AccountVoteJson]:
    """List at most 10,000 retained votes of an account, oldest comment first. An unknown account is refused."""
    find = state.comments.find
    votes = whole(state.comment_votes.by_voter_comment, state.account(account).id)
    return show.each(AccountVoteRecord, (AccountVoteView(row, find(row.comment)) for row in votes))


# ------------------------------------------------------------------ tags


@method("tags_api.get_trending_tags", key="tags", plugin=TAGS)
def list_trending_tags(state: State, show: RecordEncoder, /, start_tag: Text = "", limit: TagsLimit = 100) -> list[TagJson]:
    """List tags by trending score, highest first, from the rank of `start_tag` on."""
    return show.each(TagRecord, trending_tags(state, stored(start_tag), limit))


@method("condenser_api.get_trending_tags", plugin=TAGS, not_enabled=OFF)
def get_trending_tags(state: State, show: RecordEncoder, /, start_tag: Text, limit: FewTagsLimit) -> list[TagJson]:
    """List tags by trending score, highest first, from the rank of `start_tag` on."""
    return show.each(TagRecord, trending_tags(state, stored(start_tag), limit))


@method("tags_api.get_tags_used_by_author", key="tags", plugin=TAGS)
@method("condenser_api.get_tags_used_by_author", plugin=TAGS, not_enabled=OFF)
def get_tags_used_by_author(state: State, show: RecordEncoder, /, author: AccountName) -> list[TagCountJson]:
    """List at most 1,000 tags that an account has used, most used first."""
    require(state.accounts.by_name.get(author) is not None, "Author not found", condition="acnt != nullptr")
    return show.each(TagCountRecord, islice(tags_by_author(state, author), TAGS_USED_MAX))
