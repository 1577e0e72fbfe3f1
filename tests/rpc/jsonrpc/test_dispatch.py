"""The JSON-RPC service without a chain: recorded requests, the form of requests, arguments, batches, and the methods that it serves."""

import json
import runpy
import time
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
import pytest
import trio
from msgspec import Struct

from rpc.caller import Caller
from rpc.declare.arguments import AccountName, MaxValue, Text, UInt32
from rpc.declare.method import Method, count_texts, method
from rpc.describe.signature import signature
from rpc.jsonrpc import batch, dispatch
from rpc.jsonrpc.dispatch import Service
from rpc.jsonrpc.scheduler import REPLIES_SECONDS_MAX
from state.protocol.errors import Refused, UnknownKey
from state.store.lazy.incremental import NotReady, ReadMode
from tests.conftest import CASES, ROOT, read_json_lines
from tests.helpers.fakes import FAKES, Results, ask, call, fake_service, fake_wire, serving
from tests.helpers.golden import fails
from tests.rpc.declare.test_arguments import Color, Query, Titled

RUNNER = runpy.run_path(str(ROOT / "tests" / "conformance" / "run.py"))
WIRE = fake_wire()
# The JSON reader has its own texts for input that can't be parsed and for times.
OWN_TEXTS = ("Parse Error:Unexpected char", "Day of month", "Month number", "bad lexical cast", "basic_string::at")


def body_of(event: Any) -> bytes:
    """Return the body of a recorded raw request."""
    if "request_hex" in event:
        return bytes.fromhex(event["request_hex"])
    parts = event.get("request_parts") or [[event.get("request"), 1]]
    return "".join(text * times for text, times in parts).encode("utf-8", "surrogatepass")


def listed(reply: Any) -> list[Any]:
    """The replies of a batch, or the single reply."""
    return reply if isinstance(reply, list) else [reply]


def recorded() -> Iterator[Any]:
    """Yield the recorded raw requests that have a reply."""
    for event in read_json_lines(CASES / "rpc_envelope" / "http.jsonl.gz"):
        if event["body"]:
            yield event


# ------------------------------------------------------------------ recorded


async def test_recorded_requests_are_answered_as_the_reference_did() -> None:
    compared = 0
    for event in recorded():
        want = json.loads(event["body"])
        service = fake_service(Results(*[reply["result"] for reply in listed(want) if "result" in reply]), WIRE)
        got = await ask(service, body_of(event))
        if RUNNER["answered_otherwise"](event):
            assert RUNNER["proper"](json.dumps(got)), event
        else:
            assert RUNNER["answers_differ"](event["body"], json.dumps(got)) == [], event
            compared += 1
    assert compared > 680


async def test_recorded_refusals_have_the_same_text_and_structure() -> None:
    compared = 0
    for event in recorded():
        want = json.loads(event["body"])
        if RUNNER["answered_otherwise"](event) or not any("error" in reply for reply in listed(want)):
            continue
        got = await ask(fake_service(Results({}, {}, {}), WIRE), body_of(event))
        for theirs, ours in zip(listed(want), listed(got), strict=True):
            if "error" not in theirs or theirs["error"]["message"].startswith(OWN_TEXTS):
                continue
            compared += 1
            assert theirs["error"]["message"].startswith(ours["error"]["message"]), event
            assert ("data" in theirs["error"]) == ("data" in ours["error"])
            if "data" in theirs["error"]:
                data, own = theirs["error"]["data"], ours["error"]["data"]
                assert [own[key] for key in ("code", "name", "message")] == [data[key] for key in ("code", "name", "message")]
                first, own_first = data["stack"][0], own["stack"][0]
                assert own_first["format"] == first["format"]
                if not {"trx", "object depth"} & first["data"].keys():
                    assert own_first["data"] == first["data"]
                assert own_first["context"].keys() >= first["context"].keys() - {"context"}
    assert compared > 380


