"""The town that sources of forks have: that of `coind dev sample`, and rows of all other kinds, in more than 30 accounts."""

import json
from collections.abc import Iterable
from typing import Any

from node.app.local_chain import LocalChain
from node.cli.dev.sample import write_sample
from node.cli.remote import Remote
from state.operations.accounts import AccountCreate, ClaimAccount, CreateClaimedAccount
from state.operations.authorities import AccountUpdate, ChangeRecoveryAccount, DeclineVotingRights, RequestAccountRecovery
from state.operations.chain_properties import LegacyChainProperties
from state.operations.content import Beneficiary, Comment, CommentOptions, CommentPayoutBeneficiaries, Vote
from state.operations.custom import CustomJson
from state.operations.escrow import EscrowApprove, EscrowDispute, EscrowTransfer
from state.operations.market import Convert, LimitOrderCreate
from state.operations.proposals import CreateProposal, UpdateProposalVotes
from state.operations.smt.settings import SmtSetupEmissions
from state.operations.smt.tokens import SmtCreate, SmtSetup
from state.operations.smt.types import SmtCappedGenerationPolicy, SmtEmissionsUnit, SmtGenerationUnit
from state.operations.transfers import Transfer, TransferFromSavings, TransferToSavings
from state.operations.vesting import DelegateVestingShares, SetWithdrawVestingRoute, TransferToVesting, WithdrawVesting
from state.operations.witnesses import AccountWitnessProxy, AccountWitnessVote, FeedPublish, WitnessUpdate
from state.protocol.authority import Authority, key_authority
from state.protocol.codec.kinds import CoinFee
from state.protocol.keys.keys import ROLES, derive_secret, public_key, wif_from_secret
from state.protocol.operation import Operation
from state.protocol.transaction import SignedTransaction
from state.protocol.values.asset import COIN, SBD, VESTS, Asset, Price

URL = "http://127.0.0.1:8090"
PASSWORD = "dev"  # of all keys
NEWCOMERS = ("kim", "laura", "mallory", "niaj", "olivia", "peggy", "quentin", "rupert", "sybil", "trent", "ursula", "victor", "wendy")
WITNESSES = ("peggy", "rupert")
DAY = 86_400
UNIT = SmtGenerationUnit((("$from", 5), ("frank", 1)), (("$from", 5), ("frank", 1)))


class LocalRemote(Remote):
    """A remote node whose chain is in this process."""

    def __init__(self, chain: LocalChain) -> None:
        super().__init__(URL)
        self.call = lambda method, params=(), **_: chain.call(method, params)


def sample_town(chain: str) -> LocalChain:
    """Return a chain with the sample."""
    local = LocalChain(chain, blocks="instant")
    write_sample(LocalRemote(local))
    return local


def town(chain: str = "dev") -> LocalChain:
    """Return a chain with accounts and rows of all kinds. All accounts of people have the keys of the password `dev`."""
    local = sample_town(chain)
    local.set_block_mode("manual")
    for name, amount in (("alice", f"5000.000 {local.spec.coin_symbol}"), ("judy", f"1000.000 {local.spec.debt_symbol}")):
        local.faucet(name, amount)
    people = Townspeople(local)
    people.settle()
    people.relate()
    people.trade()
    people.write()
    if local.spec.smt:
        people.issue_token()
    local.mine(25)
    people.change_authorities()
    return local


def key(name: str, role: str) -> bytes:
    """Return the public key of an account's role."""
    return public_key(derive_secret(name, role, PASSWORD))


def authorities(name: str) -> tuple[Authority, Authority, Authority]:
    """Return the owner, active and posting authority of an account."""
    owner, active, posting = (key_authority(key(name, role)) for role in ("owner", "active", "posting"))
    return owner, active, posting


