"""A chain in the caller's own process, driven as a node's is, without sockets and without a clock that runs: for test suites in Python.

    chain = LocalChain()
    chain.broadcast(["transfer", {"from": "alice", "to": "bob", "amount": "1.000 COIN", "memo": ""}])
    chain.call("condenser_api.get_accounts", ["bob"])

The same calls in the same order lead to the same chain, block for block.
"""

import json
from collections.abc import Awaitable, Iterable
from typing import Any

from msgspec import Struct

from node.clock import ChainClock
from node.driving.direct import DirectProcessor
from node.driving.driver import Driver
from node.driving.modes import Leap, block_mode
from node.plugins import chosen_plugins
from node.service import new_service
from node.specs import load_spec, with_accounts, with_witnesses
from rpc.service.caller import LOCAL
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.chain.signing import KnownAccount, known_accounts
from state.plugins.registry import enable
from state.protocol.keys.keys import public_key, public_key_text, secret_from_wif, wif_from_secret
from state.protocol.spec import ChainSpec

# The time at which a chain begins unless another one is asked for: 2027-01-01, later than every hardfork, and always the same.
START = 1_798_761_600

Json = Any


class Key(Struct, frozen=True):
    """A key of an account: the public one, and the private one in wallet import format."""

    public: str
    private: str


class Account(Struct, frozen=True):
    """An account of the genesis with its keys."""

    name: str
    owner: Key
    active: Key
    posting: Key
    memo: Key


class CallRefused(Exception):
    """A refused call, as a client of a node sees it: `code`, `message` and `data` are those of the error of JSON-RPC.

    `rule`, `why`, `what_to_do` and `values` are the members of `explain`, which is empty where no transaction was refused.
    """

    def __init__(self, error: dict[str, Any]) -> None:
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Json = error.get("data")
        self.explain: dict[str, Any] = (self.data.get("explain") if isinstance(self.data, dict) else None) or {}
        self.rule: str = self.explain.get("rule", "")
        self.why: str = self.explain.get("why", "")
        self.what_to_do: str = self.explain.get("what_to_do", "")
        self.values: dict[str, Any] = self.explain.get("values", {})
        super().__init__("\n".join(filter(None, (self.message, self.why, self.what_to_do))))