# ------------------------------------------------------------------ envelope


async def test_large_ids_come_back_as_text() -> None:
    for given, echoed in (("4294967295", 4294967295), ("4294967296", "4294967296")):
        request = f'{{"jsonrpc":"2.0","method":"database_api.get_version","id":{given}}}'
        assert (await ask(fake_service(Results()), request))["id"] == echoed


async def test_an_unknown_name_is_answered_with_the_closest_names() -> None:
    service = fake_service(Results())
    data = (await call(service, "database_api.get_versio"))["error"]["data"]
    assert data["closest"] == ["database_api.get_version"]
    assert data["stack"][0]["format"] == "method_itr != api_itr->second.end(): Could not find method ${method}"
    data = (await call(service, "database_api.get_block"))["error"]["data"]
    assert data["closest"] == ["block_api.get_block", "condenser_api.get_block"]
    assert (await call(service, "database.find_account"))["error"]["data"]["closest"][0] == "database_api.find_accounts"
    assert "closest" not in (await call(service, "x" * 100_000 + ".y"))["error"]["data"]
    reply = await ask(service, '{"jsonrpc":"2.0","method":"call","params":["database_api.get_version","x"]}')
    assert reply["error"]["message"].endswith("Could not find API database_api.get_version")


async def test_call_form_takes_arrays_for_named_groups() -> None:
    results = Results({"first": 1}, {"second": 2})
    service = fake_service(results)
    reply = await call(service, "call", ["tags_api", "get_discussion", ["alice", "hello"]])
    assert reply["result"] == {"first": 1}
    reply = await call(service, "call", ["database_api", "get_version", []])
    assert reply["result"] == {"second": 2}


@pytest.mark.parametrize("params", [None, "null", "{}", "[]"])
async def test_named_methods_accept_four_forms_of_no_params(params: str | None) -> None:
    member = "" if params is None else f',"params":{params}'
    reply = await ask(fake_service(Results({"v": 1})), f'{{"jsonrpc":"2.0","method":"database_api.get_version"{member}}}')
    assert json.dumps(reply) == '{"jsonrpc": "2.0", "result": {"v": 1}, "id": null}'


@pytest.mark.parametrize(
    ("params", "refused"), [(None, False), ("{}", False), ("[]", False), ("null", True), ('{"0":1}', True), ("5", True)]
)
async def test_condenser_methods_accept_three_forms_of_no_params(params: str | None, refused: bool) -> None:
    member = "" if params is None else f',"params":{params}'
    reply = await ask(fake_service(Results({"v": 1})), f'{{"jsonrpc":"2.0","method":"condenser_api.get_version"{member}}}')
    assert ("error" in reply) == refused
    assert not refused or (reply["error"]["code"], reply["error"]["data"]["name"]) == (-32000, "bad_cast_exception")


def test_argument_counts_are_worded_as_in_the_reference() -> None:
    assert count_texts(1, 1) == ("args.size() == 1", "Expected #s argument(s), was ${n}")
    assert count_texts(2, 3) == ("args.size() == 2 || args.size() == 3", "Expected 2-3 arguments, was ${n}")
    assert count_texts(3, 5) == ("args.size() >= 3 && args.size() <= 5", "Expected 3-5 argument, was ${n}")


# ------------------------------------------------------------------ arguments


async def test_limits_are_checked_after_all_conversions() -> None:
    registry: dict[str, Method] = {}

    @method("a_api.list", registry=registry)
    def listing(state: str, limit: Annotated[UInt32, MaxValue(5, "at most ${n}, not ${l}", key="l")], order: Titled = Color.green) -> Any:
        """A method with a limit and an enumeration."""
        return [state, limit, order.name]

    service = serving(registry)
    assert (await call(service, "a_api.list", {"limit": 5}))["result"] == ["the state", 5, "green"]
    assert (await call(service, "a_api.list", {"limit": 6, "order": "blue"}))["error"]["code"] == -32000
    error = (await call(service, "a_api.list", {"limit": -1}))["error"]
    assert (error["code"], error["message"]) == (-32003, "Assert Exception:args.limit <= 5: at most ${n}, not 4294967295")
    assert error["data"]["stack"][0]["data"] == {"l": 4294967295}


