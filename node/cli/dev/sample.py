"""Writes the sample content of `sample.toml` to a test chain: a town of accounts with posts, votes, communities, orders and more.

Each transaction is signed by the node, with the known keys of the chain and the keys of the accounts that the sample creates.
"""

import json
import shlex
import tomllib
from pathlib import Path
from string import Template
from typing import Any

import state.operations  # noqa: F401 - fills the registry
from node.cli.keys import default_password
from node.cli.remote import Remote
from node.cli.times import seconds_of
from node.cli.tx.field_texts import Context
from node.cli.tx.fields import arguments, build_operation
from node.cli.tx.transaction_file import find_operation
from node.client.urls import parts_of
from node.runtime.errors import NodeError
from rpc.explorer.files import PICTURES
from state.protocol.keys.keys import ROLES, derive_secret, public_key, public_key_text, wif_from_secret
from state.protocol.transaction import SignedTransaction

SAMPLE = tomllib.loads(Path(__file__).with_name("sample.toml").read_text(encoding="utf-8"))
# The steps are this part of the time to a payout apart, so that the posts of the first steps are paid at the end.
STEPS_PER_WINDOW = 8
# What an account that the sample creates gets, without symbols.
COIN, SBD, POWER = "500.000", "100.000", "1000.000"
SHARE = 100_000  # in thousandths of the coin


