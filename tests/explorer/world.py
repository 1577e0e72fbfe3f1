"""A chain with data of every kind, made over RPC on a dev node with `--blocks manual`: accounts, posts with votes and payouts, replies,
communities, orders and trades, escrows, savings, conversions, power-downs, delegations, witnesses with feeds, proposals, a token, custom
operations, hostile texts, refused transactions, and a fork switch.

It needs only Python. To explore such a chain by hand, run `bin/coind run --blocks manual`, and in another terminal `.venv/bin/python -m
tests.explorer.world http://127.0.0.1:8090`.
"""

import json
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

ATTACKS = Path(__file__).parents[1] / "rpc" / "explorer" / "attacks.json"
VOTERS = ("bob", "carol", "dave", "erin", "frank", "grace")
COMMUNITY = "coin-100001"
COMMUNITY_TITLE = "The square"
MEMBER_TITLES = {"carol": "Gardener", "dave": "<b>Poet</b>"}
MODERATORS = ("bob", "dave")
HOUR, DAY = 3600, 86400
SECONDS_MAX = 120
CLOCK_SECONDS_MAX = 30
ATTACKS_PER_POST = 10
BRACKETS_MAX = 40
TITLE_BYTES_MAX, MEMO_BYTES_MAX = 255, 2047
# The minimum intervals between posts, and between replies, of an account.
POST_SECONDS, REPLY_SECONDS = 303, 6

Op = list[Any]


class Refused(Exception):
    """An error reply of the node. `error` is the reply's error object."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.error = error


class Node:
    """A node at an address."""

    def __init__(self, url: str) -> None:
        self.url = url

    def call(self, method: str, params: Any = None) -> Any:
        """Call a method and return its result; raises Refused."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {} if params is None else params}).encode()
        with urllib.request.urlopen(urllib.request.Request(self.url, body), timeout=SECONDS_MAX) as reply:
            answer = json.load(reply)
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["result"]

    def send(self, *operations: Op) -> str:
        """Broadcast a transaction signed by the node and return its id."""
        sent: str = self.call("dev_api.broadcast_operations", {"operations": list(operations)})["id"]
        return sent

    def mine(self, count: int = 1) -> None:
        self.call("dev_api.mine", {"count": count})

    def advance(self, seconds: int) -> None:
        self.call("dev_api.advance_time", {"seconds": seconds})

    def time_after(self, seconds: int) -> str:
        """Return the chain's time in `seconds` from now, in the format of operations."""
        from datetime import datetime, timedelta

        now = datetime.fromisoformat(self.call("dev_api.get_info")["time"])
        return (now + timedelta(seconds=seconds)).isoformat()


def post(author: str, permlink: str, title: str, body: str, *, parent: tuple[str, str] = ("", "life"), metadata: Any = None) -> Op:
    """Return the operation of a post or reply."""
    fields = {
        "parent_author": parent[0],
        "parent_permlink": parent[1],
        "author": author,
        "permlink": permlink,
        "title": title,
        "body": body,
    }
    return ["comment", {**fields, "json_metadata": json.dumps(metadata or {"tags": ["life", "coin"]})}]


def vote(voter: str, author: str, permlink: str, weight: int = 10000) -> Op:
    return ["vote", {"voter": voter, "author": author, "permlink": permlink, "weight": weight}]


def pay(from_: str, to: str, amount: str, memo: str = "") -> Op:
    return ["transfer", {"from": from_, "to": to, "amount": amount, "memo": memo}]


def custom(account: str, name: str, content: Any) -> Op:
    return ["custom_json", {"required_auths": [], "required_posting_auths": [account], "id": name, "json": json.dumps(content)}]


def make(node: Node, *, has_attacks: bool = True) -> None:
    """Fill the chain with data of every kind. `has_attacks=False` omits the hostile texts, for pictures."""
    make_money(node)
    if has_attacks:
        make_attacks(node)
    make_posts(node)
    make_market(node)
    make_witnesses(node)
    make_proposals(node)
    make_social(node)
    make_token(node)
    make_unpaid(node)
    make_open(node)
    make_refusals(node)
    node.mine(2)


