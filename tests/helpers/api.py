"""A small chain behind the RPC service, for tests of methods. It takes and returns bytes, and every result is checked against its declared
shape.
"""

import json
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

import trio

import rpc.api
import state.operations
from node.devchain.devchain import DevChain
from node.runtime.clock import ChainClock
from node.specs.known_chains import known_chains
from rpc.caller import ANYBODY, LOCAL, Caller
from rpc.declare.errors import PushFailed
from rpc.declare.method import METHODS
from rpc.explain.explainer import Explainer
from rpc.explorer.supply_history import SupplyHistory
from rpc.jsonrpc.dispatch import Service
from rpc.processor import Inclusion, Result
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.chain.transactions import canonical_rule
from state.plugins.registry import enable
from state.protocol.authority import Authority, key_authority
from state.protocol.errors import ChainError
from state.protocol.keys.keys import public_key, secret_from_seed, wif_from_secret
from state.protocol.keys.signatures import sign
from state.protocol.operation import Operation
from state.protocol.spec import ChainSpec
from state.protocol.transaction import SignedBlock, SignedTransaction
from state.protocol.work import LOCAL_UNITS_MAX, UNITS_MAX
from state.store.rows import run_steps
from state.tables.accounts import Account, AccountAuthority, AccountMetadata
from tests.helpers.chains import genesis_spec
from tests.helpers.method_coverage import watched
from tests.helpers.shapes import mismatches, shapes

assert rpc.api
assert state.operations

INIT_SECRET = secret_from_seed("init_key")
INIT_WIF = wif_from_secret(INIT_SECRET)
NOW = 1_606_780_800  # the time of the first block of most recorded cases, after all hardforks
SHAPES = shapes()


