"""The methods of dev_api as Python methods, shared by the HTTP client and the in-process chain.

The pytest plugin loads this module in every session, so it imports little.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from node.client.errors import RefusedCall

__tracebackhide__ = True  # reports of pytest end at the line of the test


class CallRefused(RefusedCall):
    """Error for a refused call, with the `code`, `message` and `data` of the JSON-RPC error. The error's text contains the message, the
    reason and the remedy.

    `rule`, `why`, `what_to_do` and `values` are the members of `explain`, which is empty unless a transaction was refused.
    """

    def text(self) -> str:
        """Return the error message. For a refused transaction, it includes the explanation. For any other call, it names the method, the
        parameter that can't be read, and for an unknown method those with similar names.
        """
        # Only refused transactions have an explanation. For other calls the method is the most useful detail.
        guess = f"; is it {' or '.join(self.closest)}?" if self.closest else ""
        called = [] if self.explain else [("method", self.method and self.method + guess), ("parameter", self.parameter)]
        lines = [*called, ("rule", self.rule), ("why", self.why), ("what to do", self.what_to_do)]
        return "\n".join([self.message, *(f"  {name}: {text}" for name, text in lines if text)])


@dataclass(frozen=True)
class Key:
    """A key pair of an account. The private key is in wallet import format."""

    public: str
    private: str


@dataclass(frozen=True)
class Account:
    """An account with known keys."""

    name: str
    owner: Key
    active: Key
    posting: Key
    memo: Key


class DevApi(ABC):
    """Controls a dev chain through RPC calls."""

    @abstractmethod
    def call(self, method: str, params: Any = None) -> Any:
        """Return the result of any RPC method. Raises CallRefused."""

    @cached_property
    def accounts(self) -> dict[str, Account]:
        """The funded accounts and the first witness, keyed by name. For example, `accounts["alice"].active.private` is a private key."""
        listed = self.call("dev_api.list_keys")
        return {entry["name"]: Account(entry["name"], **{role: Key(**key) for role, key in entry["keys"].items()}) for entry in listed}

    # -------------------------------------------------------------- transactions

    def broadcast(self, *operations: Any, keys: Iterable[str] = ()) -> Any:
        """Sign operations on the node and push them as one transaction. Return its id and its block number (None while it is pending).

        Pass several operations as `broadcast(["transfer", {...}], ["vote", {...}])`, or a single one as `broadcast("transfer", {...})`. The
        node signs with the keys of the known accounts and with the private `keys`. Raises CallRefused.
        """
        if operations and isinstance(operations[0], str):
            operations = (list(operations),)
        return self.call("dev_api.broadcast_operations", {"operations": list(operations), "keys": list(keys)})

    def push(self, trx: Any) -> None:
        """Broadcast a signed transaction, given as JSON in the condenser's or the NAI form. Raises CallRefused."""
        is_legacy = any(isinstance(operation, list) for operation in trx["operations"])
        method = "condenser_api.broadcast_transaction" if is_legacy else "network_broadcast_api.broadcast_transaction"
        self.call(method, [trx])

    def explain(self, trx: Any) -> Any:
        """Return the bytes of a signed transaction, and the reason why the node would refuse it. `rule` is None if it would be accepted."""
        return self.call("dev_api.explain_transaction", {"trx": trx})

    # -------------------------------------------------------------- blocks and time

    def mine(self, count: int = 1) -> Any:
        """Make blocks. Return the new head."""
        return self.call("dev_api.mine", {"count": count})

    def advance(self, seconds: int, leap: str = "") -> Any:
        """Move the chain's time forward by `seconds` and make a block at the new time. `leap` determines what happens to the skipped slots:
        with `missed` they get no blocks, with `produced` each slot gets one. Return the head.
        """
        return self.call("dev_api.advance_time", {"seconds": seconds, "leap": leap})

    def set_block_mode(self, mode: str) -> None:
        """Set the block mode: `instant`, `manual`, `interval`, `interval:SECONDS` or `mixed:SECONDS`."""
        self.call("dev_api.set_block_mode", {"mode": mode})

    def set_next_block_time(self, time: str) -> Any:
        """Set the time of the next block, for example "2027-01-01T00:00:00"."""
        return self.call("dev_api.set_next_block_time", {"time": time})

    def info(self) -> Any:
        """Return the head, the time and the settings of the chain."""
        return self.call("dev_api.get_info")

    def digest(self, *, shown: bool = False) -> str:
        """Return the digest of the state. Equal states have equal digests. With `shown`, it's the digest of what methods show."""
        digest: str = self.call("dev_api.get_state_digest", {"shown": shown})["digest"]
        return digest

    # -------------------------------------------------------------- dev snapshots

    def snapshot(self) -> int:
        """Take a dev snapshot. Return its id for `revert`."""
        moment_id: int = self.call("dev_api.snapshot")["id"]
        return moment_id

    def revert(self, moment_id: int) -> Any:
        """Restore a dev snapshot, which can be restored again later. Snapshots taken after it are dropped. Return the head."""
        return self.call("dev_api.revert", {"id": moment_id})

    def reset(self) -> Any:
        """Restore the state that the chain had when the node started. All dev snapshots are dropped. Return the head."""
        return self.call("dev_api.reset")

    def pop_blocks(self, count: int = 1) -> Any:
        """Undo the newest blocks. Return the head."""
        return self.call("dev_api.pop_blocks", {"count": count})

    def dump(self, path: str) -> Any:
        """Write the whole chain to a file on the node's machine."""
        return self.call("dev_api.dump", {"path": path})

    def load(self, path: str) -> Any:
        """Replace the chain with the one in a file written by `dump`. Return the head."""
        return self.call("dev_api.load", {"path": path})

    # -------------------------------------------------------------- state edits

    def set_balance(self, account: str, balance: str) -> None:
        """Set the liquid balance of an account, for example "5.000 COIN"."""
        self.call("dev_api.set_balance", {"account": account, "balance": balance})

    def set_vests(self, account: str, vests: str) -> None:
        """Set the VESTS of an account, for example "5.000000 VESTS"."""
        self.call("dev_api.set_vests", {"account": account, "vests": vests})

    def set_authority(self, account: str, role: str, authority: Any) -> None:
        """Replace the authority of an account's role with another authority or with one public key."""
        self.call("dev_api.set_authority", {"account": account, "role": role, "authority": authority})

    def impersonate(self, *accounts: str, everyone: bool = False) -> None:
        """Accept unsigned transactions of these accounts, or of everyone. The accounts replace those of earlier calls, so a call without
        arguments ends all impersonation.
        """
        self.call("dev_api.impersonate", {"accounts": list(accounts), "everyone": everyone})

    def faucet(self, account: str, amount: str = "") -> Any:
        """Credit newly created tokens to an account (default: 1000.000 COIN). Return its balances."""
        return self.call("dev_api.faucet", {"account": account, "amount": amount})

    def drop_pending(self) -> int:
        """Drop all pending transactions. Return their number."""
        dropped: int = self.call("dev_api.drop_pending")["dropped"]
        return dropped