class LocalChain:
    """A chain made for tests, with blocks at its last slots, in this process; each is one of its own.

    `chain` is the name of a spec, the path of one, or a spec. With `blocks` `instant` each accepted transaction gets its block at once,
    with `manual` it waits for `mine`. `time` is that of the chain at the start, in seconds since 1970; it stands still but for the
    blocks that are made, and for what moves it. It has so many `witnesses`, so many `accounts` with known keys, and the spec's plugins
    unless `plugins` names others.
    """

    def __init__(
        self,
        chain: str | ChainSpec = "dev",
        *,
        blocks: str = "instant",
        time: int = START,
        leap: Leap = "missed",
        witnesses: int = 1,
        accounts: int | None = None,
        plugins: Iterable[str] | None = None,
    ) -> None:
        spec = load_spec(chain) if isinstance(chain, str) else chain
        spec = with_accounts(with_witnesses(spec, witnesses), accounts)
        enabled = chosen_plugins(spec) if plugins is None else tuple(plugins)
        self.spec = spec
        self.chain = Chain(new_state(spec, lambda fresh: enable(fresh, enabled)))
        clock = ChainClock(lambda: time * 1000)
        secrets = [secret_from_wif(text) for text in spec.witness_keys]
        driver = Driver(self.chain, clock, secrets, mode=block_mode(blocks), leap=leap)
        driver.make_first_blocks()
        self._service = new_service(self.chain, DirectProcessor(self.chain, driver, clock), driver, enabled)
        self.accounts: dict[str, Account] = {known.name: _account(known, spec.key_prefix) for known in known_accounts(spec)}

    def call(self, method: str, params: Json = None) -> Json:
        """Return the result of an RPC method, as a node answers it; raises CallRefused."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {} if params is None else params}
        answer = self._service.answer(json.dumps(request).encode(), LOCAL)
        reply = json.loads(answer if isinstance(answer, bytes) else _finished(answer))
        if "error" in reply:
            raise CallRefused(reply["error"])
        return reply["result"]

    # -------------------------------------------------------------- transactions

    def broadcast(self, *operations: Json, keys: Iterable[str] = ()) -> Json:
        """Sign operations and push them as one transaction; returns its id and its block, which is None while it is pending.

        `broadcast(["transfer", {...}], ["vote", {...}])`, or one alone: `broadcast("transfer", {...})`. It is signed with the keys of
        the chain's accounts, and with `keys`, private ones.
        """
        if operations and isinstance(operations[0], str):
            operations = (list(operations),)
        return self.call("dev_api.broadcast_operations", {"operations": operations, "keys": list(keys)})

    def push(self, trx: Json) -> None:
        """Push a signed transaction, in either of its JSON forms, or as bytes."""
        shown = self._shown(trx)
        is_legacy = any(isinstance(operation, list) for operation in shown["operations"])
        method = "condenser_api.broadcast_transaction" if is_legacy else "network_broadcast_api.broadcast_transaction"
        self.call(method, [shown])

    def explain(self, trx: Json) -> Json:
        """Return why a signed transaction would be refused, with its bytes; `rule` is None where it would be accepted."""
        return self.call("dev_api.explain_transaction", {"trx": self._shown(trx)})

    def _shown(self, trx: Json) -> Json:
        wire = self.chain.state.wire
        return wire.transaction_to_json(wire.unpack_transaction(trx)) if isinstance(trx, bytes) else trx

    # -------------------------------------------------------------- blocks and time

    def mine(self, count: int = 1) -> Json:
        """Make blocks; returns the new head."""
        return self.call("dev_api.mine", {"count": count})

    def advance(self, seconds: int, leap: str = "") -> Json:
        """Let the chain's time leap and make a block there; the slots in between are `missed` or `produced`. Returns the new head."""
        return self.call("dev_api.advance_time", {"seconds": seconds, "leap": leap})

    def set_block_mode(self, mode: str) -> None:
        """Make a block for each transaction (`instant`), or only when asked (`manual`)."""
        self.call("dev_api.set_block_mode", {"mode": mode})

    def set_next_block_time(self, time: str) -> Json:
        """Give the next block this time, as "2027-01-01T00:00:00"."""
        return self.call("dev_api.set_next_block_time", {"time": time})

    def info(self) -> Json:
        """Return the head, the time and the modes of the chain."""
        return self.call("dev_api.get_info")

    def digest(self) -> str:
        """Return the digest of the state: equal chains have the same."""
        digest: str = self.call("dev_api.get_state_digest")["digest"]
        return digest

    # -------------------------------------------------------------- moments

    def snapshot(self) -> int:
        """Keep this moment; returns its id, for `revert`."""
        moment_id: int = self.call("dev_api.snapshot")["id"]
        return moment_id

    def revert(self, moment_id: int) -> Json:
        """Return to a moment, as often as wanted; later ones are dropped. Returns the head."""
        return self.call("dev_api.revert", {"id": moment_id})

    def reset(self) -> Json:
        """Begin anew as at the start; all moments are dropped. Returns the head."""
        return self.call("dev_api.reset")

    def pop_blocks(self, count: int = 1) -> Json:
        """Undo the last blocks. Returns the head."""
        return self.call("dev_api.pop_blocks", {"count": count})

    def dump(self, path: str) -> Json:
        """Write the whole chain to a file."""
        return self.call("dev_api.dump", {"path": path})

    def load(self, path: str) -> Json:
        """Go on from a file that `dump` has written. Returns the head."""
        return self.call("dev_api.load", {"path": path})

    # -------------------------------------------------------------- accounts by hand

    def set_balance(self, account: str, balance: str) -> None:
        """Give an account this liquid balance, as "5.000 COIN"."""
        self.call("dev_api.set_balance", {"account": account, "balance": balance})

    def set_vests(self, account: str, vests: str) -> None:
        """Give an account these VESTS, as "5.000000 VESTS"."""
        self.call("dev_api.set_vests", {"account": account, "vests": vests})

    def set_authority(self, account: str, role: str, authority: Json) -> None:
        """Give a role of an account another authority, or one public key."""
        self.call("dev_api.set_authority", {"account": account, "role": role, "authority": authority})

    def impersonate(self, *accounts: str, everyone: bool = False) -> None:
        """Accept transactions of these accounts, or of all, without signatures, and of no others; without arguments, of none."""
        self.call("dev_api.impersonate", {"accounts": accounts, "everyone": everyone})

    def faucet(self, account: str, amount: str = "") -> Json:
        """Give an account something out of nothing, 1000.000 of the coin unless said otherwise. Returns its balances."""
        return self.call("dev_api.faucet", {"account": account, "amount": amount})

    def drop_pending(self) -> int:
        """Forget the transactions that wait for a block; returns how many there were."""
        dropped: int = self.call("dev_api.drop_pending")["dropped"]
        return dropped


def _account(known: KnownAccount, prefix: str) -> Account:
    keys = {role: Key(public_key_text(public_key(secret), prefix), wif_from_secret(secret)) for role, secret in known.secrets.items()}
    return Account(known.name, **keys)


def _finished(answer: Awaitable[bytes]) -> bytes:
    """Return the result of a call that a direct processor has done at once."""
    steps = answer.__await__()
    try:
        next(steps)
    except StopIteration as done:
        result: bytes = done.value
        return result
    raise AssertionError("nothing waits in a process of its own")
