"""Test doubles: RPC methods with the reference's parameters but without a chain's state. They return results that the test prepares."""

import enum
import json
from typing import Annotated, Any

import rpc.api.jsonrpc  # noqa: F401 - it declares its methods
from rpc.caller import ANYBODY, LOCAL
from rpc.declare.arguments import AccountName, Bool, EnumTitle, Int32, MaxValue, Text, Timestamp, UInt32, UInt64, argument
from rpc.declare.errors import PushFailed
from rpc.declare.method import METHODS, Method, method
from rpc.jsonrpc.dispatch import Service
from state.protocol.errors import Refused, require
from state.protocol.spec import TEST_BUILD, ChainSpec, Genesis
from state.protocol.transaction import SignedTransaction, Wire

FAKES: dict[str, Method] = {}


def fake_wire(brand: str = "steem") -> Wire:
    """The wire format of the chain on which the test cases were recorded. `brand` replaces that chain's brand."""
    spec = ChainSpec(
        name=f"{brand}-testnet",
        brand=brand,
        coin_symbol="TESTS",
        debt_symbol="TBD",
        vests_symbol="VESTS",
        key_prefix="TST",
        chain_id=bytes(32),
        build="test",
        constants=TEST_BUILD,
        smt=True,
        genesis=Genesis(witness_key=bytes(33)),
    )
    return Wire(spec)


class Results:
    """Prepared results that the next calls return, in order."""

    def __init__(self, *results: Any) -> None:
        self.waiting = list(results)

    def next(self) -> Any:
        """Return the next result, or an empty object after the last."""
        return self.waiting.pop(0) if self.waiting else {}


def fake_service(results: Results, wire: Wire | None = None) -> Service:
    """A service with the fake methods and jsonrpc."""
    own = [declared for declared in METHODS.values() if declared.group == "jsonrpc"]
    return Service([*FAKES.values(), *own], wire=wire or fake_wire(), results=results)


async def ask(service: Service, body: bytes | str, local: bool = True) -> Any:
    """Return the decoded response to a request body."""
    reply = service.answer(body if isinstance(body, bytes) else body.encode("utf-8", "surrogatepass"), LOCAL if local else ANYBODY)
    return json.loads(reply if isinstance(reply, bytes) else await reply)


async def call(service: Service, name: str, params: Any = None, local: bool = True) -> Any:
    """Return the response to a call of a method. If `params` is None, the request has no params."""
    request = {"jsonrpc": "2.0", "id": 1, "method": name} | ({} if params is None else {"params": params})
    return await ask(service, json.dumps(request), local)


def serving(registry: dict[str, Method], brand: str = "steem", plugins: tuple[str, ...] | None = None, **context: Any) -> Service:
    """Return a service with these methods."""
    return Service(registry.values(), wire=fake_wire(brand), plugins=plugins, state="the state", **context)


class Order(enum.Enum):
    """Some of the reference's sort orders. The other members are placeholders, so that these keep their numeric values."""

    by_name = 0
    by_proxy = 1
    by_next_vesting_withdrawal = 2
    by_account = 3
    by_expiration = 4
    by_effective_date = 5
    by_vote_name = 6
    by_schedule_time = 7
    by_account_witness = 8
    by_witness_account = 9
    by_from_id = 10
    by_ratification_deadline = 11
    by_withdraw_route = 12


SortOrder = Annotated[Order, EnumTitle("coin::plugins::database_api::sort_order_type")]
ListLimit = Annotated[UInt32, MaxValue(1000, condition="args.limit <= DATABASE_API_SINGLE_QUERY_LIMIT")]
HistoryLimit = Annotated[UInt32, MaxValue(10000, "limit of ${l} is greater than maxmimum allowed", key="l")]


@method("database_api.get_version", registry=FAKES)
@method("condenser_api.get_version", registry=FAKES)
@method("condenser_api.get_dynamic_global_properties", registry=FAKES)
def nothing(results: Results) -> dict[str, Any]:
    """A method without arguments."""
    return dict(results.next())


