"""The accounts, posts and proposals that a call or an operation names.

They are derived from the annotations of the method's arguments and from the kinds of the operations' fields. A field whose name ends with
`permlink` belongs to the field with the same name that ends with `author`.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from rpc.declare.arguments import AnyOf, is_query
from rpc.declare.demand import AccountKey, CallGuard, Key, NewKey, PostKey, PostsKey, ProposalKey, SignerKey
from rpc.declare.method import Method
from state.operations.accounts import AccountCreate, AccountCreateWithDelegation, CreateClaimedAccount
from state.operations.content import Comment
from state.operations.custom import CustomJson
from state.protocol.codec.fields import kind_of_hint, wire_fields
from state.protocol.codec.kinds import Bounded, Many, Maybe, Pairs, Tagged
from state.protocol.errors import ChainError
from state.protocol.operation import Needed, Operation
from state.protocol.transaction import OPERATION, SignedTransaction, Wire
from state.protocol.values.text import is_valid_account_name

ACCOUNT_NAME_SIZE = 16
PERMLINK_SIZE_MAX = 255  # bytes
# Arguments that are positions in a list, not names. Clients also look for an account by the lower bound of a list of names, so that counts
# as a name.
POSITIONS = frozenset({"start", "last"})
# Members of untyped arguments and of custom operations that contain the name of an account.
UNTYPED_ACCOUNTS = ("account", "account1", "account2", "accounts", "author", "community", "follower", "following", "name", "observer")
# Methods that list the posts of an account, and the argument with its name.
LISTS_OF_POSTS = {
    "get_account_posts": "account",
    "get_blog": "account",
    "get_blog_entries": "account",
    "get_discussions_by_author_before_date": "author",
    "get_discussions_by_blog": "tag",
    "get_discussions_by_comments": "start_author",
}
# Methods that omit what a fork doesn't have. A page with many names would otherwise fetch all of it from the source.
NEVER_FETCHING = ("get_titles",)
TAG_IS_ACCOUNT = ("get_discussions_by_blog", "get_discussions_by_feed")
# The path of a page, and a text to find: an account name, or an author and a permlink.
PATH = re.compile(r"(?:.*/)?@([a-z0-9.-]+)(?:/([a-z0-9-]+))?/?")
WORD = re.compile(r"@?([a-z0-9.-]+)(?:/([a-z0-9-]+))?")
PATCH = "@@ "  # the beginning of a body that changes an earlier one
# Custom operations that plugins apply.
CUSTOM_IDS = ("follow", "reblog", "community", "notify")
JSON_SIZE_MAX, JSON_DEPTH_MAX = 8_192, 4

NamedFields = Iterable[tuple[str, Any, Any]]  # name, annotation or kind, value


def guarded(call_guard: CallGuard, wire: Wire, method: Method, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method's function that raises NotHere while the chain lacks something that the call names."""
    keys = named_by(method, wire)
    hidden = int(method.needs_session or method.needs_caller)  # the first value is the session or the caller, not an argument

    def call(*values: Any) -> Any:
        arguments = values[hidden:]
        return call_guard.call(method, arguments, keys(arguments), partial(function, *values[:hidden]))

    return call


def named_by(method: Method, wire: Wire) -> Callable[[Sequence[Any]], Iterator[Key]]:
    """Return a function that yields what a call of this method names, from its arguments. Invalid names are left out."""
    parameters = [(parameter.name.rstrip("_"), parameter.annotation) for parameter in method.parameters]
    name = method.name.partition(".")[2]
    if name == "find_proposals":
        parameters = [("proposal_ids", parameters[0][1])]
    elif name in NEVER_FETCHING:
        parameters = []

    def keys(values: Sequence[Any]) -> Iterator[Key]:
        fields = [(field, annotation, value) for (field, annotation), value in zip(parameters, values, strict=False)]
        yield from _fields(fields, wire)
        flat = {field: value for field, _, value in fields}
        for _, annotation, value in fields:
            if is_query(annotation):
                flat |= msgspec.structs.asdict(value)
        if name in TAG_IS_ACCOUNT:
            yield from _account(flat["tag"])
        if name in LISTS_OF_POSTS and isinstance(author := flat[LISTS_OF_POSTS[name]], str) and is_valid_account_name(author):
            yield PostsKey(author)
        if name == "get_state":
            yield from _path(PATH.fullmatch(flat["path"]))
        if name == "find":
            yield from _path(WORD.fullmatch(flat["text"]))

    return keys


