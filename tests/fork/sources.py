"""Sources of forks: a chain that is served as nodes of the family serve theirs, and faults of sources.

`SourceNode` answers requests in this process. `transport()` connects it to a `Source`, `listening()` serves it over HTTP on a local port.
"""

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import trio

import rpc.api
from node.app.local_chain import LocalChain
from node.client.errors import TooLarge, Unreachable
from node.fork.transport import HttpReply
from rpc.caller import ANYBODY
from rpc.declare.method import METHODS
from rpc.jsonrpc.dispatch import Service
from state.chain.chain import Chain
from tests.conftest import METHODS as REFERENCE_METHODS
from tests.conftest import read_json

assert rpc.api

METHOD_NOT_FOUND, BATCH_TOO_LARGE = -32601, 1600
READING = {name: method for name, method in METHODS.items() if not name.startswith(("dev_api.", "debug_node_api."))}
STEEMD = frozenset(entry["method"] for entry in read_json(REFERENCE_METHODS))
Result = Callable[[str, Any, Any], Any]  # method, parameters, result -> another result


# ---------------------------------------------------------------------------- flavours


@dataclass(frozen=True)
class Flavour:
    """How a kind of node serves a chain: its methods, the largest batch, and how it spells requests and replies."""

    serves: Callable[[str], bool]
    batch_max: int = 1000
    unlisted: str = "$"  # pattern of the methods that the list of methods lacks, because another program serves them
    reply: Callable[[str, Any, "SourceNode"], Any] = lambda method, result, node: result
    params: Callable[[Any, "SourceNode"], Any] = lambda params, node: params


class HiveSpelling:
    """The spelling of Hive: its symbols and member names, members that its nodes add, and members that they lack.

    The names of members and constants are those of hived 1.27. The chain behind can be of any brand.
    """

    TREASURY = "hive.fund"
    WORDS = (("sbd", "hbd"), ("SBD", "HBD"))
    NAMES: ClassVar = {
        "sps_fund_percent": "proposal_fund_percent",
        "sps_interval_ledger": "dhf_interval_ledger",
        "percent_hive_dollars": "percent_hbd",
    }
    MISSING: ClassVar = {
        *("is_smt", "smt_creation_fee", "average_block_size", "current_reserve_ratio", "max_virtual_bandwidth", "confidential_supply"),
        *("confidential_hbd_supply", "total_reward_fund_hive", "total_reward_shares2", "required_actions_partition_percent"),
    }
    VERSION, HARDFORK = "1.27.8", "1.27.0"

    @classmethod
    def params(cls, params: Any, node: "SourceNode") -> Any:
        """Return the parameters with the name of the chain's treasury."""
        return replaced(params, {cls.TREASURY: node.spec.treasury})

    @classmethod
    def reply(cls, method: str, result: Any, node: "SourceNode") -> Any:
        """Return the result of a call as a node of Hive would give it."""
        spelt = cls._value(result, node)
        name = method.rpartition(".")[2]
        if name == "get_config":
            spelt |= {"HIVE_BLOCKCHAIN_VERSION": cls.VERSION, "HIVE_BLOCKCHAIN_HARDFORK_VERSION": cls.HARDFORK, "HIVE_NUM_HARDFORKS": 27}
            spelt["HIVE_TREASURY_ACCOUNT"] = cls.TREASURY
            spelt["HIVE_TREASURY_FEE"] = spelt.pop("HIVE_PROPOSAL_FEE", 10_000)
        elif name == "get_version":
            spelt = {"blockchain_version": cls.VERSION, "hive_revision": "f" * 40, "fc_revision": "f" * 40}
            spelt |= {"chain_id": node.spec.chain_id.hex(), "node_type": "mainnet"}
        elif name == "get_hardfork_version":
            spelt = cls.HARDFORK
        elif name == "get_hardfork_properties":
            spelt["processed_hardforks"] += ["2021-06-30T14:00:00", "2022-06-06T16:00:00", "2022-10-24T16:00:00"]
            spelt |= {"last_hardfork": 27, "current_hardfork_version": cls.HARDFORK, "next_hardfork": "0.0.0"}
        elif name == "get_dynamic_global_properties":
            spelt |= {"next_daily_maintenance_time": spelt["next_maintenance_time"], "early_voting_seconds": 86_400}
            spelt |= {"mid_voting_seconds": 172_800, "current_remove_threshold": 200, "max_open_recurrent_transfers": 255}
        elif name in ("get_accounts", "find_accounts", "list_accounts"):
            for account in spelt["accounts"] if isinstance(spelt, dict) else spelt:
                account |= {"delayed_votes": [], "governance_vote_expiration_ts": "2027-06-01T00:00:00", "open_recurrent_transfers": 0}
        elif method in ("database_api.find_comments", "database_api.list_comments"):
            # Only the indexer keeps the texts.
            for comment in spelt["comments"]:
                comment |= {"title": "", "body": "", "json_metadata": ""}
        elif name in ("find_rc_accounts", "list_rc_accounts"):
            for account in spelt["rc_accounts"]:
                account |= {"delegated_rc": 0, "received_delegated_rc": 0}
        return spelt

    @classmethod
    def name(cls, name: str, brand: str) -> str:
        """Return the name of a member or constant."""
        for word, other in (*cls.WORDS, (brand, "hive"), (brand.upper(), "HIVE")):
            name = re.sub(rf"(?<![A-Za-z]){word}(?![A-Za-z])", other, name)
        return cls.NAMES.get(name, name)

    @classmethod
    def _value(cls, value: Any, node: "SourceNode") -> Any:
        spec = node.spec
        if isinstance(value, dict):
            named = {cls.name(name, spec.brand): cls._value(member, node) for name, member in value.items()}
            return {name: member for name, member in named.items() if name not in cls.MISSING}
        if isinstance(value, list):
            return [cls._value(member, node) for member in value]
        if isinstance(value, str):
            amount, _, symbol = value.rpartition(" ")
            if re.fullmatch(r"-?\d+\.\d+", amount):
                return f"{amount} " + {spec.coin_symbol: "HIVE", spec.debt_symbol: "HBD"}.get(symbol, symbol)
            return cls.TREASURY if value == spec.treasury else value
        return value


