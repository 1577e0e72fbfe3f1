"""What a text stands for."""

from typing import Any

import pytest

from state.operations.content import Comment
from state.plugins.social.plugin import COMMUNITIES
from state.plugins.social.rows import Community
from state.protocol.keys.keys import public_key, public_key_text
from state.protocol.values.asset import nai_text, symbol_from_digits
from state.tables.smt import SmtToken
from tests.helpers.api import Site, secret

METHOD = "explorer_api.find"


@pytest.fixture(scope="module")
def site() -> Site:
    made = Site("dev", plugins=("account_by_key", "account_history", "communities", "debug_node_api"))
    made.generate(3)
    made.account("alicia")
    made.account("zoe.the-first")
    made.chain.push_transaction(
        made.transaction(Comment("", "news", "alicia", "hello", "Hello", "text", "{}"), signers=(secret("alicia"),))
    )
    made.generate()
    return made


def found(site: Site, text: str) -> list[dict[str, Any]]:
    hits: list[dict[str, Any]] = site.call(METHOD, text=text)
    return hits


def account(name: str, is_exact: bool = True) -> dict[str, Any]:
    return {"kind": "account", "is_exact": is_exact, "account": name}


@pytest.mark.parametrize("text", ["3", " 3 ", "#3", "0,003"])
def test_blocks_by_number(site: Site, text: str) -> None:
    assert found(site, text) == [{"kind": "block", "is_exact": True, "block_num": 3}]


def test_numbers_of_no_block(site: Site) -> None:
    assert found(site, "1,000") == found(site, "0") == found(site, "9" * 300) == []


def test_blocks_and_transactions_by_id(site: Site) -> None:
    block = site.chain.block_by_number(4)
    assert block is not None
    assert found(site, block.id.hex().upper()) == [{"kind": "block", "is_exact": True, "block_num": 4, "id": block.id.hex()}]
    trx = block.transactions[0].id.hex()
    assert found(site, trx) == [{"kind": "transaction", "is_exact": True, "block_num": 4, "id": trx}]
    assert found(site, block.id.hex()[:-1] + "x") == found(site, "00" * 20) == []


def test_accounts(site: Site) -> None:
    assert found(site, "@alicia") == found(site, "ALICIA") == [account("alicia")]
    assert found(site, "ali") == [account("alice", False), account("alicia", False)]
    assert found(site, "alice") == [account("alice")]
    assert found(site, "zoe.the") == [account("zoe.the-first", False)]
    assert found(site, "nobody") == found(site, "") == found(site, "@") == found(site, "a b") == []


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
def test_posts(site: Site, text: str) -> None:
    assert found(site, text) == [{"kind": "post", "is_exact": True, "account": "alicia", "permlink": "hello"}]


def test_the_author_of_a_post_that_is_not_there(site: Site) -> None:
    assert found(site, "alicia/bye") == [account("alicia", False)]
    assert found(site, "https://example.com/@alicia") == [account("alicia")]
    assert found(site, "https://example.com/alicia/hello") == found(site, "nobody/hello") == []


def test_public_keys(site: Site) -> None:
    key = site.state.authority("alice").owner.key_auths[0][0]
    own = public_key_text(key, "TST")
    wanted = [{"kind": "key", "is_exact": True, "key": own, "accounts": ["alice"]}]
    assert found(site, own) == found(site, public_key_text(key, "STM")) == wanted
    unknown = public_key_text(public_key(secret("nobody")), "TST")
    assert found(site, unknown) == [{"kind": "key", "is_exact": True, "key": unknown, "accounts": []}]
    assert found(site, own[:-1] + ("1" if own[-1] != "1" else "2")) == []
    assert found(Site("dev", plugins=()), own)[0]["accounts"] is None


def test_tokens(site: Site) -> None:
    coin = [{"kind": "token", "is_exact": True, "nai": "@@000000021", "symbol": "COIN"}]
    assert found(site, "@@000000021") == found(site, "000000021") == coin
    assert found(site, "coin") == [*coin, account("coin.dao", False)]
    assert found(site, "VESTS")[0]["nai"] == "@@000000037"
    assert found(site, "@@000000022") == found(site, "@@123456789") == []


def test_communities_and_made_tokens() -> None:
    site = Site("dev", plugins=("communities", "debug_node_api"))
    site.generate(2)
    site.account("coin-100001")
    COMMUNITIES.of(site.state).communities.insert(Community(name="coin-100001"))
    assert found(site, "coin-100001") == [account("coin-100001"), {"kind": "community", "is_exact": True, "name": "coin-100001"}]
    symbol = symbol_from_digits(12_345_678, 3)
    site.state.smt_tokens.insert(SmtToken(liquid_symbol=symbol, control_account="alice"))
    wanted = [{"kind": "token", "is_exact": True, "nai": nai_text(symbol), "symbol": None}]
    assert found(site, nai_text(symbol)) == found(site, nai_text(symbol)[2:]) == wanted
    assert found(site, nai_text(symbol)[:-1] + str((int(nai_text(symbol)[-1]) + 1) % 10)) == []


def test_at_most_twenty(site: Site) -> None:
    for i in range(30):
        site.account(f"many{i:02}")
    assert [hit["account"] for hit in found(site, "many")] == [f"many{i:02}" for i in range(20)]


@pytest.mark.parametrize("piece", ["#@", "#@a/", "/@", "%40", "@@", "://", "#", "?", "%", "\u0660", "9,", "\ud7ff", "a/"])
def test_odd_texts_name_nothing(site: Site, piece: str) -> None:
    for count in (1, 7, 400, 2000):
        assert all(hit["kind"] in ("account", "block") for hit in found(site, piece * count))
