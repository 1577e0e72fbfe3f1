"""Requests that are expensive to decode, of the maximum size for remote clients."""

from collections.abc import Iterator

from rpc.json.reader import REMOTE_MARKS_MAX, REMOTE_SIZE_MAX
from rpc.jsonrpc.batch import BATCH_MEMBERS_MAX

ENVELOPE = b'{"jsonrpc":"2.0","id":1,"method":"%s","params":%s}'
ROOM = REMOTE_SIZE_MAX - 1000
MARKS = REMOTE_MARKS_MAX - 100


def called(params: bytes, method: bytes = b"database_api.find_accounts") -> bytes:
    """Return the body of a call with these encoded parameters."""
    return ENVELOPE % (method, params)


def bodies() -> Iterator[tuple[str, bytes]]:
    """Yield each body with its description."""
    wrap = b'{"accounts":%s}'
    lists = {
        "long numbers": b"[" + b"12345678901234567890," * (ROOM // 21) + b"1]",
        "the last number too long": b"[" + b"1234567890123456789," * (MARKS - 1) + b"123456789012345678901]",
        "empty arrays": b"[" + b"[]," * (MARKS // 3) + b"[]]",
        "arrays in arrays": b"[" * 90 + b"[[[[]]]]," * (MARKS // 9 - 20) + b"1" + b"]" * 90,
        "members": b"{" + b",".join([b'"key-%d":%d' % (i, i) for i in range(MARKS)]) + b"}",
        "names": b"[" + b",".join([b'"user-%05d"' % i for i in range(MARKS)]) + b"]",
        "one long text": b'"' + b"x" * ROOM + b'"',
        "one long text of escapes": b'"' + rb"\u20ac" * (ROOM // 6) + b'"',
        "no UTF-8": b'"' + b"\xff" * ROOM + b'"',
        "digits": b"1" * ROOM,
        "brackets in a text": b'"' + b"[]" * (MARKS // 2) + b'"',
        "broken at the end": b"[" + b'{"a":1,"b":"text"},' * (MARKS // 4),
    }
    for what, text in lists.items():
        yield what, called(wrap % text)
    yield "white space", b" " * (ROOM - 100) + called(b"[]")
    yield "a long name of a method", called(b"{}", b"x" * ROOM)
    yield "a method of many points", called(b"{}", b"." * ROOM)
    for what, count, one in (
        ("numbers", MARKS, b"1"),
        ("numbers", BATCH_MEMBERS_MAX, b"1"),
        ("unknown methods", BATCH_MEMBERS_MAX, called(b"[]", b"a.b")),
        ("accounts", BATCH_MEMBERS_MAX, called(b'[["star"]]', b"condenser_api.get_accounts")),
        ("dear calls", 100, called(b'["star","post-1"]', b"condenser_api.get_content_replies")),
        ("empty transactions", BATCH_MEMBERS_MAX, called(b"[{}]", b"condenser_api.broadcast_transaction")),
    ):
        yield f"a batch of {count:,} {what}", b"[" + b",".join([one] * count) + b"]"
