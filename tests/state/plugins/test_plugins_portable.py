"""Plugins' data as portable rows: a copy answers as the original does after all later blocks, and rows of strangers do no harm."""

from typing import Any

import pytest

from state.plugins.rc.accounts import FIRST_ADJUSTMENT, regenerate
from state.plugins.rc.plugin import RC
from state.plugins.registry import PLUGINS
from state.portable import PORTABLE, Batch, export_rows, import_world, pack_batch, shown_digest, unpack_batch
from state.portable.imports import insert_rows
from state.protocol.values.asset import Asset
from state.tables import State
from tests.conformance.play import Player
from tests.conftest import CASES
from tests.helpers.chains import NOW, chain_at
from tests.helpers.plugin_queries import queries, without_ids
from tests.helpers.snapshots import snapshot

CASES_AND_HEIGHTS = [
    ("accounts_update", 60),
    ("communities", 20),
    ("communities", 45),
    ("discussions", 40),
    ("follows", 30),
    ("market_days", 20),
    ("rc_limits", 40),
    ("reputations", 30),
    ("rewards", 60),
    ("threads", 150),
    ("walk_random", 700),
]


def import_rows(state: State, batch: Batch) -> None:
    """Import rows into a chain that isn't partial, as they are."""
    insert_rows(state, {name: rows for name, rows in batch.items() if "/" not in name})
    for importer in state.listeners.on_import:
        importer(batch)


def without_hidden(batch: Batch) -> Batch:
    """Return a batch as a reader of replies has it."""
    return {
        name: [{column: value for column, value in row.items() if column not in PORTABLE[name].hidden} for row in rows]
        if "/" in name
        else rows
        for name, rows in batch.items()
    }


def copied(player: Player) -> Player:
    """Return a player at the same height, whose chain begins with an imported copy of the rows."""
    chain, copy = player.chain, Player(player.folder)
    assert chain.head is not None
    batch = unpack_batch(pack_batch(without_hidden(export_rows(chain.state))))
    import_world(copy.chain.state, batch, is_complete=True, next_proposal_id=chain.state.proposals.next_id)
    copy.chain.state.hardfork_times[:] = chain.state.hardfork_times
    packed = [player.log[start:end] for start, end in player.places]
    copy.chain.start_at(chain.head, lambda number: packed[number - 1], is_changed_by_hand=False, settled_edits=0)
    return copy


@pytest.mark.parametrize(("case", "height"), CASES_AND_HEIGHTS, ids=lambda value: str(value))
def test_a_copy_answers_as_the_original_does(case: str, height: int) -> None:
    player = Player(CASES / case)
    player.advance(height)
    copy = copied(player)
    for end in (height, height + 1, len(player.places)):
        player.advance(end)
        copy.advance(end)
        assert shown_digest(copy.chain.state) == shown_digest(player.chain.state)
        for query in queries(player.chain.state):
            assert without_ids(copy.ask(query)) == without_ids(player.ask(query)), query
    for kept in copy.chain.state.plugins.values():
        snapshot(kept)


def test_import_again_changes_nothing() -> None:
    player = Player(CASES / "communities")
    player.advance(45)
    state, sections = player.chain.state, export_rows(player.chain.state)
    before = {name: snapshot(kept) for name, kept in state.plugins.items()}
    batch = {name: rows for name, rows in sections.items() if "/" in name}
    for listener in state.listeners.on_import:
        listener(batch)
    after = {name: snapshot(kept) for name, kept in state.plugins.items()}
    for name in before:
        assert {part: value for part, value in after[name].items() if part not in ("dirty", "view")} == {
            part: value for part, value in before[name].items() if part not in ("dirty", "view")
        }, name


# ------------------------------------------------------------------ rows of strangers

NAMES = ("alice", "bob")
MUTUAL = [{"follower": "alice", "following": "carol", "what": 2}, {"follower": "zoe", "following": "alice", "what": 2}]
PLACE = ("alice", "a-post")


def partial_state() -> State:
    """Return a state with two accounts and a post, all plugins and credits, as an import has made them."""
    chain = chain_at(plugins=PLUGINS)
    batch: Batch = {
        "accounts": [{"name": name, "vesting_shares": 10**9} for name in NAMES],
        "account_authorities": [{"account": name} for name in NAMES],
        "comments": [{"author": "alice", "permlink": "a-post", "root_comment": PLACE, "created": NOW - 100, "cashout_time": NOW + 1000}],
        "comment_contents": [{"comment": PLACE, "json_metadata": '{"tags": ["sea"]}'}],
        "rc/pools": [{"pools": (1, 2, 3, 4, 5)}],
        "follow/follows": MUTUAL,
    }
    import_rows(chain.state, batch)
    return chain.state