def replaced(value: Any, others: dict[str, str]) -> Any:
    """Return a JSON value in which some texts are replaced."""
    if isinstance(value, dict):
        return {name: replaced(member, others) for name, member in value.items()}
    if isinstance(value, list):
        return [replaced(member, others) for member in value]
    return others.get(value, value) if isinstance(value, str) else value


HIVE_LACKS = ("tags_api.", "follow_api.", "reputation_api.", "witness_api.", "chain_api.", "explorer_api.", "rpc.")
JUSSI_SERVES = ("condenser_api.", "bridge.", "block_api.")
FLAVOURS = {
    "coind": Flavour(lambda name: name in READING),
    # The plugin of `bridge` is not part of steemd, and debug_node_api is not served to the public.
    "steemd": Flavour(lambda name: name in STEEMD and name in READING),
    "jussi": Flavour(lambda name: name.startswith(JUSSI_SERVES) and name in READING, batch_max=50),
    "hive": Flavour(
        lambda name: name in READING and not name.startswith(HIVE_LACKS) and "smt" not in name and "nai_pool" not in name,
        batch_max=100,
        unlisted=r"bridge\.|condenser_api\.get_content|condenser_api\.get_(discussions|follow)",
        reply=HiveSpelling.reply,
        params=HiveSpelling.params,
    ),
}


# ---------------------------------------------------------------------------- faults


@dataclass
class Fault:
    """A fault of a source. `http` returns another reply to a whole request; None is silence. `result` returns another result of a call.

    The fault affects calls of `methods` (all by default), and only the first `times` of these requests or calls.
    """

    http: Callable[[HttpReply], HttpReply | None] | None = None
    result: Result | None = None
    methods: str = r".*"
    times: float = float("inf")
    count: int = field(default=0, init=False)

    def strikes(self, method: str) -> bool:
        """Whether the fault affects this call. Counts the affected calls."""
        if self.count >= self.times or not re.fullmatch(self.methods, method):
            return False
        self.count += 1
        return True


class CutReply(HttpReply):
    """A reply whose connection ends after half of its body."""


