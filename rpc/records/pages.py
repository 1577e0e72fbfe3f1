"""Records of what condenser_api.get_state tells of a page of a website. Source: rpc-api.md §2.2, §5.1."""

from typing import Annotated, Any

from rpc.records.accounts import AccountView, ExtendedAccount
from rpc.records.follow import AuthorCount
from rpc.records.history import RecordedOperation
from rpc.service.shown import Always, At, MaybeAt
from state.plugins.account_history import OperationRecord
from state.plugins.follow.rows import BlogAuthor
from state.protocol.codec.kinds import Int, Many, Pairs, String

Numbered = tuple[tuple[int, OperationRecord], ...]
Names = Many(String())


class PageAccountView(AccountView):
    """What is shown of an account on a page: what accounts show, and what the page is about."""

    transfer_history: Numbered = ()
    other_history: Numbered = ()
    guest_bloggers: tuple[BlogAuthor, ...] = ()
    comments: list[str] | None = None
    feed: list[str] | None = None
    blog: list[str] | None = None
    recent_replies: list[str] | None = None


class PageAccount(ExtendedAccount):
    """R-account extended, of a `PageAccountView`. The witnesses that it votes for are told by get_accounts only."""

    transfer_history: Annotated[list[Any], At("transfer_history", Pairs(Int(64), RecordedOperation))]
    other_history: Annotated[list[Any], At("other_history", Pairs(Int(64), RecordedOperation))]
    witness_votes: Annotated[list[Any], Always([])]
    guest_bloggers: Annotated[list[Any], At("guest_bloggers", Many(AuthorCount))]
    comments: Annotated[list[str] | None, MaybeAt("comments", Names)]
    feed: Annotated[list[str] | None, MaybeAt("feed", Names)]
    blog: Annotated[list[str] | None, MaybeAt("blog", Names)]
    recent_replies: Annotated[list[str] | None, MaybeAt("recent_replies", Names)]