def named_by_transaction(operations: Sequence[Operation]) -> Iterator[Key]:
    """Yield what the operations of a transaction name, first the signers."""
    needed = Needed.by(tuple(operations))
    for name in sorted(needed.owner | needed.active | needed.posting):
        if is_valid_account_name(name):
            yield SignerKey(name)
    made = set(_made(operations))
    for operation in operations:
        for key in _struct(operation):
            yield NewKey(key) if key in made and isinstance(key, (AccountKey, PostKey)) else key


def _made(operations: Sequence[Operation]) -> Iterator[AccountKey | PostKey]:
    """Yield the keys of the accounts and posts that operations make."""
    for operation in operations:
        if isinstance(operation, Comment) and not operation.body.startswith(PATCH):
            yield PostKey(operation.author, operation.permlink)
        elif isinstance(operation, (AccountCreate, AccountCreateWithDelegation, CreateClaimedAccount)):
            yield AccountKey(operation.new_account_name)


def _fields(fields: list[tuple[str, Any, Any]], wire: Wire | None = None) -> Iterator[Key]:
    """Yield what fields or arguments name, each given by its name, its annotation or kind, and its value."""
    by_name = {name: value for name, _, value in fields}
    for name, of, value in fields:
        if name in POSITIONS and get_origin(of) is not list:
            continue
        if name.endswith("permlink"):
            beginning = name.removesuffix("permlink")
            author = by_name.get(f"{beginning}author", by_name.get("author"))
            # A proposal names a post of its creator or receiver.
            for account in (by_name.get("creator"), by_name.get("receiver")) if author is None else (author,):
                yield from _post(account, value)
            # The parent of a post that isn't a reply is a category, which can be a community.
            if name == "parent_permlink" and not author:
                yield from _community(value)
        elif name == "proposal_ids":
            yield from map(ProposalKey, value)
        else:
            yield from _value(name, of, value, wire)


def _value(name: str, of: Any, value: Any, wire: Wire | None) -> Iterator[Key]:
    if of is SignedTransaction:
        yield from named_by_transaction(value.operations)
    elif is_query(of):
        hints = get_type_hints(of, include_extras=True)
        yield from _fields([(field, hints[field], getattr(value, field)) for field in of.__struct_fields__ if field != "tag"], wire)
    elif (marks := _any_of(of)) is not None:
        yield from _untyped(name, marks, value, wire)
    elif get_origin(of) is list and value:
        for item in value:
            yield from _value(name, get_args(of)[0], item, wire)
    elif get_origin(of) is tuple:
        members = get_args(of)
        if len(members) == 2 and [_is_account(member) for member in members] == [True, False]:
            yield from _post(*value)
        else:
            for member, item in zip(members, value, strict=False):
                yield from _value(name, member, item, wire)
    elif name.endswith("author") and isinstance(value, str):
        yield from _account(value)
    else:
        yield from _kind(of if isinstance(of, (Bounded, Many, Pairs, Maybe)) else kind_of_hint(of), value)


def _any_of(of: Any) -> tuple[Any, ...] | None:
    """Return the possible types of an argument that the method converts itself, or None for other arguments."""
    declared = next((mark.annotations for mark in getattr(of, "__metadata__", ()) if isinstance(mark, AnyOf)), None)
    return () if declared is None and getattr(of, "__origin__", of) is Any else declared


