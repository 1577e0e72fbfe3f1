"""A chain with expensive rows behind the service of a node. The rows make transactions, calls and blocks expensive. The chain is always the
same.

Accounts are inserted directly. Unsigned operations outside of blocks create most other rows. All accounts have the same key.
"""

import json
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

from msgspec import Struct

from node.app.service import new_service
from node.devchain.devchain import DevChain
from node.processor.processor import REAPPLY_MILLISECONDS_MAX, Processor
from node.runtime.clock import ChainClock, TimeLimit
from node.specs.builder import load_spec
from rpc.explain.budget import SharedBudget
from rpc.explain.explainer import Explainer
from rpc.jsonrpc.dispatch import Service
from rpc.jsonrpc.scheduler import ReadGate
from state.chain import production
from state.chain.chain import Chain
from state.chain.genesis import new_state
from state.chain.slots import scheduled_witness, slot_time
from state.chain.transactions import apply_transaction, canonical_rule
from state.operations.content import Beneficiary, Comment, CommentOptions, CommentPayoutBeneficiaries, Vote
from state.operations.custom import CustomJson
from state.operations.escrow import EscrowTransfer
from state.operations.market import Convert, LimitOrderCreate
from state.operations.proposals import CreateProposal, UpdateProposalVotes
from state.operations.transfers import Transfer, TransferFromSavings
from state.operations.vesting import DelegateVestingShares, SetWithdrawVestingRoute, WithdrawVesting
from state.operations.witnesses import AccountWitnessProxy, AccountWitnessVote, WitnessUpdate
from state.plugins.registry import PLUGINS, enable
from state.plugins.social.plugin import COMMUNITIES, register
from state.protocol.authority import Authority, key_authority
from state.protocol.constants import COIN_MIN_BLOCK_SIZE_LIMIT, COIN_SOFT_MAX_BLOCK_SIZE
from state.protocol.keys.keys import public_key, secret_from_seed, secret_from_wif
from state.protocol.keys.signatures import sign
from state.protocol.operation import Operation
from state.protocol.transaction import SignedTransaction
from state.protocol.values.asset import COIN, SBD, VESTS, Asset
from state.protocol.work import NEVER
from state.tables import State
from state.tables.accounts import Account, AccountAuthority, AccountMetadata
from tests.helpers.chains import UNSIGNED

NOW = 1_700_000_000
SECRET = secret_from_seed("dearest")
KEY = public_key(SECRET)
WITNESSES, VOTES, MEMBERS = 60, 30, 39  # witnesses, the maximum number of votes of an account, members of a large authority
SHARES, COINS = 10**15, 10**9
LONG = "word and \u20ac " * 5_000


class Sizes(Struct, frozen=True):
    """The number of rows of each kind."""

    users: int = 3000
    posts: int = 4000
    orders: int = 20_000
    deep: int = 255
    proposals: int = 1000
    communities: int = 200
    large: int = 40_000  # transfers in one block


FULL, SMALL = Sizes(), Sizes(users=50, posts=20, orders=20, deep=5, proposals=5, communities=3, large=30)


