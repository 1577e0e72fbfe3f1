"""The operations inside custom operations with the id `follow`: their formats, and checks that need no state.
Source: block-processing.md §7.4; wire-format.md §4.8.
"""

from typing import Annotated, Any

from msgspec import Struct

from state.operations.custom import CustomBinary, CustomJson
from state.protocol.codec.kinds import NO_SUCH_TYPE, AccountName, Codecs, Many, String, Text, Variant, variant_tag
from state.protocol.errors import ChainError, Refused, require
from state.protocol.operation import Needed
from state.protocol.values import jsontext
from state.protocol.values.convert import to_text


class FollowOperation(Struct, frozen=True):
    """Change of one account's relation to another: `blog` in `what` follows, `ignore` ignores, and an empty list ends the relation."""

    TAG = 0

    follower: AccountName = ""
    following: AccountName = ""
    what: Annotated[tuple[str, ...], Many(String(), ascending=True)] = ()

    def validate(self) -> None:
        """Refuse an account that follows itself."""
        if self.follower == self.following:
            raise Refused("You cannot follow yourself", condition="follower != following")

    @property
    def signer(self) -> str:
        """The account whose posting authority is required."""
        return self.follower


class ReblogOperation(Struct, frozen=True):
    """Adds a post of another author to the blog of `account` and to the feeds of its followers."""

    TAG = 1

    account: AccountName = ""
    author: AccountName = ""
    permlink: Text = ""

    def validate(self) -> None:
        """Refuse a reblog of the account's own post, which is already in its blog."""
        require(self.account != self.author, "You cannot reblog your own content", condition="account != author")

    @property
    def signer(self) -> str:
        """The account whose posting authority is required."""
        return self.account


Inner = FollowOperation | ReblogOperation
CLASSES = (FollowOperation, ReblogOperation)
SHORT_NAMES = {"follow": 0, "reblog": 1}
NAMES = {"follow_operation": 0, "reblog_operation": 1}
# Created once, since codecs cache the converters of each kind object for their whole lifetime.
InnerKind = Variant(("follow_operation", FollowOperation), ("reblog_operation", ReblogOperation))
INNER_OPERATIONS = Many(InnerKind)


def read_operations(codecs: Codecs, operation: CustomJson | CustomBinary) -> tuple[Inner, ...]:
    """Return the operations inside a custom operation.

    Raises: ChainError if the payload can't be parsed, an operation in it is invalid, or the custom operation's authorities aren't exactly
    the required ones.
    """
    inner = packed_operations(codecs, operation.data) if isinstance(operation, CustomBinary) else json_operations(codecs, operation.json)
    for one in inner:
        one.validate()
    require_signers(operation, inner)
    return inner


def read_bare(codecs: Codecs, operation: CustomJson) -> tuple[Inner, ...]:
    """Return the follow operation whose fields are the whole payload. Return no operation if the payload has another form or is invalid."""
    if not operation.json.lstrip(" \t\r\n").startswith("{"):
        return ()
    try:
        follow: FollowOperation = codecs.parser(FollowOperation)(jsontext.read(operation.json))
        follow.validate()
        require_signers(operation, (follow,))
    except ChainError:
        return ()
    return (follow,)


def packed_operations(codecs: Codecs, data: bytes) -> tuple[Inner, ...]:
    """Parse a list of operations from bytes. If that fails, parse a single operation."""
    try:
        inner: tuple[Inner, ...] = codecs.unpack(INNER_OPERATIONS, data)
        return inner
    except ChainError:
        return (codecs.unpack(InnerKind, data),)


def json_operations(codecs: Codecs, text: str) -> tuple[Inner, ...]:
    """Parse a list of operations, or a single operation, from JSON text.

    The text is a list of operations if its first element is an array.
    """
    value = jsontext.read(text)
    many = type(value) is list and value and type(value[0]) is list
    return tuple([json_operation(codecs, item) for item in (value if many else (value,))])


def json_operation(codecs: Codecs, value: Any) -> Inner:
    """Parse one operation: an array of its short name or number and its fields, or an object with type and value.

    As in the reference's static variant, an array with fewer than two elements becomes an empty follow operation, and elements after the
    second are ignored.
    """
    if type(value) is list:
        if len(value) < 2:
            return FollowOperation()
        tag, fields = value[0], value[1]
        if type(tag) is not int or tag < 0:
            name = to_text(tag)
            if name not in SHORT_NAMES:
                raise Refused("Invalid operation name: ${n}", condition="itr != to_legacy_tag.end()", n=name)
            tag = SHORT_NAMES[name]
    else:
        if type(value) is not dict:
            raise Refused("Input data have to treated as object.", condition="var.is_object()")
        if "type" not in value:
            raise Refused("Type field doesn't exist.", condition='v_object.contains( "type" )')
        if "value" not in value:
            raise Refused("Value field doesn't exist.", condition='v_object.contains( "value" )')
        tag, fields = variant_tag(value["type"], NAMES), value["value"]
    if not 0 <= tag < len(CLASSES):
        raise Refused("", condition=NO_SUCH_TYPE)
    inner: Inner = codecs.parser(CLASSES[tag])(fields)
    return inner


def require_signers(outer: CustomJson | CustomBinary, inner: tuple[Inner, ...]) -> None:
    """Refuse a custom operation unless its authorities are exactly the posting authorities of the accounts that act inside it.

    Additional authorities are refused, since their signatures could be meant for something else.
    """
    signers = {one.signer for one in inner}
    if isinstance(outer, CustomJson) and not outer.required_auths and signers == {*outer.required_posting_auths}:
        return  # the common case; otherwise the checks below find the error
    needed = Needed(set(), set(), set(), [])
    outer.authorities(needed)
    require(not needed.owner, condition="inner_owner == outer_owner")
    require(not needed.active, condition="inner_active == outer_active")
    require(signers == needed.posting, condition="inner_posting == outer_posting")
    require(not needed.other, condition="inner_other == outer_other")
