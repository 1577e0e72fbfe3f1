"""The search for blocks, transactions, accounts, posts, keys and tokens."""

from typing import Any

import pytest

from rpc.api.explorer import search
from state.operations.content import Comment
from state.plugins.social.plugin import COMMUNITIES
from state.plugins.social.rows import Community
from state.protocol.keys.keys import public_key, public_key_text
from state.protocol.values.asset import nai_text, symbol_from_digits
from state.tables.proposals import Proposal
from state.tables.smt import SmtToken
from tests.helpers.api import ApiChain, secret

METHOD = "explorer_api.find"


@pytest.fixture(scope="module")
def api() -> ApiChain:
    made = ApiChain("dev", plugins=("account_by_key", "account_history", "communities", "debug_node_api", "tags"))
    made.generate(3)
    made.account("alicia")
    made.account("zoe.the-first")
    made.chain.push_transaction(
        made.transaction(Comment("", "news", "alicia", "hello", "Hello", "text", '{"tags": ["news"]}'), signers=(secret("alicia"),))
    )
    made.generate()
    return made


def found(api: ApiChain, text: str) -> list[dict[str, Any]]:
    hits: list[dict[str, Any]] = api.call(METHOD, text=text)
    return hits


def account(name: str, is_exact: bool = True) -> dict[str, Any]:
    return {"kind": "account", "is_exact": is_exact, "account": name}


@pytest.mark.parametrize("text", ["3", " 3 ", "#3", "0,003"])
def test_blocks_by_number(api: ApiChain, text: str) -> None:
    assert found(api, text) == [{"kind": "block", "is_exact": True, "block_num": 3}]


def test_numbers_without_a_block_find_nothing(api: ApiChain) -> None:
    assert found(api, "1,000") == found(api, "0") == found(api, "9" * 300) == []


def test_blocks_and_transactions_by_id(api: ApiChain) -> None:
    block = api.chain.block_by_number(4)
    assert block is not None
    assert found(api, block.id.hex().upper()) == [{"kind": "block", "is_exact": True, "block_num": 4, "id": block.id.hex()}]
    trx = block.transactions[0].id.hex()
    assert found(api, trx) == [{"kind": "transaction", "is_exact": True, "block_num": 4, "id": trx}]
    assert found(api, block.id.hex()[:-1] + "x") == found(api, "00" * 20) == []


@pytest.mark.parametrize("size", [8, 10, 11, 12, 39])
def test_blocks_and_transactions_by_the_first_digits(api: ApiChain, size: int) -> None:
    block = api.chain.block_by_number(4)
    assert block is not None
    number, trx = block.id.hex(), block.transactions[0].id.hex()
    assert {"kind": "block", "is_exact": False, "block_num": 4, "id": number} in found(api, number[:size] + "…")
    assert found(api, trx[:size]) == [{"kind": "transaction", "is_exact": False, "block_num": 4, "id": trx}]
    assert found(api, trx[:5]) == found(api, trx[:size].translate(str.maketrans("0123456789abcdef", "123456789abcdef0"))) == []


def test_digits_of_a_block_id_are_not_a_number(api: ApiChain) -> None:
    assert {"kind": "block", "is_exact": True, "block_num": 3} not in found(api, "00000003")
    assert found(api, "0000000003") == []


def test_a_pending_transaction_by_its_first_digits() -> None:
    api = ApiChain("dev", plugins=("debug_node_api",))
    api.generate(2)
    api.account("alicia")
    comment = Comment("", "news", "alicia", "hello", "Hello", "text", "{}")
    api.chain.push_transaction(api.transaction(comment, signers=(secret("alicia"),)))
    (trx,) = api.chain.pending
    assert found(api, trx.id.hex()[:10]) == [{"kind": "transaction", "is_exact": False, "block_num": None, "id": trx.id.hex()}]


def test_tags(api: ApiChain) -> None:
    assert found(api, "#news") == found(api, "#NEWS") == [{"kind": "tag", "is_exact": True, "tag": "news"}]
    assert found(api, "#nothing") == found(ApiChain("dev", plugins=()), "#news") == []


def test_titles_of_posts(api: ApiChain) -> None:
    post = {"kind": "post", "is_exact": False, "account": "alicia", "permlink": "hello", "title": "Hello"}
    assert found(api, "hello") == found(api, "ELL") == [post]
    assert found(api, "lo") == found(api, "hello there") == []
    assert found(api, "hell " * 10 + "there") == found(api, "hello …") == [post]


def test_long_posts_end_the_search_for_titles(monkeypatch: pytest.MonkeyPatch) -> None:
    made = ApiChain("dev", plugins=())
    for account, permlink, size in (("alicia", "older", 5), ("robert", "long", 1000)):
        made.account(account)
        made.chain.push_transaction(
            made.transaction(Comment("", "news", account, permlink, "A title", "x" * size, ""), signers=(secret(account),))
        )
        made.generate()
    assert [hit["permlink"] for hit in found(made, "title")] == ["long", "older"]
    monkeypatch.setattr(search, "TEXTS_READ_MAX", 900)
    assert [hit["permlink"] for hit in found(made, "title")] == ["long"]