class Town:
    """Writes the sample data to the chain of a node. The node's block mode must be manual."""

    def __init__(self, remote: Remote) -> None:
        self._remote, self._spec = remote, remote.spec
        self.communities = {name: f"{self._spec.community_prefix}{each['number']}" for name, each in SAMPLE["communities"].items()}
        self._known = {entry["name"] for entry in remote.call("dev_api.list_keys")}
        self._created = [name for name in (*SAMPLE["people"], *self.communities.values()) if name not in self._known]
        self._keys: list[str] = []  # private keys of the created accounts, by which the node signs
        config = remote.call("condenser_api.get_config")
        self._window = int(config[self._spec.spell("COIN_CASHOUT_WINDOW_SECONDS")])
        witness = remote.call("condenser_api.get_witness_by_account", [self._spec.genesis.witness])
        address = parts_of(remote.url)
        self._names = {
            "COIN": self._spec.coin_symbol,
            "SBD": self._spec.debt_symbol,
            "fee": remote.call("condenser_api.get_chain_properties")["account_creation_fee"],
            "witness": self._spec.genesis.witness,
            "key": witness["signing_key"],
            "pictures": f"{address.scheme}://{address.netloc.rpartition('@')[2]}{PICTURES}",
        } | self.communities

    def write(self) -> None:
        """Write the whole sample."""
        self._make_accounts()
        self._make_relations()
        for name, community in SAMPLE["communities"].items():
            self._make_community(self.communities[name], community)
        for step in SAMPLE["steps"]:
            self._take_step(step)
            self._remote.call("dev_api.advance_time", {"seconds": self._window // STEPS_PER_WINDOW})

    def require_absent(self) -> None:
        """Raise NodeError if the chain has the sample, a part of it, or other accounts with the names that the sample creates."""
        for account in self._remote.call("condenser_api.get_accounts", [self._created]):
            raise NodeError(
                f"the chain of {self._remote.url} has the sample already, or a part of it: the account {account['name']} exists. "
                "bin/coind dev reset makes a new chain."
            )

    def _make_accounts(self) -> None:
        """Create and fund the missing accounts, with keys that are derived from their names, and set all profiles."""
        bank = self._richest(sorted(self._known))
        for name in self._created:
            secrets = {role: derive_secret(name, role, default_password(self._spec)) for role in ROLES}
            self._keys += [wif_from_secret(secrets[role]) for role in ("active", "posting")]
            keys = [public_key_text(public_key(secrets[role]), self._spec.key_prefix) for role in ROLES]
            self._send(
                ["account_create", "$fee", bank, name, *keys],
                ["transfer", bank, name, f"{COIN} $COIN"],
                ["transfer", bank, name, f"{SBD} $SBD"],
                ["transfer_to_vesting", bank, name, f"{POWER} $COIN"],
            )
        self._mine()
        self._names["share"] = self._share()
        for name, profile in SAMPLE["people"].items():
            self._send(["account_update2", name, "--posting-json-metadata", json.dumps({"profile": {**profile, "version": 2}})])
        self._mine()

    def _richest(self, names: list[str]) -> str:
        """Return the account with the largest balance of SBD. All balances can be zero, since some chains have no SBD at genesis."""
        accounts = self._remote.call("condenser_api.get_accounts", [names])
        if not accounts:
            raise NodeError(
                f"the node at {self._remote.url} has no accounts with known keys. Use a chain such as dev, whose accounts have them."
            )
        return str(max(accounts, key=lambda account: float(account["sbd_balance"].split()[0]))["name"])

    def _share(self) -> str:
        """Return the amount of VESTS that is worth SHARE. It is computed from the chain's price of VESTS, because this price differs
        between chains.
        """
        head = self._remote.head()
        shares, fund = (
            int(head[name].split()[0].replace(".", "")) for name in ("total_vesting_shares", self._spec.spell("total_vesting_fund_coin"))
        )
        worth = SHARE * shares // fund
        return f"{worth // 10**6}.{worth % 10**6:06} {self._spec.vests_symbol}"

    def _make_relations(self) -> None:
        for what, table in (("blog", "follows"), ("ignore", "mutes")):
            for follower, followed in SAMPLE[table].items():
                for name in followed.split():
                    self._custom(follower, "follow", ["follow", {"follower": follower, "following": name, "what": [what]}])

    def _make_community(self, name: str, community: dict[str, Any]) -> None:
        """Set the properties and the roles of a community. The first account in its list of roles is an admin, who sets the other roles."""
        (admin, role), *others = community["roles"].items()
        self._act(name, name, action="setRole", account=admin, role=role)
        settings = {"avatar_url": self._picture(community["picture"])}
        props = {key: community[key] for key in ("title", "about", "description", "flag_text")}
        self._act(name, admin, action="updateProps", props=props | {"lang": "en", "is_nsfw": False, "settings": settings})
        for account in community["subscribers"].split():
            self._act(name, account, action="subscribe")
        for account, role in others:
            self._act(name, admin, action="setRole", account=account, role=role)
        for account, title in community["titles"].items():
            self._act(name, admin, action="setUserTitle", account=account, title=title)

    def _act(self, community: str, actor: str, action: str, **members: Any) -> None:
        self._custom(actor, "community", [action, {"community": community, **members}])

    def _custom(self, account: str, name: str, payload: Any) -> None:
        """Send a custom_json, and make a block for it, because a block accepts only a few of them from the same account."""
        self._send(["custom_json", name, json.dumps(payload), "--required-posting-auths", account])
        self._mine()

    def _take_step(self, step: dict[str, Any]) -> None:
        """Write a post, then its votes, replies and reblogs, and the other transactions and community actions that belong to it."""
        author, permlink, tags = step["by"], step["permlink"], step["tags"].split()
        place = self.communities[step["in"]] if "in" in step else tags[0]
        images = {"image": [self._picture(step["picture"])]} if "picture" in step else {}
        metadata = {"tags": tags, **images, "app": "coind/sample", "format": "markdown"}
        body = step["body"].strip()
        self._send(["comment", place, author, permlink, body, "--title", step["title"], "--json-metadata", json.dumps(metadata)])
        self._mine()
        for line in step["transactions"]:
            self._send(shlex.split(line))
        self._vote(step["votes"], author, permlink)
        written = {"": (author, permlink)}
        for number, reply in enumerate(step["replies"], start=1):
            parent, link = written[reply.get("to", "")]
            written[reply["by"]] = (reply["by"], f"re-{permlink}-{number}")
            self._send(["comment", link, *written[reply["by"]], reply["text"], "--parent-author", parent])
            self._mine()
            self._vote(reply.get("votes", ""), *written[reply["by"]])
        for account in step.get("reblogs", "").split():
            self._custom(account, "follow", ["reblog", {"account": account, "author": author, "permlink": permlink}])
        for action in step.get("community", []):
            self._act(place, action["by"], **{key: value for key, value in action.items() if key != "by"})

    def _picture(self, name: str) -> str:
        return f"{self._names['pictures']}{name}.svg"

    def _vote(self, votes: str, author: str, permlink: str) -> None:
        """Send votes, given as names and weights in percent."""
        words = votes.split()
        for voter, weight in zip(words[::2], words[1::2], strict=True):
            self._send(["vote", voter, author, permlink, f"{weight}%"])
        self._mine()

    def _send(self, *operations: list[str]) -> None:
        """Broadcast a transaction with operations in the form of the commands of `coind tx`."""
        wire = self._remote.wire
        context = Context(wire.codecs, seconds_of(self._remote.head()["time"]))
        built = tuple(self._operation([Template(word).substitute(self._names) for word in words], context) for words in operations)
        shown = wire.transaction_to_json(SignedTransaction(operations=built))["operations"]
        self._remote.call("dev_api.broadcast_operations", {"operations": shown, "keys": self._keys})

    def _operation(self, words: list[str], context: Context) -> Any:
        name, *texts = words
        cls = find_operation(name.replace("-", "_"), self._remote.wire)
        if cls is None:
            raise NodeError(f"the chain {self._spec.name} has no operation {name}")
        options = {field.option: field for field in arguments(cls)}
        required = (field for field in arguments(cls) if field.is_required)
        given: dict[str, Any] = {}
        rest = iter(texts)
        for text in rest:
            field = options[text] if text in options else next(required)
            given[field.name] = True if field.is_flag else next(rest) if text in options else text
        return build_operation(cls, given, context)

    def _mine(self) -> None:
        self._remote.call("dev_api.mine", {"count": 1})


def write_sample(remote: Remote) -> dict[str, Any]:
    """Write the sample to the node's chain, and return its size and the new head. Raises NodeError if the chain has a part of it."""
    town = Town(remote)
    town.require_absent()
    mode = remote.call("dev_api.get_info")["block_mode"]
    remote.call("dev_api.set_block_mode", {"mode": "manual"})
    try:
        town.write()
    finally:
        remote.call("dev_api.set_block_mode", {"mode": mode})
    head = remote.call("dev_api.get_info")
    return {
        "accounts": [*SAMPLE["people"]],
        "communities": [*town.communities],
        "posts": len(SAMPLE["steps"]),
        "head_block_number": head["head_block_number"],
        "head_block_time": head["head_block_time"],
    }
