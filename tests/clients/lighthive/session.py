"""A session of lighthive on the dev chain: `python -m tests.clients.lighthive.session URL CHAIN`."""

import sys
from typing import Any

from lighthive.client import Client
from lighthive.datastructures import Operation
from lighthive.exceptions import RPCNodeException
from lighthive.helpers.event_listener import EventListener

from tests.clients.steps import equal, refused, step, wait_for_blocks, wait_until

CHAIN = {"chain_id": "bd145557a881b8677e017bf3c23a735ce0842845dd942860a86630b9cd2c7948"}
# The keys that `bin/coind keys alice` prints.
ACTIVE, POSTING = "5JCXCZAvvU391AEVoDMFTgwShH7UWx284upYkYLfxDeieQ3UemK", "5KKtM8YTwpwkTTCFs4e4eeez1skSFmGVnhb2FGKaKru8FbCc7kG"
SENT = ("transfer", "comment", "vote", "custom_json", "transfer_to_vesting")


def connect(url: str, key: str, chain: Any = CHAIN) -> Client:
    """Return a client with one private key. lighthive signs with all its keys, and nodes refuse unnecessary signatures."""
    return Client(nodes=[url], keys=[key], chain=chain)


def session(url: str, chain: str) -> None:
    """Run all steps in order."""
    equal(chain, "dev")
    active, posting = connect(url, ACTIVE), connect(url, POSTING)

    def head() -> int:
        return int(active.get_dynamic_global_properties()["head_block_number"])

    with step("connect"):
        equal(active("database_api").get_version({})["chain_id"], CHAIN["chain_id"])
        active("condenser_api")
        # A transaction of lighthive refers to the third-last block.
        wait_until(lambda: head() >= 3)
    with step("read accounts"):
        equal(active.account("alice").raw_data["name"], "alice")
        equal([account["name"] for account in active.get_accounts(["alice", "bob"])], ["alice", "bob"])
        refused(lambda: active.account("nobody-here"), ValueError, "doesn't exist")
    with step("read blocks"):
        equal(active.get_block(1)["witness"], "initminer")
        equal(active("block_api").get_block({"block_num": 1})["block"]["block_id"], active("condenser_api").get_block(1)["block_id"])
        active("condenser_api")
    with step("transfer"):
        equal(active.broadcast(operation("transfer", to="bob", amount="1.000 COIN", memo="from lighthive", **{"from": "alice"})), {})
    with step("comment"):
        post = {"parent_author": "", "parent_permlink": "test", "author": "alice", "permlink": "from-lighthive"}
        equal(posting.broadcast(operation("comment", title="A title", body="A body", json_metadata="{}", **post)), {})
    with step("vote"):
        equal(posting.broadcast(operation("vote", voter="alice", author="alice", permlink="from-lighthive", weight=10000)), {})
    with step("custom_json"):
        ids = {"required_auths": [], "required_posting_auths": ["alice"], "id": "lighthive"}
        equal(posting.broadcast(operation("custom_json", json='{"works":true}', **ids)), {})
    with step("follow"):
        equal(posting.account("alice").follow("bob"), {})
    with step("power up, waiting for the block"):
        found = active.broadcast_sync(operation("transfer_to_vesting", to="alice", amount="2.000 COIN", **{"from": "alice"}))
        equal((found["expired"], found["block_num"] <= head()), (False, True))
    refusals(url, active)
    wait_for_blocks(head)
    read_back(active)


def operation(name: str, **fields: Any) -> Operation:
    return Operation(name, fields)


def refusals(url: str, active: Client) -> None:
    """Check that lighthive raises its own error with the node's message when the node refuses a call."""
    much = operation("transfer", to="bob", amount="99999999.000 COIN", memo="", **{"from": "alice"})
    with step("refusal: more than there is"):
        refused(lambda: active.broadcast(much), RPCNodeException, "does not have sufficient funds")
    with step("refusal: a key too many"):
        both = Client(nodes=[url], keys=[ACTIVE, POSTING], chain=CHAIN)
        little = operation("transfer", to="bob", amount="0.001 COIN", memo="", **{"from": "alice"})
        refused(lambda: both.broadcast(little), RPCNodeException, "irrelevant signature included")
    with step("limit: without the chain's id its signature is one for another chain"):
        stranger = connect(url, ACTIVE, chain="HIVE")
        refused(
            lambda: stranger.broadcast(operation("transfer", to="bob", amount="0.001 COIN", memo="", **{"from": "alice"})),
            RPCNodeException,
            "missing required active authority",
        )
    with step("refusal: a method that isn't there"):
        refused(lambda: active.get_i_like_turtles(), RPCNodeException, "Could not find method get_i_like_turtles")


def read_back(active: Client) -> None:
    """Read the results of the earlier steps from the chain."""
    alice = active.account("alice")
    with step("read history"):
        made = [entry[1]["op"]["type"] for entry in alice.history(only_operation_data=False)]
        equal([name for name in SENT if f"{name}_operation" not in made], [])
        (transfer,) = [one for one in alice.history(filter=["transfer_operation"]) if one["from"] == "alice"]
        equal((transfer["memo"], transfer["amount"]["amount"]), ("from lighthive", "1000"))
    with step("read the comment and its vote"):
        comment = active.get_content("alice", "from-lighthive")
        equal((comment["title"], comment["active_votes"][0]["voter"]), ("A title", "alice"))
    with step("read followers"):
        equal((active.account("bob").followers(), alice.following()), (["alice"], ["bob"]))
    with step("listen to operations"):
        listener = EventListener(active, "head", start_block=1, end_block=active.get_dynamic_global_properties()["head_block_number"] - 1)
        sent = [event["op"][1] for event in listener.on("transfer")]
        equal([transfer["memo"] for transfer in sent if transfer["from"] == "alice"], ["from lighthive"])
    with step("read resource credits"):
        equal(0 < alice.rc() <= 100, True)
    with step("ask for several things at once"):
        active.get_accounts(["alice"], batch=True)
        active.get_block(1, batch=True)
        accounts, block = active.process_batch()
        equal((accounts[0]["name"], block["witness"]), ("alice", "initminer"))


if __name__ == "__main__":
    session(*sys.argv[1:3])
