"""Content that suites for public chains expect to find: accounts, posts, votes, transfers and orders, under the names that they use."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from node.client.http import Client
from state.protocol.keys.keys import ROLES, derive_secret, public_key, public_key_text
from tests.clients.suites.declaration import PASSWORD

PEOPLE = ["gtg", "steemit", "holger80", "fullnodeupdate", "test", "test1", "test2", "test3", "rewarding"]
PEOPLE += ["beembot", "beempy", "beem", "beem1", "beem2", "beem4", "beem5"]
PEOPLE += ["open.mithril", "thecrazygm", "nectarflower", "nectar", "nectar1", "nectar2", "nectar4", "nectar5", "synergy.witness"]
RESIDENTS = [f"resident{number}" for number in range(220)]
BLOGGERS = ["fullnodeupdate", "holger80", "steemit", "gtg", "test", "beembot", "beem", "open.mithril", "thecrazygm"]
REPLIERS = ["beembot", "fullnodeupdate", "open.mithril"]
WITNESSES = ["gtg", "holger80", "synergy.witness"]
VOTED = [*WITNESSES, "jesta"]
POSTS_EACH = 20
POSTS = [("steemit", "firstpost"), ("gtg", "witness-gtg-log"), ("gtg", "24lfrm-gtg-witness-log")]
POSTS += [(name, f"post-{number}") for name in BLOGGERS for number in range(POSTS_EACH)]
COMMUNITY = "hive-139531"
ORDER_DAYS = 20
ORDERS = 40
OPERATIONS_MAX = 25  # in a transaction
TRAFFIC_SECONDS = 1.5
# The age of the chain when the suite starts. Some tests read the votes of the last two days.
HISTORY_SECONDS = 36 * 3600


class Town:
    """A node, and operations with the symbols of its chain."""

    def __init__(self, url: str) -> None:
        self.client = Client(url)
        properties = self.call("condenser_api.get_dynamic_global_properties", [])
        self.coin = properties["current_supply"].split()[1]
        self.debt = properties["current_sbd_supply"].split()[1]

    def call(self, method: str, params: Any) -> Any:
        """Return the result of a call."""
        return self.client.call(method, params)

    def send(self, *operations: list[Any]) -> None:
        """Broadcast operations in transactions of at most OPERATIONS_MAX, and make a block for each transaction."""
        for first in range(0, len(operations), OPERATIONS_MAX):
            self.call("dev_api.broadcast_operations", {"operations": operations[first : first + OPERATIONS_MAX]})
            self.call("dev_api.mine", {"count": 1})

    def custom(self, name: str, kind: str, value: Any) -> None:
        """Send a custom_json operation that plugins read."""
        self.send(["custom_json", {"required_auths": [], "required_posting_auths": [name], "id": kind, "json": json.dumps(value)}])

    def time(self) -> datetime:
        """Return the time of the chain."""
        return datetime.fromisoformat(self.call("dev_api.get_info", {})["time"]).replace(tzinfo=UTC)


@contextmanager
def town(url: str) -> Iterator[None]:
    """Create the content, and bring the chain's time to the present. For the duration of the context, broadcast transfers and votes."""
    new = Town(url)
    new.call("dev_api.impersonate", {"everyone": True})
    create_accounts(new)
    create_relations(new)
    create_posts(new)
    create_history(new)
    new.call("dev_api.advance_time", {"seconds": int((datetime.now(UTC) - new.time()).total_seconds()) - 600})
    create_market(new)
    actions = transfers_and_votes(new)
    while new.time() < datetime.now(UTC):
        new.send(next(actions))
    with traffic(url, actions, TRAFFIC_SECONDS):
        yield