class Refusal(Exception):
    """The error object of a response."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code: int = error["code"]
        self.message: str = error["message"]


class StubProcessor:
    """A processor that pushes immediately. `wait_for` returns the block position in `inclusion`; `push_blocks_from` reads no file, it only
    records its arguments in `files`.
    """

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.files: list[tuple[str, int, int]] = []
        self.inclusion = Inclusion(bytes(20), 1, 0, False)

    async def push_transaction(self, trx: SignedTransaction, caller: Caller) -> None:
        """Push the transaction; raises PushFailed if the chain refuses it."""
        try:
            self.chain.push_transaction(trx, units_max=LOCAL_UNITS_MAX if caller.is_local else UNITS_MAX)
        except ChainError as error:
            raise PushFailed(error, trx) from error

    async def push_block(self, block: SignedBlock, caller: Caller = LOCAL) -> None:
        """Push the block; raises PushFailed if the chain refuses it."""
        try:
            self.chain.push_block(block)
        except ChainError as error:
            raise PushFailed(error) from error

    async def wait_for(self, trx: SignedTransaction, caller: Caller) -> Inclusion:
        """Push the transaction. Return its id, and the rest of `inclusion`, which the test has prepared."""
        await self.push_transaction(trx, caller)
        return Inclusion(trx.id, self.inclusion.block_num, self.inclusion.trx_num, self.inclusion.expired)

    async def push_blocks_from(self, path: str, count: int, skip_flags: int) -> int:
        """Record the arguments in `files` and return `count`."""
        self.files.append((path, count, skip_flags))
        return count

    async def run_steps(self, steps: Iterator[object]) -> int:
        """Run all steps immediately and return their number."""
        return sum(1 for _ in steps)

    async def in_turn(self, work: Callable[[], Result]) -> Result:
        return work()

    async def in_copy(self, work: Callable[[], Result]) -> Result:
        return work()

    async def in_steps(self, work: Callable[[], Generator[None, None, Result]]) -> Result:
        """Run all steps of `work` immediately and return its result."""
        return run_steps(work())


class ApiChain:
    """A chain at genesis with these plugins, and its service. Without plugins, it serves all methods."""

    def __init__(self, spec: str | ChainSpec = "testnet", plugins: Sequence[str] | None = None) -> None:
        self.chain = Chain(
            new_state(genesis_spec(spec) if isinstance(spec, str) else spec, prepare=lambda state: enable(state, plugins or ()))
        )
        self.state = self.chain.state
        self.wire = self.state.wire
        self.processor = StubProcessor(self.chain)
        self.now = NOW
        self.devchain = DevChain(self.chain, ChainClock(lambda: self.now * 1000), [INIT_SECRET])
        self.service = Service(
            watched(METHODS.values()),
            wire=self.wire,
            plugins=plugins,
            clock=lambda: self.now,
            work=self.state.work,
            state=self.state,
            chain=self.chain,
            processor=self.processor,
            devchain=self.devchain,
            explainer=Explainer(self.chain, lambda: self.now, known_chains),
            series=SupplyHistory(self.chain).attach(),
        )

    def call(self, method: str, *params: Any, local: bool = True, **named: Any) -> Any:
        """Call a method as a local client, with positional or named parameters, and return its result; raises Refusal.

        On a `coin` chain, the result must have the shape in methods.json if the reference has this method.
        """
        group = method.split(".")[0]
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params) if group == "condenser_api" else named}
        reply = json.loads(self.answer(json.dumps(request).encode(), local))
        if "error" in reply:
            raise Refusal(reply["error"])
        if self.state.spec.brand == "coin" and method in SHAPES:
            assert list(mismatches(SHAPES[method], reply["result"])) == []
        return reply["result"]

    def answer(self, body: bytes, local: bool = True) -> bytes:
        """Return the raw response to a raw request."""
        answer = self.service.answer(body, LOCAL if local else ANYBODY)
        if isinstance(answer, bytes):
            return answer

        async def wait() -> bytes:
            return await answer

        return trio.run(wait)

    def refused(self, method: str, *params: Any, **named: Any) -> tuple[int, str]:
        """Return the error code and message of a call that must be refused."""
        try:
            result = self.call(method, *params, **named)
        except Refusal as error:
            return error.code, error.message
        raise AssertionError(f"{method} was not refused: {result}")

    # -------------------------------------------------------------- data on the chain

    def start(self, blocks: int = 2) -> None:
        """Make the first blocks. The time of the very first is late enough that all hardforks apply."""
        self.call("debug_node_api.debug_generate_blocks", debug_key=INIT_WIF, count=1, miss_blocks=(NOW - self.state.head_time) // 3)
        self.generate(blocks - 1)

    def generate(self, count: int = 1) -> None:
        """Make `count` blocks without missed slots."""
        assert self.call("debug_node_api.debug_generate_blocks", debug_key=INIT_WIF, count=count) == {"blocks": count}

    def account(self, name: str, authority: Authority | None = None, **fields: Any) -> Account:
        """Insert an account directly into the state. All its authorities use the key derived from its name."""
        authority = authority or key_authority(public_key(secret(name)))
        row = self.state.accounts.insert(Account(name=name, memo_key=public_key(secret(name)), mined=False, **fields))
        self.state.account_authorities.insert(AccountAuthority(account=name, owner=authority, active=authority, posting=authority))
        self.state.account_metadata.insert(AccountMetadata(account=row.id, json_metadata="{}"))
        return row

    def transaction(self, *operations: Operation, signers: tuple[bytes, ...] = (), **fields: Any) -> SignedTransaction:
        """Return a transaction that refers to the head block, signed with these private keys."""
        props = self.state.props
        prefix = int.from_bytes(props.head_block_id[4:8], "little")
        head = {"ref_block_num": props.head_block_number % 2**16, "ref_block_prefix": prefix, "expiration": self.state.head_time + 60}
        trx = self.wire.seal(SignedTransaction(**head | fields, operations=operations))
        digest = self.wire.signature_digest(trx)
        trx.signatures = tuple(sign(signer, digest, canonical_rule(self.state)) for signer in signers)
        return self.wire.seal(trx)


def secret(name: str) -> bytes:
    """Return the private key that the test account uses for all its roles."""
    return secret_from_seed(name)
