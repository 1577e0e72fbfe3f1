"""Large, adversarial bodies of requests, for `bench.waits`."""

from collections.abc import Iterator

SMALL = b'{"jsonrpc":"2.0","id":1,"method":"database_api.get_version","params":{}}'
SIZE = 3_900_000  # bytes of a large body
ENVELOPE = b'{"jsonrpc":"2.0","id":1,"method":"database_api.find_accounts","params":'


def bodies() -> Iterator[tuple[str, bytes]]:
    """Yield the names and contents of large, adversarial bodies that clients without local rights can send."""

    def call_with(params: bytes) -> bytes:
        return ENVELOPE + b'{"accounts":' + params + b"}}"

    many = 190_000
    yield "numbers", call_with(b"[" + b"1234567890123," * many + b"1]")
    yield "numbers of 20 digits", call_with(b"[" + b"12345678901234567890," * 140_000 + b"1]")
    yield "the last number too long", call_with(b"[" + b"1234567890123456789," * 140_000 + b"123456789012345678901]")
    yield "empty arrays", call_with(b"[" + b"[]," * (many // 3) + b"[]]")
    yield "arrays in arrays", call_with(b"[" * 90 + b"[[[[]]]]," * (many // 9) + b"1" + b"]" * 90)
    yield "members", call_with(b"{" + b",".join([b'"key-%d":%d' % (i, i) for i in range(many // 2)]) + b"}")
    yield "short texts", call_with(b"[" + b'"a text","another one",' * (many // 2) + b'""]')
    yield "one long text", call_with(b'"' + b"x" * SIZE + b'"')
    yield "one long text of escapes", call_with(b'"' + rb"\u20ac" * (SIZE // 6) + b'"')
    yield "one long text, not ASCII", call_with(b'"' + "\u20ac\U0001f600".encode() * (SIZE // 7) + b'"')
    yield "no UTF-8", call_with(b'"' + b"\xff" * SIZE + b'"')
    yield "digits", call_with(b"1" * SIZE)
    yield "brackets in a text", call_with(b'"' + b"[]" * (many // 2) + b'"')
    yield "too many marks", call_with(b"[" + b"[]," * 5_000_000 + b"[]]")
    yield "broken at the end", call_with(b"[" + b'{"a":1,"b":"text"},' * (many // 5))
    yield "white space", b" " * SIZE + call_with(b"[]")
    yield "a refused name", ENVELOPE.replace(b"find_accounts", b"x" * SIZE) + b"{}}"
    yield "names that are too many", call_with(b"[" + b'"alice",' * many + b'"bob"]')
    yield "a batch of 5,000 calls", b"[" + b",".join([SMALL] * 5_000) + b"]"
    yield "a batch of 5,000 numbers", b"[" + b"1," * 4_999 + b"1]"
    yield "a batch of 190,000 numbers", b"[" + b"1," * 190_000 + b"1]"