class Wanted(Struct):
    """A query object."""

    names: list[Text] = []
    limit: UInt32 = 0


async def test_an_argument_error_names_its_parameter() -> None:
    registry: dict[str, Method] = {}

    @method("a_api.find", registry=registry)
    def find(state: str, from_: UInt32, coin_limit: Annotated[UInt32, MaxValue(5)] = 0) -> Any:
        """A method with an argument that has a maximum."""
        return [from_, coin_limit]

    @method("condenser_api.find", registry=registry)
    def find_by_query(state: str, limit: UInt32, query: Wanted) -> Any:
        """A method whose second argument is a query object. It refuses every call."""
        raise Refused("found nothing", condition="found")

    service = serving(registry)

    async def named(name: str, params: Any) -> tuple[int, str | None]:
        error = (await call(service, name, params))["error"]
        return error["code"], error["data"].get("parameter")

    assert await named("a_api.find", {"from": []}) == (-32000, "from")
    assert await named("a_api.find", {"from": 1, "coin_limit": "x"}) == (-32000, "steem_limit")
    assert await named("a_api.find", {"coin_limit": 6}) == (-32003, "steem_limit")
    assert await named("a_api.find", [1, {}]) == (-32000, "steem_limit")
    assert await named("condenser_api.find", ["x", {}]) == (-32000, "limit")
    assert await named("condenser_api.find", [1, []]) == (-32000, "query")
    assert await named("condenser_api.find", [1, {"limit": "x"}]) == (-32000, "query.limit")
    assert await named("condenser_api.find", [1]) == (-32003, None)
    assert await named("condenser_api.find", [1, {}]) == (-32003, None)


# ------------------------------------------------------------------ declarations


async def test_a_method_receives_its_context() -> None:
    registry: dict[str, Method] = {}

    @method("a_api.first", registry=registry)
    def first(state: str, from_: Text, end: Text = "z") -> list[str]:
        """A method that receives the state."""
        return [state, from_, end]

    @method("a_api.two", registry=registry)
    def two(state: str, blocks: int, /, number: int) -> list[Any]:
        """A method that receives the state and `blocks`."""
        return [state, blocks, number]

    @method("a_api.raw", raw=True, registry=registry)
    def raw(state: str, params: Any) -> Any:
        """A method that receives the params unparsed."""
        return [state, params]

    @method("a_api.later", registry=registry)
    async def later(processor: str, number: int) -> list[Any]:
        """An asynchronous method that receives the processor."""
        await trio.lowlevel.checkpoint()
        return [processor, number]

    service = serving(registry, blocks=7, processor="p")
    assert (await call(service, "a_api.first", {"from": "x"}))["result"] == ["the state", "x", "z"]
    assert (await call(service, "a_api.first", {}))["result"] == ["the state", "", "z"]
    assert (await call(service, "a_api.first", ["x", "y", "more"]))["result"] == ["the state", "x", "y"]
    assert (await call(service, "a_api.two", {"number": "3"}))["result"] == ["the state", 7, 3]
    assert (await call(service, "a_api.raw", 5))["result"] == ["the state", 5]
    assert (await call(service, "a_api.later", [5]))["result"] == ["p", 5]
    assert (await call(service, "a_api.later", [[]]))["error"]["code"] == -32000
    with fails(TypeError):
        serving(registry)


def test_declarations_are_checked() -> None:
    registry: dict[str, Method] = {}

    def documented(state: str) -> None:
        """A method with a docstring."""

    def silent(state: str) -> None: ...

    method("a.b", registry=registry)(documented)
    for name, function in (("a.b", documented), ("a", documented), ("a.b.c", documented), ("a.c", silent)):
        with pytest.raises(AssertionError):
            method(name, registry=registry)(function)
    assert list(registry) == ["a.b"]


