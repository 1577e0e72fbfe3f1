"""Clients of a simulated world. They sign and send transactions, read, send invalid requests, and record the replies. They access the node
only over its network.
"""

import random
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import trio

from state.protocol.keys.keys import derive_secret
from state.protocol.keys.signatures import Canonical, sign
from state.protocol.transaction import SignedTransaction, Wire
from tests.helpers.nodes import DEV
from tests.simulation.ledger import Ledger, Sent, demand
from tests.simulation.network import Manner, Network, Reply, Unreachable, encoded, encoded_call

WIRE = Wire(DEV)
ACCOUNTS = tuple(account.name for account in DEV.genesis.accounts)
PASSWORD = "dev"
SECONDS_BETWEEN_MAX = 4.0
LIFETIMES = (15, 60, 600)
OK, OVERLOADED, TOO_SLOW = 200, 503, 408
INTERNAL = "internal error"
UNWRITTEN = "the block log can't be written"  # the transaction may be in a block that may not be on the disk
SEND = (
    "condenser_api.broadcast_transaction",
    "network_broadcast_api.broadcast_transaction",
    "condenser_api.broadcast_transaction_synchronous",
    "network_broadcast_api.broadcast_transaction_synchronous",
)
NO_REQUESTS = (b"", b"{", b"[]", b"null", b'{"jsonrpc":"2.0"}', b'{"jsonrpc":"2.0","method":"call","params":[1,2,3,4],"id":1}', b"\xff\xfe")


class Refusal(Exception):
    """An error reply."""