def with_status(status: int, body: bytes = b"<html>no</html>", retry_after: str = "") -> Callable[[HttpReply], HttpReply]:
    """Return a fault that gives all requests this reply."""
    return lambda reply: HttpReply(status, retry_after, body)


def every(kind: type | tuple[type, ...], change: Callable[[Any], Any]) -> Result:
    """Return a fault that changes every value of a JSON type in a result."""

    def changed(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: changed(member) for name, member in value.items()}
        if isinstance(value, list):
            return [changed(member) for member in value]
        return change(value) if isinstance(value, kind) and not isinstance(value, bool) else value

    return lambda method, params, result: changed(result)


def every_amount(change: Callable[[str], str]) -> Result:
    """Return a fault that changes the number of every amount in a result, in both JSON forms."""

    def amounts(value: Any) -> Any:
        if isinstance(value, dict):
            if value.keys() == {"amount", "precision", "nai"}:
                return value | {"amount": change(value["amount"])}
            return {name: amounts(member) for name, member in value.items()}
        if isinstance(value, list):
            return [amounts(member) for member in value]
        if isinstance(value, str) and (found := re.fullmatch(r"(-?\d+\.\d+) (\w+)", value)):
            return f"{change(found[1])} {found[2]}"
        return value

    return lambda method, params, result: amounts(result)


NAME_MEMBERS = ("name", "account", "owner", "author", "voter", "delegator", "delegatee", "from", "to", "seller", "proxy", "creator")


def other_names(name: str) -> Result:
    """Return a fault that replaces the accounts in a result."""

    def renamed(value: Any) -> Any:
        if isinstance(value, dict):
            is_name = {member for member in value if member in NAME_MEMBERS and isinstance(value[member], str)}
            return {member: name if member in is_name else renamed(inner) for member, inner in value.items()}
        return [renamed(member) for member in value] if isinstance(value, list) else value

    return lambda method, params, result: renamed(result)


def other_accounts(method: str, params: Any, result: Any) -> Any:
    """A fault: replies with several accounts have them in another order, and single ones have another name."""
    rows = result.get("accounts") if isinstance(result, dict) else result
    if not isinstance(rows, list) or not rows or not isinstance(rows[0], dict) or "name" not in rows[0]:
        return result
    names = [row["name"] for row in rows]
    others = [*names[1:], names[0]] if len(names) > 1 else ["somebody.else"]
    moved = [row | {"name": other} for row, other in zip(rows, others, strict=True)]
    return result | {"accounts": moved} if isinstance(result, dict) else moved


class EndlessPages:
    """A fault: a list method never comes to an end, since each page is followed by its first page."""

    def __init__(self) -> None:
        self._first: dict[str, Any] = {}

    def __call__(self, method: str, params: Any, result: Any) -> Any:
        """Return the first page that was asked for."""
        is_page = isinstance(result, list) or (isinstance(result, dict) and any(isinstance(member, list) for member in result.values()))
        return self._first.setdefault(method, result) if is_page and ".list_" in method else result


class MissingMembers:
    """A fault: each object of a result lacks one of its members, a different one each time."""

    def __init__(self) -> None:
        self._number = 0

    def __call__(self, method: str, params: Any, result: Any) -> Any:
        """Return the result with fewer members."""
        if isinstance(result, list):
            return [self(method, params, member) for member in result]
        if not isinstance(result, dict) or not result:
            return result
        self._number += 1
        without = list(result)[self._number % len(result)]
        return {name: self(method, params, member) for name, member in result.items() if name != without}


def nested(depth: int) -> bytes:
    """Return a reply whose result is nested this deep."""
    return b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * depth + b"]" * depth + b"}"


def other_ids(reply: HttpReply) -> HttpReply:
    """A fault: no answer of a reply has the id of its call."""
    answers = json.loads(reply.body)
    for answer in answers if isinstance(answers, list) else [answers]:
        answer["id"] = 10**6
    return HttpReply(reply.status, "", json.dumps(answers).encode())