@method("database_api.find_accounts", registry=FAKES)
def find_accounts(results: Results, accounts: list[AccountName]) -> Any:
    """A method whose argument is a list of names."""
    require(len(accounts) <= 1000, condition="args.accounts.size() <= DATABASE_API_SINGLE_QUERY_LIMIT")
    return results.next()


@method("database_api.list_accounts", registry=FAKES)
def list_accounts(results: Results, wire: Wire, /, start: Any, limit: ListLimit, order: SortOrder) -> Any:
    """A method whose argument `start` has a different type for each value of `order`."""
    require(order.value < 3, "Unknown or unsupported sort order", condition="false")
    shapes: list[Any] = [AccountName, tuple[AccountName, AccountName], tuple[Timestamp, AccountName]]
    argument(shapes[order.value], wire).read(start)
    return results.next()


@method("market_history_api.get_trade_history", registry=FAKES)
def get_trade_history(results: Results, start: Timestamp, end: Timestamp, limit: Annotated[UInt32, MaxValue(1000)]) -> Any:
    """A method with time arguments."""
    assert max(start, end) < 2**32
    assert limit <= 1000
    return results.next()


@method("account_history_api.get_account_history", registry=FAKES)
@method("condenser_api.get_account_history", registry=FAKES)
def get_account_history(results: Results, account: AccountName, start: UInt64, limit: HistoryLimit) -> Any:
    """A method that refuses a `start` below `limit`."""
    assert len(account) <= 16
    require(start >= limit, "start must be greater than limit", condition="args.start >= args.limit")
    return results.next()


@method("tags_api.get_discussion", registry=FAKES)
@method("condenser_api.get_content", registry=FAKES)
def get_content(results: Results, author: AccountName, permlink: Text) -> Any:
    """A method with two text arguments."""
    assert isinstance(author + permlink, str)
    return results.next()


@method("condenser_api.get_accounts", registry=FAKES)
def get_accounts(results: Results, accounts: list[AccountName]) -> list[dict[str, Any]]:
    """A method whose argument is a list of names."""
    assert isinstance(accounts, list)
    return list(results.next())


@method("block_api.get_block", registry=FAKES)
@method("condenser_api.get_block", registry=FAKES)
def get_block(results: Results, block_num: UInt32) -> Any:
    """A method with a number argument."""
    assert 0 <= block_num < 2**32
    return results.next()


@method("condenser_api.lookup_accounts", registry=FAKES)
def lookup_accounts(results: Results, lower: AccountName, limit: Annotated[UInt32, MaxValue(1000, condition="limit <= 1000")]) -> Any:
    """A method that refuses a `limit` that is too large with its own text."""
    assert len(lower) <= 16
    assert limit <= 1000
    return results.next()


@method("condenser_api.get_order_book", registry=FAKES)
def get_order_book(results: Results, limit: Annotated[UInt32, MaxValue(500)] = 50) -> Any:
    """A method with an optional number."""
    assert 0 <= limit <= 500
    return results.next()


@method("condenser_api.get_ops_in_block", registry=FAKES)
def get_ops_in_block(results: Results, block_num: UInt32, only_virtual: Bool = False) -> Any:
    """A method with an optional boolean."""
    assert block_num >= 0
    assert isinstance(only_virtual, bool)
    return results.next()


@method("condenser_api.broadcast_transaction", registry=FAKES)
async def broadcast(results: Results, trx: SignedTransaction) -> dict[str, Any]:
    """A method that pushes a transaction."""
    push(trx)
    return dict(results.next())


@method("network_broadcast_api.broadcast_transaction", registry=FAKES)
async def broadcast_named(results: Results, trx: SignedTransaction, max_block_age: Int32 = -1) -> dict[str, Any]:
    """A method that pushes a transaction and refuses every `max_block_age` of 0 or more."""
    require(max_block_age < 0, condition="!check_max_block_age( args.max_block_age )")
    push(trx)
    return dict(results.next())


def push(trx: SignedTransaction) -> None:
    """Refuse a transaction without operations, as a chain does."""
    assert trx.id
    if not trx.operations:
        raise PushFailed(Refused("A transaction must have at least one operation", condition="operations.size() > 0"))