async def test_methods_of_disabled_plugins_are_refused() -> None:
    registry: dict[str, Method] = {}

    def function(state: str) -> str:
        """Return the state."""
        return state

    method("follow_api.get", plugin="follow", registry=registry)(function)
    method("condenser_api.get", plugin="follow", not_enabled=("_follow_api", "follow_api_plugin not enabled."), registry=registry)(function)
    method("condenser_api.other", plugin=("follow", "reputation"), registry=registry)(function)
    method("condenser_api.always", registry=registry)(function)
    off, half, on = (serving(registry, plugins=plugins) for plugins in ((), ("reputation",), None))
    error = (await call(off, "follow_api.get"))["error"]
    assert "Could not find API follow_api" in error["message"]
    assert error["data"]["hint"] == "this needs the plugin follow, which is off. Start the node with --enable follow"
    error = (await call(off, "condenser_api.get"))["error"]
    assert (error["code"], error["message"]) == (-32003, "Assert Exception:_follow_api: follow_api_plugin not enabled.")
    assert error["data"]["hint"] == "this needs the plugin follow, which is off. Start the node with --enable follow"
    error = (await call(off, "condenser_api.other"))["error"]
    assert "Could not find method other" in error["message"]
    assert error["data"]["hint"].endswith("follow or reputation, which is off. Start the node with --enable follow or --enable reputation")
    assert "hint" not in (await call(off, "follow_api.nothing"))["error"]["data"]
    assert off.registry.names == ["condenser_api.always", "condenser_api.get"]
    assert "result" in await call(half, "condenser_api.other")
    assert on.registry.names == ["condenser_api.always", "condenser_api.get", "condenser_api.other", "follow_api.get"]
    assert "result" in await call(on, "follow_api.get")


async def test_loopback_methods_are_hidden_from_remote_clients() -> None:
    registry: dict[str, Method] = {}

    @method("debug_node_api.push", loopback_only=True, registry=registry)
    def push(state: str) -> str:
        """Change the chain."""
        return state

    service = serving(registry)
    assert (await call(service, "debug_node_api.push", local=True))["result"] == "the state"
    error = (await call(service, "debug_node_api.push", local=False))["error"]
    assert error["message"].endswith("Could not find API debug_node_api")
    assert "closest" not in error["data"]
    said = json.loads(service.answer(b'{"jsonrpc":"2.0","method":"debug_node_api.push"}', Caller("", "because")))  # type: ignore[arg-type]
    assert said["error"]["data"]["hint"] == "because"


async def test_withheld_methods_give_the_reason() -> None:
    registry: dict[str, Method] = {}

    @method("debug_node_api.push", loopback_only=True, registry=registry)
    def push(state: str) -> str:
        """Change the chain."""
        return state

    @method("a_api.block", needs_local=True, registry=registry)
    def block(state: str) -> str:
        """Return the state. Only clients with local rights can call this."""
        return state

    service = Service(registry.values(), wire=fake_wire(), state="the state", withheld="start it with --allow-debug")
    for local in (True, False):
        error = (await call(service, "debug_node_api.push", local=local))["error"]
        assert error["message"].endswith("Could not find API debug_node_api")
        assert error["data"]["hint"] == "start it with --allow-debug"
    assert service.registry.names == ["a_api.block"]
    assert "result" in await call(service, "a_api.block", local=True)
    assert (await call(service, "a_api.block", local=False))["error"]["message"].endswith("Could not find method block")


# ------------------------------------------------------------------ batches