def test_proposals() -> None:
    api = ApiChain("dev", plugins=())
    api.state.proposals.insert(Proposal(proposal_id=0, creator="alice", subject="Write the docs"))
    api.state.proposals.insert(Proposal(proposal_id=7, creator="bob", subject="Docs for bob"))
    first = {"kind": "proposal", "is_exact": True, "proposal_id": 0, "title": "Write the docs"}
    second = {"kind": "proposal", "is_exact": False, "proposal_id": 7, "title": "Docs for bob"}
    assert found(api, "proposal 0") == found(api, "Proposal #0") == [first]
    assert found(api, "proposal docs") == found(api, "docs") == [first | {"is_exact": False}, second]
    assert found(api, "docs bob") == [second]
    assert found(api, "proposal 9") == found(api, "proposal nothing") == []


@pytest.mark.parametrize("text", ["aliciaa", "alcia", "alicai", "alicja", "@ALCIA"])
def test_a_name_with_a_typo(api: ApiChain, text: str) -> None:
    assert account("alicia", False) | {"is_similar": True} in found(api, text)


def test_accounts(api: ApiChain) -> None:
    assert found(api, "@alicia") == found(api, "ALICIA") == [account("alicia")]
    assert found(api, "ali") == [account("alice", False), account("alicia", False)]
    assert found(api, "alice") == [account("alice")]
    assert found(api, "zoe.the") == [account("zoe.the-first", False)]
    assert found(api, "nobody") == found(api, "") == found(api, "@") == found(api, "a b") == []


@pytest.mark.parametrize(
    "text",
    [
        "alicia/hello",
        "@alicia/hello",
        "/@alicia/hello",
        "https://example.com/news/@alicia/hello?sort=new#comments",
        "https://example.com/@alicia/hello",
        "example.com/news/@alicia/hello",
        "https://example.com/news/@bob/other#@alicia/hello",
    ],
)
def test_posts(api: ApiChain, text: str) -> None:
    assert found(api, text) == [{"kind": "post", "is_exact": True, "account": "alicia", "permlink": "hello"}]


def test_a_missing_post_finds_its_author(api: ApiChain) -> None:
    assert found(api, "alicia/bye") == [account("alicia", False)]
    assert found(api, "https://example.com/@alicia") == [account("alicia")]
    assert found(api, "https://example.com/alicia/hello") == found(api, "nobody/hello") == []


def test_public_keys(api: ApiChain) -> None:
    key = api.state.authority("alice").owner.key_auths[0][0]
    own = public_key_text(key, "TST")
    wanted = [{"kind": "key", "is_exact": True, "key": own, "accounts": ["alice"], "roles": {"alice": ["owner"]}}]
    memo = public_key_text(api.state.account("alice").memo_key, "TST")
    assert found(api, memo)[0]["roles"] == {"alice": ["memo"]}
    assert found(api, own) == found(api, public_key_text(key, "STM")) == wanted
    signing = api.state.witness("initminer").signing_key
    assert "signing" in found(api, public_key_text(signing, "TST"))[0]["roles"]["initminer"]
    unknown = public_key_text(public_key(secret("nobody")), "TST")
    assert found(api, unknown) == [{"kind": "key", "is_exact": True, "key": unknown, "accounts": [], "roles": {}}]
    assert found(api, own[:-1] + ("1" if own[-1] != "1" else "2")) == []
    assert found(ApiChain("dev", plugins=()), own)[0]["accounts"] is None


def test_tokens(api: ApiChain) -> None:
    coin = [{"kind": "token", "is_exact": True, "nai": "@@000000021", "symbol": "COIN"}]
    assert found(api, "@@000000021") == found(api, "000000021") == coin
    assert found(api, "coin") == [*coin, account("coin.dao", False)]
    assert found(api, "VESTS")[0]["nai"] == "@@000000037"
    assert found(api, "@@000000022") == found(api, "@@123456789") == []


def test_communities_and_smt_tokens() -> None:
    api = ApiChain("dev", plugins=("communities", "debug_node_api"))
    api.generate(2)
    api.account("coin-100001")
    COMMUNITIES.of(api.state).communities.insert(Community(name="coin-100001", title="Mountain people", about="We climb"))
    titled = {"kind": "community", "is_exact": False, "name": "coin-100001", "title": "Mountain people"}
    assert found(api, "mountain") == found(api, "people climb") == [titled]
    assert found(api, "coin-100001") == [account("coin-100001"), {"kind": "community", "is_exact": True, "name": "coin-100001"}]
    symbol = symbol_from_digits(12_345_678, 3)
    api.state.smt_tokens.insert(SmtToken(liquid_symbol=symbol, control_account="alice"))
    wanted = [{"kind": "token", "is_exact": True, "nai": nai_text(symbol), "symbol": None}]
    assert found(api, nai_text(symbol)) == found(api, nai_text(symbol)[2:]) == wanted
    assert found(api, nai_text(symbol)[:-1] + str((int(nai_text(symbol)[-1]) + 1) % 10)) == []


def test_at_most_twenty_accounts_are_found(api: ApiChain) -> None:
    for i in range(30):
        api.account(f"many{i:02}")
    assert [hit["account"] for hit in found(api, "many")] == [f"many{i:02}" for i in range(20)]


@pytest.mark.parametrize("piece", ["#@", "#@a/", "/@", "%40", "@@", "://", "#", "?", "%", "\u0660", "9,", "\ud7ff", "a/"])
def test_odd_texts_find_nothing(api: ApiChain, piece: str) -> None:
    for count in (1, 7, 400, 2000):
        assert all(hit["kind"] in ("account", "block") for hit in found(api, piece * count))