def _untyped(name: str, marks: tuple[Any, ...], value: Any, wire: Wire | None) -> Iterator[Key]:
    """Yield what an argument names that the method converts itself."""
    if _has_operations(marks):
        if wire is not None:
            yield from named_by_transaction(list(_operations(value, wire)))
    elif isinstance(value, dict):
        yield from _members(value)
    elif name in UNTYPED_ACCOUNTS or name.endswith(("author", "account_or_id")):
        for item in value if isinstance(value, list) else [value]:
            yield from _account(item)
    elif name == "tag":
        yield from _community(value)


def _has_operations(marks: tuple[Any, ...]) -> bool:
    return any(mark is SignedTransaction or (get_origin(mark) is list and kind_of_hint(get_args(mark)[0]) is OPERATION) for mark in marks)


def _operations(value: Any, wire: Wire) -> Iterator[Operation]:
    """Parse operations, or those of a transaction, in either JSON form. Skip what can't be parsed, which the method refuses."""
    if isinstance(value, dict):
        value = value.get("operations")
    for item in value if isinstance(value, list) else ():
        try:
            yield wire.codecs.parser(OPERATION, isinstance(item, list))(item)
        except ChainError:
            continue


def _kind(kind: Any, value: Any) -> Iterator[Key]:
    """Yield what a value of a wire kind names."""
    if _is_account(kind):
        yield from _account(value)
    elif isinstance(kind, Many):
        for item in value:
            yield from _kind(kind.element, item)
    elif isinstance(kind, Pairs):
        for key, item in value:
            yield from _kind(kind.key, key)
            yield from _kind(kind.value, item)
    elif isinstance(kind, Maybe):
        if value is not None:
            yield from _kind(kind.element, value)
    elif isinstance(value, Struct):
        yield from _struct(value.value if isinstance(value, Tagged) else value)


def _struct(value: Any) -> Iterator[Key]:
    """Yield what the fields of a declared type name."""
    if not isinstance(value, Struct):
        return
    yield from _fields([(name, kind, getattr(value, field)) for field, name, kind in _plan(type(value))])
    if isinstance(value, CustomJson) and value.id in CUSTOM_IDS:
        yield from _custom(value.json)


@cache
def _plan(cls: type) -> list[tuple[str, str, Any]]:
    return [(field.name, field.json, field.kind) for field in wire_fields(cls)]


def _is_account(of: Any) -> bool:
    kind = of if isinstance(of, Bounded) else kind_of_hint(of)
    return isinstance(kind, Bounded) and kind.size == ACCOUNT_NAME_SIZE


def _custom(text: str) -> Iterator[Key]:
    """Yield what the JSON of a custom operation names: follows, reblogs, actions in communities."""
    if len(text) > JSON_SIZE_MAX:
        return
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return
    yield from _nested(value, JSON_DEPTH_MAX)


def _nested(value: Any, depth: int) -> Iterator[Key]:
    if not depth:
        return
    if isinstance(value, dict):
        yield from _members(value)
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _nested(item, depth - 1)


def _members(value: dict[str, Any]) -> Iterator[Key]:
    """Yield what the members of an untyped object name."""
    for name in UNTYPED_ACCOUNTS:
        member = value.get(name)
        for item in member if isinstance(member, list) else [member]:
            yield from _account(item)
    yield from _post(value.get("author") or value.get("account"), value.get("permlink"))


def _path(match: re.Match[str] | None) -> Iterator[Key]:
    if match is not None:
        yield from _account(match[1])
        yield from _post(match[1], match[2])


def _account(value: Any) -> Iterator[Key]:
    if isinstance(value, str) and is_valid_account_name(value):
        yield AccountKey(value)


def _community(value: Any) -> Iterator[Key]:
    if isinstance(value, str) and re.fullmatch(r"[a-z]+-[1-3]\d{4,6}", value):
        yield from _account(value)


def _post(author: Any, permlink: Any) -> Iterator[Key]:
    if not (isinstance(author, str) and isinstance(permlink, str) and is_valid_account_name(author)):
        return
    if permlink.isprintable() and 0 < len(permlink.encode("utf-8", "surrogatepass")) <= PERMLINK_SIZE_MAX:
        yield PostKey(author, permlink)
