"""All operations compared with the `op.*` vectors: their bytes, both JSON formats, the accounts that must sign, and the accounts whose
history they enter.

test_operations_recorded.py and test_operations_refusals.py test their stateless refusals.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from msgspec.structs import replace

from node.specs.builder import load_spec
from state.operations.authorities import AccountUpdate, AccountUpdate2, SetResetAccount
from state.operations.custom import CustomBinary, CustomJson
from state.protocol.authority import Authority
from state.protocol.codec.codecs import ChainCodecs
from state.protocol.codec.kinds import CoinFee
from state.protocol.errors import Refused
from state.protocol.operation import OPERATIONS, Needed, Operation, wire_tag
from state.protocol.values.asset import COIN, SBD, Asset
from tests.conftest import ROOT
from tests.helpers.operations import KEY, KIND, SAMPLES, sample
from tests.helpers.wire import ANY, VECTOR_CODECS, VECTORS, refusal, vectors


def test_every_tag_is_declared() -> None:
    """The tags of operations have no gaps, and each operation has a vector."""
    assert sorted(OPERATIONS) == list(range(len(OPERATIONS)))
    assert {cls.NAME for cls in OPERATIONS.values()} == set(SAMPLES)


def test_importing_the_package_declares_all_operations() -> None:
    """An operation whose module the package doesn't import would be missing from the registry."""
    folder = ROOT / "state" / "operations"
    declaring = {path for path in folder.rglob("*.py") if "\n@operation(" in path.read_text("utf-8")}
    code = "import sys, state.operations; print(*(name for name in sys.modules if name.startswith('state.operations.')))"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    assert declaring
    assert {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in declaring} <= set(loaded)


# ------------------------------------------------------------------ vectors


@pytest.mark.parametrize("example", vectors("op"))
def test_forms(example: Any) -> None:
    """An example in NAI JSON and in condenser JSON decodes to the same object, which encodes to the example's bytes and to both JSON
    formats.
    """
    given, legacy, packed = example["input"]["json"], example["input"]["legacy"], bytes.fromhex(example["expect"]["hex"])
    operation = VECTOR_CODECS.parser(ANY)(given)
    assert operation.TAG == wire_tag(operation.TAG, smt=True) == example["expect"]["which"]
    assert VECTOR_CODECS.packer(ANY)(operation) == packed
    assert VECTOR_CODECS.unpacker(ANY)(packed, 0) == (operation, len(packed))
    assert (VECTOR_CODECS.dumper(ANY) or repr)(operation) == given
    if legacy is not None:
        assert VECTOR_CODECS.parser(ANY, True)(legacy) == operation
        added: dict[str, Any] = {"extensions": []} if operation.NAME == "create_proposal" else {}
        assert (VECTOR_CODECS.dumper(ANY, True) or repr)(operation) == [legacy[0], legacy[1] | added]
    else:
        assert operation.TAG in range(47, 54)


@pytest.mark.parametrize("example", vectors("op"))
def test_authorities_and_outcome(example: Any) -> None:
    operation, expect = VECTOR_CODECS.parser(ANY)(example["input"]["json"]), example["expect"]
    needed = Needed.by((operation,))
    assert sorted(needed.active) == expect["active"]
    assert sorted(needed.owner) == expect["owner"]
    assert sorted(needed.posting) == expect["posting"]
    assert [VECTOR_CODECS.dump(authority) for authority in needed.other] == expect["other"]
    refused = refusal(operation, VECTOR_CODECS)
    assert bool(refused) == (expect["validate"] == "error"), refused
    if operation.VIRTUAL:
        assert refused == "This is a virtual operation"


@pytest.mark.parametrize("example", [p for p in vectors("op") if p.values[0]["expect"]["which"] in range(54, 73)])
def test_without_smt_virtual_operations_move_down(example: Any) -> None:
    codecs = ChainCodecs(replace(VECTOR_CODECS.spec, smt=False))
    packed = bytes.fromhex(example["expect"]["hex"])
    moved = bytes((packed[0] - 7,)) + packed[1:]
    operation = VECTOR_CODECS.unpacker(ANY)(packed, 0)[0]
    assert codecs.packer(ANY)(operation) == moved
    assert codecs.unpacker(ANY)(moved, 0) == (operation, len(moved))


