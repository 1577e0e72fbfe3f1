"""Comments and votes on them, from the chain's own tables. Source: rpc-api.md §3.7, §3.8."""

from itertools import islice
from typing import Annotated, Any

from rpc.api.database_lists import (
    BEGINNING,
    QUERY_LIMIT,
    By,
    ListLimit,
    Member,
    Order,
    chosen,
    declare_list,
    exactly,
    few,
    read_argument,
    require_few,
)
from rpc.declare.arguments import AccountName, AnyOf, OneOfNames, Text, Timestamp
from rpc.declare.method import method
from rpc.declare.record_encoder import Json, RecordEncoder
from rpc.records.comments import CommentRecord, VoteRecord, comment_view, vote_view
from state.protocol.errors import existing, require
from state.tables import State

FIRST = 0
"""The record id for no comment and no account. It precedes all others."""

CommentKey = tuple[AccountName, Text]
TWO_COMMENTS = "account_name_type, string, account_name_type, string)"
UPDATED_COMMENT = "account_name_type, time_point_sec, account_name_type, string)"
CashoutStart = exactly("by_cashout_time", "time_point_sec, account_name_type, string)", Timestamp, AccountName, Text)
RootStart = exactly("by_root", TWO_COMMENTS, AccountName, Text, AccountName, Text)
ParentStart = exactly("by_parent", TWO_COMMENTS, AccountName, Text, AccountName, Text)
UpdateStart = exactly("by_last_update", UPDATED_COMMENT, AccountName, Timestamp, AccountName, Text)
AuthorUpdateStart = exactly("by_author_last_update", UPDATED_COMMENT, AccountName, Timestamp, AccountName, Text)


@method("database_api.find_comments", key="comments", record=CommentRecord)
def find_comments(
    state: State,
    show: RecordEncoder,
    /,
    start: list[CommentKey],
    limit: ListLimit = QUERY_LIMIT,
    order: Any = None,
    comments: list[CommentKey] = [],  # noqa: B006 - it is never changed
) -> list[Json]:
    """Return the comments with these authors and permlinks, in the given order. Unknown comments are omitted.

    Pass the authors and permlinks as `start` or as `comments`. The argument `order` is ignored.
    """
    require_few("comments", start)
    require_few("comments", comments)
    by_permlink = state.comments.by_permlink
    rows = (row for key in comments or start if (row := by_permlink.get(*key)) is not None)
    return show.each(CommentRecord, (comment_view(state, row) for row in islice(rows, limit)))


@method("database_api.find_votes", key="votes", record=VoteRecord)
def find_votes(state: State, show: RecordEncoder, /, author: AccountName = "", permlink: Text = "") -> list[Json]:
    """Return the votes on a comment, ordered by the age of the voters' accounts, oldest first."""
    found, condition = state.comments.by_permlink.get(author, permlink), "comment != nullptr"
    comment = existing(found, "Could not find comment ${a}/${p}", condition=condition, a=author, p=permlink)
    votes = few(state.comment_votes.by_comment_voter, comment.id)
    return show.each(VoteRecord, (vote_view(state, row) for row in votes))


def comment_id(state: State, author: str, permlink: str, variable: str = "comment") -> int:
    """Return the record id of a comment, or FIRST, which is below all ids, if author and permlink are empty. Refuse an unknown comment."""
    if not author and not permlink:
        return FIRST
    comment, condition = state.comments.by_permlink.get(author, permlink), f"{variable} != nullptr"
    return existing(comment, "Could not find comment ${a}/${p}.", condition=condition, a=author, p=permlink).id


def cashout_place(state: State, member: Member) -> tuple[Any, ...]:
    """Convert the argument `start`, [time, author, permlink], to a key of the index by payout time."""
    comment = comment_id(state, member(1), member(2))
    return member(0), comment


def root_place(state: State, member: Member) -> tuple[Any, ...]:
    """Convert the argument `start`, [root author, root permlink, author, permlink], to a key of the index by discussion."""
    root = comment_id(state, member(0), member(1), "root")
    return root, comment_id(state, member(2), member(3), "child")


def parent_place(state: State, member: Member) -> tuple[Any, ...]:
    """Convert the start [parent author, parent permlink or time, author, permlink] to a key of the index by parent.

    A start with a time is for another index, whose keys have the same form: the replies to an author, ordered by their last change.
    """
    child = comment_id(state, member(2), member(3), "child")
    second = member(1)
    return member(0), second, child


def author_update_place(state: State, member: Member) -> tuple[Any, ...]:
    """Return the same key as `parent_place`. It is a separate function because the reference's error message for this order names another
    variable.
    """
    comment = comment_id(state, member(2), member(3))
    time = member(1)
    return member(0), time, comment