class World:
    """A chain, the components of a node that use it, and the names of the accounts, posts and other rows that it contains."""

    def __init__(self, sizes: Sizes = FULL) -> None:
        spec = load_spec("testnet")
        self.sizes = sizes
        time_limit = TimeLimit(REAPPLY_MILLISECONDS_MAX)
        self.chain = Chain(new_state(spec, lambda state: enable(state, PLUGINS)), time_limit.is_over)
        self.state = self.chain.state
        self.producer = secret_from_wif(spec.witness_keys[0])
        self._serial = 0
        self.produce(NOW)
        self.users = [f"user-{i:05d}" for i in range(sizes.users)]
        self.voters = [f"voter-{i:02d}" for i in range(10)]
        self.chained = [f"chained-{i}" for i in range(6)]
        self.witnesses = [f"witness-{i:02d}" for i in range(WITNESSES)]
        self.members = [f"member-{i:02d}" for i in range(MEMBERS)]
        self.named = ["star", "maker", "owner", "big"]
        self.communities = [f"coin-1{i:05d}" for i in range(sizes.communities)]
        self._fill()
        clock = ChainClock(lambda: self.state.head_time * 1000)
        self.explainer = Explainer(self.chain, lambda: self.state.head_time)
        gate = ReadGate()
        self.processor = Processor(self.chain, clock=clock, gate=gate, time_limit=time_limit)
        self.devchain = DevChain(self.chain, clock, [self.producer])
        plugins = (*spec.plugins, *PLUGINS)
        shared: Any = {"explainer": self.explainer, "gate": gate, "allowances": self.processor.allowances}
        self.service: Service = new_service(self.chain, self.processor, self.devchain, plugins, **shared)

    @property
    def names(self) -> list[str]:
        """All accounts with a known key."""
        return [*self.users, *self.voters, *self.chained, *self.witnesses, *self.members, *self.named, *self.communities]

    def produce(self, when: int = 0) -> None:
        """Make a block of pending transactions."""
        when = when or slot_time(self.state, 1)
        self.chain.generate_block(when, scheduled_witness(self.state, 1), self.producer, UNSIGNED)

    def apply(self, *operations: Operation) -> None:
        """Apply operations as part of the head block, without limits on their frequency."""
        for one in operations:
            for name in one.impacted():
                row = self.state.accounts.by_name.get(name)
                if row is not None and isinstance(one, Comment | Vote):
                    self.state.accounts.modify(row, last_post=0, last_root_post=0, last_vote_time=0, voting_mana=SHARES)
            self._serial += 1
            trx_id = self._serial.to_bytes(20, "big")
            trx = SignedTransaction(expiration=self.state.head_time + 60, operations=(one,), id=trx_id, size=200)
            apply_transaction(self.state, trx, UNSIGNED)

    def fresh(self) -> None:
        """Drop the pending transactions, and reset the limits on clients and on explanations."""
        self.chain.clear_pending()
        self.processor.allowances._buckets.clear()
        self.explainer._shared_budget = SharedBudget()

    def transaction(
        self, operations: tuple[Operation, ...], secrets: tuple[bytes, ...] = (SECRET,), lifetime: int = 60
    ) -> SignedTransaction:
        """Return a transaction that refers to the head block, signed with these keys."""
        props, wire = self.state.props, self.state.wire
        prefix = int.from_bytes(props.head_block_id[4:8], "little")
        trx = SignedTransaction(props.head_block_number % 2**16, prefix, props.time + lifetime, operations)
        digest = wire.signature_digest(wire.seal(trx))
        trx.signatures = tuple(sign(secret, digest, canonical_rule(self.state)) for secret in secrets)
        return wire.seal(trx)

    # -------------------------------------------------------------- data on the chain

    def _fill(self) -> None:
        state, sizes = self.state, self.sizes
        for name in self.names:
            self._account(name)
        self._authorities()
        count = len(self.names)
        state.set_props(total_vesting_shares=count * SHARES, total_vesting_fund_coin=count * SHARES // 1000, current_supply=10**14)
        state.set_props(virtual_supply=2 * 10**14, current_sbd_supply=10**13)
        for name in self.communities:
            register(state, COMMUNITIES.of(state), name)
        for work in (self._governance, self._market, self._posts, self._social, self._due):
            for operations in work(state, sizes):
                self.apply(operations)
        state.journal.commit(state.journal.position())
        self._long_history()
        make_irreversible(self.chain)

    def _account(self, name: str) -> None:
        own = key_authority(KEY)
        funds: Any = {
            "balance": COINS,
            "sbd_balance": COINS,
            "savings_balance": COINS,
            "savings_sbd_balance": COINS,
            "vesting_shares": SHARES,
        }
        mana: Any = {"voting_mana": SHARES, "downvote_mana": SHARES // 4, "voting_mana_time": NOW, "downvote_mana_time": NOW}
        row = self.state.accounts.insert(Account(name=name, memo_key=KEY, mined=False, created=NOW - 10**7, **funds, **mana))
        self.state.account_authorities.insert(AccountAuthority(account=name, owner=own, active=own, posting=own))
        self.state.account_metadata.insert(AccountMetadata(account=row.id, json_metadata="{}"))

    def _authorities(self) -> None:
        """Create accounts whose authorities have many members, so that finding a matching signature is slowest: only the last member
        matches.
        """
        rows, names = self.state.account_authorities, self.users
        for i, member in enumerate(self.members):
            many = Authority(MEMBERS, tuple((name, 1) for name in sorted((names * MEMBERS)[i : i + MEMBERS])), ())
            rows.modify(self.state.authority(member), owner=many, active=many, posting=many)
        big = Authority(1, tuple((name, 1) for name in self.members), ((KEY, 1),))
        rows.modify(self.state.authority("big"), owner=big, active=big, posting=big)

    def _governance(self, state: State, sizes: Sizes) -> Iterator[Operation]:
        for name in self.witnesses:
            yield WitnessUpdate(name, "url", KEY)
        for name in (*self.voters, "star"):
            yield from (AccountWitnessVote(name, witness, True) for witness in self.witnesses[:VOTES])
        for name, proxy in zip(self.chained, [*self.chained[1:4], "star"], strict=False):
            yield AccountWitnessProxy(name, proxy)
        yield Comment("", "life", "owner", "plan", "A plan", "text", "{}")
        for i in range(sizes.proposals):
            yield CreateProposal("owner", "owner", NOW + 60, NOW + 10**7, Asset(i, SBD), f"Plan {i}", "plan")
        for name in (*self.voters, *self.users[: sizes.users // 10]):
            for begin in range(0, min(sizes.proposals, 20), 5):
                yield UpdateProposalVotes(name, tuple(range(begin, min(begin + 5, sizes.proposals))), True)

    def _market(self, state: State, sizes: Sizes) -> Iterator[Operation]:
        until = state.head_time + 10**6
        for i in range(sizes.orders):
            yield LimitOrderCreate("maker", i, Asset(1, COIN), Asset(1 + i % 7, SBD), False, until)

    def _posts(self, state: State, sizes: Sizes) -> Iterator[Operation]:
        for i in range(sizes.posts):
            author = "star" if i % 4 else self.users[i % len(self.users)]
            category = self.communities[i % len(self.communities)] if i % 3 else f"topic-{i % 50}"
            body = LONG if not i % 500 else "A body"
            tags = json.dumps({"tags": [f"topic-{(i + n) % 50}" for n in range(5)]})
            yield Comment("", category, author, f"post-{i}", "A title", body, tags)
        for i in range(sizes.posts):
            yield Comment("star", "post-1", self.users[i % len(self.users)], f"re-{i}", "", "A reply", "{}")
        parent = "star", "post-2"
        for i in range(sizes.deep - 1):
            author = self.users[i % 7]
            yield Comment(*parent, author, f"deep-{i}", "", "A reply", "{}")
            parent = author, f"deep-{i}"
        shares = CommentPayoutBeneficiaries(tuple(Beneficiary(name, 10) for name in sorted(self.users)[:127]))
        yield CommentOptions("star", "post-3", Asset(10**9, SBD), 10_000, True, True, (shares,))
        for i, name in enumerate(self.users):
            yield Vote(name, "star", "post-1", 10_000)
            yield Vote("star", self.users[i], f"re-{i}", 100) if i < sizes.posts else Vote(name, "star", "post-2", 1)

    def _social(self, state: State, sizes: Sizes) -> Iterator[Operation]:
        def custom(actor: str, what: str, *value: object) -> Operation:
            return CustomJson((), (actor,), what, json.dumps(value))

        for i, name in enumerate(self.users):
            yield custom(name, "follow", "follow", {"follower": name, "following": "star", "what": ["blog"]})
            yield custom("star", "follow", "follow", {"follower": "star", "following": name, "what": ["blog"]})
            yield custom(name, "community", "subscribe", {"community": self.communities[0]})
            yield custom("star", "community", "subscribe", {"community": self.communities[i % len(self.communities)]})
            yield custom(name, "follow", "reblog", {"account": name, "author": "star", "permlink": "post-5"})
            yield Transfer(name, "null", Asset(1 + i, SBD), f"@star/post-{i % sizes.posts // 4 * 4 + 1}")

    def _due(self, state: State, sizes: Sizes) -> Iterator[Operation]:
        now = state.head_time
        for i, name in enumerate(self.users):
            yield DelegateVestingShares("star", name, Asset(10**10, VESTS))
            yield DelegateVestingShares(name, "star", Asset(10**10, VESTS))
            yield Convert("star", i, Asset(1000, SBD))
            yield EscrowTransfer("star", name, Asset(0, SBD), Asset(10, COIN), i, "owner", Asset(1, COIN), "", now + 60, now + 120)
            if i < 100:
                yield TransferFromSavings("star", i, name, Asset(1, COIN), "memo " * 100)
            if i < 10:
                yield SetWithdrawVestingRoute("star", name, 1000, True)
        yield WithdrawVesting("star", Asset(10**12, VESTS))

    def _long_history(self) -> None:
        """Make blocks with many transfers of one account, the last block of maximum size."""
        count = self.sizes.posts // 2
        for i in range(4):
            self._transfers(f"{i} ", count)
            self.produce()
        self.state.set_props(maximum_block_size=COIN_SOFT_MAX_BLOCK_SIZE)
        for i in range(self.sizes.large // count):
            self._transfers("", count, 61 + i)
        # The node doesn't produce blocks with this many operations, but other producers can.
        with patch.object(production, "BLOCK_UNITS_MAX", NEVER):
            self.produce()
        self.state.set_props(maximum_block_size=COIN_MIN_BLOCK_SIZE_LIMIT * 2)

    def _transfers(self, memo: str, count: int, lifetime: int = 60) -> None:
        """Push a transaction with `count` transfers."""
        transfers = tuple(Transfer("owner", self.users[n % 9], Asset(1, COIN), f"{memo}{n}" if memo else "") for n in range(count))
        self.chain.push_transaction(self.transaction(transfers, (), lifetime), UNSIGNED)


def make_irreversible(chain: Chain) -> None:
    """Make the state irreversible. It can't be undone block by block, because no block contains the inserted rows."""
    state, pack = chain.state, chain.state.wire.pack_block
    blocks = {number: chain.block_by_number(number) for number in range(1, state.props.head_block_number + 1)}
    packed = {number: pack(block) for number, block in blocks.items() if block is not None}
    chain.start_at(chain.head, packed.get, is_changed_by_hand=True)
    state.set_props(last_irreversible_block_num=state.props.head_block_number)
    state.journal.commit(state.journal.position())
