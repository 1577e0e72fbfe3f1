"""Individual posts and replies, their votes and tags. Source: rpc-api.md §3.2.4, §3.2.6, §4.5, §5.2, §6.5.5."""

from itertools import islice
from typing import Annotated

from rpc.api.database_lists import whole
from rpc.declare.arguments import AccountName, MaxValue, Permlink, Text, UInt32
from rpc.declare.method import method
from rpc.declare.record_encoder import Json, RecordEncoder, ShowsRecord
from rpc.records.discussions import (
    NO_COIN,
    NO_DEBT,
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
from state.protocol.values.asset import Asset
from state.tables import State

OFF = ("_tags_api", "tags_api_plugin not enabled.")
TAGS_USED_MAX = 1000

DiscussionJson = Annotated[Json, ShowsRecord(DiscussionRecord)]
TagJson = Annotated[Json, ShowsRecord(TagRecord)]
TagsLimit = Annotated[UInt32, MaxValue(1000, "Cannot retrieve more than 1000 tags at a time.")]
FewTagsLimit = Annotated[UInt32, MaxValue(100, "Cannot retrieve more than 100 tags at a time.")]


@method("tags_api.get_discussion", plugin=TAGS)
@method("condenser_api.get_content")
def get_content(state: State, show: RecordEncoder, /, author: AccountName, permlink: Permlink) -> DiscussionJson:
    """Return a post or a reply with its votes, or an empty record if it doesn't exist."""
    row = find_comment(state, author, permlink)
    if row is None:
        amounts = show(AbsentAmountsRecord, AbsentAmountsRecord())
        return show(DiscussionRecord, NO_DISCUSSION) | amounts | ({"promoted": amounts["max_accepted_payout"]} if show.legacy else {})
    known = shared(state)
    return show(DiscussionRecord, with_votes(known, discussion_view(known, row, unpromoted(show))))


@method("tags_api.get_content_replies", key="discussions", plugin=TAGS)
@method("condenser_api.get_content_replies")
def get_content_replies(state: State, show: RecordEncoder, /, author: AccountName, permlink: Permlink) -> list[DiscussionJson]:
    """List at most 10,000 direct replies to a post or a reply, oldest first. The replies' votes are omitted."""
    known, replies = shared(state), whole(state.comments.by_parent, author, permlink)
    return show.each(DiscussionRecord, [discussion_view(known, row, unpromoted(show)) for row in replies])


def unpromoted(show: RecordEncoder) -> Asset:
    """Return an amount of zero as the promotion of a comment without tags. The amount's symbol depends on the API group."""
    return NO_COIN if show.legacy else NO_DEBT


@method("tags_api.get_active_votes", key="votes", plugin=TAGS, record=VoteStateRecord)
@method("condenser_api.get_active_votes", record=VoteStateRecord)
def get_active_votes(state: State, show: RecordEncoder, /, author: AccountName, permlink: Permlink) -> list[Json]:
    """List at most 10,000 votes on a comment, ordered by the age of the voters' accounts, oldest first. An unknown comment is refused."""
    return show.each(VoteStateRecord, vote_views(shared(state), comment_of(state, author, permlink)))


@method("condenser_api.get_account_votes", record=AccountVoteRecord)
def get_account_votes(state: State, show: RecordEncoder, /, account: AccountName) -> list[Json]:
    """List at most 10,000 votes of an account that the chain still stores, oldest comment first. An unknown account is refused."""
    find = state.comments.find
    votes = whole(state.comment_votes.by_voter_comment, state.account(account).id)
    return show.each(AccountVoteRecord, (AccountVoteView(row, find(row.comment)) for row in votes))


@method("tags_api.get_trending_tags", key="tags", plugin=TAGS)
def list_trending_tags(state: State, show: RecordEncoder, /, start_tag: Text = "", limit: TagsLimit = 100) -> list[TagJson]:
    """List tags by trending score, highest first. The list starts with `start_tag`, or with the highest score if `start_tag` is empty."""
    return show.each(TagRecord, trending_tags(state, stored(start_tag), limit))


@method("condenser_api.get_trending_tags", plugin=TAGS, not_enabled=OFF)
def get_trending_tags(state: State, show: RecordEncoder, /, start_tag: Text, limit: FewTagsLimit) -> list[TagJson]:
    """List tags by trending score, highest first. The list starts with `start_tag`, or with the highest score if `start_tag` is empty."""
    return show.each(TagRecord, trending_tags(state, stored(start_tag), limit))


@method("tags_api.get_tags_used_by_author", key="tags", plugin=TAGS, record=TagCountRecord)
@method("condenser_api.get_tags_used_by_author", plugin=TAGS, not_enabled=OFF, record=TagCountRecord)
def get_tags_used_by_author(state: State, show: RecordEncoder, /, author: AccountName) -> list[Json]:
    """List at most 1,000 tags that an account has used, most used first."""
    require(state.accounts.by_name.get(author) is not None, "Author not found", condition="acnt != nullptr")
    return show.each(TagCountRecord, islice(tags_by_author(state, author), TAGS_USED_MAX))