FAULTS: dict[str, Callable[[], Fault]] = {
    # of the connection and of HTTP
    "silence": lambda: Fault(http=lambda reply: None),
    "too many requests": lambda: Fault(http=with_status(429, b"slow down", "1"), times=3),
    "always too many requests": lambda: Fault(http=with_status(429, b"", "7200")),
    "internal error": lambda: Fault(http=with_status(500), times=3),
    "bad gateway": lambda: Fault(http=with_status(502)),
    "half a body": lambda: Fault(http=lambda reply: CutReply(*reply)),
    "not found": lambda: Fault(http=with_status(404)),
    # of JSON
    "no JSON": lambda: Fault(http=with_status(200)),
    "other JSON": lambda: Fault(http=with_status(200, b'{"data":{"hello":"world"}}')),
    "empty body": lambda: Fault(http=with_status(200, b"")),
    "deep JSON": lambda: Fault(http=with_status(200, nested(100_000))),
    "large body": lambda: Fault(http=with_status(200, b'{"jsonrpc":"2.0","id":1,"result":[' + b"0," * (20 << 20) + b"0]}")),
    "other id": lambda: Fault(http=other_ids),
    # of results
    "null": lambda: Fault(result=lambda method, params, result: None),
    "text": lambda: Fault(result=lambda method, params, result: "yes"),
    "empty": lambda: Fault(result=lambda method, params, result: type(result)() if isinstance(result, (list, dict)) else result),
    "missing members": lambda: Fault(result=MissingMembers()),
    "numbers as texts": lambda: Fault(result=every(int, lambda number: "twelve")),
    "texts as numbers": lambda: Fault(result=every(str, lambda text: 12)),
    "huge numbers": lambda: Fault(result=every(int, lambda number: 10**40)),
    "negative numbers": lambda: Fault(result=every(int, lambda number: -number - 1)),
    "huge amounts": lambda: Fault(result=every_amount(lambda amount: "9" * 16 + amount.lstrip("-"))),
    "largest amounts": lambda: Fault(
        result=every_amount(lambda amount: "9223372036854775.807" if "." in amount else "9223372036854775807")
    ),
    "negative amounts": lambda: Fault(result=every_amount(lambda amount: f"-{amount}")),
    "long texts": lambda: Fault(result=every(str, lambda text: text + "x" * 100_000)),
    "control characters": lambda: Fault(result=every(str, lambda text: f"\x00\x1b[2J{text}\ud800")),
    "bad names": lambda: Fault(result=other_names("../Nobody <b>")),
    "all others": lambda: Fault(result=other_names("all others")),
    "other account": lambda: Fault(result=other_accounts),
    "same account": lambda: Fault(result=other_names("alice")),
    "endless pages": lambda: Fault(result=EndlessPages()),
}
# Faults that pass if the request is repeated.
PASSING = ("too many requests", "internal error")


# ---------------------------------------------------------------------------- the node


