"""Records of condenser_api.get_state, which returns the data of website pages. Source: rpc-api.md §2.2, §5.1."""

from typing import Annotated, Any

from rpc.declare.record_fields import ConstantField, FieldPath, OptionalFieldPath
from rpc.records.accounts import AccountView, ExtendedAccountRecord
from rpc.records.follow import AuthorCountRecord
from rpc.records.history import AppliedOperationRecord
from state.plugins.follow.rows import BlogAuthor
from state.plugins.operation_log import OperationRecord
from state.protocol.codec.kinds import Int, Many, Pairs, String

Numbered = tuple[tuple[int, OperationRecord], ...]
Names = Many(String())


class PageAccountView(AccountView):
    """The object from which `PageAccountRecord` is read: an account, and the lists for one section of its page."""

    transfer_history: Numbered = ()
    other_history: Numbered = ()
    guest_bloggers: tuple[BlogAuthor, ...] = ()
    comments: list[str] | None = None
    feed: list[str] | None = None
    blog: list[str] | None = None
    recent_replies: list[str] | None = None


class PageAccountRecord(ExtendedAccountRecord):
    """An account on a website page (R-account extended), read from a `PageAccountView`. `witness_votes` is empty here, unlike in
    get_accounts.
    """

    transfer_history: Annotated[list[Any], FieldPath("transfer_history", Pairs(Int(64), AppliedOperationRecord))]
    other_history: Annotated[list[Any], FieldPath("other_history", Pairs(Int(64), AppliedOperationRecord))]
    witness_votes: Annotated[list[Any], ConstantField([])]
    guest_bloggers: Annotated[list[Any], FieldPath("guest_bloggers", Many(AuthorCountRecord))]
    comments: Annotated[list[str] | None, OptionalFieldPath("comments", Names)]
    feed: Annotated[list[str] | None, OptionalFieldPath("feed", Names)]
    blog: Annotated[list[str] | None, OptionalFieldPath("blog", Names)]
    recent_replies: Annotated[list[str] | None, OptionalFieldPath("recent_replies", Names)]