async def test_a_batch_is_answered_in_order_and_yields() -> None:
    registry: dict[str, Method] = {}
    seen: list[str] = []

    @method("a_api.slow", registry=registry)
    def slow(state: str, name: Text) -> str:
        """Return a name after a delay."""
        time.sleep(REPLIES_SECONDS_MAX)
        seen.append(name)
        return name

    @method("a_api.later", registry=registry)
    async def later(state: str) -> str:
        """Return a constant asynchronously."""
        await trio.lowlevel.checkpoint()
        return "later"

    async def other() -> None:
        seen.append("other")

    asked = [{"jsonrpc": "2.0", "id": i, "method": "a_api.slow", "params": [name]} for i, name in enumerate("abc")]
    asked.append({"jsonrpc": "2.0", "id": "x", "method": "a_api.later"})
    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)
        replies = await ask(serving(registry), json.dumps([*asked, 5]))
    assert [(reply["id"], reply.get("result")) for reply in replies] == [(0, "a"), (1, "b"), (2, "c"), ("x", "later"), (None, None)]
    assert seen.index("other") < seen.index("c")
    assert replies[-1]["error"]["code"] == -32700


async def test_async_calls_refused_at_once_yield() -> None:
    """Such calls can be broadcasts. The explanation of a refused broadcast can take 30 ms, and a batch can contain thousands of them."""
    registry: dict[str, Method] = {}
    seen: list[str] = []

    @method("a_api.push", registry=registry)
    async def push(state: str, name: Text) -> str:
        """Refuse without waiting."""
        time.sleep(REPLIES_SECONDS_MAX * 1.1)
        seen.append(name)
        raise Refused("no", condition="yes")

    async def other() -> None:
        seen.append("other")

    asked = [{"jsonrpc": "2.0", "id": i, "method": "a_api.push", "params": [name]} for i, name in enumerate("abc")]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)
        replies = await ask(serving(registry), json.dumps(asked))
    assert [reply["id"] for reply in replies] == [0, 1, 2]
    assert seen.index("other") <= 1


async def test_the_reply_to_a_batch_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "LOCAL_BATCH_REPLY_SIZE_MAX", 10_000)
    service = fake_service(Results())
    request = '{"jsonrpc":"2.0","method":"database_api.get_version"}'
    assert len(await ask(service, f"[{','.join([request] * 200)}]")) == 200
    reply = await ask(service, f"[{','.join([request] * 300)}]")
    assert (reply["error"]["code"], reply["id"]) == (-32000, None)


async def test_an_oversized_batch_is_one_error_and_calls_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "BATCH_MEMBERS_MAX", 3)
    registry: dict[str, Method] = {}
    called: list[str] = []

    @method("a_api.do", registry=registry)
    def do(state: str) -> str:
        """Record the call."""
        called.append("do")
        return "done"

    request = '{"jsonrpc":"2.0","method":"a_api.do"}'
    assert len(await ask(serving(registry), f"[{request},{request},1]")) == 3
    assert len(called) == 2
    for many in ([request] * 4, ["1"] * 1000):
        reply = await ask(serving(registry), f"[{','.join(many)}]")
        assert (reply["error"]["code"], reply["id"]) == (-32000, None)
    assert len(called) == 2


# ------------------------------------------------------------------ jsonrpc


async def test_methods_are_listed_sorted() -> None:
    service = fake_service(Results())
    empty: list[Any] = [None, {}, []]
    for params in empty:
        names = (await call(service, "jsonrpc.get_methods", params))["result"]
        assert names == sorted([*FAKES, "jsonrpc.get_methods", "jsonrpc.get_signature"])


