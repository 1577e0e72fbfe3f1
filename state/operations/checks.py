"""Static checks shared by operations, each with its message and condition in one place.

A condition is the reference's source expression. In a refusal it precedes the text.
Source: operations.md §2.3, §2.4; wire-format.md §4.1, §4.2.
"""

from __future__ import annotations

from typing import Any

from state.protocol.constants import COIN_MAX_MEMO_SIZE, COIN_MAX_PERMLINK_LENGTH, COIN_MAX_WITNESS_URL_LENGTH
from state.protocol.errors import Refused, require
from state.protocol.values import jsontext, text


def require_account_name(name: str) -> None:
    """Refuse an invalid account name."""
    if not text.is_valid_account_name(name):
        raise Refused("Account name ${n} is invalid", condition="is_valid_account_name( name )", n=name)


def require_optional_account_name(name: str) -> None:
    """Refuse an invalid account name. An empty one is accepted."""
    if name:
        require_account_name(name)


def require_permlink(link: str) -> None:
    """Refuse a permlink of more than 255 bytes, or one that is not UTF-8. New comments have stricter rules."""
    if text.size(link) >= COIN_MAX_PERMLINK_LENGTH:
        raise Refused("permlink is too long", condition="permlink.size() < COIN_MAX_PERMLINK_LENGTH")
    if not text.is_utf8(link):
        raise Refused("permlink not formatted in UTF8", condition="fc::is_utf8( permlink )")


def require_memo(note: str) -> None:
    """Refuse a memo of more than 2047 bytes, or one that is not UTF-8."""
    if text.size(note) >= COIN_MAX_MEMO_SIZE:
        raise Refused("Memo is too large", condition="memo.size() < COIN_MAX_MEMO_SIZE")
    if not text.is_utf8(note):
        raise Refused("Memo is not UTF8", condition="fc::is_utf8( memo )")


def require_json_metadata(json: str, field: str = "json_metadata") -> None:
    """Refuse a text that is not JSON in UTF-8. An empty text is accepted. `field` is the name of the operation's field."""
    if json:
        require(text.is_utf8(json), "JSON Metadata not formatted in UTF8", condition=f"fc::is_utf8({field})")
        require_valid_json(json, field)


def require_valid_json(json: str, field: str) -> None:
    """Refuse a text that isn't valid for the reference's lenient JSON parser. If the parser raises an error, that error is the refusal."""
    jsontext.require_valid(json, "JSON Metadata not valid JSON", condition=f"fc::json::is_valid({field})")


def require_url(address: str) -> None:
    """Refuse a witness URL that is empty, longer than 2048 bytes, or not UTF-8."""
    size = text.size(address)
    require(size <= COIN_MAX_WITNESS_URL_LENGTH, "URL is too long", condition="url.size() <= COIN_MAX_WITNESS_URL_LENGTH")
    require(size > 0, "URL size must be greater than 0", condition="url.size() > 0")
    require(text.is_utf8(address), "URL is not valid UTF8", condition="fc::is_utf8( url )")


def require_no_extensions(extensions: tuple[Any, ...], operation: str) -> None:
    """Refuse extensions. Some operations with extensions don't call this."""
    require(not extensions, f"There are no extensions for {operation}_operation.", condition="extensions.size() == 0")