class Client:
    """A program that uses the node. Its random generator determines all its actions.

    `life` returns the number of the node's current life, which increases at each start. `acknowledge` is called with a transaction and the
    block that the node reports for it.
    """

    def __init__(
        self, network: Network, ledger: Ledger, draw: random.Random, life: Callable[[], int], acknowledge: Callable[[bytes, int], None]
    ) -> None:
        self._network = network
        self._ledger = ledger
        self._draw = draw
        self._life = life
        self._acknowledge = acknowledge
        self._sent = 0
        self._posts: list[tuple[str, str]] = []

    async def run(self) -> None:
        """Run random actions until cancelled; retry while there is no node."""
        todo: tuple[Callable[[], Awaitable[object]], ...] = (self.transact, self.read, self.disturb)
        while True:
            await trio.sleep(self._draw.random() * SECONDS_BETWEEN_MAX)
            try:
                await self._draw.choices(todo, (3, 2, 1))[0]()
            except Unreachable:
                continue

    # -------------------------------------------------------------- calls

    async def call(self, method: str, params: Any, manner: Manner | None = None) -> Any:
        """Return the result of a call; raises Refusal or Unreachable."""
        reply = await self._network.request(encoded(encoded_call(method, params)), manner or self.manner())
        if reply.status == OVERLOADED:
            raise Refusal(reply.body.decode())
        if reply.status == TOO_SLOW:
            raise Unreachable
        demand(reply.status == OK, f"{method} is answered with the status {reply.status}: {reply.body[:200]!r}")
        return result_of(msgspec.json.decode(reply.body))

    def manner(self) -> Manner:
        """Return random settings for how the next request is sent. Most of them are those of a well-behaved client."""
        draw = self._draw
        if draw.random() < 0.8:
            return Manner(delay=0.05)
        return Manner(
            delay=draw.choice((0.05, 1.0, 10.0)),
            parts=draw.randint(1, 5),
            patience=draw.choice((0.0, 0.5, 600.0)),
            reading=draw.choice((0.0, 0.0, 3.0)),
            is_half=draw.random() < 0.2,
        )

    # -------------------------------------------------------------- actions

    async def transact(self) -> None:
        """Sign and send a transaction, and record the reply."""
        head = await self.call("condenser_api.get_dynamic_global_properties", [], Manner(delay=0.05))
        kind, operation, role = self._operation()
        await self.send(self.signed(head, operation, role), kind)

    async def send(self, trx: SignedTransaction, kind: str) -> Sent:
        """Send a transaction with a random method and record the reply."""
        method = self._draw.choice(SEND)
        shown = WIRE.transaction_to_json(trx, legacy=method.startswith("condenser_api"))
        sent = self._ledger.send(trx, kind, trio.current_time())
        life = self._life()
        try:
            result = await self.call(method, [shown] if method.startswith("condenser_api") else {"trx": shown})
        except Refusal as error:
            sent.answer = "lost" if UNWRITTEN in str(error) else "refused"
        else:
            demand(kind != "invalid", f"an invalid transaction {trx.id.hex()} is taken")
            sent.answer = "accepted"
            if method.endswith("synchronous"):
                demand(result["id"] == trx.id.hex(), f"{trx.id.hex()} is answered as {result['id']}")
                sent.answer = "expired" if result["expired"] else "included"
                if not result["expired"]:
                    self._acknowledge(trx.id, result["block_num"])
        finally:
            sent.life, sent.at = life, trio.current_time()
        return sent

    async def read(self) -> None:
        """Send a random read-only call, sometimes a batch, or request a page."""
        draw = self._draw
        if draw.random() < 0.1:
            reply = await self._network.request(b"", self.manner(), method="GET", path="/health")
            demand(reply.status in (OK, OVERLOADED, TOO_SLOW), f"/health is answered with {reply.status}: {reply.body[:200]!r}")
        elif draw.random() < 0.1:
            calls = [encoded_call(*self._question(), number) for number in range(draw.randint(1, 20))]
            check(await self._network.request(encoded(calls), self.manner()))
        else:
            try:
                await self.call(*self._question())
            except Refusal as error:
                demand(INTERNAL not in str(error), f"a query ends in {error}")

    async def disturb(self) -> None:
        """Send an invalid or damaged request."""
        draw = self._draw
        body = draw.choice(NO_REQUESTS)
        if draw.random() < 0.7:
            damaged = bytearray(encoded(encoded_call(*self._question())))
            for _ in range(draw.randint(1, 4)):
                damaged[draw.randrange(len(damaged))] = draw.randrange(256)
            body = bytes(damaged)
        check(await self._network.request(body, self.manner()))

    # -------------------------------------------------------------- transactions and calls

    def signed(self, head: Any, operation: list[Any], role: str, signer: str = "") -> SignedTransaction:
        """Return a signed transaction with one operation. `head` is the node's reply with its global properties."""
        name = signer or operation[1].get("from") or operation[1].get("voter") or operation[1].get("author")
        name = name or operation[1]["required_posting_auths"][0]
        fields = {
            "ref_block_num": head["head_block_number"] & 0xFFFF,
            "ref_block_prefix": int.from_bytes(bytes.fromhex(head["head_block_id"])[4:8], "little"),
            "expiration": head["time"],
            "operations": [operation],
            "extensions": [],
            "signatures": [],
        }
        trx = WIRE.transaction_from_json(fields, legacy=True)
        trx.expiration += self._draw.choice(LIFETIMES)
        WIRE.seal(trx)
        trx.signatures = (sign(derive_secret(name, role, PASSWORD), WIRE.signature_digest(trx), Canonical.bip_0062),)
        return WIRE.seal(trx)

    def _operation(self) -> tuple[str, list[Any], str]:
        """Return the kind of an operation, the operation, and the role that signs it. Operations differ, so that no two transactions are
        equal.
        """
        draw = self._draw
        self._sent += 1
        number = f"{draw.getrandbits(48):012x}"
        author, other = draw.sample(ACCOUNTS, 2)
        kind = draw.choices(("transfer", "custom", "post", "reply", "vote", "invalid"), (8, 3, 1, 2, 3, 1))[0]
        if kind in ("vote", "reply") and not self._posts:
            kind = "post"
        if kind == "transfer":
            return kind, ["transfer", {"from": author, "to": other, "amount": "0.001 COIN", "memo": number}], "active"
        if kind == "invalid":
            return kind, ["transfer", {"from": author, "to": other, "amount": "900000000.000 COIN", "memo": number}], "active"
        if kind == "custom":
            fields = {"required_auths": [], "required_posting_auths": [author], "id": "simulation", "json": f'{{"n":"{number}"}}'}
            return kind, ["custom_json", fields], "posting"
        if kind == "vote":
            target, permlink = draw.choice(self._posts)
            return kind, ["vote", {"voter": author, "author": target, "permlink": permlink, "weight": draw.randint(1, 10_000)}], "posting"
        parent, parent_link = draw.choice(self._posts) if kind == "reply" else ("", "simulation")
        self._posts.append((author, f"p{number}"))
        fields = {
            "parent_author": parent,
            "parent_permlink": parent_link,
            "author": author,
            "permlink": f"p{number}",
            "title": number,
            "body": "what " * draw.randint(1, 60),
            "json_metadata": '{"tags":["simulation"]}',
        }
        return kind, ["comment", fields], "posting"

    def _question(self) -> tuple[str, Any]:
        """Return a random read-only method and its parameters."""
        draw = self._draw
        author, permlink = draw.choice(self._posts) if self._posts else ("alice", "none")
        return draw.choice(
            (
                ("condenser_api.get_dynamic_global_properties", []),
                ("condenser_api.get_accounts", [draw.sample(ACCOUNTS, 3)]),
                ("condenser_api.get_block", [draw.randint(1, 500)]),
                ("block_api.get_block", {"block_num": draw.randint(1, 500)}),
                ("condenser_api.get_content", [author, permlink]),
                ("condenser_api.get_discussions_by_created", [{"tag": "simulation", "limit": 10}]),
                ("condenser_api.get_account_history", [draw.choice(ACCOUNTS), -1, 20]),
                ("condenser_api.get_witness_schedule", []),
                ("database_api.list_witnesses", {"start": "", "limit": 5, "order": "by_name"}),
                ("bridge.get_ranked_posts", {"sort": "created", "tag": "simulation"}),
                ("condenser_api.get_state", ["/@alice"]),
                ("jsonrpc.get_methods", {}),
            )
        )


def result_of(answer: Any) -> Any:
    """Return the result of a response; raises Refusal if it is an error."""
    if "error" in answer:
        error = answer["error"]
        demand(INTERNAL not in str(error.get("data")), f"an internal error: {error}")
        raise Refusal(error["message"])
    return answer["result"]


def check(reply: Reply) -> None:
    """Raise Broken unless a response is well-formed, even if its request was invalid."""
    demand(reply.status in (OK, OVERLOADED, TOO_SLOW), f"an answer has the status {reply.status}")
    if reply.status == OK:
        answers = msgspec.json.decode(reply.body)
        for answer in answers if isinstance(answers, list) else [answers]:
            if "error" in answer:
                demand(INTERNAL not in str(answer["error"].get("data")), f"an internal error: {answer['error']}")
