"""A town: accounts that write, vote, follow and moderate. Random operations of every kind that hivemind reads are derived from a seed."""

import json
import random
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from tests.attack.nodes import Client

Operation = tuple[str, dict[str, Any]]

TAGS = ("photography", "travel", "Food", "#music", "life", "test-tag", "a" * 40, "", "deutsch", 5)
ROLES = ("muted", "guest", "member", "mod", "admin", "owner", "boss")
WORDS = (
    "the",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    "a",
    "lazy",
    "dog",
    "and",
    "writes",
    "about",
    "it",
    "at",
    "length",
    "Füchse",
    "你好",
)
REWRITTEN = "written again"  # the title of posts that were deleted before
REWARD_SPLIT = {"allow_votes": True, "allow_curation_rewards": True}


class Town:
    """Chooses random operations, and broadcasts them through a node that has the accounts' keys."""

    def __init__(self, client: Client, seed: int, types: str) -> None:
        self._client, self._random, self._types = client, random.Random(seed), types
        self._keys: dict[str, Any] = {entry["name"]: entry["keys"] for entry in self.call("dev_api.list_keys", {})}
        witnesses = {
            row["owner"] for row in self.call("database_api.list_witnesses", {"start": "", "limit": 100, "order": "by_name"})["witnesses"]
        }
        self.people = [name for name in self._keys if name not in witnesses]
        self.communities = [name for name in self.people if name.startswith("hive-")]
        self._fee = self.call("condenser_api.get_chain_properties", [])["account_creation_fee"]
        self.created: list[str] = []
        self.posts: list[tuple[str, str, str]] = []  # author, permlink, category
        self.comments: list[tuple[str, str, str]] = []
        self.accepted: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()

    # ------------------------------------------------------------------ the node

    def call(self, method: str, params: Any) -> Any:
        """Return the result of a call."""
        answer = self._client.call(method, params)
        if "result" not in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def send(self, *operations: Operation) -> bool:
        """Broadcast a transaction with these operations, and count them as accepted or refused. Return whether the node has accepted
        them.
        """
        name = kind(operations[0])
        signed = {"operations": [list(operation) for operation in operations], "keys": self._secrets()}
        answer = self._client.call("dev_api.broadcast_operations", signed)
        (self.accepted if "result" in answer else self.refused)[name] += len(operations)
        return "result" in answer

    def _secrets(self) -> list[str]:
        """The private keys of the accounts that the town has created."""
        return [self._keys["alice"][role]["private"] for role in ("posting", "active")]

    # ------------------------------------------------------------------ the start

    def put_orders(self) -> None:
        """Create the market orders from which hivemind computes its price of STEEM."""
        now = datetime.fromisoformat(self.call("dev_api.get_info", {})["head_block_time"])
        rest = {"orderid": 1, "fill_or_kill": False, "expiration": (now + timedelta(days=20)).isoformat()}
        assert self.send(("limit_order_create", {"owner": "alice", "amount_to_sell": "1.000 STEEM", "min_to_receive": "1.000 SBD", **rest}))
        assert self.send(("limit_order_create", {"owner": "bob", "amount_to_sell": "1.000 SBD", "min_to_receive": "10.000 STEEM", **rest}))

    def found_community(self, place: int) -> None:
        """Create an account with the name of a community. The types of communities take turns."""
        name = f"hive-{self._types[place % len(self._types)]}{place:05}"
        self._create(name)
        self.communities.append(name)

    def settle(self) -> None:
        """Create an account that isn't a community. Every tenth one has a name like that of a community, but of a type that doesn't
        exist.
        """
        place = len(self.created)
        self._create(f"hive-9{place:05}" if place % 10 == 9 else f"settler-{place}")

    def _create(self, name: str) -> None:
        keys = self._keys["alice"]
        authorities = {
            role: {
                "weight_threshold": 1,
                "account_auths": [],
                "key_auths": [[keys["posting" if role == "posting" else "active"]["public"], 1]],
            }
            for role in ("owner", "active", "posting")
        }
        create = {
            "fee": self._fee,
            "creator": "alice",
            "new_account_name": name,
            **authorities,
            "memo_key": keys["posting"]["public"],
            "json_metadata": "",
        }
        fund = {"from": "alice", "to": name, "amount": "100.000 STEEM"}
        if self.send(("account_create", create), ("transfer_to_vesting", fund)):
            self.created.append(name)

    # ------------------------------------------------------------------ a step

    def act(self, kinds: tuple[str, ...] = ()) -> bool:
        """Choose an operation and broadcast it. With `kinds`, it is of one of these kinds. Return whether the node has accepted it."""
        choices: list[tuple[int, Callable[[], bool]]] = [
            (14, self.write),
            (18, self.reply),
            (6, self.edit),
            (2, self.delete),
            (30, self.vote),
            (8, self.follow),
            (5, self.reblog),
            (16, self.moderate),
            (2, self.read),
            (2, self.promote),
            (2, self.describe),
            (2, self.own),
            (1, self.babble),
        ]
        choices = [choice for choice in choices if not kinds or choice[1].__name__ in kinds]
        act = self._random.choices([act for _, act in choices], [weight for weight, _ in choices])[0]
        return act()

    def _one(self, names: list[str] | None = None) -> str:
        return self._random.choice(names or self.people)

    def _text(self, length: int) -> str:
        return " ".join(self._random.choices(WORDS, k=length))

    def _any_post(self) -> tuple[str, str, str] | None:
        """Return a random post or comment; recent ones are more likely. Return None if there is none."""
        among = self.posts if self._random.random() < 0.5 else self.comments
        return self._random.choice(among[-60:] if self._random.random() < 0.7 else among) if among else None

    def _metadata(self) -> str:
        random = self._random
        made: Any = {"tags": random.sample(TAGS, random.randrange(5)), "app": "town/1"}
        if random.random() < 0.3:
            made["image"] = random.choice((["https://example.org/a.png", 5, " ftp://no"], "https://example.org/b.png", []))
        return random.choices([json.dumps(made), "", "{broken", '{"tags": "one"}', "[]"], [20, 1, 1, 1, 1])[0]

    def _body(self) -> str:
        text = self._text(self._random.randrange(3, 40))
        if self._random.random() < 0.25:
            names = [self._one() for _ in range(self._random.choice((1, 1, 2, 3, 7)))]
            text += " " + " ".join(f"@{name}" for name in names) + " @nobody-here"
        return text

    def write(self) -> bool:
        """Write a root post in a community or under a tag. Some posts also get comment_options."""
        author, category = (
            self._one(),
            self._one(self.communities) if self._random.random() < 0.5 else self._one(["life", "travel", "hive-100", "x"]),
        )
        permlink = f"post-{len(self.posts)}-{self._random.randrange(10**6)}"
        comment = {"parent_author": "", "parent_permlink": category, "author": author, "permlink": permlink}
        post = ("comment", {**comment, "title": self._text(4), "body": self._body(), "json_metadata": self._metadata()})
        if not self.send(post, *self._options(author, permlink)):
            return False
        self.posts.append((author, permlink, category))
        return True

    def _options(self, author: str, permlink: str) -> list[Operation]:
        random = self._random
        if random.random() > 0.2:
            return []
        shares = [
            [
                0,
                {
                    "beneficiaries": [
                        {"account": name, "weight": random.randrange(1, 3000)} for name in sorted(random.sample(self.people, 2))
                    ]
                },
            ]
        ]
        return [
            (
                "comment_options",
                {
                    "author": author,
                    "permlink": permlink,
                    "max_accepted_payout": random.choice(("1000000.000 SBD", "0.000 SBD", "1.500 SBD")),
                    "percent_steem_dollars": random.choice((10000, 0)),
                    **REWARD_SPLIT,
                    "extensions": random.choice(([], shares)),
                },
            )
        ]

    def reply(self) -> bool:
        """Reply to a post or a comment."""
        parent = self._any_post()
        if parent is None:
            return False
        author, permlink = self._one(), f"re-{len(self.comments)}-{self._random.randrange(10**6)}"
        comment = {"parent_author": parent[0], "parent_permlink": parent[1], "author": author, "permlink": permlink}
        if not self.send(("comment", {**comment, "title": "", "body": self._body(), "json_metadata": self._metadata()})):
            return False
        self.comments.append((author, permlink, parent[2]))
        return True

    def edit(self) -> bool:
        """Edit a post or a comment. The parent of an edited comment is the one that the chain has stored."""
        found = self._any_post()
        if found is None:
            return False
        shown = self.call("condenser_api.get_content", [found[0], found[1]])
        if not shown["author"]:
            return False
        comment = {name: shown[name] for name in ("parent_author", "parent_permlink", "author", "permlink")}
        return self.send(("comment", {**comment, "title": shown["title"], "body": self._body(), "json_metadata": self._metadata()}))

    def delete(self) -> bool:
        """Delete a post or a comment. Write some of the deleted ones again."""
        found = self._any_post()
        if found is None or not self.send(("delete_comment", {"author": found[0], "permlink": found[1]})):
            return False
        if found in self.posts and self._random.random() < 0.3:
            comment = {"parent_author": "", "parent_permlink": found[2], "author": found[0], "permlink": found[1]}
            self.send(("comment", {**comment, "title": REWRITTEN, "body": self._body(), "json_metadata": self._metadata()}))
        return True

    def vote(self) -> bool:
        """Vote up or down, or remove a vote."""
        found = self._any_post()
        weight = self._random.choice((10000, 10000, 10000, 5000, 100, 1, -10000, -300, 0))
        return found is not None and self.send(("vote", {"voter": self._one(), "author": found[0], "permlink": found[1], "weight": weight}))

    def _custom(self, who: str, plugin: str, payload: Any) -> bool:
        text = payload if isinstance(payload, str) else json.dumps(payload)
        return self.send(("custom_json", {"required_auths": [], "required_posting_auths": [who], "id": plugin, "json": text}))

    def follow(self) -> bool:
        """Follow or ignore an account, or stop doing so."""
        who = self._one()
        what = self._random.choice((["blog"], ["blog"], ["blog"], ["", "ignore"], [], ["blog", "ignore"][:1]))
        return self._custom(who, "follow", ["follow", {"follower": who, "following": self._one(), "what": what}])

    def reblog(self) -> bool:
        """Reblog a post, or remove the reblog."""
        if not self.posts:
            return False
        who, found = self._one(), self._random.choice(self.posts[-80:])
        entry = {"account": who, "author": found[0], "permlink": found[1]}
        if self._random.random() < 0.15:
            entry["delete"] = "delete"
        return self._custom(who, "follow", ["reblog", entry])

    def moderate(self) -> bool:
        """Send a community operation. The rules of communities refuse many of them; their author is then notified."""
        random, community = self._random, self._one(self.communities)
        who = random.choices([community, self._one()], [1, 1])[0]
        name = random.choices(
            ("subscribe", "unsubscribe", "setRole", "setUserTitle", "updateProps", "post", "nonsense"), (40, 6, 18, 8, 6, 24, 2)
        )[0]
        if name in ("subscribe", "unsubscribe"):
            return self._custom(self._one(), "community", [name, {"community": community}])
        if name == "setRole":
            return self._custom(who, "community", [name, {"community": community, "account": self._one(), "role": random.choice(ROLES)}])
        if name == "setUserTitle":
            return self._custom(
                who, "community", [name, {"community": community, "account": self._one(), "title": self._text(2)[:20].strip()}]
            )
        if name == "updateProps":
            return self._custom(who, "community", [name, {"community": community, "props": self._properties()}])
        if name == "post":
            return self._moderate_post()
        wrong: tuple[Any, ...] = (
            ["dance", {}],
            ["subscribe", {}],
            ["subscribe", {"community": "hive-199999"}],
            "{broken",
            ["setRole", {"community": community}],
        )
        return self._custom(who, "community", random.choice(wrong))

    def _moderate_post(self) -> bool:
        among = [post for post in [*self.posts[-150:], *self.comments[-150:]] if post[2] in self.communities]
        if not among:
            return False
        author, permlink, community = self._random.choice(among)
        action = self._random.choice(("mutePost", "unmutePost", "pinPost", "unpinPost", "flagPost", "pinPost"))
        who = community if self._random.random() < 0.7 else self._one()
        payload = {"community": community, "account": author, "permlink": permlink}
        return self._custom(who, "community", [action, payload if "pin" in action.lower() else {**payload, "notes": self._text(3)}])

    def _properties(self) -> dict[str, Any]:
        random = self._random
        every: dict[str, Any] = {
            "title": random.choice(("Town hall", "Fish market", "x", "@no")),
            "about": self._text(5),
            "lang": random.choice(("de", "en", "xx")),
            "is_nsfw": random.choice((True, False)),
            "description": self._text(9),
            "flag_text": "",
            "settings": {"avatar_url": "https://example.org/c.png", "bg_color": "#fff"},
        }
        return {name: every[name] for name in random.sample(sorted(every), random.randrange(1, 4))}

    def read(self) -> bool:
        """Mark an account's notifications as read."""
        time = self.call("database_api.get_dynamic_global_properties", {})["time"]
        return self._custom(self._one(), "notify", ["setLastRead", {"date": time}])

    def promote(self) -> bool:
        """Promote a post with a transfer to the account `null`."""
        found = self._any_post()
        memo = f"@{found[0]}/{found[1]}" if found and self._random.random() < 0.9 else "for nothing"
        amount = f"{self._random.randrange(1, 500) / 1000:.3f} SBD"
        return self.send(("transfer", {"from": self._one(), "to": "null", "amount": amount, "memo": memo}))

    def describe(self) -> bool:
        """Change an account's profile."""
        who, random = self._one(), self._random
        profile: dict[str, Any] = {
            "name": self._text(3),
            "about": self._text(30),
            "website": "example.org",
            "profile_image": "https://example.org/p.png",
        }
        profile |= {"location": self._text(8), "version": random.choice((2, 1))}
        fields = {"json_metadata": "", "posting_json_metadata": json.dumps({"profile": profile})}
        return self.send(("account_update2", {"account": who, **fields, "extensions": []}))

    def own(self) -> bool:
        """Delegate VESTS or power up, which changes ranks and votes."""
        who, other = self._one(), self._one()
        delegation = {"delegator": who, "delegatee": other, "vesting_shares": f"{self._random.randrange(10**6, 10**7)}.000000 VESTS"}
        power = {"from": who, "to": other, "amount": f"{self._random.randrange(1, 300)}.000 STEEM"}
        return self.send(self._random.choice((("delegate_vesting_shares", delegation), ("transfer_to_vesting", power))))

    def babble(self) -> bool:
        """Send a custom_json whose content is malformed, or whose id no plugin reads."""
        payload: Any = self._random.choice((["follow"], {}, "", ["reblog", []], ["follow", {"what": "blog"}], [1, 2, 3]))
        return self._custom(self._one(), self._random.choice(("follow", "notify", "other")), payload)


def kind(operation: Operation) -> str:
    """Return the name of an operation. For a custom_json, add the plugin and the action."""
    name, value = operation
    if name != "custom_json":
        return name
    try:
        return f"{value['id']} {json.loads(value['json'])[0]}"
    except (ValueError, LookupError, TypeError):
        return f"{value['id']} ?"
