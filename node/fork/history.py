"""Answers calls about blocks, operations and transactions before the base of a fork, by asking its source.

The form and the numbers of replies are checked, then replies are passed through. If the source has only the other JSON form of a method,
its reply is converted. An account's operations before the base have the source's numbers, and those of this chain continue them.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import trio

from node.client.errors import RefusedCall
from node.fork.limits import CALL_SECONDS_MAX, SourceLimits
from node.fork.source import Source
from node.runtime.errors import NodeError
from rpc.caller import Caller
from rpc.declare.arguments import LEGACY
from rpc.declare.demand import NO_HISTORY, NotFetched, NotHere
from rpc.declare.method import METHODS, Method
from rpc.json.encoding import encoded
from rpc.records.blocks import block_json
from state.chain.chain import Chain
from state.plugins.account_history import locate_transaction
from state.plugins.transaction_status import Status
from state.protocol.errors import ChainError
from state.protocol.transaction import OPERATION, block_number
from state.protocol.values.integers import UINT32_MAX

HISTORY = "account_history_api"
GROUPS = ("block_api", HISTORY, "condenser_api", "transaction_status_api")
REPLIES_MAX, REPLIES_SIZE_MAX, REPLY_SIZE_MAX = 1_000, 32 << 20, 8 << 20  # of replies that are kept in memory; bytes of them as JSON
PAGE, PAGES_MAX = 1_000, 20  # operations of an account per call, and calls in a row
ID_DIGITS = 40

Function = Callable[..., Any]
Ask = Callable[[], Awaitable[Any]]


class NotServed(NodeError):
    """The source doesn't serve a method, in neither form."""