async def test_signatures_show_defaults() -> None:
    service = fake_service(Results())

    async def shown(name: str) -> Any:
        return (await call(service, "jsonrpc.get_signature", {"method": name}))["result"]

    assert await shown("database_api.list_accounts") == {"args": {"start": None, "limit": 0, "order": "by_name"}, "ret": {}}
    assert await shown("condenser_api.get_accounts") == {"args": [], "ret": []}
    assert await shown("database_api.find_accounts") == {"args": {"accounts": []}, "ret": {}}
    history = await shown("account_history_api.get_account_history")
    assert history["args"] == {"account": "", "start": 0, "limit": 0}
    trades = await shown("market_history_api.get_trade_history")
    assert trades["args"] == {"start": "1970-01-01T00:00:00", "end": "1970-01-01T00:00:00", "limit": 0}
    assert (await shown("network_broadcast_api.broadcast_transaction"))["args"]["max_block_age"] == -1
    assert (await shown("jsonrpc.get_methods"))["ret"] == []


class Shown(msgspec.Struct):
    """A result with declared fields."""

    name: AccountName
    count: UInt32


def test_signatures_show_default_results() -> None:
    registry: dict[str, Method] = {}

    @method("a_api.one", registry=registry)
    def one(state: str, query: Query, color: Color = Color.green, maybe: Text | None = None) -> Shown:
        """Return one record."""
        return Shown("", 0)

    @method("a_api.number", registry=registry)
    def number(state: str) -> int:
        """Return a number."""
        return 1

    shown = signature(registry["a_api.one"], WIRE)
    assert shown["args"] == {"query": {"tag": "", "limit": 20, "names": [], "coin_only": False}, "color": "green", "maybe": None}
    assert shown["ret"] == {"name": "", "count": 0}
    assert signature(registry["a_api.number"], WIRE)["ret"] == 0


# ------------------------------------------------------------------ what is seen of it


async def test_every_request_is_observed_once() -> None:
    registry: dict[str, Method] = {}

    @method("some_api.answers", registry=registry)
    def answers(state: str, number: UInt32) -> int:
        """Return a result, refuse, or fail, depending on the number."""
        if number == 1:
            raise UnknownKey
        return 1 // (2 - number)

    @method("some_api.waits", registry=registry)
    async def waits(state: str, number: UInt32) -> int:
        """Wait, then do the same as `answers`."""
        await trio.sleep(0.01)
        return answers(state, number)

    seen: list[tuple[str, float, Exception | None]] = []
    service = serving(registry, observe=lambda *call: seen.append(call))
    for name in ("some_api.answers", "some_api.waits"):
        for number in range(3):
            await call(service, name, {"number": number})
    assert [(name, type(error)) for name, _, error in seen] == [
        (name, kind) for name in ("some_api.answers", "some_api.waits") for kind in (type(None), UnknownKey, ZeroDivisionError)
    ]
    assert all(seconds >= 0.01 for name, seconds, _ in seen if name == "some_api.waits")
    seen.clear()
    one = '{"jsonrpc":"2.0","id":1,"method":"some_api.answers","params":{"number":0}}'
    strange = (
        "",
        "[]",
        "1",
        "{}",
        '{"jsonrpc":"2.0","method":"a.b"}',
        '{"jsonrpc":"2.0","method":"call","params":[1]}',
        '{"jsonrpc":"2.0","id":[]}',
    )
    for body in strange:
        await ask(service, body)
    assert [(name, seconds) for name, seconds, _ in seen] == [("", 0.0)] * len(strange)
    assert all(error is not None for _, _, error in seen)
    seen.clear()
    await ask(service, f"[{one},{one},5]")
    assert [name for name, _, _ in seen] == ["some_api.answers", "some_api.answers", ""]


async def test_call_that_stays_not_ready_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "PREPARED_AGAIN_MAX", 7)
    made = []

    class Restless(ReadMode):
        def try_read(self, read: Any, *given: Any) -> Any:
            made.append(read)
            raise NotReady(lambda: False)

    call = b'{"jsonrpc":"2.0","id":7,"method":"database_api.get_version"}'
    service = fake_service(Results())
    whole = service.answer(call)
    service.read_mode = Restless()
    with trio.fail_after(20):
        assert await (await service.answer_in_turn(call)) == whole  # type: ignore[misc]  # it waits
    assert len(made) == 8