class SourceNode:
    """A node whose chain is in this process. `flavour` is a name in FLAVOURS, and each of `faults` a Fault or a name in FAULTS.

    `on_call` is called before each call, for example to make a block: then replies change between pages. `calls` counts the calls by
    method, and `request_count` the requests.
    """

    def __init__(self, chain: LocalChain | Chain, flavour: str = "coind", *faults: Fault | str) -> None:
        self.chain = chain.chain if isinstance(chain, LocalChain) else chain
        self.flavour = FLAVOURS[flavour]
        self.faults = [FAULTS[fault]() if isinstance(fault, str) else fault for fault in faults]
        self.on_call: Callable[[str], object] = lambda method: None
        self.calls: Counter[str] = Counter()
        self.request_count = 0
        self.spec = self.chain.state.spec
        self._service = service_of(chain)
        self._lock = threading.Lock()

    def post(self, body: bytes) -> HttpReply | None:
        """Return the reply to a request, or None if the node stays silent."""
        with self._lock:
            self.request_count += 1
            request = json.loads(body)
            calls = request if isinstance(request, list) else [request]
            struck = [fault for fault in self.faults if fault.http and fault.strikes(str(calls[0].get("method")))]
            answer: Any
            if isinstance(request, dict):
                answer = self._answer(request)
            elif len(calls) > self.flavour.batch_max:
                answer = error_reply(None, BATCH_TOO_LARGE, f"JSONRPC batch size of {len(calls)} exceeds {self.flavour.batch_max}")
            else:
                answer = [self._answer(call) for call in calls]
            reply: HttpReply | None = HttpReply(200, "", json.dumps(answer).encode())
            for fault in struck:
                if reply is not None and fault.http is not None:
                    reply = fault.http(reply)
            return reply

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        method, params = str(request.get("method")), request.get("params", [])
        self.calls[method] += 1
        self.on_call(method)
        if not self.flavour.serves(method):
            return error_reply(request.get("id"), METHOD_NOT_FOUND, f"Could not find method {method.partition('.')[2]}")
        sent = {"jsonrpc": "2.0", "id": request.get("id"), "method": method, "params": self.flavour.params(params, self)}
        answered = self._service.answer(json.dumps(sent).encode(), ANYBODY)
        assert isinstance(answered, bytes), "reads are answered at once"
        answer: dict[str, Any] = json.loads(answered)
        if "result" in answer:
            result = self.flavour.reply(method, answer["result"], self)
            if method == "jsonrpc.get_methods":
                result = [name for name in result if self.flavour.serves(name) and not re.match(self.flavour.unlisted, name)]
            for fault in self.faults:
                if fault.result is not None and fault.strikes(method):
                    result = fault.result(method, params, result)
            answer["result"] = result
        return answer

    def transport(self) -> "InProcessTransport":
        """Return a transport for `Source(url, transport=...)`."""
        return InProcessTransport(self)

    @contextmanager
    def listening(self) -> Iterator[str]:
        """Serve the node over HTTP for the duration of the context; yields its address."""
        server = _Server(("127.0.0.1", 0), partial(_Handler, self))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.ended.set()
            server.shutdown()
            thread.join()
            server.server_close()


def service_of(chain: LocalChain | Chain) -> Service:
    """Return the service of a chain. That of a `Chain` has only the methods that need nothing but the chain."""
    if isinstance(chain, LocalChain):
        return chain._service
    state = chain.state
    groups = ("explorer_api.", "network_broadcast_api.", "chain_api.")
    methods = [
        method
        for name, method in READING.items()
        if name == "explorer_api.get_next_ids" or (not name.startswith(groups) and "broadcast" not in name)
    ]
    return Service(methods, wire=state.wire, plugins=state.plugins, clock=lambda: state.head_time, state=state, chain=chain)


def error_reply(call_id: Any, code: int, message: str) -> dict[str, Any]:
    """Return a JSON-RPC error."""
    return {"jsonrpc": "2.0", "id": call_id, "error": {"code": code, "message": message}}


class InProcessTransport:
    """A transport of a `Source` that calls a node in this process."""

    def __init__(self, node: SourceNode) -> None:
        self._node = node

    async def post(self, body: bytes, size_max: int) -> HttpReply:
        """Return the node's reply. If the node is silent, wait for ever."""
        await trio.lowlevel.checkpoint()
        reply = self._node.post(body)
        if reply is None:
            await trio.sleep_forever()
        assert reply is not None
        if len(reply.body) > size_max:
            raise TooLarge(f"a body of more than {size_max} bytes")
        if isinstance(reply, CutReply):
            raise Unreachable("the connection has ended")
        return reply

    async def close(self) -> None:
        """Do nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.ended = threading.Event()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # otherwise each reply takes 40 ms
    server: _Server

    def __init__(self, node: SourceNode, *args: Any) -> None:
        self._node = node
        super().__init__(*args)

    def do_POST(self) -> None:
        reply = self._node.post(self.rfile.read(int(self.headers["Content-Length"])))
        if reply is None:
            self.server.ended.wait()
            self.close_connection = True
            return
        self.send_response(reply.status)
        self.send_header("Content-Length", str(len(reply.body)))
        if reply.retry_after:
            self.send_header("Retry-After", reply.retry_after)
        self.end_headers()
        if isinstance(reply, CutReply):
            self.wfile.write(reply.body[: len(reply.body) // 2])
            self.close_connection = True
        else:
            self.wfile.write(reply.body)

    def log_message(self, format: str, *args: object) -> None:
        pass