class SourceHistory:
    """Answers calls about blocks before the base of a chain. Without a source, these are refused (`--history local`)."""

    def __init__(self, chain: Chain, source: Source | None, limits: SourceLimits | None) -> None:
        self._chain, self._source, self._limits = chain, source, limits
        self._replies: OrderedDict[Any, tuple[Any, int]] = OrderedDict()
        self._size = 0
        self._rules: dict[str, Callable[[Method, Sequence[Any], Function], Any]] = {
            "get_block": self._block,
            "get_block_header": self._block,
            "get_ops_in_block": self._operations,
            "enum_virtual_ops": self._virtual_operations,
            "get_transaction": self._transaction,
            "find_transaction": self._transaction_status,
            "get_account_history": self._account_history,
        }

    def call(self, method: Method, values: Sequence[Any], function: Function) -> Any:
        """Return the result of a call, from the source if it is about blocks before the base. Raises NotHere until that is known."""
        rule = self._rules.get(method.name.partition(".")[2]) if method.group in GROUPS and self._chain.base else None
        return function(*values) if rule is None else rule(method, values, function)

    # -------------------------------------------------------------- cached replies

    def _reply(self, what: str, key: Any, ask: Ask) -> Any:
        """Return the reply that was kept under this key. Raises NotHere if there is none; the fetch then keeps it."""
        found = self._replies.get(key)
        if found is None:
            if self._limits is None:
                raise NotFetched(NO_HISTORY, condition="history.is_asked_for()", base=self._chain.base)
            raise NotHere(partial(self._fetch, self._limits, what, key, ask))
        self._replies.move_to_end(key)
        return found[0]

    async def _fetch(self, limits: SourceLimits, what: str, key: Any, ask: Ask, caller: Caller) -> None:
        limits.require(caller, 1, what)
        reply, is_late = None, True
        try:
            with trio.move_on_after(CALL_SECONDS_MAX):
                async with limits.place(caller.queue):
                    reply = await ask()
                is_late = False
        except NodeError as error:
            raise limits.unanswered(what, str(error)) from None
        if is_late:
            raise limits.unanswered(what, f"it has not answered within {CALL_SECONDS_MAX} s")
        size = len(encoded(reply))
        if size > REPLY_SIZE_MAX:
            raise limits.unanswered(what, f"its reply has more than {REPLY_SIZE_MAX >> 20} MiB")
        self._replies[key] = reply, size
        self._size += size
        while len(self._replies) > REPLIES_MAX or self._size > REPLIES_SIZE_MAX:
            self._size -= self._replies.popitem(last=False)[1][1]

    async def _ask(self, method: Method, group: str, params: dict[str, Any]) -> tuple[str, Any]:
        """Ask the source by the called method, or by the method of `group` or condenser_api if it lacks that one. Return the method and its
        result.
        """
        assert self._source is not None, "without a source, nothing is asked"
        short = method.name.partition(".")[2]
        calls: dict[str, Any] = {f"{group}.{short}": params, f"condenser_api.{short}": list(params.values())}
        found = await self._source.first_of(*sorted(calls.items(), key=lambda call: call[0] != method.name))
        if found is None:
            raise NotServed(f"{self._source.url} doesn't serve {method.name}")
        return found

    def _wrong(self, name: str, member: str, why: str) -> NodeError:
        assert self._source is not None, "without a source, nothing is asked"
        return self._source.wrong(name, member, why)

    # -------------------------------------------------------------- blocks

    def _block(self, method: Method, values: Sequence[Any], function: Function) -> Any:
        """Answer get_block or get_block_header."""
        number = values[0]
        if not 0 < number <= self._chain.base:
            return function(*values)
        return self._reply(f"block {number}", (method.name, number), partial(self._ask_block, method, number))

    async def _ask_block(self, method: Method, number: int) -> Any:
        short = method.name.partition(".")[2]
        name, reply = await self._ask(method, "block_api", {"block_num": number})
        member = "header" if short.endswith("header") else "block"
        # Nodes of the family differ in whether block_api wraps a header.
        block = reply.get(member, reply or None) if isinstance(reply, dict) else reply
        if block is None:
            raise NodeError(f"it doesn't have block {number}")
        previous: Any = block.get("previous") if isinstance(block, dict) else None
        if not is_id(previous) or block_number(bytes.fromhex(previous)) + 1 != number or not isinstance(block.get("timestamp"), str):
            raise self._wrong(name, member, f"it is not block {number}")
        if member == "block" and not isinstance(block.get("transactions"), list):
            raise self._wrong(name, "transactions", "expected a list")
        if member == "block" and name != method.name:
            wire = self._chain.state.wire
            try:
                parsed = wire.block_from_json(block, legacy=name.startswith("condenser_api."))
            except ChainError as error:
                raise self._wrong(name, member, error.message(wire.spec.spell)) from None
            block = block_json(wire, parsed, method.form is LEGACY)
        return {method.key: block} if method.key else block

    def _operations(self, method: Method, values: Sequence[Any], function: Function) -> Any:
        """Answer get_ops_in_block."""
        number, only_virtual = values
        if not 0 < number <= self._chain.base:
            return function(*values)
        ask = partial(self._ask_operations, method, number, only_virtual)
        return self._reply(f"block {number}", (method.name, number, only_virtual), ask)

    async def _ask_operations(self, method: Method, number: int, only_virtual: bool) -> Any:
        name, reply = await self._ask(method, HISTORY, {"block_num": number, "only_virtual": only_virtual})
        found = reply.get("ops") if isinstance(reply, dict) else reply
        operations = self._checked_operations(method, name, found)
        if any(operation["block"] != number for operation in operations):
            raise self._wrong(name, "block", f"it is not block {number}")
        return {method.key: operations} if method.key else operations

    def _virtual_operations(self, method: Method, values: Sequence[Any], function: Function) -> Any:
        """Answer enum_virtual_ops: the operations before the base, then, if the source has no more of them, those of this chain."""
        begin, end = values
        first = self._chain.base + 1
        if not 0 < begin < min(end, first):
            return function(*values)
        last = min(end, first)
        before = self._reply(f"block {begin}", (method.name, begin, last), partial(self._ask_virtual_operations, method, begin, last))
        if 0 < before["next_block_range_begin"] < first:
            return before
        # The source's next operations are in blocks that aren't those of this chain.
        here = function(first, max(end, first + 1))
        if end <= first:
            return before | {"next_block_range_begin": first if here["ops"] else here["next_block_range_begin"]}
        return here | {"ops": [*before["ops"], *here["ops"]]}

    async def _ask_virtual_operations(self, method: Method, begin: int, end: int) -> Any:
        name, reply = await self._ask(method, HISTORY, {"block_range_begin": begin, "block_range_end": end})
        if not isinstance(reply, dict) or not is_number(reply.get("next_block_range_begin")):
            raise self._wrong(name, "next_block_range_begin", "expected a number")
        operations = self._checked_operations(method, name, reply.get("ops"))
        if not all(begin <= operation["block"] < end for operation in operations):
            raise self._wrong(name, "block", "it is out of the range")
        return reply

    def _checked_operations(self, method: Method, name: str, found: Any) -> list[dict[str, Any]]:
        """Check operations with their positions, and convert them to the form of the called method."""
        if not isinstance(found, list) or not all(isinstance(one, dict) and is_number(one.get("block")) for one in found):
            raise self._wrong(name, "ops", "expected a list of operations with their blocks")
        return [self._converted(method, name, one) for one in found]

    def _converted(self, method: Method, name: str, operation: dict[str, Any]) -> dict[str, Any]:
        is_legacy, wanted = name.startswith("condenser_api."), method.form is LEGACY
        if is_legacy == wanted:
            return operation
        codecs = self._chain.state.wire.codecs
        dump = codecs.dumper(OPERATION, wanted)
        assert dump is not None, "operations differ in their forms"
        try:
            return operation | {"op": dump(codecs.parser(OPERATION, is_legacy)(operation.get("op")))}
        except ChainError as error:
            raise self._wrong(name, "op", error.message(self._chain.state.spec.spell)) from None

    # -------------------------------------------------------------- transactions

    def _transaction(self, method: Method, values: Sequence[Any], function: Function) -> Any:
        """get_transaction. The refusal of an unknown transaction is that of the method."""
        trx_id: bytes = values[0]
        if self._source is None or locate_transaction(self._chain.state, trx_id) is not None:
            return function(*values)
        found = self._reply(f"transaction {trx_id.hex()}", (method.name, trx_id), partial(self._ask_transaction, method, trx_id.hex()))
        return function(*values) if found is None else found

    async def _ask_transaction(self, method: Method, trx_id: str) -> Any:
        try:
            name, reply = await self._ask(method, HISTORY, {"id": trx_id})
        except RefusedCall:
            return None
        if not isinstance(reply, dict) or reply.get("transaction_id") != trx_id or not is_number(reply.get("block_num")):
            raise self._wrong(name, "transaction_id", "it is another transaction")
        if reply["block_num"] > self._chain.base:
            return None
        if not isinstance(reply.get("operations"), list):
            raise self._wrong(name, "operations", "expected a list")
        operations = [self._converted(method, name, {"op": operation})["op"] for operation in reply["operations"]]
        return reply | {"operations": operations}

    def _transaction_status(self, method: Method, values: Sequence[Any], function: Function) -> Any:
        """find_transaction. A transaction of before the base is in an irreversible block."""
        here, trx_id = function(*values), values[0].hex()
        if self._source is None or here["status"] == Status.WITHIN_MEMPOOL or "block_num" in here:
            return here
        found = self._reply(f"transaction {trx_id}", ("place", trx_id), partial(self._ask_place, trx_id))
        return {"status": Status.WITHIN_IRREVERSIBLE_BLOCK.value, "block_num": found} if found else here

    async def _ask_place(self, trx_id: str) -> int:
        """Return the block number of a transaction, or 0 if the source doesn't show it, or its block isn't before the base."""
        try:
            found = await self._ask_transaction(METHODS["account_history_api.get_transaction"], trx_id)
        except NotServed:
            return 0
        return 0 if found is None else int(found["block_num"])

    # -------------------------------------------------------------- accounts

    def _account_history(self, method: Method, values: Sequence[Any], function: Function) -> Any:
        """get_account_history: the operations of this chain, then those of before the base."""
        account, start, limit = values
        here = function(*values)  # refuses wrong arguments
        if self._source is None:
            return here
        what = f"the history of {account}"
        before: int = self._reply(what, ("number", account), partial(self._ask_number, method, account))
        last = start & UINT32_MAX
        entries: list[Any] = []
        if last > before:
            own_start = last - before
            here = function(account, own_start, min(limit, own_start))
            entries = [[number + before, operation] for number, operation in (here[method.key] if method.key else here)]
        count, last = min(limit - len(entries), last, before), min(last, before)
        if count > 0 and (not entries or entries[0][0] == before + 1):
            key = (method.form, account, last, count)
            entries = [*self._reply(what, key, partial(self._ask_history, method, account, last, count)), *entries]
        return {method.key: entries} if method.key else entries

    async def _ask_number(self, method: Method, account: str) -> int:
        """Return the number of the account's last operation up to the base, 0 if there is none or the source gives no history."""
        last, limit = -1, 1
        for _ in range(PAGES_MAX):
            try:
                page = await self._ask_page(method, account, last, limit)
            except NotServed:
                return 0
            found = [number for number, operation in page if operation["block"] <= self._chain.base]
            if found or not page or page[0][0] <= 1:
                return max(found, default=0)
            last = page[0][0] - 1
            limit = min(PAGE, last)
        raise NodeError(f"{account} has had more than {PAGE * PAGES_MAX} operations since block {self._chain.base}")

    async def _ask_history(self, method: Method, account: str, last: int, count: int) -> list[Any]:
        """Return the `count` operations of an account up to number `last`, or fewer if the source doesn't have more."""
        found: list[Any] = []
        for _ in range(PAGES_MAX):
            limit = min(PAGE, count - len(found), last)
            if limit < 1:
                break
            page = (await self._ask_page(method, account, last, limit))[-limit:]
            found[:0] = page
            if len(page) < limit:
                break
            last = page[0][0] - 1
        return found

    async def _ask_page(self, method: Method, account: str, last: int, limit: int) -> list[Any]:
        name, reply = await self._ask(method, HISTORY, {"account": account, "start": last, "limit": limit})
        found = reply.get("history") if isinstance(reply, dict) else reply
        if not isinstance(found, list) or not all(isinstance(entry, list) and len(entry) == 2 and is_number(entry[0]) for entry in found):
            raise self._wrong(name, "history", "expected a list of numbered operations")
        numbers = [number for number, _ in found]
        if numbers != sorted(set(numbers)) or (last >= 0 and numbers and numbers[-1] > last):
            raise self._wrong(name, "history", "its numbers don't ascend up to the start")
        operations = self._checked_operations(method, name, [operation for _, operation in found])
        return [list(pair) for pair in zip(numbers, operations, strict=True)]


def is_number(value: Any) -> bool:
    """Whether a value of JSON is a number of 32 bits."""
    return type(value) is int and 0 <= value <= UINT32_MAX


def is_id(value: Any) -> bool:
    """Whether a value of JSON is the id of a block."""
    return isinstance(value, str) and len(value) == ID_DIGITS and all(digit in "0123456789abcdef" for digit in value)