def make_money(node: Node) -> None:
    """Make transfers, savings, escrows, conversions, power-downs, delegations, and an account controlled by others."""
    node.send(pay("alice", "bob", "1.000 COIN", "rent"), pay("bob", "carol", "2.500 SBD"))
    node.send(["transfer_to_savings", {"from": "alice", "to": "alice", "amount": "50.000 COIN", "memo": ""}])
    node.send(["transfer_to_vesting", {"from": "alice", "to": "bob", "amount": "10.000 COIN"}])
    node.mine()
    node.send(["transfer_from_savings", {"from": "alice", "request_id": 1, "to": "carol", "amount": "5.000 COIN", "memo": "later"}])
    node.send(["convert", {"owner": "alice", "requestid": 1, "amount": "10.000 SBD"}])
    node.send(["withdraw_vesting", {"account": "bob", "vesting_shares": "1300.000000 VESTS"}])
    node.send(["set_withdraw_vesting_route", {"from_account": "bob", "to_account": "dave", "percent": 2500, "auto_vest": True}])
    for to, amount in (("erin", "900.000000 VESTS"), ("frank", "700.000000 VESTS")):
        node.send(["delegate_vesting_shares", {"delegator": "carol", "delegatee": to, "vesting_shares": amount}])
    node.mine()
    node.send(["delegate_vesting_shares", {"delegator": "carol", "delegatee": "frank", "vesting_shares": "0.000000 VESTS"}])
    for number in (1, 2):
        node.send(escrow(node, number))
    node.mine()
    node.send(["escrow_approve", {"from": "alice", "to": "bob", "agent": "judy", "who": "bob", "escrow_id": 2, "approve": True}])
    key = node.call("condenser_api.get_accounts", [["alice"]])[0]["memo_key"]
    shared = {"weight_threshold": 3, "account_auths": [["alice", 1], ["bob", 2]], "key_auths": [[key, 2]]}
    alone = {"weight_threshold": 1, "account_auths": [], "key_auths": [[key, 1]]}
    fee = node.call("condenser_api.get_witness_schedule", [])["median_props"]["account_creation_fee"]
    made = {"fee": fee, "creator": "alice", "new_account_name": "shared.fund", "owner": shared, "active": shared, "posting": alone}
    node.send(["account_create", {**made, "memo_key": key, "json_metadata": json.dumps({"profile": {"name": "Shared fund"}})}])
    node.send(["change_recovery_account", {"account_to_recover": "grace", "new_recovery_account": "alice", "extensions": []}])
    node.send(["decline_voting_rights", {"account": "heidi", "decline": True}])
    node.mine()


def escrow(node: Node, number: int) -> Op:
    parties = {"from": "alice", "to": "bob", "agent": "judy", "escrow_id": number}
    money = {"sbd_amount": "1.000 SBD", "coin_amount": "3.000 COIN", "fee": "0.100 COIN"}
    times = {"ratification_deadline": node.time_after(2 * DAY), "escrow_expiration": node.time_after(9 * DAY)}
    return ["escrow_transfer", {**parties, **money, **times, "json_meta": "{}"}]


def make_posts(node: Node) -> None:
    """Make posts, votes for and against them, and replies. One post has been paid; the payouts of the others are pending."""
    node.send(post("alice", "paid", "The first post", "# Hello\n\nIt is **paid**."))
    node.mine()
    for voter in VOTERS:
        node.send(vote(voter, "alice", "paid"))
    node.mine()
    node.advance(DAY * 7 + HOUR)
    node.mine(2)
    body = Path(__file__).with_name("post.md").read_text()
    node.send(post("bob", "hello", "Hello, chain", body, metadata={"tags": ["life", "test"], "app": "world/1"}))
    limits = {"max_accepted_payout": "1000.000 SBD", "percent_coin_dollars": 5000, "allow_votes": True, "allow_curation_rewards": True}
    shares = [[0, {"beneficiaries": [{"account": "carol", "weight": 1000}, {"account": "dave", "weight": 500}]}]]
    node.send(["comment_options", {"author": "bob", "permlink": "hello", **limits, "extensions": shares}])
    node.mine()
    for weight, voter in enumerate(("alice", "carol", "dave", "erin"), start=3):
        node.send(vote(voter, "bob", "hello", weight * 1000))
    node.send(vote("frank", "bob", "hello", -2000))
    node.send(post("carol", "re-hello", "", "A reply.", parent=("bob", "hello")))
    node.mine()
    node.send(post("dave", "re-re-hello", "", "A reply to a reply, with `code`.", parent=("carol", "re-hello")))
    node.send(vote("alice", "carol", "re-hello", 5000))
    node.mine()