def test_the_condenser_keeps_the_extensions_of_proposals() -> None:
    """The reference drops these extensions for create_proposal, so a signature over them would not verify (rpc-api.md §4.3)."""
    given = {"creator": "alice", "extensions": [[0, {}]]}
    assert len(VECTOR_CODECS.parser(ANY, True)(["create_proposal", given]).extensions) == 1
    assert len(VECTOR_CODECS.parser(ANY, True)(["remove_proposal", given]).extensions) == 1


def test_vote_assets_do_not_exist_without_smt() -> None:
    with_assets = VECTOR_CODECS.packer(KIND)(sample("comment_options"))
    with pytest.raises(Refused, match=r"w < count\(\) && w >= 0: "):
        ChainCodecs(replace(VECTOR_CODECS.spec, smt=False)).unpack(KIND, with_assets)


def test_condenser_copies_allow_votes() -> None:
    """The reference's condenser changes the field to true, so a signature over `false` would not verify (rpc-api.md §4.3, §9.3)."""
    name, given = SAMPLES["comment_options"]["input"]["legacy"]
    assert VECTOR_CODECS.parser(KIND, True)([name, given | {"allow_votes": False}]).allow_votes is False
    assert VECTOR_CODECS.parser(KIND, True)([name, {}]).allow_votes is True


# ------------------------------------------------------------------ who must sign, who is touched


def test_signers_that_depend_on_the_content() -> None:
    def needed(operation: Operation) -> tuple[set[str], set[str], set[str]]:
        all_of_it = Needed.by((operation,))
        return all_of_it.posting, all_of_it.active, all_of_it.owner

    authority, alice = Authority(), {"alice"}
    assert needed(AccountUpdate("alice", owner=authority, posting=authority)) == (set(), set(), alice)
    assert needed(AccountUpdate("alice", posting=authority)) == (set(), alice, set())
    assert needed(AccountUpdate2("alice", owner=authority, memo_key=KEY)) == (set(), set(), alice)
    for active in ({"active": authority}, {"posting": authority}, {"memo_key": KEY}, {"json_metadata": "{}"}):
        assert needed(AccountUpdate2("alice", **active)) == (set(), alice, set())
    assert needed(AccountUpdate2("alice", posting_json_metadata="{}")) == (alice, set(), set())
    assert needed(SetResetAccount("alice", "bob", "carol")) == (set(), set(), alice)
    assert needed(SetResetAccount("alice", "", "carol")) == (alice, set(), set())


def test_custom_json_requires_both_roles() -> None:
    needed = Needed.by((CustomJson(required_auths=("alice",), required_posting_auths=("bob", "carol"), json="1"),))
    assert (needed.active, needed.posting, needed.owner) == ({"alice"}, {"bob", "carol"}, set())


def test_custom_binary_requires_every_role() -> None:
    authority = Authority(1)
    needed = Needed.by((CustomBinary(("own",), ("act",), ("post",), (authority,)),))
    assert needed == Needed({"post"}, {"act"}, {"own"}, [authority])


IMPACTED = [
    ("op.14", {"admin"}),
    ("op.15", {"alice", "bob"}),
    ("op.16", set()),
    ("op.18", {"alice"}),
    ("op.27", {"alice", "bob", "charlie"}),
    ("op.28", {"alice", "bob", "charlie"}),
    ("op.29", {"alice", "bob", "charlie"}),
    ("op.30", {"alice"}),
    ("op.31", {"alice", "bob", "charlie"}),
    ("op.35", {"alice"}),
    ("op.39", {"alice"}),
    ("op.44", {"alice", "bob"}),
    ("op.45", {"alice"}),
    ("op.46", {"alice"}),
    *((f"op.{tag}", {"alice"}) for tag in range(47, 54)),
    ("op.57", set()),
    ("op.64", {"initminer"}),
    ("op.65", set()),
    ("op.69", set()),
    ("op.70", {"coin.dao"}),
    ("op.71", {"coin.dao"}),
    ("op.72", {"alice", "community321"}),
]


@pytest.mark.parametrize(("name", "accounts"), IMPACTED, ids=[name for name, _ in IMPACTED])
def test_impacted(name: str, accounts: set[str]) -> None:
    example = next(v for v in VECTORS if v["id"].startswith(f"{name}."))
    assert VECTOR_CODECS.parser(ANY)(example["input"]["json"]).impacted() == accounts


