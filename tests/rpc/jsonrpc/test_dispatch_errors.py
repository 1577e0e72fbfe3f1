"""Error replies of the JSON-RPC service for refusals and for bugs: their code, message and data, which contain no internal details."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from rpc.declare.arguments import Text
from rpc.declare.errors import PushFailed, error_object
from rpc.declare.method import Method, method
from rpc.jsonrpc import dispatch, error_replies
from state.protocol.errors import MissingPostingAuthority, Refused, UnknownKey
from state.protocol.values.asset import Asset
from tests.helpers.fakes import Results, ask, call, fake_service, fake_wire, serving
from tests.helpers.log_capture import capture_logs

WIRE = fake_wire()


@pytest.mark.parametrize(
    ("refuse", "code", "message"),
    [
        (lambda: Refused("no ${n} COIN", condition="a > b", n=3), -32003, "Assert Exception:a > b: no 3 STEEM"),
        (UnknownKey, -32000, "unknown key:unknown key: "),
        (
            lambda: MissingPostingAuthority("Missing Posting Authority ${a}", a="alice"),
            -32000,
            "missing required posting authority:Missing Posting Authority alice",
        ),
        (lambda: PushFailed(Refused("no", condition="false")), -32000, "Assert Exception:false: no"),
    ],
)
async def test_refusals_are_answered_with_code_text_and_context(refuse: Callable[[], Exception], code: int, message: str) -> None:
    registry: dict[str, Method] = {}

    @method("a_api.at_once", registry=registry)
    def at_once(state: str) -> None:
        """Refuse immediately."""
        raise refuse()

    @method("a_api.later", registry=registry)
    async def later(state: str) -> None:
        """Refuse asynchronously."""
        raise refuse()

    service = serving(registry)
    for name in registry:
        reply = (await call(service, name))["error"]
        assert (reply["code"], reply["message"]) == (code, message)
        assert reply["data"]["stack"][0]["context"]["hostname"] == ""
        if refuse is UnknownKey:
            assert reply["data"]["stack"][0]["context"]["file"] == "test_dispatch_errors.py"
            assert reply["data"]["stack"][0]["context"]["method"] == name.split(".")[1]


def test_values_and_context_of_a_refusal_are_in_its_data() -> None:
    nested = Refused("${c} Coin", condition="x", c="COIN")
    values: dict[str, Any] = {
        "asset": Asset(5),
        "big": 2**40,
        "key": b"\1\2",
        "names": ("a", None),
        "why": nested,
        "kind": int,
        "m": {1: True},
    }
    error = Refused("${asset}", condition="c", **values)
    error.context = " near coin"
    reply = error_object(error, -32003, WIRE, lambda: 1577836800.5)
    assert reply["message"] == 'Assert Exception:c: {"amount":"5","precision":3,"nai":"@@000000021"} near steem'
    first, second = reply["data"]["stack"]
    assert first["data"]["asset"] == {"amount": "5", "precision": 3, "nai": "@@000000021"}
    assert first["data"]["big"] == str(2**40)
    assert first["data"]["key"] == "0102"
    assert first["data"]["names"] == ["a", None]
    assert first["data"]["why"] == "Assert Exception:x: COIN Steem"
    assert first["data"]["m"] == {"1": True}
    assert first["context"]["timestamp"] == "2020-01-01T00:00:00"
    assert (second["format"], second["data"]) == (" near steem", {})
    assert json.loads(msgspec.json.encode(reply)) == reply


async def test_bugs_are_logged_and_not_shown() -> None:
    registry: dict[str, Method] = {}

    @method("a_api.broken", registry=registry)
    def broken(state: str, text: Text = "") -> None:
        """Fail with a bug whose text must stay secret."""
        raise KeyError("a secret")

    @method("a_api.unshowable", registry=registry)
    def unshowable(state: str) -> Any:
        """Return a value that JSON can't represent."""
        return object()

    @method("a_api.later", registry=registry)
    async def later(state: str) -> None:
        """Fail with a bug asynchronously."""
        raise ZeroDivisionError

    service = serving(registry)
    with capture_logs() as logs:
        for name in registry:
            error = (await call(service, name))["error"]
            assert (error["code"], error["message"]) == (-32000, "Unknown error - parsing rpc message failed")
            assert "secret" not in json.dumps(error)
        await call(service, "a_api.broken", {"text": "x" * 1_000_000})
    assert [log["event"] for log in logs] == ["request failed"] * 4
    assert "a_api.broken" in logs[0]["request"]
    assert isinstance(logs[0]["exc_info"], KeyError)
    assert len(logs[3]["request"]) == error_replies.REQUEST_LOGGED_MAX


async def test_a_bug_in_the_json_reader_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(body: bytes, is_local: bool) -> Any:
        raise MemoryError

    monkeypatch.setattr(dispatch, "read_json", broken)
    with capture_logs() as logs:
        assert (await ask(fake_service(Results()), "{}"))["error"]["code"] == -32000
    assert logs[0]["request"] == "{}"


async def test_invalid_utf8_is_replaced_in_a_reply() -> None:
    stored = b"caf\xe9 \xed\xa0\x80".decode("utf-8", "surrogateescape")
    service = fake_service(Results({stored: [stored, ("é", 5)]}))
    assert (await call(service, "database_api.get_version"))["result"] == {"caf� ���": ["caf� ���", ["é", 5]]}
