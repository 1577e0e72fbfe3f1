"""The operations inside custom operations with the id `follow`: their forms and what can be refused without state.
Source: block-processing.md §7.4; wire-format.md §4.8.
"""

from typing import Annotated, Any

from msgspec import Struct

from state.operations.custom import CustomBinary, CustomJson
from state.protocol.codec.codecs import Codecs
from state.protocol.codec.kinds import AccountName, Many, String, Text, Variant
from state.protocol.errors import ChainError, require
from state.protocol.operation import Needed
from state.protocol.values import jsontext
from state.protocol.values.convert import to_text


class FollowOperation(Struct, frozen=True):
    """Follow an account's blog, ignore the account, or neither."""

    TAG = 0

    follower: AccountName = ""
    following: AccountName = ""
    what: Annotated[tuple[str, ...], Many(String(), ascending=True)] = ()

    def validate(self) -> None:
        """Nobody follows himself."""
        require(self.follower != self.following, "You cannot follow yourself", condition="follower != following")

    @property
    def signer(self) -> str:
        """Who must have signed."""
        return self.follower


class ReblogOperation(Struct, frozen=True):
    """Show somebody's post to one's own followers."""

    TAG = 1

    account: AccountName = ""
    author: AccountName = ""
    permlink: Text = ""

    def validate(self) -> None:
        """Own posts are shown anyway."""
        require(self.account != self.author, "You cannot reblog your own content", condition="account != author")

    @property
    def signer(self) -> str:
        """Who must have signed."""
        return self.account


Inner = FollowOperation | ReblogOperation
CLASSES = (FollowOperation, ReblogOperation)
SHORT_NAMES = {"follow": 0, "reblog": 1}
NAMES = {"follow_operation": 0, "reblog_operation": 1}
InnerKind = Variant(("follow_operation", FollowOperation), ("reblog_operation", ReblogOperation))


def read_operations(codecs: Codecs, operation: CustomJson | CustomBinary) -> tuple[Inner, ...]:
    """The operations that a custom operation holds; refused when it can't be read, when one is not valid, or when it was
    signed by others than exactly those that they need."""
    inner = packed_operations(codecs, operation.data) if isinstance(operation, CustomBinary) else json_operations(codecs, operation.json)
    for one in inner:
        one.validate()
    require_signers(operation, inner)
    return inner


def read_bare(codecs: Codecs, operation: CustomJson) -> tuple[Inner, ...]:
    """What a payload means that is the fields of a follow operation themselves; nothing when it is no object or can't be read."""
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
    """Several operations, or a single one, from bytes."""
    try:
        inner: tuple[Inner, ...] = codecs.unpack(Many(InnerKind), data)
        return inner
    except ChainError:
        return (codecs.unpack(InnerKind, data),)


def json_operations(codecs: Codecs, text: str) -> tuple[Inner, ...]:
    """One operation, or a list of them, from text."""
    value = jsontext.read(text)
    many = type(value) is list and value and type(value[0]) is list
    return tuple([json_operation(codecs, item) for item in (value if many else (value,))])


def json_operation(codecs: Codecs, value: Any) -> Inner:
    """One operation: a pair of short name (or number) and fields, or an object of type and value; too short an array is empty."""
    if type(value) is list:
        if len(value) < 2:
            return FollowOperation()
        tag, fields = value[0], value[1]
        if type(tag) is not int or tag < 0:
            name = to_text(tag)
            require(name in SHORT_NAMES, "Invalid operation name: ${n}", condition="itr != to_legacy_tag.end()", n=name)
            tag = SHORT_NAMES[name]
    else:
        require(type(value) is dict, "Input data have to treated as object.", condition="var.is_object()")
        require("type" in value, "Type field doesn't exist.", condition='v_object.contains( "type" )')
        require("value" in value, "Value field doesn't exist.", condition='v_object.contains( "value" )')
        tag, fields = value["type"], value["value"]
        if type(tag) is not int:
            name = to_text(tag)
            require(name in NAMES, "Invalid object name: ${n}", condition="itr != to_tag.end()", n=name)
            tag = NAMES[name]
    require(0 <= tag < len(CLASSES), condition="w < count() && w >= 0")
    inner: Inner = codecs.parser(CLASSES[tag])(fields)
    return inner


def require_signers(outer: CustomJson | CustomBinary, inner: tuple[Inner, ...]) -> None:
    """What an operation was signed with must be exactly the posting authority of those who act inside it."""
    needed = Needed(set(), set(), set(), [])
    outer.authorities(needed)
    require(not needed.owner, condition="inner_owner == outer_owner")
    require(not needed.active, condition="inner_active == outer_active")
    require({one.signer for one in inner} == needed.posting, condition="inner_posting == outer_posting")
    require(not needed.other, condition="inner_other == outer_other")
