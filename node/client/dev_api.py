"""The methods of dev_api as methods of an object: whoever drives a chain made for tests has them, over HTTP and in this process.

The pytest plugin loads this module in every session: it imports little.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from node.client.errors import RefusedCall

__tracebackhide__ = True  # reports of pytest end at the line of the test


class CallRefused(RefusedCall):
    """A refused call: `code`, `message` and `data` are those of the error of JSON-RPC. Its text is the message, why, and what to do.

    `rule`, `why`, `what_to_do` and `values` are the members of `explain`, which is empty where no transaction was refused.
    """

    def text(self) -> str:
        """Return the message, and the explanation of a transaction, or the names that an unknown method may have been."""
        # Only refused transactions are explained; of other calls the method says most.
        guess = f"; is it {' or '.join(self.closest)}?" if self.closest else ""
        called = f"  method: {self.method}{guess}" if self.method and not self.explain else ""
        lines = [("rule", self.rule), ("why", self.why), ("what to do", self.what_to_do)]
        return "\n".join(filter(None, [self.message, called, *(text and f"  {name}: {text}" for name, text in lines)]))


@dataclass(frozen=True)
class Key:
    """A key of an account: the public one, and the private one in wallet import format."""

    public: str
    private: str


@dataclass(frozen=True)
class Account:
    """An account whose keys are known."""

    name: str
    owner: Key
    active: Key
    posting: Key
    memo: Key


class DevApi:
    """Drives a chain made for tests, by calls of RPC methods."""

    def call(self, method: str, params: Any = None) -> Any:
        """Return the result of any RPC method. Raises CallRefused."""
        raise NotImplementedError

    @cached_property
    def accounts(self) -> dict[str, Account]:
        """The accounts with funds, and the first witness, by name: `accounts["alice"].active.private`."""
        listed = self.call("dev_api.list_keys")
        return {entry["name"]: Account(entry["name"], **{role: Key(**key) for role, key in entry["keys"].items()}) for entry in listed}

    # -------------------------------------------------------------- transactions

    def broadcast(self, *operations: Any, keys: Iterable[str] = ()) -> Any:
        """Have the node sign operations and take them as one transaction; returns its id and its block (None while it is pending).

        `broadcast(["transfer", {...}], ["vote", {...}])`, or one alone: `broadcast("transfer", {...})`. It is signed with the keys of
        the known accounts, and with `keys`, private ones. Raises CallRefused.
        """
        if operations and isinstance(operations[0], str):
            operations = (list(operations),)
        return self.call("dev_api.broadcast_operations", {"operations": list(operations), "keys": list(keys)})

    def push(self, trx: Any) -> None:
        """Broadcast a signed transaction, in either of its JSON forms. Raises CallRefused."""
        is_legacy = any(isinstance(operation, list) for operation in trx["operations"])
        method = "condenser_api.broadcast_transaction" if is_legacy else "network_broadcast_api.broadcast_transaction"
        self.call(method, [trx])

    def explain(self, trx: Any) -> Any:
        """Return why a signed transaction would be refused, with its bytes; `rule` is None where it would be accepted."""
        return self.call("dev_api.explain_transaction", {"trx": trx})

    # -------------------------------------------------------------- blocks and time

    def mine(self, count: int = 1) -> Any:
        """Make blocks; returns the new head."""
        return self.call("dev_api.mine", {"count": count})

    def advance(self, seconds: int, leap: str = "") -> Any:
        """Let the chain's time leap, and make a block there; the slots in between are `missed` or `produced`. Returns the new head."""
        return self.call("dev_api.advance_time", {"seconds": seconds, "leap": leap})

    def set_block_mode(self, mode: str) -> None:
        """Make blocks in another way: `instant`, `manual`, `interval`, `interval:SECONDS`, `mixed:SECONDS`."""
        self.call("dev_api.set_block_mode", {"mode": mode})

    def set_next_block_time(self, time: str) -> Any:
        """Give the next block this time, as "2027-01-01T00:00:00"."""
        return self.call("dev_api.set_next_block_time", {"time": time})

    def info(self) -> Any:
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

    def revert(self, moment_id: int) -> Any:
        """Return to a moment, as often as wanted; later ones are dropped. Returns the head."""
        return self.call("dev_api.revert", {"id": moment_id})

    def reset(self) -> Any:
        """Begin anew as at the start of the node; all moments are dropped. Returns the head."""
        return self.call("dev_api.reset")

    def pop_blocks(self, count: int = 1) -> Any:
        """Undo the last blocks. Returns the head."""
        return self.call("dev_api.pop_blocks", {"count": count})

    def dump(self, path: str) -> Any:
        """Have the node write the whole chain to a file."""
        return self.call("dev_api.dump", {"path": path})

    def load(self, path: str) -> Any:
        """Have the node go on from a file that `dump` has written. Returns the head."""
        return self.call("dev_api.load", {"path": path})

    # -------------------------------------------------------------- accounts by hand

    def set_balance(self, account: str, balance: str) -> None:
        """Give an account this liquid balance, as "5.000 COIN"."""
        self.call("dev_api.set_balance", {"account": account, "balance": balance})

    def set_vests(self, account: str, vests: str) -> None:
        """Give an account these VESTS, as "5.000000 VESTS"."""
        self.call("dev_api.set_vests", {"account": account, "vests": vests})

    def set_authority(self, account: str, role: str, authority: Any) -> None:
        """Give a role of an account another authority, or one public key."""
        self.call("dev_api.set_authority", {"account": account, "role": role, "authority": authority})

    def impersonate(self, *accounts: str, everyone: bool = False) -> None:
        """Accept transactions of these accounts, or of all, without signatures, and of no others; without arguments, of none."""
        self.call("dev_api.impersonate", {"accounts": list(accounts), "everyone": everyone})

    def faucet(self, account: str, amount: str = "") -> Any:
        """Give an account something out of nothing, 1000.000 of the coin unless said otherwise. Returns its balances."""
        return self.call("dev_api.faucet", {"account": account, "amount": amount})

    def drop_pending(self) -> int:
        """Forget the transactions that wait for a block; returns how many there were."""
        dropped: int = self.call("dev_api.drop_pending")["dropped"]
        return dropped