TOUCHED = {
    "vote": "author voter",
    "comment": "author parent_author",
    "transfer": "from_ to",
    "transfer_to_vesting": "from_ to",
    "withdraw_vesting": "account",
    "limit_order_create": "owner",
    "limit_order_cancel": "owner",
    "feed_publish": "publisher",
    "convert": "owner",
    "account_create": "creator new_account_name",
    "account_update": "account",
    "witness_update": "owner",
    "account_witness_vote": "account witness",
    "account_witness_proxy": "account proxy",
    "delete_comment": "author",
    "comment_options": "author",
    "set_withdraw_vesting_route": "from_account to_account",
    "limit_order_create2": "owner",
    "claim_account": "creator",
    "create_claimed_account": "creator new_account_name",
    "request_account_recovery": "account_to_recover recovery_account",
    "recover_account": "account_to_recover",
    "change_recovery_account": "account_to_recover",
    "transfer_to_savings": "from_ to",
    "transfer_from_savings": "from_ to",
    "cancel_transfer_from_savings": "from_",
    "decline_voting_rights": "account",
    "reset_account": "reset_account",
    "set_reset_account": "account",
    "delegate_vesting_shares": "delegatee delegator",
    "account_create_with_delegation": "creator new_account_name",
    "witness_set_properties": "owner",
    "account_update2": "account",
    "fill_convert_request": "owner",
    "author_reward": "author",
    "curation_reward": "curator",
    "liquidity_reward": "owner",
    "interest": "owner",
    "fill_vesting_withdraw": "from_account to_account",
    "fill_order": "current_owner open_owner",
    "shutdown_witness": "owner",
    "fill_transfer_from_savings": "from_ to",
    "return_vesting_delegation": "account",
    "comment_benefactor_reward": "author benefactor",
    "producer_reward": "producer",
}


@pytest.mark.parametrize("name", TOUCHED)
def test_impacted_fields(name: str) -> None:
    fields = TOUCHED[name].split()
    operation = replace(sample(name), **{field: f"in-{field.strip('_')}" for field in fields})
    assert operation.impacted() == {f"in-{field.strip('_')}" for field in fields}


def test_impacted_accounts_that_depend_on_the_values() -> None:
    assert replace(sample("proposal_pay"), receiver="alice").impacted() == {"alice", "coin.dao"}
    assert replace(sample("comment"), parent_author="", author="alice").impacted() == {"alice"}
    assert replace(sample("transfer_to_vesting"), from_="alice", to="").impacted() == {"alice"}
    assert replace(sample("account_witness_proxy"), account="alice", proxy="").impacted() == {"alice", ""}


def test_missing_fields_have_the_references_defaults() -> None:
    read = VECTOR_CODECS.parser(ANY)
    transfer = read({"type": "escrow_transfer_operation", "value": {}})
    assert (transfer.escrow_id, transfer.sbd_amount, transfer.coin_amount) == (30, Asset(0, SBD), Asset(0, COIN))
    assert read({"type": "escrow_approve_operation", "value": {}}).approve is True
    assert read({"type": "smt_setup_operation", "value": {}}).max_supply == 10**15
    assert read({"type": "interest_operation", "value": {}}).interest == Asset(0, SBD)
    for tag, cls in OPERATIONS.items():
        default = read({"type": f"{cls.NAME}_operation", "value": {}})
        assert type(default) is cls
        unpacked = VECTOR_CODECS.unpack(cls, VECTOR_CODECS.pack(default))
        assert default == unpacked
        if tag not in (14, 30):
            assert default == cls()


@pytest.mark.parametrize(("chain", "fee"), [("steem-testnet", 0), ("steem-mainnet", 1)])
@pytest.mark.parametrize("name", ["pow_operation", "pow2_operation"])
def test_missing_fee_is_the_lowest_of_the_build(chain: str, fee: int, name: str) -> None:
    read = ChainCodecs(load_spec(chain)).parser(ANY)
    bodies: tuple[dict[str, Any], ...] = ({}, {"props": {}})
    for body in bodies:
        assert read({"type": name, "value": body}).props.account_creation_fee == CoinFee(fee)
