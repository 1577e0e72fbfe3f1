"""Comments and the votes on them, from the chain's own tables. Source: rpc-api.md §3.7, §3.8."""

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
    few,
    read_argument,
    require_few,
)
from rpc.declare.arguments import AccountName, AnyOf, ExactLength, OneOfNames, Text, Timestamp
from rpc.declare.method import method
from rpc.declare.record_encoder import Json, RecordEncoder, ShowsRecord
from rpc.records.comments import CommentRecord, VoteRecord, comment_view, vote_view
from state.protocol.errors import require
from state.tables import State

FIRST = 0
"""The record id that stands for no comment and no account: everything comes after it."""

CommentJson = Annotated[Json, ShowsRecord(CommentRecord)]
VoteJson = Annotated[Json, ShowsRecord(VoteRecord)]
CommentKey = tuple[AccountName, Text]
CashoutStart = Annotated[
    tuple[Timestamp, AccountName, Text],
    ExactLength("by_cashout_time start requires 3 values. (time_point_sec, account_name_type, string)"),
]
RootStart = Annotated[
    tuple[AccountName, Text, AccountName, Text],
    ExactLength("by_root start requires 4 values. (account_name_type, string, account_name_type, string)"),
]
ParentStart = Annotated[
    tuple[AccountName, Text, AccountName, Text],
    ExactLength("by_parent start requires 4 values. (account_name_type, string, account_name_type, string)"),
]
UpdateStart = Annotated[
    tuple[AccountName, Timestamp, AccountName, Text],
    ExactLength("by_last_update start requires 4 values. (account_name_type, time_point_sec, account_name_type, string)"),
]
AuthorUpdateStart = Annotated[
    tuple[AccountName, Timestamp, AccountName, Text],
    ExactLength("by_author_last_update start requires 4 values. (account_name_type, time_point_sec, account_name_type, string)"),
]


@method("database_api.find_comments", key="comments")
def find_comments(
    state: State,
    show: RecordEncoder,
    /,
    start: list[CommentKey],
    limit: ListLimit = QUERY_LIMIT,
    order: Any = None,
    comments: list[CommentKey] = [],  # noqa: B006 - nobody changes it
) -> list[CommentJson]:
    """Return the comments with these authors and permlinks, in their order; unknown ones are left out.

    They may be given as `start` or as `comments`; the order is ignored.
    """
    require_few("comments", start)
    require_few("comments", comments)
    by_permlink = state.comments.by_permlink
    rows = (row for key in comments or start if (row := by_permlink.get(*key)) is not None)
    return show.each(CommentRecord, (comment_view(state, row) for row in islice(rows, limit)))


@method("database_api.find_votes", key="votes")
def find_votes(state: State, show: RecordEncoder, /, author: AccountName = "", permlink: Text = "") -> list[VoteJson]:
    """Return the votes on a comment, in the order of the accounts that voted, oldest account first."""
    comment = state.comments.by_permlink.get(author, permlink)
    text, condition = "Could not find comment ${a}/${p}", "comment != nullptr"
    require(comment is not None, text, condition=condition, a=author, p=permlink)
    assert comment is not None
    votes = few(state.comment_votes.by_comment_voter, comment.id)
    return show.each(VoteRecord, (vote_view(state, row) for row in votes))


# ------------------------------------------------------------------ lists of comments


def comment_id(state: State, author: str, permlink: str, variable: str = "comment") -> int:
    """Return the record id of an existing comment; without author and permlink, the id before all others."""
    if not author and not permlink:
        return FIRST
    comment = state.comments.by_permlink.get(author, permlink)
    require(comment is not None, "Could not find comment ${a}/${p}.", condition=f"{variable} != nullptr", a=author, p=permlink)
    assert comment is not None
    return comment.id


def cashout_place(state: State, member: Member) -> tuple[Any, ...]:
    """Return where a comment stands among those of a payout time: [time, author, permlink]."""
    comment = comment_id(state, member(1), member(2))
    return member(0), comment