@contextmanager
def traffic(url: str, operations: Iterator[list[Any]], seconds: float) -> Iterator[None]:
    """Broadcast an operation every `seconds` for the duration of the context."""
    ended = threading.Event()

    def broadcast() -> None:
        client = Client(url)
        while not ended.wait(seconds):
            client.call("dev_api.broadcast_operations", {"operations": [next(operations)]})

    thread = threading.Thread(target=broadcast, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def create_accounts(new: Town) -> None:
    """Create accounts with funds, witnesses with votes, and the list of nodes that beem reads from an account's metadata."""
    fee = new.call("condenser_api.get_chain_properties", [])["account_creation_fee"]
    new.call("dev_api.set_vests", {"account": "alice", "vests": "90000000000.000000 VESTS"})
    metadata = json.dumps({"profile": {"name": "Resident", "url": "https://example.com"}})
    account = {"fee": fee, "creator": "alice", "json_metadata": metadata}
    new.send(*(["account_create", account | {"new_account_name": name} | keys_of(name)] for name in [*PEOPLE, COMMUNITY, *RESIDENTS]))
    for name in PEOPLE:
        for amount in (f"5000.000 {new.coin}", f"5000.000 {new.debt}", "500000000.000000 VESTS"):
            new.call("dev_api.faucet", {"account": name, "amount": amount})
    props = {"account_creation_fee": fee, "maximum_block_size": 65536, "sbd_interest_rate": 0}
    price = {"base": f"0.250 {new.debt}", "quote": f"1.000 {new.coin}"}
    for name in WITNESSES:
        witness = {
            "owner": name,
            "url": f"https://example.com/{name}",
            "block_signing_key": keys_of(name)["memo_key"],
            "props": props,
            "fee": f"0.000 {new.coin}",
        }
        new.send(["witness_update", witness], ["feed_publish", {"publisher": name, "exchange_rate": price}])
    for voter in ("gtg", "beembot", "holger80"):
        new.send(*(["account_witness_vote", {"account": voter, "witness": name, "approve": True}] for name in VOTED))
    nodes = {"report": [], "failing_nodes": {}, "parameter": {"benchmarks": ["block"]}}
    memo_key = keys_of("fullnodeupdate")["memo_key"]
    new.send(["account_update", {"account": "fullnodeupdate", "memo_key": memo_key, "json_metadata": json.dumps(nodes)}])
    for name, trusted in (("holger80", "rewarding"), ("nectarflower", "thecrazygm")):
        keys = keys_of(name)
        posting = keys["posting"] | {"account_auths": [[trusted, 1]]}
        new.send(["account_update", {"account": name, "posting": posting, "memo_key": keys["memo_key"], "json_metadata": metadata}])


def keys_of(name: str, prefix: str = "STM") -> dict[str, Any]:
    """Return the authorities and the memo key that are derived from an account's name and PASSWORD."""
    keys = {role: public_key_text(public_key(derive_secret(name, role, PASSWORD)), prefix) for role in ROLES}
    memo_key = keys.pop("memo")
    return {role: {"weight_threshold": 1, "account_auths": [], "key_auths": [[key, 1]]} for role, key in keys.items()} | {
        "memo_key": memo_key
    }


def create_posts(new: Town) -> None:
    """Write posts, each with a reply and votes."""
    for number, (author, permlink) in enumerate(POSTS):
        tags = json.dumps({"tags": ["hive", "steem", author], "app": "coind/1.0", "format": "markdown"})
        post = {
            "author": author,
            "permlink": permlink,
            "title": f"Title of {permlink}",
            "body": f"Text of {permlink}.",
            "json_metadata": tags,
        }
        replier = REPLIERS[number % len(REPLIERS)]
        reply = {"author": replier, "permlink": f"reply-{number}", "title": "", "body": "A reply.", "json_metadata": "{}"}
        new.send(["comment", {"parent_author": "", "parent_permlink": "hive"} | post])
        new.call("dev_api.mine", {"count": 1})
        new.send(["comment", {"parent_author": author, "parent_permlink": permlink} | reply])
        for voter in BLOGGERS:
            new.send(["vote", {"voter": voter, "author": author, "permlink": permlink, "weight": 1000 + number}])
        new.call("dev_api.advance_time", {"seconds": 300})  # the time between two posts of an author


def create_relations(new: Town) -> None:
    """Follow accounts, and subscribe to a community. A feed contains only posts that are written afterwards."""
    for name in BLOGGERS:
        for other in BLOGGERS:
            if name != other:
                new.custom(name, "follow", ["follow", {"follower": name, "following": other, "what": ["blog"]}])
        new.custom(name, "community", ["subscribe", {"community": COMMUNITY}])


def create_history(new: Town) -> None:
    """Transfer, save, convert, power down and delegate."""
    for number in range(15):
        for name in ("beembot", "gtg", "holger80", "test", "open.mithril"):
            new.send(["transfer", {"from": "bob", "to": name, "amount": f"{1 + number}.000 {new.coin}", "memo": f"number {number}"}])
            new.send(["transfer", {"from": name, "to": "steemit", "amount": f"0.001 {new.debt}", "memo": ""}])
        new.call("dev_api.mine", {"count": 5})
    for name in ("beembot", "test", "open.mithril"):
        new.send(["transfer_to_savings", {"from": name, "to": name, "amount": f"10.000 {new.coin}", "memo": ""}])
        new.send(["transfer_from_savings", {"from": name, "request_id": 1, "to": name, "amount": f"1.000 {new.coin}", "memo": ""}])
        new.send(["convert", {"owner": name, "requestid": 1, "amount": f"1.000 {new.debt}"}])
        new.send(["withdraw_vesting", {"account": name, "vesting_shares": "50000000.000000 VESTS"}])
        new.send(["delegate_vesting_shares", {"delegator": name, "delegatee": "holger80", "vesting_shares": "1000000.000000 VESTS"}])


def create_market(new: Town) -> None:
    """Create market orders. The orders of the second half fill each other."""
    expiration = (new.time() + timedelta(days=ORDER_DAYS)).replace(tzinfo=None).isoformat()
    for number in range(ORDERS):
        apart = 0.5 + number / 100 if number < ORDERS / 2 else 0
        for owner, sold, bought in (
            ("beem", f"1.000 {new.coin}", f"{0.25 + apart:.3f} {new.debt}"),
            ("test", f"0.250 {new.debt}", f"{1 + apart:.3f} {new.coin}"),
        ):
            order = {
                "owner": owner,
                "orderid": number,
                "amount_to_sell": sold,
                "min_to_receive": bought,
                "fill_or_kill": False,
                "expiration": expiration,
            }
            new.send(["limit_order_create", order])


def transfers_and_votes(new: Town) -> Iterator[list[Any]]:
    """Yield operations in turns: a transfer, and a vote for a post that the voter has not voted for."""
    for author, permlink in POSTS:
        for voter in RESIDENTS:
            yield ["transfer", {"from": "bob", "to": voter, "amount": f"0.001 {new.coin}", "memo": ""}]
            yield ["vote", {"voter": voter, "author": author, "permlink": permlink, "weight": 100}]