class Townspeople:
    """Writes rows of the kinds that the sample lacks."""

    def __init__(self, chain: LocalChain) -> None:
        self._chain = chain
        self._state = chain.chain.state
        self._names = {*NEWCOMERS, "alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy"}
        self._prefix = chain.spec.community_prefix

    def send(self, *operations: Operation, keys: Iterable[str] = ()) -> None:
        """Broadcast a transaction, and make a block."""
        secrets = [wif_from_secret(derive_secret(name, role, PASSWORD)) for name in sorted(self._names) for role in ROLES[:3]]
        shown = self._state.wire.transaction_to_json(SignedTransaction(operations=operations))["operations"]
        self._chain.call("dev_api.broadcast_operations", {"operations": shown, "keys": [*secrets, *keys]})
        self._chain.mine()

    def custom(self, account: str, name: str, payload: Any) -> None:
        """Broadcast a custom_json with the posting authority of an account."""
        self.send(CustomJson((), (account,), name, json.dumps(payload)))

    @property
    def now(self) -> int:
        """The time of the head block."""
        return self._state.head_time

    def settle(self) -> None:
        """Create accounts in each way. One has an authority of several keys and accounts."""
        fee = Asset(self._state.schedule.median_props.account_creation_fee, COIN)
        claimed, *created = NEWCOMERS
        for name in created:
            self.send(AccountCreate(fee, "alice", name, *authorities(name), key(name, "memo"), '{"profile":{"name":"A newcomer"}}'))
        self.send(ClaimAccount("bob", fee), ClaimAccount("bob", fee))
        self.send(CreateClaimedAccount("bob", claimed, *authorities(claimed), key(claimed, "memo"), "{}"))
        for i, name in enumerate(NEWCOMERS):
            self.send(
                Transfer("alice", name, Asset(100_000 + i, COIN), "welcome"),
                Transfer("judy", name, Asset(20_000 + i, SBD), ""),
                TransferToVesting("alice", name, Asset(50_000 + i, COIN)),
            )
        shared = Authority(2, (("alice", 1), ("bob", 1)), tuple(sorted(((key("trent", "active"), 1), (key("trent", "posting"), 1)))))
        self.send(AccountUpdate("trent", active=shared, memo_key=key("trent", "memo"), json_metadata="{}"))

    def change_authorities(self) -> None:
        """Ask for recovery, and to decline voting. On a test network, such requests last only a few blocks."""
        self.send(AccountUpdate("victor", owner=key_authority(key("victor", "active")), memo_key=key("victor", "memo"), json_metadata=""))
        self.send(ChangeRecoveryAccount("wendy", "carol"))
        self.send(DeclineVotingRights("ursula", decline=True))
        self.send(RequestAccountRecovery("alice", "victor", key_authority(key("victor", "owner"))))

    def relate(self) -> None:
        """Delegate in both directions, end delegations, power down with routes, vote for witnesses and proposals, set proxies."""
        props = self._state.props
        share = 10_000 * props.total_vesting_shares // props.total_vesting_fund_coin  # VESTS that are worth 10.000 COIN
        delegations = (("olivia", "alice", 1), ("alice", "olivia", 2), ("peggy", "alice", 1), ("peggy", "alice", 0), ("alice", "olivia", 1))
        for delegator, delegatee, count in delegations:
            self.send(DelegateVestingShares(delegator, delegatee, Asset(count * share, VESTS)))
        self.send(
            WithdrawVesting("quentin", Asset(share, VESTS)),
            SetWithdrawVestingRoute("quentin", "sybil", 2500, auto_vest=True),
            SetWithdrawVestingRoute("quentin", "bob", 5000, auto_vest=False),
        )
        fees = LegacyChainProperties(CoinFee(self._state.schedule.median_props.account_creation_fee))
        for name in WITNESSES:
            self.send(WitnessUpdate(name, f"https://{name}.example", key(name, "active"), fees))
            self.send(FeedPublish(name, Price(Asset(251, SBD), Asset(1000, COIN))))
        self.send(*(AccountWitnessVote("mallory", name, approve=True) for name in WITNESSES))
        self.send(AccountWitnessProxy("niaj", "mallory"))
        self.send(AccountWitnessProxy("olivia", "niaj"))
        self.send(Comment("", "council", "sybil", "a-bridge", "A bridge", "To the mill.", "{}"))
        self.send(CreateProposal("sybil", "trent", self.now + DAY, self.now + 30 * DAY, Asset(5000, SBD), "A bridge", "a-bridge"))
        newest = max(row.proposal_id for row in self._state.proposals)
        self.send(UpdateProposalVotes("mallory", (0, newest), approve=True))

    def trade(self) -> None:
        """Put orders, some of them filled in part, convert, save, withdraw from savings, and put amounts in escrow."""
        until = self.now + 20 * DAY
        self.send(LimitOrderCreate("kim", 7, Asset(10_000, COIN), Asset(9000, SBD), False, until))
        self.send(LimitOrderCreate("laura", 8, Asset(1800, SBD), Asset(2000, COIN), False, until))
        self.send(Convert("laura", 1, Asset(1500, SBD)))
        for symbol in (COIN, SBD):
            self.send(TransferToSavings("niaj", "niaj", Asset(9000, symbol), ""))
            self.send(TransferFromSavings("niaj", symbol, "kim", Asset(1000, symbol), "for later"))
        for escrow_id in (1, 2, 3):
            times = self.now + 2 * DAY, self.now + 9 * DAY
            self.send(EscrowTransfer("kim", "laura", Asset(500, SBD), Asset(700, COIN), escrow_id, "judy", Asset(100, COIN), "", *times))
        for escrow_id in (2, 3):
            self.send(*(EscrowApprove("kim", "laura", "judy", name, escrow_id, approve=True) for name in ("laura", "judy")))
        self.send(EscrowDispute("kim", "laura", "judy", "laura", 3))

    def write(self) -> None:
        """Write posts with options, a deep discussion, votes in both directions, reblogs, and community actions."""
        shares = CommentPayoutBeneficiaries((Beneficiary("kim", 1000), Beneficiary("laura", 2500)))
        for author, permlink in (("kim", "first-steps"), ("olivia", "the-mill"), ("rupert", "a-second-light")):
            self.send(
                Comment(
                    "", "saltmere", author, permlink, f"About {permlink}", f"The text of {permlink} by @{author}.", '{"tags":["saltmere"]}'
                ),
                CommentOptions(author, permlink, Asset(10**6, SBD), 5000, True, True, (shares,)),
            )
        parent = ("kim", "first-steps")
        for depth, name in enumerate(("laura", "mallory", "kim", "niaj", "laura")):
            self.send(Comment(*parent, name, f"re-{depth}", "", f"An answer at depth {depth + 1}", "{}"))
            parent = (name, f"re-{depth}")
        for i, voter in enumerate(("alice", "bob", "laura", "mallory", "niaj", "olivia")):
            self.send(Vote(voter, "kim", "first-steps", -2000 if voter == "mallory" else 10_000 - i))
        for follower in ("kim", "laura"):
            self.custom(follower, "follow", ["follow", {"follower": follower, "following": "alice", "what": ["blog"]}])
        self.custom("laura", "follow", ["follow", {"follower": "laura", "following": "judy", "what": ["ignore"]}])
        self.custom("laura", "follow", ["reblog", {"account": "laura", "author": "olivia", "permlink": "the-mill"}])
        kitchen = f"{self._prefix}100001"
        for name in ("kim", "laura", "mallory"):
            self.custom(name, "community", ["subscribe", {"community": kitchen}])
        self.custom("grace", "community", ["setRole", {"community": kitchen, "account": "kim", "role": "member"}])
        self.custom("grace", "community", ["setUserTitle", {"community": kitchen, "account": "kim", "title": "Soup taster"}])
        self.send(Comment("", kitchen, "mallory", "a-soup", "A soup", "With leek.", "{}"))
        self.custom("grace", "community", ["pinPost", {"community": kitchen, "account": "mallory", "permlink": "a-soup"}])

    def issue_token(self) -> None:
        """Create a token that is set up, with emissions, and one that is not set up."""
        state = self._state
        for _ in range(2):
            symbol = state.nai_pool.nais[0]
            self.send(SmtCreate("frank", symbol, Asset(state.props.smt_creation_fee, SBD)))
        token, _ = (row.liquid_symbol for row in state.smt_tokens)
        emitted = SmtEmissionsUnit((("$rewards", 1), ("frank", 1)))
        begin, end = self.now + 30, self.now + 10 * DAY
        self.send(
            SmtSetupEmissions(
                "frank", token, end + DAY, emitted, 21_600, 100, end + DAY, end + 2 * DAY, Asset(1000, token), Asset(0, token), 0, 0, 0
            )
        )
        policy = SmtCappedGenerationPolicy(UNIT, UNIT, 5000, 1, 2)
        self.send(SmtSetup("frank", token, 10**9, policy, begin, end, end, 1000, 100_000))
