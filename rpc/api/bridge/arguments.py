"""Checks of `bridge` arguments, which arrive as parsed JSON. Refusals have the social indexer's messages. Source: social.md §3.1."""

import re
from typing import Annotated, Any

from rpc.declare.arguments import AnyOf, Example
from rpc.declare.errors import InvalidParameters
from state.plugins.social.index import Social
from state.tables import State
from state.tables.accounts import Account
from state.tables.content import Comment

TextArgument = Annotated[Any, AnyOf((str,))]
NumberArgument = Annotated[Any, AnyOf((int,))]
PostArgument = Annotated[Any, AnyOf((dict[str, Any],)), Example({"author": "alice", "permlink": "first-post"})]
NameArgument = Annotated[TextArgument, Example("alice")]
OtherNameArgument = Annotated[TextArgument, Example("bob")]
NamesArgument = Annotated[Any, AnyOf((list[str],)), Example(["alice", "bob"])]
PermlinkArgument = Annotated[TextArgument, Example("first-post")]
RankArgument = Annotated[TextArgument, Example("created")]
ListArgument = Annotated[TextArgument, Example("posts")]
CommunityArgument = Annotated[TextArgument, Example("coin-123456")]

NAME_MIN, NAME_MAX, PERMLINK_MAX, POSTS_MAX = 3, 16, 256, 100
NOT_IN_NAMES = re.compile(r"[^a-z0-9.-]")
TAG = re.compile(r"[a-z0-9_-]+")


def demand(ok: object, text: str) -> None:
    """Refuse the call with this message unless `ok` is true."""
    if not ok:
        raise InvalidParameters(text)


def account_argument(value: Any, *, may_be_empty: bool = False) -> str:
    """Return an account name. Refuse a malformed name."""
    if value is None or value == "":
        demand(may_be_empty, "invalid account (not specified)")
        return ""
    demand(isinstance(value, str), "invalid account name type")
    name = str(value)
    demand(NAME_MIN <= len(name) <= NAME_MAX, f"invalid account name length: `{name}`")
    demand(not name.startswith("@"), "invalid account name char `@`")
    demand(not NOT_IN_NAMES.search(name), "invalid account char")
    return name


def permlink_argument(value: Any, *, may_be_empty: bool = False) -> str:
    """Return a permlink. Refuse a malformed permlink."""
    if value is None or value == "":
        demand(may_be_empty, "permlink cannot be blank")
        return ""
    demand(isinstance(value, str), "permlink must be string")
    permlink = str(value)
    demand(len(permlink) <= PERMLINK_MAX, "invalid permlink length")
    return permlink


def tag_argument(value: Any, *, may_be_empty: bool = True) -> str:
    """Return a tag or the name of a community. Refuse a malformed value."""
    if value is None or value == "":
        demand(may_be_empty, "tag was blank")
        return ""
    demand(isinstance(value, str), "tag must be a string")
    tag = str(value)
    demand(TAG.fullmatch(tag), f"invalid tag `{tag}`")
    return tag


def number_argument(value: Any, name: str) -> int:
    """Return an integer, which may be given as a string of digits. Refuse other values."""
    demand(value is not None, f"{name} must be provided")
    try:
        return int(value)
    except (ValueError, TypeError, OverflowError):
        raise InvalidParameters(f"{name} must be an integer") from None


def limit_argument(value: Any, limit_max: int) -> int:
    """Return the maximum number of results. Refuse a value that isn't between 1 and `limit_max`."""
    limit = number_argument(value, "limit")
    demand(limit > 0, "limit must be positive")
    demand(limit <= limit_max, f"limit exceeds max ({limit} > {limit_max})")
    return limit


def text_argument(value: Any, name: str) -> str:
    """Return a string, "" for null. Refuse other values."""
    demand(value is None or isinstance(value, str), f"{name} must be a string")
    return value or ""


def existing_account(state: State, value: Any) -> Account:
    """Return the account with this name, or refuse the call if there is none."""
    demand(value, "no account name specified")
    demand(isinstance(value, str), "invalid account name type")
    row = state.accounts.by_name.get(value)
    demand(row is not None, f"account not found: `{value}`")
    assert row is not None
    return row


def observer_argument(state: State, value: Any) -> str:
    """Return the observer's account name, or "" if none is given. Refuse an unknown account."""
    return existing_account(state, value).name if value else ""


def existing_post(state: State, author: str, permlink: str) -> Comment:
    """Return the post or reply with this author and permlink, or refuse the call if there is none."""
    comment = state.comments.by_permlink.get(author, permlink)
    demand(comment is not None, "invalid author/permlink")
    assert comment is not None
    return comment


def start_post(state: State, kept: Social, author: str, permlink: str) -> tuple[bool, Comment | None]:
    """Find the post that precedes a page. Return whether that post is deleted, and the post itself (None if deleted, or for the first
    page).
    """
    if not permlink:
        return False, None
    post = kept.post(author, permlink)
    demand(post is not None, "invalid author/permlink")
    comment = state.comments.by_permlink.get(author, permlink)
    return comment is None, comment