def test_what_a_source_lacks_is_derived() -> None:
    state = partial_state()
    found = export_rows(state)
    assert [(row["account"], row["mana"]) for row in found["rc/accounts"]] == [(name, 10**9 + FIRST_ADJUSTMENT) for name in NAMES]
    assert found["rc/pools"] == [{"pools": (1, 2, 3, 4, 5)}]
    assert found["tags/tagged"] == [{"author": "alice", "permlink": "a-post", "promoted": 0}]
    assert {row["tag"]: row["top_posts"] for row in found["tags/totals"]} == {"": 1, "sea": 1}
    counts = {row["account"]: (row["follower_count"], row["following_count"]) for row in found["follow/counts"]}
    assert counts == {"alice": (1, 1), "carol": (1, 0), "zoe": (0, 1)}
    assert [row["permlink"] for row in found["communities/posts"]] == ["a-post"]


def test_rows_about_absent_accounts_and_posts_do_no_harm() -> None:
    state = partial_state()
    absent = ("zoe", "no-post")
    import_rows(
        state,
        {
            "rc/accounts": [{"account": "zoe", "mana": 5}],
            "reputation/rows": [{"account": "zoe", "reputation": 7}],
            "follow/blogs": [
                {"account": "alice", "comment": absent, "number": 3},
                {"account": "alice", "comment": PLACE, "number": 2**32 - 1},
            ],
            "follow/feeds": [{"account": "bob", "comment": absent, "number": 1}],
            "communities/roles": [{"community": "coin-111111", "account": "zoe", "role": 2}],
            "communities/subscriptions": [{"community": "coin-111111", "account": "zoe"}],
            "communities/reblogs": [{"account": "bob", "post": absent}],
            "communities/notifications": [{"type": 17, "src": "bob", "dst": "zoe", "author": "zoe", "permlink": "no-post"}],
        },
    )
    found = export_rows(state)
    assert [(row["account"], row["number"]) for row in found["follow/blogs"]] == [("alice", 2**32 - 1)]
    for section in ("reputation/rows", "follow/feeds", "communities/roles", "communities/subscriptions", "communities/notifications"):
        assert found[section] == []


@pytest.mark.parametrize(
    ("section", "row"),
    [
        ("rc/accounts", {"account": "bob", "mana": 2**63}),
        ("rc/accounts", {"account": "bob", "adjustment": 2**57}),
        ("rc/pools", {"pools": (1, 2)}),
        ("reputation/rows", {"account": "bob", "reputation": 2**63}),
        ("follow/follows", {"follower": "bob", "following": "alice", "what": 8}),
        ("follow/counts", {"account": "bob", "follower_count": -1}),
        ("follow/blogs", {"account": "bob", "comment": PLACE, "number": 2**32}),
        ("follow/authors", {"blogger": "bob", "guest": "alice", "count": -1}),
        ("market_history/buckets", {"open": 7, "seconds": 15}),
        ("market_history/buckets", {"open": 0, "seconds": 16}),
        ("market_history/trades", {"number": 0, "current_pays": Asset(-1)}),
        ("tags/authors", {"author": "bob", "tag": "sea", "total_posts": -1}),
        ("tags/totals", {"tag": "sea", "top_posts": -1}),
        ("communities/notifications", {"type": 99, "dst": "bob", "created": 1}),
    ],
)
def test_impossible_values_are_refused(section: str, row: dict[str, Any]) -> None:
    state = chain_at(plugins=PLUGINS).state if section == "rc/pools" else partial_state()
    with pytest.raises(ValueError, match=r"."):
        import_rows(state, {section: [row]})


def test_a_bar_that_has_regenerated_for_too_long_is_full() -> None:
    state = partial_state()
    import_rows(state, {"accounts": [{"name": "carol"}], "rc/accounts": [{"account": "carol", "mana": 5, "adjustment": 2**56}]})
    regenerate(state, RC.of(state), "carol")
    assert [row["mana"] for row in export_rows(state)["rc/accounts"] if row["account"] == "carol"] == [2**56]


def test_times_after_the_head_are_cut() -> None:
    state = partial_state()
    import_rows(state, {"accounts": [{"name": "carol"}], "rc/accounts": [{"account": "carol", "mana_time": NOW + 5}]})
    assert [row["mana_time"] for row in export_rows(state)["rc/accounts"] if row["account"] == "carol"] == [NOW]


def test_an_undone_import_leaves_nothing() -> None:
    chain = chain_at(plugins=PLUGINS)
    before, mark = shown_digest(chain.state), chain.state.journal.position()
    player = Player(CASES / "communities")
    player.advance(45)
    known = {account.name for account in chain.state.accounts}
    batch = {name: rows for name, rows in export_rows(player.chain.state).items() if "/" in name or name.startswith("comment")}
    batch |= {"accounts": [{"name": f"{row['name']}"} for row in export_rows(player.chain.state)["accounts"] if row["name"] not in known]}
    import_rows(chain.state, batch)
    assert shown_digest(chain.state) != before
    chain.state.journal.undo(mark)
    assert shown_digest(chain.state) == before