declare_list(
    "database_api.list_comments",
    "List comments, ordered by payout time, author and permlink, discussion, parent, or last update. Ties are mostly ordered by record id. "
    "As on the reference, by_author_last_update and by_last_update are the same: by the author of the parent, last changed first.",
    key="comments",
    record=CommentRecord,
    view=comment_view,
    by_cashout_time=By(lambda state: state.comments.by_cashout_time, CashoutStart, place=cashout_place),
    by_permlink=By(lambda state: state.comments.by_permlink, tuple[AccountName, Text]),
    by_root=By(lambda state: state.comments.by_root, RootStart, place=root_place),
    by_parent=By(lambda state: state.comments.by_parent, ParentStart, place=parent_place),
    by_last_update=By(lambda state: state.comments.by_last_update, UpdateStart, place=parent_place),
    by_author_last_update=By(lambda state: state.comments.by_last_update, AuthorUpdateStart, place=author_update_place),
)


# Orders that only the specification has: for each, the equal order without a symbol, and the index of the symbol in the start key.
SYMBOL_ORDERS = {
    "by_comment_voter_symbol": ("by_comment_voter", 3),
    "by_voter_comment_symbol": ("by_voter_comment", 3),
    "by_comment_symbol_voter": ("by_comment_voter", 2),
    "by_voter_symbol_comment": ("by_voter_comment", 1),
}
SIZE = "key.size() == nr_args"
COMMENT_VOTER, VOTER_COMMENT = "account_name_type, string, account_name_type)", "account_name_type, account_name_type, string)"
CommentVoter = exactly("by_comment_voter", COMMENT_VOTER, AccountName, Text, AccountName, condition=SIZE)
# The reference's refusal names by_comment_voter here, too.
VoterComment = exactly("by_comment_voter", VOTER_COMMENT, AccountName, AccountName, Text, condition=SIZE)


def voter_id(state: State, name: str) -> int:
    """Return the record id of an account, or FIRST, which is below all ids, if the name is empty. Refuse an unknown account."""
    if not name:
        return FIRST
    return existing(state.accounts.by_name.get(name), "Could not find voter ${v}.", condition="account != nullptr", v=name).id


def comment_voter_place(state: State, member: Member) -> tuple[int, int]:
    """Convert the argument `start`, [author, permlink, voter], to a key of the index of votes by comment."""
    author, permlink, voter = member(0), member(1), member(2)
    account = voter_id(state, voter)
    return comment_id(state, author, permlink), account


def voter_comment_place(state: State, member: Member) -> tuple[int, int]:
    """Convert the argument `start`, [voter, author, permlink], to a key of the index of votes by voter."""
    author, permlink, voter = member(1), member(2), member(0)
    return voter_id(state, voter), comment_id(state, author, permlink)


VOTES = {
    "by_comment_voter": By(lambda state: state.comment_votes.by_comment_voter, CommentVoter, place=comment_voter_place),
    "by_voter_comment": By(lambda state: state.comment_votes.by_voter_comment, VoterComment, place=voter_comment_place),
}
VoteStart = Annotated[Any, AnyOf((CommentVoter, VoterComment))]
VoteOrder = Annotated[Any, OneOfNames((*VOTES, *SYMBOL_ORDERS))]


@method("database_api.list_votes", key="votes", record=VoteRecord)
def list_votes(
    state: State,
    show: RecordEncoder,
    /,
    start: VoteStart = BEGINNING,
    limit: ListLimit = QUERY_LIMIT,
    order: VoteOrder = "by_comment_voter",
) -> list[Json]:
    """List votes, ordered by the record ids of comment and voter, or of voter and comment.

    An order whose name contains `symbol` returns the same votes as the order without it. The symbol in `start` is ignored.
    """
    named = None if type(order) is str and order in SYMBOL_ORDERS else read_argument("order", Order, show.wire, order)
    if start is not BEGINNING:
        start = read_argument("start", list[Any], show.wire, start)
    if named is not None:
        by = chosen(VOTES, named)
    else:
        by = VOTES[SYMBOL_ORDERS[order][0]]
        start = start if start is BEGINNING else without_symbol(order, start)
    rows = islice(by.rows(state, show.wire, start), limit)
    return show.each(VoteRecord, (vote_view(state, row) for row in rows))


def without_symbol(order: str, start: list[Any]) -> list[Any]:
    """Remove the symbol from a start key, if the order's keys have one. Append empty strings for missing elements."""
    place = SYMBOL_ORDERS[order][1]
    least = 3 if place == 3 else 2
    text, condition = f"{order} start requires {least} or 4 values.", f"key.size() == {least} || key.size() == 4"
    require(len(start) in (least, 4), text, condition=condition)
    start = start[:place] + start[place + 1 :]
    return start + [""] * (3 - len(start))