def make_market(node: Node) -> None:
    """Make orders on both sides and trades over some hours."""
    number = 0
    for hour in range(6):
        for step in range(3):
            number += 1
            node.send(order(node, "alice", number, f"{10 + step}.000 COIN", f"{(10 + step) * (24 + hour) // 10}.000 SBD"))
            node.send(order(node, "bob", number, f"{20 + 3 * hour}.000 SBD", f"{9 + hour // 2}.000 COIN"))
        node.mine()
        node.advance(HOUR // 2)
    for step in range(5):
        number += 1
        node.send(order(node, "carol", number, "5.000 COIN", f"{17 + step}.500 SBD"))
        node.send(order(node, "dave", number, "5.000 SBD", f"{4 + step}.000 COIN"))
    node.mine()


def order(node: Node, owner: str, number: int, offered: str, wanted: str) -> Op:
    """Return the operation of an order that expires in 20 days."""
    fields = {"owner": owner, "orderid": number, "amount_to_sell": offered, "min_to_receive": wanted}
    return ["limit_order_create", {**fields, "fill_or_kill": False, "expiration": node.time_after(20 * DAY)}]


def make_witnesses(node: Node) -> None:
    """Make witnesses that have no keys, and so produce no blocks. Also make votes for them, a proxy, and price feeds."""
    key = node.call("condenser_api.get_accounts", [["alice"]])[0]["memo_key"]
    props = {"account_creation_fee": "0.100 COIN", "maximum_block_size": 65536, "sbd_interest_rate": 0}
    for name in ("erin", "frank"):
        node.send(
            [
                "witness_update",
                {"owner": name, "url": f"https://{name}.example", "block_signing_key": key, "props": props, "fee": "0.000 COIN"},
            ]
        )
    node.mine()
    node.send(["account_witness_vote", {"account": "alice", "witness": "erin", "approve": True}])
    node.send(["account_witness_vote", {"account": "bob", "witness": "frank", "approve": True}])
    node.send(["account_witness_proxy", {"account": "ivan", "proxy": "alice"}])
    for name, price in (("erin", "0.251 SBD"), ("frank", "0.260 SBD")):
        node.send(["feed_publish", {"publisher": name, "exchange_rate": {"base": price, "quote": "1.000 COIN"}}])
    node.mine()


def make_proposals(node: Node) -> None:
    """Make two proposals and votes for them. Each proposal refers to a post by bob."""
    node.send(post("bob", "proposal", "A proposal", "Pay me."))
    node.mine()
    treasury = node.call("database_api.get_config")["COIN_TREASURY_ACCOUNT"]
    for creator, receiver, money, subject in (
        ("bob", "bob", "10.000 SBD", "Docs"),
        ("alice", treasury, "100.000 SBD", "Return to the treasury"),
    ):
        if creator == "alice":
            node.send(post("alice", "return", "Return", "Nothing."))
            node.mine()
        dates = {"start_date": node.time_after(HOUR), "end_date": node.time_after(40 * DAY)}
        link = {"bob": "proposal", "alice": "return"}[creator]
        node.send(
            [
                "create_proposal",
                {
                    "creator": creator,
                    "receiver": receiver,
                    **dates,
                    "daily_pay": money,
                    "subject": subject,
                    "permlink": link,
                    "extensions": [],
                },
            ]
        )
        node.mine()
    node.send(["update_proposal_votes", {"voter": "carol", "proposal_ids": [0], "approve": True, "extensions": []}])
    node.send(["update_proposal_votes", {"voter": "dave", "proposal_ids": [0, 1], "approve": True, "extensions": []}])
    node.mine()


def make_social(node: Node) -> None:
    """Make followers, a community with members and posts, and a reblog."""
    for follower in ("carol", "dave"):
        node.send(custom(follower, "follow", ["follow", {"follower": follower, "following": "bob", "what": ["blog"]}]))
    node.send(custom("carol", "follow", ["reblog", {"account": "carol", "author": "bob", "permlink": "hello"}]))
    key = node.call("condenser_api.get_accounts", [["alice"]])[0]["memo_key"]
    alone = {"weight_threshold": 1, "account_auths": [["alice", 1]], "key_auths": [[key, 1]]}
    fee = node.call("condenser_api.get_witness_schedule", [])["median_props"]["account_creation_fee"]
    made = {"fee": fee, "creator": "alice", "new_account_name": COMMUNITY, "owner": alone, "active": alone, "posting": alone}
    node.send(["account_create", {**made, "memo_key": key, "json_metadata": ""}])
    node.mine()
    node.send(custom("bob", "community", ["subscribe", {"community": COMMUNITY}]))
    node.send(custom("carol", "community", ["subscribe", {"community": COMMUNITY}]))
    node.send(["transfer_to_vesting", {"from": "alice", "to": COMMUNITY, "amount": "50.000 COIN"}])
    node.mine()
    props = {"title": COMMUNITY_TITLE, "about": "Where everybody meets"}
    node.send(custom(COMMUNITY, "community", ["updateProps", {"community": COMMUNITY, "props": props}]))
    for name in MODERATORS:
        node.send(custom(COMMUNITY, "community", ["setRole", {"community": COMMUNITY, "account": name, "role": "mod"}]))
    node.mine()
    for account, title in MEMBER_TITLES.items():
        node.send(custom("bob", "community", ["setUserTitle", {"community": COMMUNITY, "account": account, "title": title}]))
    node.mine()
    node.send(post("carol", "in-a-community", "In a community", "Words for all.", parent=("", COMMUNITY)))
    node.mine()
    node.send(post("dave", "re-in-a-community", "", "Words for one.", parent=("carol", "in-a-community")))
    node.mine()


def make_token(node: Node) -> None:
    """Make a token that is not yet set up."""
    symbol = node.call("database_api.get_nai_pool")["nai_pool"][0]  # without decimals, since symbols decoded from the wire have none
    fee = node.call("database_api.get_dynamic_global_properties")["smt_creation_fee"]
    value = {"control_account": "alice", "symbol": symbol, "smt_creation_fee": fee, "precision": 0, "extensions": []}
    node.call("dev_api.broadcast_operations", {"operations": [{"type": "smt_create_operation", "value": value}]})
    node.mine()


def make_unpaid(node: Node) -> None:
    """Make a post with votes that has not been paid. It comes first in the lists, since the other posts have been paid."""
    node.advance(POST_SECONDS)
    node.send(post("bob", "unpaid", "What I did today", "Not *much*.", metadata={"tags": ["life"]}))
    node.mine()
    for weight, voter in enumerate(VOTERS[1:], start=5):
        node.send(vote(voter, "bob", "unpaid", weight * 1000))
    node.send(vote("alice", "bob", "unpaid", -1000))
    node.send(post("erin", "re-unpaid", "", "More than me.", parent=("bob", "unpaid")))
    node.mine()
    node.send(vote("bob", "erin", "re-unpaid", 2500))
    node.mine()


def make_open(node: Node) -> None:
    """Make pending items: withdrawals from savings, a conversion, an escrow, and a new power-down."""
    node.send(["transfer_from_savings", {"from": "alice", "request_id": 2, "to": "dave", "amount": "6.000 COIN", "memo": "soon"}])
    node.send(["convert", {"owner": "alice", "requestid": 2, "amount": "12.345 SBD"}])
    node.send(["withdraw_vesting", {"account": "dave", "vesting_shares": "130.000000 VESTS"}])
    node.send(["delegate_vesting_shares", {"delegator": "carol", "delegatee": "grace", "vesting_shares": "55.000000 VESTS"}])
    node.send(escrow(node, 3))
    node.mine()


def make_attacks(node: Node) -> None:
    """Make hostile texts: script and markup injections as bodies, titles, memos and metadata."""
    texts = attacks()
    for i, text in enumerate(texts):
        is_reply = i % ATTACKS_PER_POST > 0
        parent = ("judy", f"attack-{i - i % ATTACKS_PER_POST}") if is_reply else ("", "life")
        if i and not is_reply:
            node.advance(POST_SECONDS)
        node.send(
            post(
                "judy",
                f"attack-{i}",
                cut(text, TITLE_BYTES_MAX),
                f"{text}\n\n{text}",
                parent=parent,
                metadata={"tags": ["life"], "app": text, "image": [text]},
            )
        )
        node.send(pay("judy", "ivan", "0.001 COIN", cut(text, MEMO_BYTES_MAX)))
        node.advance(REPLY_SECONDS)
    node.send(
        [
            "account_update",
            {
                "account": "judy",
                "memo_key": own_key(node, "judy"),
                "json_metadata": json.dumps({"profile": {"name": texts[0], "website": "javascript:alert(1)", "about": texts[1]}}),
            },
        ]
    )
    node.mine()


def attacks() -> list[str]:
    """Return the attack strings that the chain accepts."""
    if not ATTACKS.exists():
        return ["<script>alert(1)</script>", "[x](javascript:alert(1))"]
    found = json.loads(ATTACKS.read_text())
    lists = found.values() if isinstance(found, dict) else [found]
    texts = [entry if isinstance(entry, str) else entry["text"] for one in lists for entry in one]
    # The metadata contains each string several times, and nodes refuse JSON with too many brackets.
    return [text.replace("\0", "") for text in texts if text.strip() and max(map(text.count, "[{")) < BRACKETS_MAX]


def cut(text: str, size: int) -> str:
    """Return the start of a text, at most `size` bytes."""
    return text.encode()[:size].decode(errors="ignore")


def own_key(node: Node, name: str) -> str:
    """Return the memo key of an account."""
    key: str = node.call("condenser_api.get_accounts", [[name]])[0]["memo_key"]
    return key


def make_refusals(node: Node) -> None:
    """Send transactions that the chain refuses, each for a different reason."""
    for operation in (
        pay("alice", "bob", "99999999.000 COIN"),
        vote("alice", "nobody", "nothing"),
        pay("alice", "no-such-account", "1.000 COIN"),
        ["limit_order_cancel", {"owner": "alice", "orderid": 4000}],
    ):
        try:
            node.send(operation)
        except Refused:
            continue
        raise AssertionError(f"{operation} was not refused")


def switch(node: Node, other: Node) -> None:
    """Switch a node to the branch of another, which forks after their common first blocks."""
    blocks = []
    head = other.call("explorer_api.get_overview")["head_block_number"]
    for number in range(1, head + 1):
        block = other.call("condenser_api.get_block", [number])
        mine = node.call("condenser_api.get_block", [number])
        if mine is None or mine["block_id"] != block["block_id"]:
            blocks.append(block)
    for block in blocks:
        push(node, {name: value for name, value in block.items() if name not in ("block_id", "signing_key", "transaction_ids")})


def push(node: Node, block: dict[str, Any]) -> None:
    """Push a block to a node, waiting if its clock is a few seconds behind the producer's."""
    for _ in range(CLOCK_SECONDS_MAX):
        try:
            node.call("condenser_api.broadcast_block", [block])
        except Refused as refused:
            if "max_accept_time" not in refused.error["message"]:
                raise
            time.sleep(1)
        else:
            return
    raise AssertionError(f"the clocks are more than {CLOCK_SECONDS_MAX} s apart")


if __name__ == "__main__":
    make(Node(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8090"))
