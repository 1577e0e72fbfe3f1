"""The origin of a forked chain, and accounts that it has only a part of."""

from msgspec.structs import replace

from rpc.fork import FETCHES_SHOWN_MAX, Fetch, Fork, ForkOrigin
from state.portable import export_rows, import_world
from state.portable.imports import WORLD
from state.tables.partial import PartialAccount
from tests.helpers.api import ApiChain
from tests.helpers.chains import genesis_spec
from tests.helpers.partial import rows_of


def a_fork() -> Fork:
    origin = ForkOrigin(
        source="https://api.example",
        chain_id="ab" * 32,
        number=50_000_000,
        block_id="cd" * 20,
        time=1_700_000_001,
        accounts=("alice", "bob"),
        posts=("@alice/hello",),
        newest_posts=3,
        counts={"accounts": 2},
        notes=("the source has no rc_api",),
    )
    return Fork(origin)


def test_a_chain_from_genesis_has_no_fork() -> None:
    api = ApiChain("dev")
    assert api.call("explorer_api.get_fork") is None
    assert "fork" not in api.call("explorer_api.get_overview")


def test_the_origin_of_a_fork() -> None:
    api = ApiChain("dev")
    api.devchain.fork = a_fork()
    expected = {"source": "https://api.example", "block_num": 50_000_000, "time": "2023-11-14T22:13:21", "is_complete": False}
    assert api.call("explorer_api.get_overview")["fork"] == expected
    found = api.call("explorer_api.get_fork")
    assert expected.items() <= found.items()
    assert (found["accounts"], found["posts"], found["newest_posts"]) == (["alice", "bob"], ["@alice/hello"], 3)
    assert (found["counts"], found["notes"]) == ({"accounts": 2}, ["the source has no rc_api"])
    assert (found["fetches"], found["last_fetches"], found["given"]) == (0, [], None)


def test_the_last_fetches_and_the_totals() -> None:
    fork = a_fork()
    for i in range(FETCHES_SHOWN_MAX + 5):
        fork.record(Fetch(time=1_700_000_100 + i, what=f"account a{i}", rows=2, size=100, milliseconds=5))
    fork.record(Fetch(time=1_700_000_200, what="post @bob/lost", error="the source is silent"))
    api = ApiChain("dev")
    api.devchain.fork = fork
    found = api.call("explorer_api.get_fork")
    assert (found["fetches"], found["failed_fetches"], found["fetched_rows"], found["fetched_bytes"]) == (56, 1, 110, 5500)
    assert len(found["last_fetches"]) == FETCHES_SHOWN_MAX
    assert found["last_fetches"][0] == {
        "time": "2023-11-14T22:16:40",
        "what": "post @bob/lost",
        "rows": 0,
        "bytes": 0,
        "milliseconds": 0,
        "error": "the source is silent",
    }
    assert found["last_fetches"][1]["what"] == f"account a{FETCHES_SHOWN_MAX + 4}"


def test_accounts_of_which_a_fork_has_a_part() -> None:
    api = ApiChain(replace(genesis_spec("dev"), is_partial=True))
    for name in ("whole", "light", "named"):
        api.account(name)
    api.state.partial_accounts.insert(PartialAccount(account="light", is_light=True))
    api.state.partial_accounts.insert(PartialAccount(account="named"))
    found = api.call("explorer_api.list_partial_accounts", accounts=["whole", "named", "nobody", "light", "named"])
    assert found == [{"name": "named", "is_light": False}, {"name": "light", "is_light": True}]
    assert ApiChain("dev").call("explorer_api.list_partial_accounts", accounts=["alice"]) == []


def test_what_a_fork_was_given_from_outside() -> None:
    source = ApiChain("dev").state
    batch, api = export_rows(source), ApiChain(replace(source.spec, is_partial=True))
    import_world(api.state, {name: batch[name] for name in WORLD} | rows_of(batch, ["alice"]))
    api.devchain.fork = a_fork()
    given = api.call("explorer_api.get_fork")["given"]
    assert (given["full_accounts"], given["light_accounts"], given["witness_votes"]) == (1, 0, {})
    assert given["named_accounts"] == len(api.state.accounts) - 2
    api.state.outside_witness_votes.modify(api.state.outside_witness_votes.by_witness.find("initminer"), weight=2**60)
    assert api.call("explorer_api.get_fork")["given"]["witness_votes"] == {"initminer": str(2**60)}