def root_place(state: State, member: Member) -> tuple[Any, ...]:
    """Return where a comment stands in the discussion of a post: [root author, root permlink, author, permlink]."""
    root = comment_id(state, member(0), member(1), "root")
    return root, comment_id(state, member(2), member(3), "child")


def parent_place(state: State, member: Member) -> tuple[Any, ...]:
    """Return where a comment stands among the replies to a parent: [parent author, parent permlink or time, author, permlink].

    Replies to all posts of an author by the time of their last change have the same form.
    """
    child = comment_id(state, member(2), member(3), "child")
    second = member(1)
    return member(0), second, child


def author_update_place(state: State, member: Member) -> tuple[Any, ...]:
    """Return the same place; only the name differs that the reference's text has here."""
    comment = comment_id(state, member(2), member(3))
    time = member(1)
    return member(0), time, comment


declare_list(
    "database_api.list_comments",
    "Comments by payout time, author and permlink, discussion, parent, or last update, mostly with their record id. "
    "As in the reference, by_author_last_update is the same order as by_last_update: by the parent's author, newest first.",
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

# ------------------------------------------------------------------ lists of votes

# Orders that only the specification has: the same without the symbol, which stands at this place in their start.
SYMBOL_ORDERS = {
    "by_comment_voter_symbol": ("by_comment_voter", 3),
    "by_voter_comment_symbol": ("by_voter_comment", 3),
    "by_comment_symbol_voter": ("by_comment_voter", 2),
    "by_voter_symbol_comment": ("by_voter_comment", 1),
}
CommentVoter = Annotated[
    tuple[AccountName, Text, AccountName],
    ExactLength("by_comment_voter start requires 3 values. (account_name_type, string, account_name_type)", "key.size() == nr_args"),
]
VoterComment = Annotated[
    tuple[AccountName, AccountName, Text],
    # The reference names the other order here.
    ExactLength("by_comment_voter start requires 3 values. (account_name_type, account_name_type, string)", "key.size() == nr_args"),
]


def voter_id(state: State, name: str) -> int:
    """Return the record id of an existing account; without a name, the id before all others."""
    if not name:
        return FIRST
    account = state.accounts.by_name.get(name)
    require(account is not None, "Could not find voter ${v}.", condition="account != nullptr", v=name)
    assert account is not None
    return account.id


def comment_voter_place(state: State, member: Member) -> tuple[int, int]:
    """Return where an account's vote on a comment stands among those on the comment: [author, permlink, voter]."""
    author, permlink, voter = member(0), member(1), member(2)
    account = voter_id(state, voter)
    return comment_id(state, author, permlink), account


def voter_comment_place(state: State, member: Member) -> tuple[int, int]:
    """Return where an account's vote on a comment stands among those of the account: [voter, author, permlink]."""
    author, permlink, voter = member(1), member(2), member(0)
    return voter_id(state, voter), comment_id(state, author, permlink)


VOTES = {
    "by_comment_voter": By(lambda state: state.comment_votes.by_comment_voter, CommentVoter, place=comment_voter_place),
    "by_voter_comment": By(lambda state: state.comment_votes.by_voter_comment, VoterComment, place=voter_comment_place),
}
VoteStart = Annotated[Any, AnyOf((CommentVoter, VoterComment))]
VoteOrder = Annotated[Any, OneOfNames((*VOTES, *SYMBOL_ORDERS))]


@method("database_api.list_votes", key="votes")
def list_votes(
    state: State,
    show: RecordEncoder,
    /,
    start: VoteStart = BEGINNING,
    limit: ListLimit = QUERY_LIMIT,
    order: VoteOrder = "by_comment_voter",
) -> list[VoteJson]:
    """List votes by comment and voter, or by voter and comment, each by record id.

    The orders with a symbol are equal to those without one; the symbol is ignored.
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
    """Return the start key of an order with a symbol without that symbol; members that are missing after it are empty."""
    place = SYMBOL_ORDERS[order][1]
    least = 3 if place == 3 else 2
    text, condition = f"{order} start requires {least} or 4 values.", f"key.size() == {least} || key.size() == 4"
    require(len(start) in (least, 4), text, condition=condition)
    start = start[:place] + start[place + 1 :]
    return start + [""] * (3 - len(start))
